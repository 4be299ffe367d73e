internal import Synchronization

/// What other threads have for a reactor: jobs in their order, and whether it must be woken.
///
/// The queue is the news, the wake descriptor only a flag. It is written at most once a sleep, and
/// never while the loop runs: whoever appends looks at `isSleeping` behind its append, the loop
/// looks at `hasJobs` behind setting `isSleeping`, so at least one of them sees the other.
final class JobQueue: Sendable {
    typealias Job = @Sendable (Reactor) -> Void

    private struct State {
        var jobs: [Job?] = []
        var isClosed = false
    }

    private let state = Locked(State())
    private let hasJobs = Atomic(false)
    private let isSleeping = Atomic(false)
    private let wakesWrittenCount = Atomic(0)
    private let wakesSavedCount = Atomic(0)
    private let wakeLoop: @Sendable () -> Void

    /// An open queue whose loop is woken by `wake`.
    init(wake: @escaping @Sendable () -> Void) {
        wakeLoop = wake
    }

    var wakesWritten: Int { wakesWrittenCount.load(ordering: .relaxed) }
    var wakesSaved: Int { wakesSavedCount.load(ordering: .relaxed) }

    // MARK: Any thread

    /// Appends a job; `false` if the reactor has ended, and the job will not run.
    func append(_ job: @escaping Job) -> Bool {
        let isAccepted = state.withLock { state in
            guard !state.isClosed else { return false }
            state.jobs.append(job)
            hasJobs.store(true, ordering: .sequentiallyConsistent)
            return true
        }
        if isAccepted { wakeIfSleeping() }
        return isAccepted
    }

    /// Ends the loop's sleep if it sleeps or is about to.
    private func wakeIfSleeping() {
        if isSleeping.exchange(false, ordering: .sequentiallyConsistent) {
            wakesWrittenCount.add(1, ordering: .relaxed)
            wakeLoop()
        } else {
            wakesSavedCount.add(1, ordering: .relaxed)
        }
    }

    // MARK: The reactor's thread

    /// Whether jobs wait; a glance without the lock.
    var isEmpty: Bool { !hasJobs.load(ordering: .relaxed) }

    /// Announces a sleep; `false` if there are jobs, so that it must not be a long one.
    func beginSleep() -> Bool {
        isSleeping.store(true, ordering: .sequentiallyConsistent)
        guard hasJobs.load(ordering: .sequentiallyConsistent) else { return true }
        isSleeping.store(false, ordering: .relaxed)
        return false
    }

    func endSleep() {
        isSleeping.store(false, ordering: .relaxed)
    }

    /// Takes all jobs, in their order; each is there.
    func takeAll() -> [Job?] {
        state.withLock { state in
            hasJobs.store(false, ordering: .relaxed)
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// Accepts no more; returns the jobs that were accepted and not taken.
    func close() -> [Job?] {
        state.withLock { state in
            state.isClosed = true
            hasJobs.store(false, ordering: .relaxed)
            defer { state.jobs = [] }
            return state.jobs
        }
    }
}

internal import CLinux
internal import Synchronization

/// A piece of work for a reactor's thread.
enum Job {
    /// To be called with the reactor.
    case execute(@Sendable (Reactor) -> Void)
    /// To be called with the reactor, or with nobody if it has gone: somebody waits for the answer.
    case answer(@Sendable (Reactor?) -> Void)
    /// A piece of a task that is isolated to the reactor.
    case isolated(UnownedJob, ReactorExecutor)
    /// A piece of a task that prefers the reactor.
    case preferring(UnownedJob, ReactorTaskExecutor)

    /// Whether it is a task's, which never must be lost: whoever awaits the task would wait for
    /// ever.
    var isOfTask: Bool {
        switch self {
        case .execute, .answer: false
        case .isolated, .preferring: true
        }
    }

    /// Does the work; without a reactor only what must be done all the same.
    func run(with reactor: Reactor?) {
        switch self {
        case .execute(let work):
            if let reactor { work(reactor) }
        case .answer(let work):
            work(reactor)
        case .isolated(let job, let executor):
            job.runSynchronously(on: executor.asUnownedSerialExecutor())
        case .preferring(let job, let executor):
            job.runSynchronously(on: executor.asUnownedTaskExecutor())
        }
    }
}

/// What other threads have for a reactor: jobs in their order, and whether it must be woken.
///
/// The queue is the news, the wake descriptor only a flag. It is written at most once a sleep, and
/// never while the loop runs: whoever appends looks at `isSleeping` behind its append, the loop
/// looks at `hasJobs` behind setting `isSleeping`, so at least one of them sees the other.
///
/// What the turning thread itself posts is kept apart, and costs neither a lock nor a wake.
// Sendable since what is not atomic or locked is touched by the active thread only.
final class JobQueue: @unchecked Sendable {
    private struct State {
        var jobs: [Job?] = []
        /// Nothing is accepted any more but pieces of tasks.
        var isClosed = false
        /// These neither: they run on the fallback thread.
        var hasEnded = false
        var hasFallback = false
        /// Called when the reactor has ended.
        var whenEnded: [@Sendable () -> Void] = []
    }

    private enum Phase {
        case turning
        case ending
        case ended
    }

    private let state = Locked(State())
    private let hasJobs = Atomic(false)
    private let isSleeping = Atomic(false)
    private let wakesWrittenCount = Atomic(0)
    private let wakesSavedCount = Atomic(0)
    private let refusedCount = Atomic(0)
    private let wakeLoop: @Sendable () -> Void

    /// The thread that is in a turn, or stands in for it behind the end; nobody's between turns.
    private let activeThread = Atomic<UInt>(0)
    /// When the loop last came back from its wait, or was woken.
    private let lastAwake: Atomic<Int64>

    /// What the active thread is doing.
    @exclusivity(unchecked) private var phase = Phase.turning
    /// What the active thread has posted.
    @exclusivity(unchecked) private var ownJobs: [Job?] = []

    /// An open queue whose loop is woken by `wake`.
    init(wake: @escaping @Sendable () -> Void) {
        wakeLoop = wake
        lastAwake = Atomic(MonotonicInstant.readClock().nanoseconds)
    }

    var wakesWritten: Int { wakesWrittenCount.load(ordering: .relaxed) }
    var wakesSaved: Int { wakesSavedCount.load(ordering: .relaxed) }
    var refused: Int { refusedCount.load(ordering: .relaxed) }

    // MARK: Any thread

    /// Whether the calling thread is in a turn of the reactor, or stands in for it behind the end.
    @inline(__always)
    var isActiveHere: Bool { activeThread.load(ordering: .relaxed) == towline_thread() }

    /// Whether the calling thread is in a turn of a reactor that goes on.
    @inline(__always)
    var isTurningHere: Bool { isActiveHere && phase == .turning }

    /// Appends a job; `false` if the reactor has ended, and the job will not run.
    func append(_ work: @escaping @Sendable (Reactor) -> Void) -> Bool {
        append(.execute(work))
    }

    /// Appends a job; `false` if the reactor has ended, and the job will not run.
    ///
    /// Pieces of tasks are always run: behind the end on a thread that stands in.
    func append(_ job: Job) -> Bool {
        if isTurningHere {
            ownJobs.append(job)
            return true
        }
        return appendFromElsewhere(job)
    }

    private func appendFromElsewhere(_ job: Job) -> Bool {
        enum Answer {
            case accepted
            case refused
            case needsFallback
        }
        let answer = state.withLock { state -> Answer in
            if state.isClosed {
                guard job.isOfTask else { return .refused }
                state.jobs.append(job)
                guard state.hasEnded, !state.hasFallback else { return .accepted }
                state.hasFallback = true
                return .needsFallback
            }
            state.jobs.append(job)
            hasJobs.store(true, ordering: .sequentiallyConsistent)
            return .accepted
        }
        switch answer {
        case .accepted:
            wakeIfSleeping()
            return true
        case .refused:
            refusedCount.add(1, ordering: .relaxed)
            return false
        case .needsFallback:
            startFallback()
            return true
        }
    }

    /// Ends the loop's sleep if it sleeps or is about to.
    private func wakeIfSleeping() {
        if isSleeping.load(ordering: .sequentiallyConsistent) {
            // Before the flag falls: from then on the loop is expected to be on its way.
            lastAwake.store(MonotonicInstant.readClock().nanoseconds, ordering: .relaxed)
        }
        if isSleeping.exchange(false, ordering: .sequentiallyConsistent) {
            wakesWrittenCount.add(1, ordering: .relaxed)
            wakeLoop()
        } else {
            wakesSavedCount.add(1, ordering: .relaxed)
        }
    }

    /// How long the loop has been busy, or due, without coming back to its wait.
    var lastTurnAge: Duration {
        guard !isSleeping.load(ordering: .sequentiallyConsistent) else { return .zero }
        let since = MonotonicInstant(nanoseconds: lastAwake.load(ordering: .relaxed))
        return MonotonicInstant.readClock().since(since)
    }

    /// Has `work` called when the reactor has ended; at once if it has.
    func whenEnded(_ work: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.whenEnded.append(work) }
            return state.hasEnded
        }
        if hasEnded { work() }
    }

    // MARK: The reactor's thread

    /// Whether jobs wait; a glance without the lock.
    @inline(__always)
    var isEmpty: Bool { ownJobs.isEmpty && !hasJobs.load(ordering: .relaxed) }

    /// The calling thread begins a turn: what it posts from here on is its own.
    func beginTurn() {
        activeThread.store(towline_thread(), ordering: .relaxed)
    }

    /// The turn is over; who posts now, from whichever thread, does so from outside.
    func endTurn() {
        activeThread.store(0, ordering: .relaxed)
    }

    /// Announces a sleep; `false` if there are jobs, so that it must not be a long one.
    func beginSleep() -> Bool {
        guard ownJobs.isEmpty else { return false }
        isSleeping.store(true, ordering: .sequentiallyConsistent)
        guard hasJobs.load(ordering: .sequentiallyConsistent) else { return true }
        isSleeping.store(false, ordering: .relaxed)
        return false
    }

    func endSleep(at now: MonotonicInstant) {
        lastAwake.store(now.nanoseconds, ordering: .relaxed)
        isSleeping.store(false, ordering: .relaxed)
    }

    /// Takes all jobs, each of which is there: those that the loop has posted itself, which are
    /// older than what its thread has posted between turns, then the others in their order.
    func takeAll() -> [Job?] {
        let own = takeOwn()
        guard hasJobs.load(ordering: .relaxed) else { return own }
        let others = state.withLock { state in
            hasJobs.store(false, ordering: .relaxed)
            defer { state.jobs = [] }
            return state.jobs
        }
        return own.isEmpty ? others : own + others
    }

    private func takeOwn() -> [Job?] {
        guard !ownJobs.isEmpty else { return [] }
        defer { ownJobs = [] }
        return ownJobs
    }

    /// Accepts no more but pieces of tasks; returns the jobs that were accepted and not taken.
    func close() -> [Job?] {
        phase = .ending
        let own = takeOwn()
        return own
            + state.withLock { state in
                state.isClosed = true
                hasJobs.store(false, ordering: .relaxed)
                defer { state.jobs = [] }
                return state.jobs
            }
    }

    /// Takes the pieces of tasks that came behind the closing.
    func takePiecesOfTasks() -> [Job?] {
        state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// The reactor has ended: what still comes of tasks runs on the fallback thread.
    func end() {
        phase = .ended
        activeThread.store(0, ordering: .relaxed)
        let (waiting, needsFallback) = state.withLock { state in
            state.hasEnded = true
            let waiting = state.whenEnded
            state.whenEnded = []
            state.hasFallback = !state.jobs.isEmpty
            return (waiting, state.hasFallback)
        }
        if needsFallback { startFallback() }
        for work in waiting { work() }
    }

    /// The reactor went away without an end in order: whoever waits for an answer hears so.
    func abandon() {
        for job in close() {
            guard let job else { continue }
            if job.isOfTask { _ = append(job) } else { job.run(with: nil) }
        }
        end()
    }

    // MARK: Behind the end

    /// Runs what tasks still have to do, one piece after the other, on a thread that ends when
    /// nothing is left.
    private func startFallback() {
        let isStarted = startThread(named: "towline-end") { self.runFallback() }
        // No thread can be had: better here than never.
        if !isStarted { runFallback() }
    }

    private func runFallback() {
        activeThread.store(towline_thread(), ordering: .relaxed)
        while true {
            let jobs = state.withLock { state in
                defer { state.jobs = [] }
                // Under the lock, so that the next fallback begins behind this one.
                if state.jobs.isEmpty {
                    state.hasFallback = false
                    activeThread.store(0, ordering: .relaxed)
                }
                return state.jobs
            }
            guard !jobs.isEmpty else { return }
            for job in jobs { job?.run(with: nil) }
        }
    }
}

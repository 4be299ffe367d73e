/// What other threads hold of a reactor: they post jobs, wake it and stop it.
///
/// It may be kept for longer than the reactor lives.
public final class ReactorHandle: Sendable {
    private let jobs: JobQueue

    init(jobs: JobQueue) {
        self.jobs = jobs
    }

    /// Has the reactor run `job` in its next turn, behind all jobs that this thread posted before.
    ///
    /// - Parameter job: Called on the reactor's thread, with the reactor.
    /// - Returns: `false` if the reactor has ended: the job is dropped and will not run.
    @discardableResult
    public func execute(_ job: @escaping @Sendable (Reactor) -> Void) -> Bool {
        jobs.append(job)
    }

    /// Has the reactor make a turn, even if nothing happened.
    public func wake() {
        // A job, so that a loop that is about to sleep sees it, too.
        _ = jobs.append { _ in }
    }

    /// Ends the reactor behind the turn that it makes next; see ``Reactor/stop()``.
    public func stop() {
        _ = jobs.append { $0.stop() }
    }
}

/// What other threads hold of a reactor: they post jobs, wake it and stop it.
///
/// It may be kept for longer than the reactor lives.
public final class ReactorHandle: Sendable {
    let jobs: JobQueue

    /// For actors that live on the reactor.
    public let serialExecutor: ReactorExecutor

    /// For tasks that run on the reactor: `Task(executorPreference: handle.taskExecutor)`.
    public let taskExecutor: ReactorTaskExecutor

    init(jobs: JobQueue) {
        self.jobs = jobs
        serialExecutor = ReactorExecutor(jobs: jobs)
        taskExecutor = ReactorTaskExecutor(jobs: jobs)
    }

    /// Has the reactor run `job` in its next turn, behind all jobs that this thread posted before.
    ///
    /// - Parameter job: Called on the reactor's thread, with the reactor.
    /// - Returns: `false` if the reactor has ended: the job is dropped and will not run.
    @discardableResult
    public func execute(_ job: @escaping @Sendable (Reactor) -> Void) -> Bool {
        jobs.append(job)
    }

    /// Has the reactor run `job`, and waits for what it returns.
    ///
    /// A job that was posted runs: cancelling the task does not take it back.
    ///
    /// - Parameter job: Called on the reactor's thread, with the reactor.
    /// - Returns: What the job returned.
    /// - Throws: What the job threw; ``ReactorError/reactorStopped`` if the reactor has ended.
    public nonisolated(nonsending) func submit<Value: Sendable>(
        _ job: @escaping @Sendable (Reactor) throws -> Value
    ) async throws -> Value {
        try await withUnsafeThrowingContinuation { continuation in
            let isAccepted = jobs.append(
                .answer { reactor in
                    guard let reactor else {
                        continuation.resume(throwing: ReactorError.reactorStopped)
                        return
                    }
                    do {
                        continuation.resume(returning: try job(reactor))
                    } catch {
                        continuation.resume(throwing: error)
                    }
                }
            )
            if !isAccepted { continuation.resume(throwing: ReactorError.reactorStopped) }
        }
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

    /// Waits until the reactor has ended: every terminal callback has returned, every job has run,
    /// and its descriptors are closed.
    ///
    /// Does not stop it; not to be awaited by what runs on the reactor and must end first.
    public nonisolated(nonsending) func ended() async {
        await withUnsafeContinuation { continuation in
            jobs.whenEnded { continuation.resume() }
        }
    }

    /// How long the loop has not come back to its wait; zero while it waits for something to
    /// happen.
    ///
    /// For a watchdog: a loop that is stuck in a callback, or that nobody turns though a job was
    /// posted, lets it grow. Any thread may ask; it costs a reading of the clock.
    public var lastTurnAge: Duration { jobs.lastTurnAge }
}

/// Runs actors on a reactor: an actor that has it lives on the reactor's thread, where it may own
/// sockets and be their delegate without a hop.
///
///     actor Room: @preconcurrency StreamSocketDelegate {
///         private let handle: ReactorHandle
///         nonisolated var unownedExecutor: UnownedSerialExecutor {
///             handle.serialExecutor.asUnownedSerialExecutor()
///         }
///
///         func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
///             members.append(socket)      // isolated: it runs on the reactor's thread
///         }
///
///         func connect(to address: SocketAddress) async throws {
///             try await handle.submit { reactor in
///                 let socket = StreamSocket(reactor: reactor, delegate: self)
///                 try socket.connect(to: address)
///             }
///         }
///     }
///
/// Sockets and listeners are made in a job, as here, since that is given the reactor. The actor is
/// held weakly, as any delegate.
///
/// The actor keeps the handle, and so its executor, alive. Pieces of tasks run as jobs do, in the
/// order they came, and count against the turn's budget of jobs. A round trip from another thread
/// costs some 25 µs; on the reactor's own thread nothing is locked and nobody woken.
///
/// When the reactor has ended, what its actors still have to do runs on a thread that stands in
/// for it, one piece after the other, so that nobody who awaits them waits for ever. No socket is
/// left by then, and each call of one throws ``SocketError/reactorStopped``.
///
/// Source: SE-0392, custom actor executors.
public final class ReactorExecutor: SerialExecutor {
    private let jobs: JobQueue

    init(jobs: JobQueue) {
        self.jobs = jobs
    }

    /// Has a piece of a task run on the reactor's thread; for the runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        // Never refused: it is a task's.
        _ = jobs.append(.isolated(UnownedJob(job), self))
    }

    /// The executor as an actor's `unownedExecutor`; the actor must keep it, or the handle, alive.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Whether the calling thread is in a turn of the reactor.
    public func isIsolatingCurrentContext() -> Bool? { jobs.isActiveHere }

    /// Stops the process if the calling thread is not in a turn of the reactor.
    public func checkIsolated() {
        precondition(jobs.isActiveHere, "this is not the thread of the actor's reactor")
    }
}

/// Runs tasks on a reactor: one that prefers it runs its non-isolated code on the reactor's thread.
///
///     Task(executorPreference: handle.taskExecutor) {
///         let stream = try await AsyncStreamSocket.connect(to: address, on: handle)
///         try await stream.write("hello\r\n")
///     }
///
/// Not the same object as ``ReactorExecutor``, on purpose: with one for both roles the runtime
/// would hop at each call between actors of the reactor. What is said there of order, budget and
/// end holds here, too.
///
/// Source: SE-0417, task executor preference.
public final class ReactorTaskExecutor: TaskExecutor {
    private let jobs: JobQueue

    init(jobs: JobQueue) {
        self.jobs = jobs
    }

    /// Has a piece of a task run on the reactor's thread; for the runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        _ = jobs.append(.preferring(UnownedJob(job), self))
    }
}

internal import Glibc
internal import Synchronization

/// Work on a thread of its own, for the blocking side of a test.
///
/// Not a task: tasks share as many threads as the machine has cores, and a few that block would
/// hold up every other test.
///
///     let received = BackgroundWork { try peer.receiveUntilEnd() }
///     …
///     #expect(try received.value() == expected)
public final class BackgroundWork<Value: Sendable>: Sendable {
    private let outcome = Outcome<Value>()
    private let thread: pthread_t

    /// Starts the work at once.
    public init(_ work: @escaping @Sendable () throws -> Value) {
        let outcome = outcome
        let body = ThreadBody { outcome.set(Result(catching: work)) }
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            nil,
            { argument in
                // What was retained for it below.
                Unmanaged<ThreadBody>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            },
            Unmanaged.passRetained(body).toOpaque()
        )
        precondition(result == 0, "a test's thread could not be made: errno \(result)")
        self.thread = thread
    }

    /// Waits for the work and passes its outcome on.
    ///
    /// Call it once: it lets go of the thread.
    ///
    /// - Returns: What the work returned.
    /// - Throws: What the work threw.
    public func value() throws -> Value {
        pthread_join(thread, nil)
        return try outcome.get()
    }
}

private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func set(_ value: Result<Value, any Error>) {
        result.withLock { $0 = value }
    }

    func get() throws -> Value {
        guard let result = result.withLock({ $0 }) else {
            preconditionFailure("a thread that was joined has left its outcome")
        }
        return try result.get()
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

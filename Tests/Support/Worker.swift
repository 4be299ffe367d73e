internal import Glibc

/// A thread of a test's own, which runs one closure.
///
/// Sendable since nothing in it changes; whoever joins it is one.
public final class Worker: @unchecked Sendable {
    private let thread: pthread_t

    /// Starts `body` on a new thread.
    public init(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Body(body)).toOpaque()
        let result = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context
        )
        precondition(result == 0, "a thread can be made")
        self.thread = thread
    }

    /// Waits until the closure has returned.
    public func join() {
        pthread_join(thread, nil)
    }

    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}

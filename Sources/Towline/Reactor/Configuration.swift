/// Which backend a reactor asks for.
@nonexhaustive
public enum BackendChoice: String, Sendable, Hashable, CaseIterable {
    /// Whatever is fastest here; never fails.
    case automatic
    /// epoll(7).
    case epoll
    /// io_uring(7).
    case ring
}

/// Which threads turn a reactor.
@nonexhaustive
public enum ReactorHosting: String, Sendable, Hashable, CaseIterable {
    /// One thread: the one that makes the first turn.
    case thread
    /// Whichever a serial queue uses next, one turn after the other: each turn claims the reactor
    /// for its thread, and between turns calls are allowed from any one.
    ///
    /// Under `dispatchMain()`, and in a program with an `async` main, the main queue does not run
    /// on the process's first thread; other serial queues have no thread of their own at all.
    case serialQueue
}

extension Reactor {
    /// What a reactor is made with; a value that any thread may carry.
    public struct Configuration: Sendable {
        /// The backend; `.automatic`.
        public var backend = BackendChoice.automatic

        /// Bytes of the one buffer that everything is received into: a power of two from 4 KiB to
        /// 1 MiB; 256 KiB.
        public var receiveBufferSize = 256 * 1024

        /// How much one turn does for one socket.
        public var budget = TurnBudget()

        /// How many handshakes of accepted connections may be under way, 1 or more; 1,024.
        ///
        /// At the limit the listeners that have accepted them accept nobody until there are fewer.
        public var maxHandshakes = 1_024

        /// How many sockets the tables begin with, 0 through 1,000,000; they grow by themselves.
        public var expectedSockets = 16

        /// Which threads turn the reactor; `.thread`.
        public var hosting = ReactorHosting.thread

        /// What the reactor is called: by its thread, of which the kernel shows 15 bytes, and in
        /// each line of its log; `nil`, nothing.
        public var name: String?

        /// How the reactor's own resolver looks names up.
        public var lookups = LookupOptions()

        /// Makes the resolver, with the reactor it is for, when a name is first looked up; `nil`,
        /// the system's on threads of its own.
        ///
        /// A closure, since a resolver lives on one reactor, and this value may make several.
        public var makeResolver: (@Sendable (Reactor) -> any Resolver)?

        /// Stands in for the system's lookup on those threads; for tests.
        package var addressLookup: AddressLookup?

        /// How long such a thread waits for work before it ends.
        package var lookupIdleTime = Duration.seconds(30)

        /// The usual configuration.
        ///
        /// - Parameter backend: The backend to ask for.
        public init(backend: BackendChoice = .automatic) {
            self.backend = backend
        }

        func validate() throws(ReactorError) {
            let size = receiveBufferSize
            guard size >= 4_096, size <= 1 << 20, size & (size - 1) == 0 else {
                throw .invalidConfiguration(
                    "receiveBufferSize \(size): must be a power of two from 4096 to 1048576"
                )
            }
            guard budget.isValid else {
                throw .invalidConfiguration("budget: each number must be 1 or more")
            }
            guard maxHandshakes > 0 else {
                throw .invalidConfiguration("maxHandshakes \(maxHandshakes): must be 1 or more")
            }
            guard (0...1_000_000).contains(expectedSockets) else {
                throw .invalidConfiguration(
                    "expectedSockets \(expectedSockets): must be 0 through 1000000"
                )
            }
        }
    }
}

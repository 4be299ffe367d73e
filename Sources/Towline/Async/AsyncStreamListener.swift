/// Accepts connections in the `async` style.
///
///     let listener = try await AsyncStreamListener.listen(onPort: 8080, on: handle)
///     for try await client in listener.connections {
///         Task(executorPreference: handle.taskExecutor) {
///             while true { try await client.write(client.read()) }
///         }
///     }
///
/// A connection is accepted when somebody asks for it; the others wait in the kernel's backlog. So
/// a program that does not iterate accepts nobody. A listener that nobody holds any more ends; who
/// iterates holds it.
public final class AsyncStreamListener: Sendable {
    private let core: AsyncListenerCore
    private let handle: ReactorHandle

    /// The address that is listened on, with the port that the kernel chose for 0.
    public let localAddress: SocketAddress?

    private init(_ core: AsyncListenerCore, _ localAddress: SocketAddress?) {
        self.core = core
        handle = core.handle
        self.localAddress = localAddress
    }

    deinit {
        stop()
    }

    /// Listens on a TCP port of every interface.
    ///
    /// - Parameters:
    ///   - port: The port; 0 has the kernel choose one.
    ///   - options: What accepted connections begin with.
    ///   - handle: The reactor that the listener and its connections live on.
    /// - Returns: The listener.
    /// - Throws: ``SocketError``; ``ReactorError/reactorStopped``.
    public nonisolated(nonsending) static func listen(
        onPort port: UInt16,
        options: SocketOptions = SocketOptions(),
        on handle: ReactorHandle
    ) async throws -> AsyncStreamListener {
        try await listen(options, handle) { try $0.listen(onPort: port) }
    }

    /// Listens on an address.
    ///
    /// - Parameters:
    ///   - address: The address; a port of 0 has the kernel choose one.
    ///   - options: What accepted connections begin with.
    ///   - handle: The reactor that the listener and its connections live on.
    /// - Returns: The listener.
    /// - Throws: ``SocketError``; ``ReactorError/reactorStopped``.
    public nonisolated(nonsending) static func listen(
        on address: SocketAddress,
        options: SocketOptions = SocketOptions(),
        on handle: ReactorHandle
    ) async throws -> AsyncStreamListener {
        try await listen(options, handle) { try $0.listen(on: address) }
    }

    private nonisolated(nonsending) static func listen(
        _ options: SocketOptions,
        _ handle: ReactorHandle,
        _ begin: @escaping @Sendable (StreamListener) throws -> Void
    ) async throws -> AsyncStreamListener {
        try await handle.submit { reactor in
            let core = AsyncListenerCore(reactor, handle)
            core.listener.options = options
            try begin(core.listener)
            core.listener.pauseAccepting()
            return AsyncStreamListener(core, core.listener.localAddress)
        }
    }

    /// The connections, one after the other as they are asked for; several tasks may ask.
    ///
    /// Ends behind ``stop()``; throws if something else ends the listener.
    public var connections: Connections { Connections(listener: self) }

    /// Accepts nobody from now on; connections stay open.
    public func stop() {
        handle.execute { [core] _ in core.listener.stop() }
    }

    /// The connections of a listener.
    public struct Connections: AsyncSequence, Sendable {
        let listener: AsyncStreamListener

        /// Begins to ask for connections.
        public func makeAsyncIterator() -> Iterator { Iterator(listener: listener) }

        /// Asks for one connection after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let listener: AsyncStreamListener

            /// Accepts the next connection.
            ///
            /// - Returns: The connection; `nil` behind ``AsyncStreamListener/stop()``.
            /// - Throws: ``SocketError`` if the listener ended for another reason;
            ///   `CancellationError`.
            public nonisolated(nonsending) mutating func next() async throws -> AsyncStreamSocket? {
                let core = listener.core
                return try await withTaskExecutorPreference(core.handle.taskExecutor) {
                    try await core.next()
                }
            }
        }
    }
}

/// The delegate behind an ``AsyncStreamListener``.
// Sendable since everything in it is touched on the reactor's thread only.
final class AsyncListenerCore: StreamListenerDelegate, @unchecked Sendable {
    typealias Continuation = UnsafeContinuation<AsyncStreamSocket?, any Error>

    let handle: ReactorHandle
    private(set) lazy var listener = StreamListener(reactor: reactor, delegate: self)
    private unowned let reactor: Reactor
    private var lastNumber = 0
    private var waiting: [(number: Int, Continuation)] = []
    /// Accepted in the turn in which the last that was asked for came.
    private var surplus: [AsyncStreamSocket] = []
    private var end: Result<Void, SocketError>?

    init(_ reactor: Reactor, _ handle: ReactorHandle) {
        self.reactor = reactor
        self.handle = handle
    }

    /// Waits for the next connection, on the isolation that the closure below captures.
    func next(isolation: isolated (any Actor)? = #isolation) async throws -> AsyncStreamSocket? {
        guard handle.jobs.isTurningHere else { throw SocketError.reactorStopped }
        try Task.checkCancellation()
        if !surplus.isEmpty { return surplus.removeFirst() }
        if let end {
            try end.get()
            return nil
        }
        lastNumber += 1
        let number = lastNumber
        return try await withTaskCancellationHandler {
            _ = isolation
            return try await withUnsafeThrowingContinuation { continuation in
                waiting.append((number, continuation))
                listener.resumeAccepting()
            }
        } onCancel: {
            handle.execute { _ in self.cancel(number) }
        }
    }

    private func cancel(_ number: Int) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).1.resume(throwing: CancellationError())
        if waiting.isEmpty { listener.pauseAccepting() }
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        let core = AsyncStreamCore(socket, handle)
        socket.keep(owner: core)
        let stream = AsyncStreamSocket(core)
        if waiting.isEmpty {
            surplus.append(stream)
        } else {
            waiting.removeFirst().1.resume(returning: stream)
        }
        if waiting.isEmpty { listener.pauseAccepting() }
    }

    func listener(_ listener: StreamListener, didStopWith error: SocketError?) {
        end = error.map { .failure($0) } ?? .success(())
        let left = waiting
        waiting = []
        for (_, continuation) in left {
            if let error {
                continuation.resume(throwing: error)
            } else {
                continuation.resume(returning: nil)
            }
        }
    }
}

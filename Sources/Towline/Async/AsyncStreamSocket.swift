/// A connection in the `async` style: each call returns when it is done, or throws why it is not.
///
///     let stream = try await AsyncStreamSocket.connect(to: address, on: handle)
///     try await stream.write("HELLO\r\n")
///     let line = try await stream.read(to: .crlf, maxLength: 512)
///     await stream.close()
///
/// May be used from anywhere. From a task that prefers the reactor's executor, or an actor that
/// lives on it, a call costs no hop; from elsewhere it makes one there and one back:
///
///     Task(executorPreference: handle.taskExecutor) { … }
///
/// Reads of several tasks complete in the order they were asked for, and so do writes. Bytes come
/// as arrays, since a lent span cannot outlive its callback. One task that has a connection to
/// itself reads and writes it for a fraction of the cost: ``use(isolation:_:)``.
///
/// Behind it is a ``StreamSocket`` with a delegate of its own. Whoever finds that socket by its
/// ``id`` and sets another delegate, or moves it, takes the connection over: whatever is awaited
/// here, and each later call, throws ``SocketError/takenOver``. What is cancelled there ends with
/// `CancellationError` here; the bytes of reads that were asked for there are nobody's.
///
/// Cancelling a task ends its operation with `CancellationError` and leaves the connection open:
/// what a read has collected stays for the next; a write that has begun is sent to its end. A
/// connection that nobody holds any more closes behind its writes. When it ends, or the
/// reactor does, whatever is awaited throws.
public final class AsyncStreamSocket: Sendable {
    let core: AsyncStreamCore

    /// The peer.
    public let remoteAddress: SocketAddress?

    /// Where the connection begins on this host.
    public let localAddress: SocketAddress?

    /// Names the connection; `handle.execute { $0.streamSocket(id) }` finds its socket.
    public let id: SocketID

    init(_ core: AsyncStreamCore) {
        self.core = core
        remoteAddress = core.socket.remoteAddress
        localAddress = core.socket.localAddress
        id = core.socket.id
    }

    deinit {
        core.handle.execute { [core] _ in core.abandon() }
    }

    /// Connects to a host by name or address, as
    /// ``StreamSocket/connect(toHost:port:via:timeout:file:line:)`` does: all its addresses are
    /// tried.
    ///
    /// - Parameters:
    ///   - host: A name, `localhost`, or an address.
    ///   - port: 1 through 65,535.
    ///   - timeout: The longest that it may take, lookup included; `nil`, as long as the kernel
    ///     tries.
    ///   - options: What the kernel is asked for.
    ///   - handle: The reactor that the connection lives on.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: The connection.
    /// - Throws: ``SocketError``; `CancellationError`; ``ReactorError/reactorStopped``.
    public nonisolated(nonsending) static func connect(
        toHost host: String,
        port: UInt16,
        timeout: Duration? = .seconds(30),
        options: SocketOptions = SocketOptions(),
        on handle: ReactorHandle,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> AsyncStreamSocket {
        try await connect(options, handle) { socket throws(SocketError) in
            try socket.connect(
                toHost: host,
                port: port,
                timeout: timeout,
                file: file,
                line: line
            )
        }
    }

    /// Connects to an address.
    ///
    /// - Parameters:
    ///   - address: Whom to connect to.
    ///   - timeout: The longest that it may take; `nil`, as long as the kernel tries.
    ///   - options: What the kernel is asked for.
    ///   - handle: The reactor that the connection lives on.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: The connection.
    /// - Throws: ``SocketError``; `CancellationError`; ``ReactorError/reactorStopped``.
    public nonisolated(nonsending) static func connect(
        to address: SocketAddress,
        timeout: Duration? = .seconds(30),
        options: SocketOptions = SocketOptions(),
        on handle: ReactorHandle,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> AsyncStreamSocket {
        try await connect(options, handle) { socket throws(SocketError) in
            try socket.connect(to: address, timeout: timeout, file: file, line: line)
        }
    }

    private nonisolated(nonsending) static func connect(
        _ options: SocketOptions,
        _ handle: ReactorHandle,
        _ begin: @escaping @Sendable (StreamSocket) throws(SocketError) -> Void
    ) async throws -> AsyncStreamSocket {
        try Task.checkCancellation()
        let core = try await handle.submit { reactor in
            let core = AsyncStreamCore(StreamSocket(reactor: reactor), handle)
            core.socket.options = options
            core.socket.keep(owner: core)
            do {
                try begin(core.socket)
            } catch {
                // No farewell comes that would part the two, which hold each other.
                core.socket.delegate = nil
                throw error
            }
            return core
        }
        return try await core.onReactor { core in
            do {
                try await core.waitUntilConnected()
                // It, or the reactor, may have ended before this came to run.
                try core.check()
            } catch {
                // Cancelled, perhaps before anybody waited: nobody will ever have it.
                core.abandon()
                throw error
            }
            return AsyncStreamSocket(core)
        }
    }

    // MARK: Reading

    /// Reads whatever comes next, at least one byte.
    ///
    /// - Parameter maxLength: The most bytes, 1 or more; `nil`, all that is there.
    /// - Returns: The bytes.
    /// - Throws: ``SocketError``, with ``SocketError/closedByPeer`` at the peer's end;
    ///   `CancellationError`.
    public nonisolated(nonsending) func read(maxLength: Int? = nil) async throws -> [UInt8] {
        try await read(.some(maxLength))
    }

    /// Reads exactly so many bytes.
    ///
    /// - Parameter length: 1 or more.
    /// - Returns: The bytes.
    /// - Throws: As ``read(maxLength:)``.
    public nonisolated(nonsending) func read(toLength length: Int) async throws -> [UInt8] {
        try await read(.length(length))
    }

    /// Reads up to and with the first occurrence of a delimiter.
    ///
    /// - Parameters:
    ///   - delimiter: At least one byte.
    ///   - maxLength: The most bytes of the result; without a delimiter within them the connection
    ///     ends. `nil`, ``StreamSocket/defaultDelimiterLimit``.
    /// - Returns: The bytes, the delimiter included.
    /// - Throws: As ``read(maxLength:)``.
    public nonisolated(nonsending) func read(
        to delimiter: Delimiter,
        maxLength: Int? = nil
    ) async throws -> [UInt8] {
        try await read(.delimiter(delimiter, maxLength))
    }

    /// Reads everything up to the peer's end.
    ///
    /// - Parameter maxLength: The most bytes, 1 or more; where more come, the connection ends.
    /// - Returns: The bytes.
    /// - Throws: As ``read(maxLength:)``.
    public nonisolated(nonsending) func readToEnd(maxLength: Int) async throws -> [UInt8] {
        try await read(.end(maxLength))
    }

    private nonisolated(nonsending) func read(_ kind: AsyncReadKind) async throws -> [UInt8] {
        if core.isHere { return try await core.read(kind) }
        return try await core.onReactor { try await $0.read(kind) }
    }

    // MARK: Writing

    /// Writes bytes behind all earlier ones; returns when the kernel has taken the last.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: ``SocketError``; `CancellationError`.
    public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws {
        if core.isHere {
            try await core.write(bytes)
        } else {
            try await core.onReactor { try await $0.write(bytes) }
        }
    }

    /// Writes the UTF-8 of a text behind all earlier bytes.
    ///
    /// - Parameter text: The text.
    /// - Throws: As for bytes.
    public nonisolated(nonsending) func write(_ text: String) async throws {
        try await write(Array(text.utf8))
    }

    /// Ends the writing side behind what is written; reading goes on.
    ///
    /// - Throws: ``SocketError``.
    public nonisolated(nonsending) func shutdownWrite() async throws {
        try await core.onReactor { try $0.shutdownWrite() }
    }

    /// Has the connection secured behind all that was asked for, and waits until it is.
    ///
    /// - Parameter begin: Called once on the reactor's thread.
    /// - Throws: What `begin` throws, or why the connection has ended; `CancellationError`.
    package nonisolated(nonsending) func secure(
        _ begin: @Sendable (StreamSocket) throws(SocketError) -> Void
    ) async throws {
        try await core.onReactor { try await $0.secure(begin) }
    }

    /// Asks the socket something, on the reactor's thread.
    ///
    /// - Parameter body: Called once.
    /// - Returns: What it returns.
    /// - Throws: Why there is no connection any more.
    package nonisolated(nonsending) func asking<Value: Sendable>(
        _ body: @Sendable (StreamSocket) -> Value
    ) async throws -> Value {
        try await core.onReactor { core in
            try core.check()
            return body(core.socket)
        }
    }

    // MARK: Ending

    /// Ends the connection behind its writes, and returns when it has ended.
    ///
    /// Reads that wait throw.
    public nonisolated(nonsending) func close() async {
        do {
            try await core.onReactor { await $0.close() }
        } catch {
            // It has ended with the reactor.
        }
    }

    /// Ends the connection at once, with a reset; what is awaited throws.
    public func abort() {
        core.handle.execute { [core] _ in core.socket.abort() }
    }

    /// How the connection ended; waits until it has.
    ///
    /// - Returns: The report.
    /// - Throws: `CancellationError`; ``SocketError/reactorStopped`` if the reactor has gone.
    public nonisolated(nonsending) func ended() async throws -> DisconnectReport {
        try await core.onReactor { try await $0.waitUntilEnded() }
    }
}

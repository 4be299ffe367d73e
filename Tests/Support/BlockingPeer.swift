internal import CLinux
internal import Glibc
internal import Synchronization
public import Towline

/// The other end of a connection, made of nothing but blocking system calls.
///
/// It shares no code with the sockets under test. Each call ends within the timeout, so that a test
/// whose other side falls silent fails with a sentence instead of hanging:
///
///     let peer = try BlockingPeer(connectingTo: address)
///     try peer.send("hello")
///     #expect(try peer.receive(5) == Array("hello".utf8))
///     peer.close()
///
/// Any thread may use it, one at a time for each direction. It closes when it is let go of.
public final class BlockingPeer: Sendable {
    /// -1 once closed.
    private let descriptor: Atomic<CInt>

    /// Connects, and returns when the connection is established.
    ///
    /// - Parameters:
    ///   - address: Where to.
    ///   - bufferByteCount: The size of the kernel's send and receive buffers, of which it doubles
    ///     small numbers and has a least one; `nil`, the kernel's own choice.
    ///   - receiveBufferByteCount: The size of the receive buffer alone, for a peer that takes
    ///     little but sends fast; a small send buffer waits for each acknowledgement over TCP.
    ///   - timeout: The longest that any call may take to go on.
    /// - Throws: `SystemCallError` with the call that failed.
    public convenience init(
        connectingTo address: SocketAddress,
        bufferByteCount: CInt? = nil,
        receiveBufferByteCount: CInt? = nil,
        timeout: Duration = .seconds(10)
    ) throws {
        let number = try address.makeStreamDescriptor()
        // Before the connect, which settles the window that the buffer allows for.
        self.init(adopting: number, timeout: timeout)
        if let bufferByteCount { number.setBufferSizes(to: bufferByteCount) }
        if var size = receiveBufferByteCount { number.setOption(SO_RCVBUF, to: &size) }
        try check("connect", address.withKernelForm { Glibc.connect(number, $0, $1) })
    }

    /// Takes ownership of a connected descriptor in blocking mode.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which is closed with the peer.
    ///   - timeout: The longest that any call may take to go on.
    public init(adopting descriptor: CInt, timeout: Duration = .seconds(10)) {
        self.descriptor = Atomic(descriptor)
        descriptor.setTimeouts(to: timeout)
    }

    deinit { close() }

    /// The own address, or `nil` once closed.
    public var localAddress: SocketAddress? {
        SocketAddress { getsockname(number, $0, $1) }
    }

    /// The address of the other end, or `nil` once closed or reset.
    public var remoteAddress: SocketAddress? {
        SocketAddress { getpeername(number, $0, $1) }
    }

    // MARK: Sending

    /// Sends all of the bytes.
    ///
    /// - Throws: `SystemCallError`, `EAGAIN` if the other side took nothing for the timeout.
    public func send(_ bytes: [UInt8]) throws {
        var sentCount = 0
        while sentCount < bytes.count {
            let count = bytes.withUnsafeBytes {
                // In bounds: the loop ends when nothing is left.
                Glibc.send(
                    number,
                    $0.baseAddress! + sentCount,
                    $0.count - sentCount,
                    CInt(MSG_NOSIGNAL)
                )
            }
            sentCount += try check("send", count)
        }
    }

    /// Sends the UTF-8 bytes of a text.
    ///
    /// - Throws: As `send(_:)` of bytes.
    public func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends the end: the other side receives nothing more, and can still send.
    public func finishSending() {
        _ = shutdown(number, CInt(SHUT_WR))
    }

    /// How many sent bytes the other side has not taken: over TCP its kernel, over Unix sockets the
    /// program itself.
    ///
    /// Source: tcp(7) and unix(7), `SIOCOUTQ`.
    public var untakenByteCount: Int {
        var count: CInt = 0
        let result = ioctl(number, UInt(TIOCOUTQ), &count)
        precondition(result == 0, "TIOCOUTQ was refused: errno \(errno)")
        return Int(count)
    }

    // MARK: Receiving

    /// Receives whatever comes next.
    ///
    /// - Parameter limit: The most bytes to take, 1 or more.
    /// - Returns: At least one byte, or none at the other side's end.
    /// - Throws: `SystemCallError`: `EAGAIN` if nothing came for the timeout, `ECONNRESET` if the
    ///   other side reset the connection.
    public func receiveSome(atMost limit: Int = 65_536) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = try check("recv", recv(number, buffer.baseAddress, limit, 0))
        }
    }

    /// Receives what is there already, without a wait.
    ///
    /// - Returns: Bytes, none at the other side's end, or `nil` if nothing is there.
    /// - Throws: As ``receiveSome(atMost:)``.
    public func receiveAvailable() throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(number, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        if count < 0, errno == EAGAIN { return nil }
        return Array(bytes.prefix(try check("recv", count)))
    }

    /// Receives exactly so many bytes.
    ///
    /// - Parameter count: How many, 0 or more.
    /// - Returns: The bytes.
    /// - Throws: ``EarlyEnd`` with what came, if the end came first; else as
    ///   ``receiveSome(atMost:)``.
    public func receive(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let chunk = try receiveSome(atMost: min(count - bytes.count, 65_536))
            guard !chunk.isEmpty else { throw EarlyEnd(bytes: bytes, wantedCount: count) }
            bytes += chunk
        }
        return bytes
    }

    /// Receives until the other side's end.
    ///
    /// - Returns: Everything before it.
    /// - Throws: As ``receiveSome(atMost:)``.
    public func receiveUntilEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let chunk = try receiveSome()
            guard !chunk.isEmpty else { return bytes }
            bytes += chunk
        }
    }

    // MARK: Ending

    /// Closes the descriptor; a second call does nothing.
    public func close() {
        let number = descriptor.exchange(-1, ordering: .relaxed)
        if number >= 0 { _ = Glibc.close(number) }
    }

    /// Closes with a reset instead of an end: the other side's next call fails with `ECONNRESET`.
    ///
    /// Source: socket(7), `SO_LINGER` with a time of 0.
    public func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        number.setOption(SO_LINGER, to: &value)
        close()
    }

    private var number: CInt { descriptor.load(ordering: .relaxed) }
}

/// Waits for connections with blocking calls; the other side of sockets that connect.
///
///     let listener = try BlockingListener()
///     try socket.connect(to: listener.address)
///     let peer = try listener.accept()
public final class BlockingListener: Sendable {
    /// Where it listens, with the port that the kernel chose.
    public let address: SocketAddress

    /// -1 once closed.
    private let descriptor: Atomic<CInt>
    private let bufferByteCount: CInt?
    private let timeout: Duration

    /// Listens.
    ///
    /// - Parameters:
    ///   - address: Where; a free port of 127.0.0.1.
    ///   - backlog: How many connections may wait to be accepted.
    ///   - bufferByteCount: As for ``BlockingPeer``, for each accepted peer.
    ///   - timeout: The longest wait of ``accept()``, and the timeout of accepted peers.
    /// - Throws: `SystemCallError` with the call that failed.
    public init(
        on address: SocketAddress = .ipv4(.loopback, port: 0),
        backlog: CInt = 64,
        bufferByteCount: CInt? = nil,
        timeout: Duration = .seconds(10)
    ) throws {
        let number = try address.makeStreamDescriptor()
        do {
            var isOn: CInt = 1
            number.setOption(SO_REUSEADDR, to: &isOn)
            // Accepted sockets inherit it.
            if let bufferByteCount { number.setBufferSizes(to: bufferByteCount) }
            try check("bind", address.withKernelForm { Glibc.bind(number, $0, $1) })
            try check("listen", Glibc.listen(number, backlog))
        } catch {
            _ = Glibc.close(number)
            throw error
        }
        number.setTimeouts(to: timeout)
        self.address = SocketAddress { getsockname(number, $0, $1) } ?? address
        self.descriptor = Atomic(number)
        self.bufferByteCount = bufferByteCount
        self.timeout = timeout
    }

    deinit { close() }

    /// Waits for the next connection.
    ///
    /// - Throws: `SystemCallError`, `EAGAIN` if none came for the timeout.
    public func accept() throws -> BlockingPeer {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let number = descriptor.load(ordering: .relaxed)
        let flags = CInt(SOCK_CLOEXEC.rawValue)
        let accepted = try check("accept4", towline_accept4(number, &address, &length, flags))
        return BlockingPeer(adopting: accepted, timeout: timeout)
    }

    /// Gives the descriptor away; whoever takes it closes it.
    public func take() -> CInt { descriptor.exchange(-1, ordering: .relaxed) }

    /// Stops listening; whoever connects now is refused.
    ///
    /// A second call does nothing.
    public func close() {
        let number = descriptor.exchange(-1, ordering: .relaxed)
        if number >= 0 { _ = Glibc.close(number) }
    }
}

/// The end came before as many bytes as were waited for.
public struct EarlyEnd: Error, CustomStringConvertible {
    /// What came before the end.
    public let bytes: [UInt8]

    /// How many bytes were waited for.
    public let wantedCount: Int

    /// Both numbers as one line.
    public var description: String {
        "the end came after \(bytes.count) of \(wantedCount) bytes"
    }
}

/// Hears what happens to a ``StreamSocket``; every method has a default.
///
/// Callbacks run on the reactor's thread, one after the other, and never inside a call of yours. A
/// callback may do anything: write, read, disconnect its own socket and others, set another
/// delegate. An error thrown from a callback disconnects that socket with
/// ``SocketError/handler(_:)``; one that says that it is about to end anyway, such as
/// ``SocketError/disconnectPending``, changes nothing.
public protocol StreamSocketDelegate: AnyObject {
    /// The connection is established; reads and writes that were queued before begin.
    ///
    /// Accepted and adopted sockets do not hear this: they begin connected.
    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws

    /// An address is about to be tried; may the connect be made? By default, yes.
    ///
    /// Comes for each address, before anything is sent, so that options can be set that the
    /// framework does not know. An address that is refused is left out; where none is left, the
    /// connect ends with ``SocketError/cancelled``.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - address: The address.
    ///   - descriptor: The descriptor that will connect, which stays the socket's; -1 on a network
    ///     that has none.
    /// - Returns: Whether to connect to it.
    func socket(
        _ socket: StreamSocket,
        willConnectTo address: SocketAddress,
        descriptor: CInt
    ) -> Bool

    /// The connection is secured: what `startTLS` has asked for is done, and whatever was queued
    /// behind it begins.
    func socketDidSecure(_ socket: StreamSocket) throws

    /// A read is complete. The bytes are lent for the length of the call; copy what you keep.
    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws

    /// A read into a buffer is complete: the buffer comes back, and its bytes of `range` are new.
    ///
    /// By default it is told as any other read.
    func socket(
        _ socket: StreamSocket,
        didRead buffer: consuming ReadBuffer,
        range: Range<Int>,
        tag: Int
    ) throws

    /// The kernel has taken the last byte of a write. That says nothing about its delivery.
    func socket(_ socket: StreamSocket, didWrite tag: Int) throws

    /// The connection has ended, or was never made; comes once, as the last of its callbacks.
    ///
    /// The socket is idle and may connect again.
    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport)

    /// The peer has gone, or sent its end, behind bytes that nobody has read yet; comes once.
    func socketPeerDidHangUp(_ socket: StreamSocket) throws

    /// The peer has sent its end, and the policy ``HalfClosePolicy/keepOpen`` lets writing go on;
    /// comes once, behind the last read and every `didCancelRead`.
    func socketDidCloseReadStream(_ socket: StreamSocket) throws

    /// Fewer bytes wait than ``StreamSocket/writeLowWaterMark``, after more had waited than
    /// ``StreamSocket/writeHighWaterMark``.
    func socketDidBecomeWritable(_ socket: StreamSocket) throws

    /// Bytes of a length or delimiter read came, the last ones included; before its completion.
    func socket(_ socket: StreamSocket, didProgressRead tag: Int, _ progress: IOProgress) throws

    /// The kernel has taken bytes of a write, the last ones included; before its completion.
    func socket(_ socket: StreamSocket, didProgressWrite tag: Int, _ progress: IOProgress) throws

    /// A read ended alone, with the bytes that it had; the connection goes on.
    func socket(_ socket: StreamSocket, didCancelRead tag: Int, partialBytes: RawSpan) throws

    /// A read into a buffer ended alone; the buffer comes back with the bytes that the read had.
    ///
    /// By default it is told as any other read.
    func socket(
        _ socket: StreamSocket,
        didCancelRead tag: Int,
        buffer: consuming ReadBuffer,
        range: Range<Int>
    ) throws

    /// A read's time is up; what is to become of it? By default the connection ends.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - tag: The read's tag.
    ///   - elapsed: Its timeout and all extensions so far.
    ///   - byteCount: The bytes that it has so far.
    /// - Returns: Whether the read goes on, ends alone, or ends the connection.
    func socket(
        _ socket: StreamSocket,
        shouldTimeOutRead tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision

    /// A write's time is up; what is to become of it? By default the connection ends.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - tag: The write's tag.
    ///   - elapsed: Its timeout and all extensions so far.
    ///   - byteCount: Its bytes that the kernel has taken so far.
    /// - Returns: Whether the write goes on, ends alone, or ends the connection.
    func socket(
        _ socket: StreamSocket,
        shouldTimeOutWrite tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision

    /// Nothing has moved for as long as
    /// ``StreamSocket/setIdleTimeout(read:write:both:file:line:)`` says; comes again after each
    /// further period of silence.
    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) throws

    /// The reactor is draining: end after the current exchange.
    ///
    /// By default the socket disconnects as soon as its writes are with the kernel.
    func socketShouldFinish(_ socket: StreamSocket)
}

extension StreamSocketDelegate {
    /// Does nothing.
    public func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {}

    /// Yes, and says so: the socket does not ask this delegate again.
    public func socket(
        _ socket: StreamSocket,
        willConnectTo address: SocketAddress,
        descriptor: CInt
    ) -> Bool {
        socket.noteDefault(.willConnect, of: self)
        return true
    }

    /// Does nothing.
    public func socketDidSecure(_ socket: StreamSocket) throws {}

    /// Does nothing but say so in the log, once for each delegate, at `debug`.
    public func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        socket.noteUntakenBytes(of: self)
    }

    /// Lends the bytes to the delegate as those of any other read, and lets go of the buffer.
    public func socket(
        _ socket: StreamSocket,
        didRead buffer: consuming ReadBuffer,
        range: Range<Int>,
        tag: Int
    ) throws {
        try buffer.withBytes {
            try self.socket(socket, didRead: $0.extracting(range), tag: tag)
        }
    }

    /// Does nothing, and says so: the socket does not ask this delegate again.
    public func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        socket.noteDefault(.didWrite, of: self)
    }

    /// Does nothing, and says so: the socket does not tell this delegate again.
    public func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        socket.noteDefault(.didDisconnect, of: self)
    }

    /// Does nothing.
    public func socketPeerDidHangUp(_ socket: StreamSocket) throws {}

    /// Does nothing.
    public func socketDidCloseReadStream(_ socket: StreamSocket) throws {}

    /// Does nothing.
    public func socketDidBecomeWritable(_ socket: StreamSocket) throws {}

    /// Does nothing, and says so: the socket does not ask this delegate again.
    public func socket(
        _ socket: StreamSocket,
        didProgressRead tag: Int,
        _ progress: IOProgress
    ) throws {
        socket.noteDefault(.didProgressRead, of: self)
    }

    /// Does nothing, and says so: the socket does not ask this delegate again.
    public func socket(
        _ socket: StreamSocket,
        didProgressWrite tag: Int,
        _ progress: IOProgress
    ) throws {
        socket.noteDefault(.didProgressWrite, of: self)
    }

    /// Does nothing.
    public func socket(
        _ socket: StreamSocket,
        didCancelRead tag: Int,
        partialBytes: RawSpan
    ) throws {}

    /// Lends the bytes to the delegate as those of any other read, and lets go of the buffer.
    public func socket(
        _ socket: StreamSocket,
        didCancelRead tag: Int,
        buffer: consuming ReadBuffer,
        range: Range<Int>
    ) throws {
        try buffer.withBytes {
            try self.socket(socket, didCancelRead: tag, partialBytes: $0.extracting(range))
        }
    }

    /// Ends the connection.
    public func socket(
        _ socket: StreamSocket,
        shouldTimeOutRead tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision { .disconnect }

    /// Ends the connection.
    public func socket(
        _ socket: StreamSocket,
        shouldTimeOutWrite tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision { .disconnect }

    /// Does nothing.
    public func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) throws {}

    /// Disconnects when the writes are with the kernel, with ``SocketError/reactorStopped``.
    public func socketShouldFinish(_ socket: StreamSocket) {
        socket.finishForDrain()
    }
}

public import Towline

/// A delegate of sockets and listeners that writes down what it hears, for a test to look at.
///
/// What it is to do is a closure, called with each event of a socket but its farewell, before the
/// next one:
///
///     let recorder = Recorder()
///     recorder.onEvent = { socket, event in
///         if case .didRead(let bytes, _) = event { try socket.write(bytes) }
///     }
public final class Recorder: StreamSocketDelegate, StreamListenerDelegate {
    /// One callback, as a value.
    public enum Event: Sendable, Equatable {
        /// A listener accepted a connection.
        case didAccept
        /// Accepting pauses.
        case didFailToAccept(SocketError)
        /// A listener has ended.
        case didStop(SocketError?)
        /// A connection was established.
        case didConnect(SocketAddress)
        /// A read is complete.
        case didRead([UInt8], tag: Int)
        /// A write is complete.
        case didWrite(tag: Int)
        /// The peer has gone behind unread bytes.
        case peerDidHangUp
        /// The peer has ended, and writing goes on.
        case didCloseReadStream
        /// Fewer bytes wait than the low water mark.
        case didBecomeWritable
        /// A read ended alone.
        case didCancelRead(tag: Int, [UInt8])
        /// Nothing has moved for as long as the socket was set to bear.
        case didIdle(IdleDirection)
        /// A connection has ended.
        case didDisconnect(SocketError?)
    }

    /// What was heard, the oldest first.
    public private(set) var events: [Event] = []

    /// The reports of connections that have ended, the oldest first.
    public private(set) var reports: [DisconnectReport] = []

    /// The sockets that were accepted, the oldest first.
    public private(set) var accepted: [StreamSocket] = []

    /// What to do about an event of a socket; an error it throws ends that socket.
    public var onEvent: ((StreamSocket, Event) throws -> Void)?

    /// What happens to a read or write whose time is up.
    public var timeoutDecision = TimeoutDecision.disconnect

    /// A recorder that has heard nothing.
    public init() {}

    /// Forgets what was heard.
    public func removeAll() {
        events = []
        reports = []
        accepted = []
    }

    private func note(_ event: Event, of socket: StreamSocket) throws {
        events.append(event)
        try onEvent?(socket, event)
    }

    // MARK: Listeners

    /// Becomes the socket's delegate and writes the event down.
    public func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        accepted.append(socket)
        try note(.didAccept, of: socket)
    }

    /// Writes the event down.
    public func listener(_ listener: StreamListener, didFailToAccept error: SocketError) {
        events.append(.didFailToAccept(error))
    }

    /// Writes the event down.
    public func listener(_ listener: StreamListener, didStopWith error: SocketError?) {
        events.append(.didStop(error))
    }

    // MARK: Sockets

    /// Writes the event down.
    public func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        try note(.didConnect(address), of: socket)
    }

    /// Writes the event down.
    public func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try note(.didRead([UInt8](bytes), tag: tag), of: socket)
    }

    /// Writes the event down.
    public func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        try note(.didWrite(tag: tag), of: socket)
    }

    /// Writes the event and the report down.
    public func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        events.append(.didDisconnect(report.error))
        reports.append(report)
    }

    /// Writes the event down.
    public func socketPeerDidHangUp(_ socket: StreamSocket) throws {
        try note(.peerDidHangUp, of: socket)
    }

    /// Writes the event down.
    public func socketDidCloseReadStream(_ socket: StreamSocket) throws {
        try note(.didCloseReadStream, of: socket)
    }

    /// Writes the event down.
    public func socketDidBecomeWritable(_ socket: StreamSocket) throws {
        try note(.didBecomeWritable, of: socket)
    }

    /// Writes the event down.
    public func socket(
        _ socket: StreamSocket,
        didCancelRead tag: Int,
        partialBytes: RawSpan
    ) throws {
        try note(.didCancelRead(tag: tag, [UInt8](partialBytes)), of: socket)
    }

    /// Writes the event down.
    public func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) throws {
        try note(.didIdle(direction), of: socket)
    }

    /// Answers ``timeoutDecision``.
    public func socket(
        _ socket: StreamSocket,
        shouldTimeOutRead tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision { timeoutDecision }

    /// Answers ``timeoutDecision``.
    public func socket(
        _ socket: StreamSocket,
        shouldTimeOutWrite tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision { timeoutDecision }
}

public import Towline
public import TowlineHTTP

/// What is heard of a WebSocket, on the reactor's thread, never from within a call.
///
/// Every one that was opened ends with exactly one ``webSocket(_:didClose:)``. What a callback
/// throws closes it with number 1011, and is its error then.
public protocol WebSocketDelegate: AnyObject {
    /// The server has agreed; ``WebSocket/subprotocol`` says on what.
    func webSocketDidOpen(_ socket: WebSocket) throws

    /// A message is there, whole.
    func webSocket(_ socket: WebSocket, didReceive message: WebSocketMessage) throws

    /// A ping was answered.
    func webSocket(_ socket: WebSocket, didReceivePong payload: [UInt8]) throws

    /// It has ended.
    func webSocket(_ socket: WebSocket, didClose closure: WebSocketClosure)
}

extension WebSocketDelegate {
    /// Does nothing.
    public func webSocketDidOpen(_ socket: WebSocket) throws {}

    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didReceive message: WebSocketMessage) throws {}

    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didReceivePong payload: [UInt8]) throws {}

    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didClose closure: WebSocketClosure) {}
}

/// What goes to and fro.
public enum WebSocketMessage: Sendable, Hashable {
    /// A text.
    case text(String)
    /// Bytes.
    case binary([UInt8])
}

/// How a WebSocket ended.
public struct WebSocketClosure: Sendable {
    /// The number that the server gave; `nil`, none, or it said nothing at all.
    public internal(set) var code: UInt16?
    /// Why, in the server's words.
    public internal(set) var reason = ""
    /// Whether both sides said that they close.
    public internal(set) var isClean = false
    /// What went wrong; `nil`, nothing.
    public internal(set) var error: WebSocketError?
}

/// Why a WebSocket did not come about, or not go on.
@nonexhaustive
public enum WebSocketError: Error, Sendable {
    /// The exchange that was to open it failed.
    case exchange(HTTPError)
    /// The server answered, and did not change the protocol.
    case refused(HTTPResponseHead)
    /// The server changed the protocol, and not as it was asked to.
    case handshake(reason: String)
    /// The server's frames are none.
    case fault(WebSocketFault)
    /// The connection was lost.
    case connection(SocketError)
    /// No ping was answered in time.
    case unresponsive
    /// A callback threw.
    case handler(any Error)
}

/// How a WebSocket is opened and kept.
public struct WebSocketOptions: Sendable {
    /// Fields to send along.
    public var headers: HTTPHeaders = [:]
    /// Subprotocols that may be spoken, the most wanted first.
    public var subprotocols: [String] = []
    /// How large a message may be that is received, in bytes; 16 MiB.
    public var messageLimit = 16 * 1024 * 1024
    /// How often the server is asked whether it is there; `nil`, never.
    ///
    /// When nothing at all comes until the next time, the connection ends.
    public var pingInterval: Duration?
    /// How long the server has to close when it was told to; 5 s.
    public var closeTimeout = Duration.seconds(5)

    /// The usual ones.
    public init() {}
}

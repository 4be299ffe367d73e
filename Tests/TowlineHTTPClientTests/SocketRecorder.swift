import TowlineHTTPClient

/// Keeps what was heard of a WebSocket.
final class SocketRecorder: WebSocketDelegate {
    private(set) var events: [String] = []
    private(set) var closures: [WebSocketClosure] = []
    var onMessage: ((WebSocket, WebSocketMessage) throws -> Void)?

    func webSocketDidOpen(_ socket: WebSocket) {
        events.append("open \(socket.subprotocol ?? "-")")
    }

    func webSocket(_ socket: WebSocket, didReceive message: WebSocketMessage) throws {
        events.append("\(message)")
        try onMessage?(socket, message)
    }

    func webSocket(_ socket: WebSocket, didReceivePong payload: [UInt8]) {
        events.append("pong \(payload)")
    }

    func webSocket(_ socket: WebSocket, didClose closure: WebSocketClosure) {
        closures.append(closure)
    }
}

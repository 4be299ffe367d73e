public import Towline
internal import TowlineHTTP

/// A connection that carries messages both ways, opened by an exchange.
///
///     let socket = client.openWebSocket("wss://box.test/feed", delegate: self)
///
/// Lives on the client's reactor and is used from its thread; it holds itself until it has ended.
///
/// Source: RFC 6455.
public final class WebSocket {
    /// Where one is.
    public enum State: Sendable {
        /// The server has not agreed yet.
        case connecting
        /// Messages go to and fro.
        case open
        /// One side has said that it closes.
        case closing
        /// It has ended.
        case closed
    }

    /// Where it is.
    public private(set) var state = State.connecting

    /// What the server has chosen to speak; `nil`, nothing in particular.
    public private(set) var subprotocol: String?

    /// For whatever the caller wants to remember of it.
    public var userInfo: Any?

    private weak var delegate: (any WebSocketDelegate)?
    private let reactor: Reactor
    private let options: WebSocketOptions
    private let key = WebSocketKey.random()
    private var exchange: HTTPExchange?
    private var socket: StreamSocket?
    private var decoder: WebSocketDecoder
    private var closure = WebSocketClosure()
    private var hasSentClose = false
    private var hasReceivedClose = false
    private var isSuspended = false
    private var awaitsAnswer = false
    private var pingTimer: Reactor.Timer?
    private var closeTimer: Reactor.Timer?

    init(_ reactor: Reactor, _ options: WebSocketOptions, _ delegate: any WebSocketDelegate) {
        self.reactor = reactor
        self.options = options
        self.delegate = delegate
        decoder = WebSocketDecoder(limit: options.messageLimit)
    }

    func open(_ url: String, on client: HTTPClient) {
        var request = HTTPRequest(.get, Self.requestURL(url), headers: options.headers)
        request.headers["Sec-WebSocket-Version"] = "13"
        request.headers["Sec-WebSocket-Key"] = key
        if !options.subprotocols.isEmpty {
            request.headers["Sec-WebSocket-Protocol"] = options.subprotocols.joined(separator: ", ")
        }
        request.upgrade = ["websocket"]
        request.decodesContent = false
        exchange = client.start(request, keeping: self)
    }

    /// The URL that is asked for a WebSocket's: ws is http, and wss is https.
    private static func requestURL(_ url: String) -> String {
        let scheme = url.prefix { $0 != ":" }
        switch scheme.lowercased() {
        case "ws": return "http" + url.dropFirst(2)
        case "wss": return "https" + url.dropFirst(3)
        default: return url
        }
    }

    // MARK: What the caller does

    /// How many bytes wait to be sent.
    public var unsentByteCount: Int { socket?.pendingWriteBytes ?? 0 }

    /// Sends a text; does nothing unless it is open.
    public func send(_ text: String) {
        if state == .open { write(.text, Array(text.utf8)) }
    }

    /// Sends bytes; does nothing unless it is open.
    public func send(_ bytes: [UInt8]) {
        if state == .open { write(.binary, bytes) }
    }

    /// Asks whether the server is there; does nothing unless it is open.
    ///
    /// - Parameter payload: What the answer brings back; the first 125 bytes.
    public func ping(_ payload: [UInt8] = []) {
        if state == .open { write(.ping, Array(payload.prefix(125))) }
    }

    /// Closes it, in order; `didClose` comes when the server has closed, too, or its time is over.
    ///
    /// - Parameters:
    ///   - code: Why, as a number: 1000, or 3000 through 4999; others are sent as 1000.
    ///   - reason: Why, in words; as much of it as fits into 123 bytes.
    public func close(_ code: UInt16 = 1_000, reason: String = "") {
        switch state {
        case .connecting: exchange?.cancel()
        case .open:
            let isSendable = code == 1_000 || (3_000...4_999).contains(code)
            sendClose(isSendable ? code : WebSocketCloseCode.normal, reason)
        case .closing, .closed: break
        }
    }

    /// Lets no message come until ``resume()``; the server has to wait when its window is full.
    public func suspend() {
        isSuspended = true
    }

    /// Lets messages come again.
    public func resume() {
        guard isSuspended else { return }
        isSuspended = false
        readOn()
    }

    // MARK: Out

    private func write(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        let frame = WebSocketEncoder.frame(opcode, payload, mask: .random(in: .min ... .max))
        do throws(SocketError) {
            try socket?.write(frame)
        } catch {
            // It is ending; its farewell comes.
        }
    }

    private func sendClose(_ code: UInt16?, _ reason: String) {
        guard !hasSentClose else { return }
        hasSentClose = true
        state = .closing
        pingTimer?.cancel()
        write(.close, WebSocketEncoder.closePayload(code, reason))
        closeTimer = reactor.schedule(after: options.closeTimeout) { [weak self] in
            self?.socket?.disconnect()
        }
    }

    /// Ends it for a reason, of which the server is told the number.
    private func fail(_ error: WebSocketError, _ code: UInt16) {
        if closure.error == nil { closure.error = error }
        sendClose(code, "")
        // Nothing that it says counts any more.
        socket?.disconnect(.afterWrites)
    }

    // MARK: In

    private func readOn() {
        guard let socket, !isSuspended, socket.currentRead == nil else { return }
        do throws(SocketError) {
            try socket.read(maxLength: 64 * 1024)
        } catch {
            // It is ending; its farewell comes.
        }
    }

    private func receive(_ bytes: RawSpan) {
        awaitsAnswer = false
        var offset = 0
        while closure.error == nil, !hasReceivedClose, let socket, state != .closed {
            if isSuspended {
                do throws(SocketError) {
                    if offset < bytes.byteCount { try socket.unread(bytes.extracting(offset...)) }
                } catch {
                    // It is ending; its farewell comes.
                }
                return
            }
            do throws(WebSocketFault) {
                guard let event = try decoder.next(in: bytes, from: &offset) else { return }
                handle(event, on: socket)
            } catch {
                fail(.fault(error), error.closeCode)
            }
        }
    }

    private func handle(_ event: WebSocketDecoder.Event, on socket: StreamSocket) {
        switch event {
        case .text(let text): tell { try $0.webSocket(self, didReceive: .text(text)) }
        case .binary(let bytes): tell { try $0.webSocket(self, didReceive: .binary(bytes)) }
        case .pong(let payload): tell { try $0.webSocket(self, didReceivePong: payload) }
        case .ping(let payload):
            // A server that takes no answers need not be given any.
            if state == .open, socket.pendingWriteBytes < 64 * 1024 { write(.pong, payload) }
        case .close(let code, let reason):
            hasReceivedClose = true
            closure.code = code
            closure.reason = reason
            closure.isClean = true
            sendClose(code, "")
            state = .closing
        }
    }

    private func tell(_ call: (any WebSocketDelegate) throws -> Void) {
        guard let delegate else { return close() }
        do {
            try call(delegate)
        } catch {
            fail(.handler(error), 1_011)
        }
    }

    private func beginPings() {
        guard let interval = options.pingInterval else { return }
        pingTimer = reactor.schedule(every: interval) { [weak self] in
            guard let self, state == .open, !isSuspended else { return }
            if awaitsAnswer {
                closure.error = .unresponsive
                socket?.abort()
            } else {
                awaitsAnswer = true
                ping()
            }
        }
    }

    private func end() {
        guard state != .closed else { return }
        state = .closed
        pingTimer?.cancel()
        closeTimer?.cancel()
        socket = nil
        exchange = nil
        delegate?.webSocket(self, didClose: closure)
    }
}

// MARK: The exchange that opens it

extension WebSocket: HTTPExchangeDelegate {
    /// Checks what the server has agreed on.
    public func exchange(
        _ exchange: HTTPExchange,
        didReceiveResponse response: HTTPResponse
    ) throws {
        guard response.status == 101 else { throw WebSocketError.refused(response.head) }
        let headers = response.headers
        guard headers.elements(of: "Upgrade").contains(where: { $0.lowercased() == "websocket" })
        else { throw WebSocketError.handshake(reason: "it changes to something else") }
        let wanted = try WebSocketKey.acceptance(of: key)
        guard headers.values(of: "Sec-WebSocket-Accept") == [wanted] else {
            throw WebSocketError.handshake(reason: "its answer does not fit the key")
        }
        guard headers.elements(of: "Sec-WebSocket-Extensions").isEmpty else {
            throw WebSocketError.handshake(reason: "it uses extensions that nobody asked for")
        }
        let chosen = headers.elements(of: "Sec-WebSocket-Protocol")
        guard chosen.count <= 1, chosen.allSatisfy(options.subprotocols.contains) else {
            throw WebSocketError.handshake(reason: "it speaks a subprotocol nobody asked for")
        }
        subprotocol = chosen.first
    }

    /// Takes the connection over.
    public func exchange(
        _ exchange: HTTPExchange,
        didUpgrade socket: StreamSocket,
        leftover: RawSpan
    ) throws {
        self.exchange = nil
        self.socket = socket
        socket.keep(self)
        state = .open
        beginPings()
        tell { try $0.webSocketDidOpen(self) }
        receive(leftover)
        readOn()
    }

    /// Does nothing: one that finishes was refused before.
    public func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        end()
    }

    /// It did not come about.
    public func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        if case .handler(let reason) = error, let reason = reason as? WebSocketError {
            closure.error = reason
        } else {
            closure.error = .exchange(error)
        }
        end()
    }
}

// MARK: The connection

extension WebSocket: StreamSocketDelegate {
    /// Takes frames.
    public func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        receive(bytes)
        readOn()
    }

    /// The connection has ended.
    public func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        if !closure.isClean, closure.error == nil, !hasSentClose {
            closure.error = .connection(report.error ?? .closedByPeer)
        }
        end()
    }
}

extension HTTPClient {
    /// Opens a WebSocket; every callback comes later.
    ///
    /// - Parameters:
    ///   - url: Where to: a URL of ws or wss, or of http or https.
    ///   - options: How.
    ///   - delegate: Who hears of it, held weakly: when it goes away, the connection is closed.
    /// - Returns: The WebSocket, which holds itself until it has ended.
    @discardableResult
    public func openWebSocket(
        _ url: String,
        options: WebSocketOptions = .init(),
        delegate: any WebSocketDelegate
    ) -> WebSocket {
        let socket = WebSocket(reactor, options, delegate)
        socket.open(url, on: self)
        return socket
    }
}

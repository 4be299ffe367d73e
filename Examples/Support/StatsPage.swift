internal import Towline

/// Answers HTTP on this machine with the figures of a reactor, and of the program that it runs.
///
/// `/metrics` is the text exposition format, `/stats` JSON, `/health` one word. Each connection is
/// one request and its answer, HTTP/1.0. Asking is a connection itself, and so counts as one.
final class StatsPage: StreamListenerDelegate, StreamSocketDelegate {
    /// Who asks at the same time; more are turned away.
    private static let askerLimit = 16
    private static let requestByteLimit = 8_192

    private let reactor: Reactor
    private let address: SocketAddress
    private let pulse: Pulse?
    private lazy var listener = StreamListener(reactor: reactor, delegate: self)
    private var figures: () -> KeyValuePairs<String, Int> = { [:] }
    private var askerCount = 0

    init(_ reactor: Reactor, at address: SocketAddress, pulse: Pulse?) {
        self.reactor = reactor
        self.address = address
        self.pulse = pulse
    }

    /// An address that only this machine can reach; `nil` for any other.
    static func address(of text: String) -> SocketAddress? {
        guard let address = SocketAddress(text) else { return nil }
        switch address {
        case .unix: return address
        case .ipv4(let host, _): return host.rawValue >> 24 == 127 ? address : nil
        case .ipv6(let host, _, _): return host == .loopback ? address : nil
        }
    }

    var localAddress: SocketAddress? { listener.localAddress }

    /// Listens.
    ///
    /// - Parameter figures: What the program itself has to tell.
    /// - Throws: What listening does.
    func listen(figures: @escaping () -> KeyValuePairs<String, Int>) throws {
        self.figures = figures
        if case .unix(let path) = address, path.path != nil {
            // Nobody else's business on a machine with several users.
            try listener.listen(onUnixPath: path.description, permissions: 0o600)
        } else {
            try listener.listen(on: address)
        }
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        // Without a delegate it is closed.
        guard askerCount < Self.askerLimit else { return }
        askerCount += 1
        socket.delegate = self
        let end = Delimiter("\r\n\r\n")
        try socket.read(to: end, maxLength: Self.requestByteLimit, timeout: .seconds(5))
    }

    func socket(_ socket: StreamSocket, didRead head: RawSpan, tag: Int) throws {
        let words = String(decoding: head).prefix { $0 != "\r\n" }.split(separator: " ")
        try socket.write(answer(to: words))
        socket.disconnect(.afterWrites)
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        askerCount -= 1
    }

    private func answer(to words: [Substring]) -> String {
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
            return Self.answer("400 Bad Request", "text/plain", "no request\n")
        }
        guard words[0] == "GET" else {
            return Self.answer("405 Method Not Allowed", "text/plain", "only GET\n")
        }
        switch words[1] {
        case "/metrics":
            let text = all().map(\.exposition).joined()
            return Self.answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", text)
        case "/stats":
            let text = all().map(\.member).joined(separator: ",\n  ")
            return Self.answer("200 OK", "application/json", "{\n  \(text)\n}\n")
        case "/health":
            return Self.answer("200 OK", "text/plain", "ok\n")
        default:
            return Self.answer("404 Not Found", "text/plain", "/metrics, /stats or /health\n")
        }
    }

    private func all() -> [StatsFigure] {
        var all = StatsFigure.all(of: reactor.figures) + figures().map(StatsFigure.init)
        if let pulse { all += pulse.takeFigures() }
        return all
    }

    private static func answer(_ status: String, _ type: String, _ body: String) -> String {
        """
        HTTP/1.0 \(status)\r
        Content-Type: \(type)\r
        Content-Length: \(body.utf8.count)\r
        Connection: close\r
        \r
        \(body)
        """
    }
}

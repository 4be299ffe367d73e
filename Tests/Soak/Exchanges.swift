import Glibc
import TestSupport
import Towline
import TowlineHTTP
import TowlineHTTPClient

/// Exchanges of which every other one fails, each in one of many ways: each ends once, and nothing
/// is left of any.
enum Exchanges {
    private static let warmUpCount = 500

    static func run(_ plan: Plan) throws -> CInt {
        let reactor = try Reactor(Reactor.Configuration(backend: .epoll))
        let server = try OddServer(reactor)
        let load = ExchangeLoad(reactor, server.port)
        try load.run(min(plan.exchanges, warmUpCount))
        let before = Belongings()
        let timers = reactor.figures.timers
        try load.run(plan.exchanges)
        let after = Belongings()
        print("\(plan.exchanges) exchanges; \(before) -> \(after)")
        var complaints = load.complaints + after.complaints(since: before)
        if reactor.figures.timers != timers { complaints.append("timers are left") }
        if load.openSockets != 0 { complaints.append("\(load.openSockets) sockets are left") }
        server.stop()
        reactor.stop()
        try reactor.run()
        complaints.prefix(20).forEach { print("soak: \($0)") }
        return complaints.isEmpty ? 0 : 1
    }
}

/// What a server does with a request, by the last part of its path.
private enum Oddity: String, CaseIterable {
    case fine, coded, chunked
    case cut, reset, silent, nonsense, halfHead, tooLong, loop, badCoding, unasked

    var answer: String {
        switch self {
        case .fine: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
        case .coded: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: identity\r\n\r\nabc"
        case .chunked: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        case .cut: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"
        case .reset, .silent: ""
        case .nonsense: "SSH-2.0-OpenSSH_9.2\r\n"
        case .halfHead: "HTTP/1.1 200 OK\r\nContent-Le"
        case .tooLong: "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 70_000)
        case .loop: "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n"
        case .badCoding:
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone"
        case .unasked: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
        }
    }

    /// Whether the connection ends behind the answer.
    var ends: Bool { [.cut, .reset, .halfHead].contains(self) }

    var fails: Bool { ![.fine, .coded, .chunked].contains(self) }
}

/// Answers as the path of the request asks.
private final class OddServer: StreamListenerDelegate, StreamSocketDelegate {
    private var listener: StreamListener?

    init(_ reactor: Reactor) throws {
        let listener = StreamListener(reactor: reactor, delegate: self)
        self.listener = listener
        try listener.listen(on: .ipv4(.loopback, port: 0))
    }

    var port: UInt16 { listener?.localAddress?.port ?? 0 }

    func stop() {
        listener?.stop()
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        try socket.read(to: .init("\r\n\r\n"), maxLength: 16_384)
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        let path = String(decoding: bytes).split(separator: " ").dropFirst().first ?? ""
        let oddity = Oddity(rawValue: String(path.dropFirst())) ?? .fine
        if !oddity.answer.isEmpty { try socket.write(oddity.answer) }
        guard !oddity.ends else {
            if oddity == .reset { socket.abort() } else { socket.disconnect(.afterWrites) }
            return
        }
        try socket.read(to: .init("\r\n\r\n"), maxLength: 16_384)
    }
}

/// Sends requests, some at a time, and counts how they end.
private final class ExchangeLoad: HTTPExchangeDelegate {
    private static let atOnce = 20

    private let reactor: Reactor
    private let client: HTTPClient
    private let port: UInt16
    private var started = 0
    private var ended = 0
    private var limit = 0
    private(set) var complaints: [String] = []
    private(set) var openSockets = 0

    init(_ reactor: Reactor, _ port: UInt16) {
        self.reactor = reactor
        self.port = port
        client = HTTPClient(reactor: reactor)
    }

    func run(_ count: Int) throws {
        (started, ended, limit) = (0, 0, count)
        for _ in 0..<min(Self.atOnce, count) { next() }
        let deadline = ContinuousClock.now + .seconds(120)
        while ended < count {
            guard ContinuousClock.now < deadline else {
                complaints.append("something hangs: \(ended) of \(count) have ended")
                return
            }
            try reactor.turn(waitingAtMost: .seconds(1))
        }
        client.closeIdleConnections()
        // Farewells on both sides.
        for _ in 0..<100 where reactor.figures.openSockets > 1 {
            try reactor.turn(waitingAtMost: .milliseconds(50))
        }
        // The listener is one of them.
        openSockets = reactor.figures.openSockets - 1
        if client.exchangeCount != 0 { complaints.append("\(client.exchangeCount) are left") }
    }

    private func next() {
        guard started < limit else { return }
        started += 1
        let oddities = Oddity.allCases
        let failing = oddities.filter(\.fails)
        let fine = oddities.filter { !$0.fails }
        let half = started / 2
        let oddity = started % 2 == 0 ? failing[half % failing.count] : fine[half % fine.count]
        var request = HTTPRequest(.get, "http://127.0.0.1:\(port)/\(oddity.rawValue)")
        if oddity == .silent {
            request.timeouts = HTTPTimeouts()
            request.timeouts?.firstByte = .milliseconds(20)
        }
        let exchange = client.start(request, delegate: self)
        exchange.userInfo = oddity
        // Some are taken back, at once or when they are under way.
        if started % 50 == 0 { exchange.cancel() }
    }

    private func note(_ exchange: HTTPExchange, _ error: HTTPError?) {
        guard let oddity = exchange.userInfo as? Oddity else {
            complaints.append("one ended twice")
            return
        }
        exchange.userInfo = nil
        if oddity.fails != (error != nil) {
            complaints.append("\(oddity) ended with \(error.map { "\($0)" } ?? "success")")
        }
        ended += 1
        next()
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        note(exchange, nil)
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        if case .cancelled = error { exchange.userInfo = Oddity.cut }
        note(exchange, error)
    }
}

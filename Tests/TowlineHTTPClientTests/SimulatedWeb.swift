import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

/// A client on a simulated network, and servers that answer by script.
final class SimulatedWeb {
    /// A request as a server saw it.
    struct Seen {
        let connection: Int
        let head: String
        let body: String

        /// Method, target and version.
        var line: String { String(head.prefix { $0 != "\r\n" }) }
    }

    let network: SimulatedNetwork
    let reactor: Reactor
    let client: HTTPClient
    private(set) var seen: [Seen] = []
    /// Every connection that was accepted, in order.
    private(set) var peers: [SimulatedPeer] = []
    private var servers: [SimulatedServer] = []

    init(
        _ network: SimulatedNetwork = SimulatedNetwork(seed: 1),
        configuration: HTTPClient.Configuration = .init()
    ) throws {
        self.network = network
        reactor = try network.makeReactor()
        client = HTTPClient(reactor: reactor, configuration: configuration)
    }

    /// Serves a port of this host; `answer` is called once for each whole request.
    func serve(
        port: UInt16 = 80,
        at address: IPv4Address = .loopback,
        _ answer: @escaping (SimulatedPeer, Seen) -> Void
    ) throws {
        let server = network.listen(at: .ipv4(address, port: port)) { [unowned self] peer in
            peers.append(peer)
            let connection = peers.count
            var taken = 0
            peer.whenNewsComes = { [unowned self] peer in
                while let (request, count) = Self.request(peer.received[taken...], connection) {
                    taken += count
                    seen.append(request)
                    answer(peer, request)
                }
            }
        }
        servers.append(try #require(server))
    }

    /// The request at the beginning of what came, if it is whole.
    private static func request(_ bytes: ArraySlice<UInt8>, _ connection: Int) -> (Seen, Int)? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let head = String(text[..<end.upperBound])
        let lines = head.lowercased().split(separator: "\r\n")
        let length = lines.first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
        let rest = text[end.upperBound...]
        var count = length ?? 0
        if lines.contains("transfer-encoding: chunked") {
            guard let last = rest.range(of: "0\r\n\r\n") else { return nil }
            count = rest[..<last.upperBound].utf8.count
        }
        let waits = lines.contains { $0.hasPrefix("expect:") } && rest.isEmpty
        guard rest.utf8.count >= count || waits else { return nil }
        if waits { count = 0 }
        let body = String(decoding: Array(rest.utf8.prefix(count)), as: UTF8.self)
        return (Seen(connection: connection, head: head, body: body), head.utf8.count + count)
    }

    /// Turns until a condition holds, a bounded number of times.
    func turn(
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) throws {
        for _ in 0..<20_000 {
            if condition() { return }
            try reactor.turn(waitingAtMost: .seconds(400))
        }
        Issue.record("it never came", sourceLocation: sourceLocation)
    }

    /// Sends a request and turns until its end.
    @discardableResult
    func send(
        _ request: HTTPRequest,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ExchangeRecorder {
        let recorder = ExchangeRecorder()
        client.start(request, delegate: recorder)
        try turn(sourceLocation: sourceLocation) { recorder.hasEnded }
        return recorder
    }

    /// Lets time pass.
    func pass(_ time: Duration) throws {
        var isOver = false
        reactor.schedule(after: time) { isOver = true }
        try turn { isOver }
    }

    /// Ends the reactor, and looks whether anything is left behind.
    func end(sourceLocation: SourceLocation = #_sourceLocation) throws {
        client.closeIdleConnections()
        try turn(sourceLocation: sourceLocation) { self.reactor.figures.openSockets == 0 }
        #expect(client.connectionCounts.all == 0, sourceLocation: sourceLocation)
        #expect(client.exchangeCount == 0, sourceLocation: sourceLocation)
        #expect(reactor.figures.timers == 0, sourceLocation: sourceLocation)
        reactor.stop()
        try reactor.run()
        // Scripts may know the web that they are part of.
        servers = []
        for peer in peers { peer.whenNewsComes = nil }
    }
}

extension StringProtocol {
    /// Where another text begins and ends first, byte by byte.
    fileprivate func range(of other: String) -> Range<String.Index>? {
        let pattern = Array(other.utf8)
        var index = startIndex
        while index < endIndex {
            if utf8[index...].starts(with: pattern) {
                return index..<utf8.index(index, offsetBy: pattern.count)
            }
            index = utf8.index(after: index)
        }
        return nil
    }
}

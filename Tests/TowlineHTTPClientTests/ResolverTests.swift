import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

/// Answers by script, on whichever thread calls, as often as told.
private final class ScriptedResolver: ForgetfulResolver {
    typealias Reply = @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void

    var answer: (String, @escaping Reply) -> Void
    private(set) var asked: [String] = []
    private(set) var forgotten: [String] = []

    init(_ answer: @escaping (String, @escaping Reply) -> Void) {
        self.answer = answer
    }

    func resolve(_ host: String, port: UInt16, reply: @escaping Reply) {
        asked.append(host)
        answer(host, reply)
    }

    func forget(_ host: String) {
        forgotten.append(host)
    }
}

@Suite("Resolvers") struct ResolverTests {
    private static let here = IPAddress.ipv4(.loopback)
    private static let there = IPAddress.ipv4(IPv4Address(rawValue: 0x7F00_0002))

    private static func found(
        _ addresses: [IPAddress],
        for time: Duration? = nil
    ) -> Result<ResolvedAddresses, ResolverError> {
        let addresses = addresses.map { SocketAddress($0, port: 9) }
        return .success(ResolvedAddresses(addresses: addresses, timeToLive: time))
    }

    /// What a resolver answers, in the order in which it comes.
    private final class Answers: @unchecked Sendable {
        var all: [Result<ResolvedAddresses, ResolverError>] = []
        var last: Result<ResolvedAddresses, ResolverError>? { all.last }
    }

    @Test("A table knows its names in any case, with and without a dot, and no others")
    func table() {
        let resolver = FixedResolver(["Box.test": [Self.here], "box.test.": [Self.there]])
        let answers = Answers()
        for name in ["box.test", "BOX.TEST.", "other.test"] {
            resolver.resolve(name, port: 80) { answers.all.append($0) }
        }
        let both = [SocketAddress(Self.here, port: 80), SocketAddress(Self.there, port: 80)]
        #expect(answers.all[2] == .failure(.noSuchHost))
        for answer in answers.all[..<2] {
            guard case .success(let found) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(Set(found.addresses) == Set(both))
        }
    }

    @Test("A chain asks one after the other; answers hold for their time, failures for a second")
    func chain() throws {
        let web = try SimulatedWeb()
        let first = ScriptedResolver { name, reply in
            reply(name == "a.test" ? Self.found([Self.here], for: .seconds(30)) : Self.found([]))
        }
        let second = ScriptedResolver { name, reply in
            reply(name == "b.test" ? Self.found([Self.there]) : .failure(.temporaryFailure))
        }
        let chain = ResolverChain(reactor: web.reactor, [first, second])
        let answers = Answers()
        func ask(_ name: String, _ port: UInt16 = 80) throws {
            let count = answers.all.count
            chain.resolve(name, port: port) { answers.all.append($0) }
            try web.turn { answers.all.count > count }
        }
        try ask("A.test")
        #expect(answers.last?.addresses == [SocketAddress(Self.here, port: 80)])
        try ask("b.test")
        #expect(answers.last?.addresses == [SocketAddress(Self.there, port: 80)])
        try ask("c.test")
        #expect(answers.last == .failure(.temporaryFailure))
        try ask("a.test", 443)
        #expect(answers.last?.addresses == [SocketAddress(Self.here, port: 443)])
        try ask("c.test")
        #expect(first.asked == ["a.test", "b.test", "c.test"])
        try web.pass(.seconds(2))
        try ask("c.test")
        #expect(first.asked.count == 4, "a failure is forgotten soon")
        try web.pass(.seconds(29))
        try ask("a.test")
        #expect(first.asked.count == 5, "its time has passed")
        chain.forget("a.test")
        #expect(first.forgotten == ["a.test"] && second.forgotten == ["a.test"])
        try ask("a.test")
        #expect(first.asked.count == 6)
        try web.end()
    }

    @Test(
        "One in a chain that never answers is passed over, and one that answers twice, heard once"
    )
    func silence() throws {
        let web = try SimulatedWeb()
        var late: ScriptedResolver.Reply?
        let first = ScriptedResolver { _, reply in late = reply }
        let second = ScriptedResolver { _, reply in
            for _ in 0..<2 { reply(Self.found([Self.there])) }
        }
        let chain = ResolverChain(reactor: web.reactor, [first, second])
        let answers = Answers()
        for _ in 0..<3 { chain.resolve("a.test", port: 80) { answers.all.append($0) } }
        try web.turn { answers.all.count == 3 }
        #expect(first.asked.count == 1, "equal lookups are one")
        late?(Self.found([Self.here]))
        late?(.failure(.noSuchHost))
        try web.reactor.turn(waitingAtMost: .zero)
        try web.reactor.turn(waitingAtMost: .zero)
        #expect(answers.all.allSatisfy { $0.addresses == [SocketAddress(Self.there, port: 80)] })
        #expect(answers.all.count == 3)
        try web.end()
    }

    @Test("Answers of a client's resolver may come twice, late, from another thread, or never")
    func threads() throws {
        var replies: [ScriptedResolver.Reply] = []
        // One thread uses it.
        nonisolated(unsafe) let resolver = ScriptedResolver { _, reply in replies.append(reply) }
        var configuration = HTTPClient.Configuration()
        configuration.makeResolver = { _ in resolver }
        let web = try SimulatedWeb(configuration: configuration)
        try web.serve { peer, _ in peer.send("HTTP/1.1 204 No Content\r\n\r\n") }
        let served = ExchangeRecorder()
        web.client.start(HTTPRequest(.get, "http://a.test/"), delegate: served)
        try web.reactor.turn(waitingAtMost: .zero)
        let reply = try #require(replies.first)
        let thread = BackgroundWork {
            for _ in 0..<2 { reply(Self.found([Self.here])) }
        }
        try thread.value()
        try web.turn { served.hasEnded }
        #expect(served.outcome == "204")

        let cancelled = ExchangeRecorder()
        let exchange = web.client.start(HTTPRequest(.get, "http://b.test/"), delegate: cancelled)
        try web.reactor.turn(waitingAtMost: .zero)
        exchange.cancel()
        try web.turn { cancelled.hasEnded }
        replies[1](Self.found([Self.here]))
        try web.reactor.turn(waitingAtMost: .zero)
        try web.reactor.turn(waitingAtMost: .zero)
        #expect(cancelled.endCount == 1)
        #expect(web.peers.count == 1, "an answer behind a cancel leads to nothing")

        let never = try web.send(HTTPRequest(.get, "http://c.test/"))
        guard case .timeout(.connect) = never.error else {
            Issue.record("\(never.outcome)")
            return
        }
        try web.end()
    }

    @Test(
        "A name whose addresses took no connection is forgotten; one that was refused by TLS, not"
    )
    func forgetting() throws {
        // One thread uses it.
        nonisolated(unsafe) let resolver = ScriptedResolver { _, reply in
            reply(Self.found([Self.there, Self.here]))
        }
        var configuration = HTTPClient.Configuration()
        configuration.makeResolver = { _ in resolver }
        let web = try SimulatedWeb(configuration: configuration)
        try web.serve { peer, _ in peer.send("HTTP/1.1 204 No Content\r\n\r\n") }
        let refused = try web.send(HTTPRequest(.get, "http://a.test:81/"))
        guard case .connect("a.test", _, let attempts) = refused.error else {
            Issue.record("\(refused.outcome)")
            return
        }
        #expect(
            Set(attempts.map(\.address)) == [
                SocketAddress(Self.here, port: 81), SocketAddress(Self.there, port: 81),
            ]
        )
        #expect(resolver.forgotten == ["a.test"])
        #expect(try web.send(HTTPRequest(.get, "http://a.test/")).outcome == "204")
        #expect(resolver.forgotten == ["a.test"])
        try web.end()
    }
}

extension Result<ResolvedAddresses, ResolverError> {
    fileprivate var addresses: [SocketAddress]? {
        if case .success(let found) = self { found.addresses } else { nil }
    }
}

import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Names looked up over HTTP") struct HTTPLookupTests {
    /// A web with a lookup service on port 8053, and a client that asks it.
    private func web(
        fallback: Bool = false,
        _ answer: @escaping (SimulatedPeer, String) -> Void
    ) throws -> SimulatedWeb {
        var configuration = HTTPClient.Configuration()
        configuration.makeResolver = { reactor in
            let resolver = try? HTTPLookupResolver(
                reactor: reactor,
                service: "http://127.0.0.1:8053/d?host=%s&x=1",
                fallback: fallback ? reactor.resolver : nil
            )
            return resolver ?? reactor.resolver
        }
        let web = try SimulatedWeb(configuration: configuration)
        try web.serve(port: 8053) { peer, seen in answer(peer, seen.line) }
        try web.serve { peer, seen in
            let isFirst = seen.line.contains("/first")
            peer.send(
                isFirst
                    ? "HTTP/1.1 302 Found\r\nLocation: http://b.test/\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            )
        }
        return web
    }

    private static func reply(_ peer: SimulatedPeer, _ text: String, status: Int = 200) {
        peer.send("HTTP/1.1 \(status) So\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }

    private func lookups(_ web: SimulatedWeb) -> [String] {
        web.seen.map(\.line).filter { $0.contains("/d?") }
    }

    @Test("Each hop's name is asked for, once while its answer holds, and kept in what is sent")
    func hops() throws {
        let web = try web { peer, _ in Self.reply(peer, "127.0.0.1,20") }
        let recorder = try web.send(HTTPRequest(.get, "http://a.test/first"))
        #expect(recorder.outcome == "200")
        #expect(
            lookups(web) == [
                "GET /d?host=a.test&x=1 HTTP/1.1", "GET /d?host=b.test&x=1 HTTP/1.1",
            ]
        )
        #expect(web.seen.last?.head.contains("\r\nHost: b.test\r\n") == true)
        #expect(web.network.names.lookups == [], "nothing is looked up by name")
        web.client.closeIdleConnections()
        #expect(try web.send(HTTPRequest(.get, "http://a.test:80/x")).outcome == "200")
        #expect(lookups(web).count == 2)
        try web.pass(.seconds(21))
        web.client.closeIdleConnections()
        #expect(try web.send(HTTPRequest(.get, "http://a.test/x")).outcome == "200")
        #expect(lookups(web).count == 3)
        try web.end()
    }

    @Test("Equal lookups are one, and names are encoded in the question")
    func joined() throws {
        let web = try web { peer, _ in Self.reply(peer, #"{"ips":["127.0.0.1"],"ttl":9}"#) }
        let recorders = (0..<5).map { number in
            let recorder = ExchangeRecorder()
            let request = HTTPRequest(.get, "http://a&x=y.test/\(number)")
            web.client.start(request, delegate: recorder)
            return recorder
        }
        try web.turn { recorders.allSatisfy(\.hasEnded) }
        #expect(recorders.allSatisfy { $0.outcome == "200" })
        #expect(lookups(web) == ["GET /d?host=a%26x%3Dy.test&x=1 HTTP/1.1"])
        try web.end()
    }

    @Test(
        "A service that fails is told of, or asked around where the program allows it",
        arguments: [
            "500", "302", "junk", "reset", "silence", "endless", "bare",
        ]
    )
    func failures(kind: String) throws {
        for hasFallback in [false, true] {
            let web = try web(fallback: hasFallback) { peer, _ in
                switch kind {
                case "500": Self.reply(peer, "127.0.0.1", status: 500)
                case "302":
                    peer.send("HTTP/1.1 302 Found\r\nLocation: /d?host=c\r\n")
                    peer.send("Content-Length: 0\r\n\r\n")
                case "junk": Self.reply(peer, "<html>")
                case "reset": peer.reset()
                case "endless":
                    peer.send("HTTP/1.1 200 OK\r\n\r\n")
                    peer.send([UInt8](repeating: 0x20, count: 200_000))
                case "bare": peer.send("\u{0}\u{1}")
                default: break
                }
            }
            web.network.names["a.test"] = [.ipv4(.loopback)]
            let recorder = try web.send(HTTPRequest(.get, "http://a.test/"))
            if hasFallback {
                #expect(recorder.outcome == "200")
                #expect(web.network.names.lookups == ["a.test"])
            } else {
                guard case .resolve("a.test", .other(let reason)) = recorder.error else {
                    Issue.record("\(recorder.outcome)")
                    continue
                }
                #expect(reason.hasPrefix("the lookup service failed: "))
                #expect(web.network.names.lookups == [])
            }
            try web.end()
        }
    }

    @Test(
        "That a name has no address, or that nobody has it, is an answer, and nobody else is asked"
    )
    func nothing() throws {
        let web = try web(fallback: true) { peer, line in
            Self.reply(peer, line.contains("a.test") ? "" : #"{"Status":3}"#)
        }
        for (name, reason) in [("a.test", ResolverError.noAddress), ("b.test", .noSuchHost)] {
            let recorder = try web.send(HTTPRequest(.get, "http://\(name)/"))
            guard case .resolve(name, reason) = recorder.error else {
                Issue.record("\(recorder.outcome)")
                continue
            }
        }
        #expect(web.network.names.lookups == [])
        try web.end()
    }

    @Test("A lookup that is answered behind a cancel leads nowhere")
    func cancelled() throws {
        let web = try web { peer, _ in }
        let recorder = ExchangeRecorder()
        let exchange = web.client.start(HTTPRequest(.get, "http://a.test/"), delegate: recorder)
        try web.turn { !lookups(web).isEmpty }
        exchange.cancel()
        try web.turn { recorder.hasEnded }
        Self.reply(web.peers[0], "127.0.0.1")
        for _ in 0..<5 { try web.reactor.turn(waitingAtMost: .seconds(1)) }
        #expect(recorder.endCount == 1)
        #expect(web.peers.count == 1)
        try web.end()
    }

    @Test("Addresses that take no connection are asked for again")
    func forgotten() throws {
        var isFirst = true
        let web = try web { peer, _ in
            Self.reply(peer, isFirst ? "127.0.0.9,600" : "127.0.0.1,600")
            isFirst = false
        }
        let first = try web.send(HTTPRequest(.get, "http://a.test/"))
        guard case .connect("a.test", _, _) = first.error else {
            Issue.record("\(first.outcome)")
            return
        }
        #expect(try web.send(HTTPRequest(.get, "http://a.test/")).outcome == "200")
        #expect(lookups(web).count == 2)
        try web.end()
    }

    @Test("A template without a place for the name, or whose own address is not given, is refused")
    func templates() throws {
        let web = try SimulatedWeb()
        for template in [
            "http://127.0.0.1/", "http://dns.test/%s", "ftp://127.0.0.1/%s", "%s", "",
            "http://127.0.0.1/%s\n",
        ] {
            #expect(throws: HTTPError.self) {
                try HTTPLookupResolver(reactor: web.reactor, service: template)
            }
        }
        var options = HTTPLookupResolver.Options()
        options.addresses = [.ipv4(.loopback)]
        _ = try HTTPLookupResolver(
            reactor: web.reactor,
            service: "http://dns.test/%s",
            options: options
        )
        try web.end()
    }
}

import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Through proxies") struct ProxyTests {
    private static let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    /// A client whose proxy listens on port 3128.
    private static func web(
        _ proxy: HTTPProxy = .http("127.0.0.1", 3128),
        _ answer: @escaping (SimulatedPeer, SimulatedWeb.Seen) -> Void
    ) throws -> SimulatedWeb {
        var configuration = HTTPClient.Configuration()
        configuration.proxy = .all(proxy)
        let web = try SimulatedWeb(configuration: configuration)
        try web.serve(port: 3128, answer)
        return web
    }

    @Test("A proxy is given whole URLs, for all origins over one connection, and its credential")
    func forward() throws {
        let credential = HTTPCredential.basic(user: "me", password: "pw")
        let web = try Self.web(.http("127.0.0.1", 3128, credential: credential)) { peer, _ in
            peer.send(Self.response)
        }
        #expect(try web.send(HTTPRequest(.get, "http://u:v@a.test/x?y#z")).outcome == "200")
        var request = HTTPRequest(.options, "http://[::1]:81/")
        request.target = "*"
        #expect(try web.send(request).outcome == "200")
        request.target = "/p"
        #expect(try web.send(request).outcome == "200")
        #expect(web.seen.map(\.connection) == [1, 1, 1])
        #expect(
            web.seen.map(\.line) == [
                "GET http://a.test/x?y HTTP/1.1", "OPTIONS http://[::1]:81 HTTP/1.1",
                "OPTIONS http://[::1]:81/p HTTP/1.1",
            ]
        )
        #expect(web.seen[0].head.contains("\r\nHost: a.test\r\n"))
        #expect(web.seen[0].head.contains("\r\nProxy-Authorization: Basic bWU6cHc=\r\n"))
        #expect(web.seen[0].head.contains("\r\nAuthorization: Basic dTp2\r\n"))
        #expect(web.network.names.lookups == [], "the proxy looks names up")
        var other = HTTPRequest(.get, "http://a.test/")
        other.proxyCredential = .basic(user: "you", password: "pw")
        try web.send(other)
        #expect(web.seen.last?.connection == 2, "who asks tells connections apart")
        try web.end()
    }

    @Test("What is for the proxy goes to nobody else; exceptions and requests say otherwise")
    func directly() throws {
        let web = try Self.web { peer, _ in peer.send(Self.response) }
        try web.serve { peer, _ in peer.send(Self.response) }
        var request = HTTPRequest(.get, "http://127.0.0.1/")
        request.headers["Proxy-Authorization"] = "Basic secret"
        request.proxyCredential = .bearer("secret")
        request.proxy = .direct
        try web.send(request)
        #expect(web.seen[0].line == "GET / HTTP/1.1")
        #expect(!web.seen[0].head.contains("secret"))
        request.proxy = .all(.http("127.0.0.1", 3128, tunnelsAll: true))
        request.headers["Cookie"] = "taste=1"
        request.credential = .bearer("origin")
        try web.send(request)
        #expect(web.seen[1].line == "CONNECT 127.0.0.1:80 HTTP/1.1")
        #expect(!web.seen[1].head.contains("origin") && !web.seen[1].head.contains("taste"))
        #expect(web.seen[1].head.contains("\r\nProxy-Authorization: Bearer secret\r\n"))
        try web.end()
    }

    @Test("Through a tunnel, the proxy hears of the place alone, and the origin of the rest")
    func tunnel() throws {
        let credential = HTTPCredential.basic(user: "me", password: "pw")
        var proxy = HTTPProxy.http("127.0.0.1", 3128, credential: credential, tunnelsAll: true)
        proxy.fields = [HTTPHeaders.Field(name: "X-Key", value: "7")]
        let web = try Self.web(proxy) { peer, seen in
            guard seen.line.hasPrefix("CONNECT") else { return peer.send(Self.response) }
            peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 So\r\nContent-Length: 9\r\n\r\n")
        }
        for path in ["1", "2"] {
            #expect(try web.send(HTTPRequest(.get, "http://a.test/\(path)")).text == "hi")
        }
        #expect(try web.send(HTTPRequest(.get, "http://b.test:81/3")).text == "hi")
        #expect(
            web.seen.map { "\($0.connection) \($0.line)" } == [
                "1 CONNECT a.test:80 HTTP/1.1", "1 GET /1 HTTP/1.1", "1 GET /2 HTTP/1.1",
                "2 CONNECT b.test:81 HTTP/1.1", "2 GET /3 HTTP/1.1",
            ]
        )
        #expect(
            web.seen[0].head == "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\nX-Key: 7\r\n"
                + "User-Agent: Towline\r\nProxy-Authorization: Basic bWU6cHc=\r\n\r\n"
        )
        #expect(!web.seen[1].head.contains("Proxy-Authorization"))
        try web.end()
    }

    @Test(
        "A proxy that makes no tunnel: its answer is told, and it is asked once",
        arguments: [
            "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 407 Who\r\n\r\n",
            "HTTP/1.1 302 Go\r\nLocation: http://evil.test/\r\n\r\n", "SSH-2.0\r\n", "close",
            "reset",
            "HTTP/1.1 200 OK\r\n\r\nearly", "HTTP/1.1 200 OK\r\n\r\n\u{16}",
        ]
    )
    func refused(answer: String) throws {
        let web = try Self.web { peer, _ in
            switch answer {
            case "close": peer.close()
            case "reset": peer.reset()
            default: peer.send(answer)
            }
        }
        let recorder = try web.send(HTTPRequest(.get, "https://a.test/"))
        guard case .proxy(let head, let reason) = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect((head != nil) == answer.hasPrefix("HTTP"))
        #expect(
            reason.hasPrefix("the proxy http://127.0.0.1:3128, asked for a tunnel to a.test:443: ")
        )
        #expect(web.seen.count == 1)
        #expect(recorder.events == [.failed])
        try web.end()
    }

    @Test(
        "One that asks who asks is told once, over the same connection or another",
        arguments: ["Content-Length: 2", "Connection: close\r\nContent-Length: 2", "X: y"]
    )
    func asked(fields: String) throws {
        for isRight in [true, false] {
            let credential = HTTPCredential.anyOffered(user: "me", password: "pw")
            let proxy = HTTPProxy.http("127.0.0.1", 3128, credential: credential, tunnelsAll: true)
            let web = try Self.web(proxy) { peer, seen in
                if seen.line.hasPrefix("GET") { return peer.send(Self.response) }
                if isRight, seen.head.contains("Basic bWU6cHc=") {
                    return peer.send("HTTP/1.1 200 OK\r\n\r\n")
                }
                peer.send("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\n")
                peer.send("\(fields)\r\n\r\nno")
                if fields != "Content-Length: 2" { peer.close() }
            }
            let recorder = try web.send(HTTPRequest(.get, "http://a.test/"))
            if isRight {
                #expect(recorder.outcome == "200")
                #expect(web.peers.count == (fields == "Content-Length: 2" ? 1 : 2))
            } else {
                guard case .proxy(let head?, _) = recorder.error else {
                    Issue.record("\(recorder.outcome)")
                    continue
                }
                #expect(head.status == 407)
            }
            #expect(web.seen.count { $0.line.hasPrefix("CONNECT") } == 2)
            try web.end()
        }
    }

    @Test("A silent proxy is given up in the time of the connect, whoever it was asked for")
    func silent() throws {
        let web = try Self.web { _, _ in }
        let began = web.network.now
        let recorder = try web.send(HTTPRequest(.get, "https://a.test/"))
        guard case .timeout(.connect) = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect(web.network.now.since(began) <= .seconds(31))
        try web.end()
    }

    @Test("A cancel at every step on the way through a proxy is the end")
    func cancels() throws {
        for moment in 0..<8 {
            let web = try Self.web(.http("p.test", 3128, tunnelsAll: true)) { peer, seen in
                let isConnect = seen.line.hasPrefix("CONNECT")
                peer.send(isConnect ? "HTTP/1.1 200 OK\r\n\r\n" : Self.response)
            }
            web.network.names["p.test"] = [.ipv4(.loopback)]
            let recorder = ExchangeRecorder()
            let exchange = web.client.start(HTTPRequest(.get, "http://a.test/"), delegate: recorder)
            for _ in 0..<moment { try web.reactor.turn(waitingAtMost: .seconds(1)) }
            exchange.cancel()
            try web.turn { recorder.hasEnded }
            #expect(recorder.endCount == 1)
            try web.end()
        }
    }

    @Test("A tunnel is handed over with what came through it, and detours lead it")
    func handedOver() throws {
        var configuration = HTTPClient.Configuration()
        configuration.detours = [HTTPHostPort("a.test", 25): HTTPHostPort("b.test", 26)]
        let web = try SimulatedWeb(configuration: configuration)
        try web.serve(port: 3128) { peer, _ in peer.send("HTTP/1.1 200 OK\r\n\r\n220 hello\r\n") }
        let recorder = ExchangeRecorder()
        web.client.openTunnel(
            to: HTTPHostPort("a.test", 25),
            through: .all(.http("127.0.0.1", 3128)),
            delegate: recorder
        )
        #expect(recorder.events == [])
        recorder.onEvent = { _, event in
            if event == .upgraded { try recorder.socket?.write("EHLO\r\n") }
        }
        let greeter = Greeter()
        recorder.onUpgrade = { $0.delegate = greeter }
        try web.turn { web.peers.first?.received.suffix(6) == Array("EHLO\r\n".utf8)[...] }
        #expect(web.seen[0].line == "CONNECT b.test:26 HTTP/1.1")
        #expect(String(decoding: recorder.leftover, as: UTF8.self) == "220 hello\r\n")
        #expect(recorder.events == [.connected(isReused: false), .upgraded])
        // It knows itself.
        recorder.onEvent = nil
        recorder.socket?.disconnect()
        try web.end()
    }

    @Test(
        "Without a proxy a tunnel is a plain connection, and CONNECT is no other request's method"
    )
    func directTunnel() throws {
        let web = try SimulatedWeb()
        try web.serve { _, _ in }
        let greeter = Greeter()
        let recorder = ExchangeRecorder()
        recorder.onUpgrade = { $0.delegate = greeter }
        web.client.openTunnel(to: HTTPHostPort("127.0.0.1", 80), delegate: recorder)
        try web.turn { recorder.hasEnded }
        #expect(recorder.outcome == "0" && recorder.leftover == [])
        recorder.socket?.disconnect()
        let refused = ExchangeRecorder()
        web.client.openTunnel(to: HTTPHostPort("127.0.0.1", 81), delegate: refused)
        try web.turn { refused.hasEnded }
        guard case .connect = refused.error else {
            Issue.record("\(refused.outcome)")
            return
        }
        var request = HTTPRequest(.connect, "http://127.0.0.1/")
        request.target = "a.test:80"
        guard case .invalidRequest = try web.send(request).error else {
            Issue.record("CONNECT was sent")
            return
        }
        try web.end()
    }
}

/// A delegate that hears nothing.
final class Greeter: StreamSocketDelegate {}

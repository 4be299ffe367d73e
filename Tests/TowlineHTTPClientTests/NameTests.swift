import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTLS

@Suite("Names, and where they lead") struct NameTests {
    private static let here = IPAddress.ipv4(.loopback)

    /// A server of two names with two certificates at one address.
    private static func twoNames(
        _ change: (inout HTTPClient.Configuration) -> Void = { _ in }
    ) throws -> (LoopbackWeb, UInt16) {
        var configuration = HTTPClient.Configuration()
        configuration.tls = try LoopbackWeb.trusting()
        configuration.makeResolver = { _ in
            FixedResolver([
                "a.multi.test": [Self.here], "b.multi.test": [Self.here],
                "c.multi.test": [Self.here],
            ])
        }
        change(&configuration)
        let web = try LoopbackWeb(configuration)
        let (first, second) = (
            try LoopbackWeb.identity("sni-a"), try LoopbackWeb.identity("sni-b")
        )
        var server = TLSConfiguration.server(first)
        server.identityForServerName = { $0 == "b.multi.test" ? second : first }
        return (web, try web.serve(server))
    }

    @Test("Two names at one address have two certificates; a redirect goes from one to the other")
    func twoCertificates() throws {
        let (web, port) = try Self.twoNames()
        web.answer = { head in
            let isFirst = head.contains("Host: a.multi.test")
            return isFirst
                ? "HTTP/1.1 302 Go\r\nLocation: https://b.multi.test:\(port)/\r\n"
                    + "Content-Length: 0\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        }
        let recorder = try web.send(HTTPRequest(.get, "https://a.multi.test:\(port)/"))
        #expect(recorder.outcome == "200")
        #expect(web.names == ["a.multi.test", "b.multi.test"])
        #expect(web.seen.last?.contains("\r\nHost: b.multi.test:\(port)\r\n") == true)
        try web.end()
    }

    @Test("A name that the certificate does not have is refused before a byte of the request")
    func wrongName() throws {
        let (web, port) = try Self.twoNames()
        let recorder = try web.send(HTTPRequest(.get, "https://c.multi.test:\(port)/secret"))
        guard case .verification(let error) = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect("\(error)".contains("c.multi.test") && "\(error)".contains("a.multi.test"))
        #expect(web.seen == [])
        try web.end()
    }

    @Test("Addresses and detours change where the socket goes, and nothing that is said")
    func overrides() throws {
        let (web, port) = try Self.twoNames { $0.makeResolver = { _ in FixedResolver([:]) } }
        let place = HTTPHostPort("a.multi.test", 443)
        for isDetour in [false, true] {
            if isDetour {
                web.client.configuration.detours = [place: HTTPHostPort("127.0.0.1", port)]
            } else {
                web.client.configuration.addresses = [
                    HTTPHostPort("a.multi.test", port): [.ipv4(.loopback, port: 1)]
                ]
            }
            let suffix = isDetour ? "" : ":\(port)"
            var request = HTTPRequest(.get, "https://a.multi.test\(suffix)/")
            request.credential = .bearer("token")
            web.answer = { head in
                head.hasPrefix("GET / ")
                    ? "HTTP/1.1 302 Go\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
            }
            let recorder = try web.send(request)
            #expect(recorder.outcome == "200")
            #expect(web.names.last == "a.multi.test")
            let last = try #require(web.seen.last)
            #expect(last.hasPrefix("GET /next HTTP/1.1\r\nHost: a.multi.test\(suffix)\r\n"))
            #expect(last.contains("Bearer token"), "it is the same origin")
            #expect(recorder.response?.url.href == "https://a.multi.test\(suffix)/next")
        }
        try web.end()
    }

    @Test("Detours of any host and any port, and to the same host at another port")
    func anyDetour() throws {
        let web = try LoopbackWeb()
        let port = try web.serve()
        for (from, to) in [
            (HTTPHostPort("x.test", 0), HTTPHostPort("127.0.0.1", port)),
            (HTTPHostPort("", 80), HTTPHostPort("127.0.0.1", port)),
            (HTTPHostPort("", 0), HTTPHostPort("127.0.0.1", port)),
        ] {
            web.client.configuration.detours = [from: to]
            #expect(try web.send(HTTPRequest(.get, "http://x.test/")).outcome == "200")
        }
        web.client.configuration.detours = [HTTPHostPort("127.0.0.1", 80): HTTPHostPort("", port)]
        #expect(try web.send(HTTPRequest(.get, "http://127.0.0.1/")).outcome == "200")
        #expect(web.seen.last?.contains("\r\nHost: 127.0.0.1\r\n") == true)
        try web.end()
    }

    @Test("An address needs no lookup and no name, and localhost is this host")
    func literals() throws {
        var configuration = HTTPClient.Configuration()
        configuration.tls = try LoopbackWeb.trusting()
        configuration.makeResolver = { _ in FixedResolver([:]) }
        let web = try LoopbackWeb(configuration)
        let secure = try web.serve(.server(try LoopbackWeb.identity("good")))
        let plain = try web.serve()
        for host in ["127.0.0.1", "localhost", "0x7f.1"] {
            #expect(try web.send(HTTPRequest(.get, "https://\(host):\(secure)/")).outcome == "200")
            #expect(try web.send(HTTPRequest(.get, "http://\(host):\(plain)/")).outcome == "200")
        }
        #expect(web.names == [nil, "localhost"], "0x7f.1 is 127.0.0.1, whose connection is kept")
        #expect(try web.send(HTTPRequest(.get, "http://x.localhost:\(plain)/")).outcome == "200")
        try web.end()
    }

    @Test("A name of the program's own is sent and verified, and tells connections apart")
    func serverName() throws {
        let (web, port) = try Self.twoNames { $0.tlsServerName = "b.multi.test" }
        let request = HTTPRequest(.get, "https://127.0.0.1:\(port)/")
        #expect(try web.send(request).outcome == "200")
        #expect(web.names == ["b.multi.test"])
        web.client.configuration.tlsServerName = "a.multi.test"
        #expect(try web.send(request).outcome == "200")
        #expect(web.names == ["b.multi.test", "a.multi.test"])
        web.client.configuration.tlsServerName = "c.multi.test"
        guard case .verification = try web.send(request).error else {
            Issue.record("it was trusted")
            return
        }
        try web.end()
    }

    @Test("A Unix socket: Host is the URL's, a redirect elsewhere leaves it, and none leads there")
    func unixSocket() throws {
        let web = try LoopbackWeb()
        let port = try web.serve()
        let file = try ScratchFile()
        let path = "\(file.path).socket"
        try web.serve(path: path)
        web.answer = { head in
            if head.hasPrefix("GET /next") || head.hasPrefix("GET /there") {
                return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
            }
            let place =
                head.hasPrefix("GET /away")
                ? "http://127.0.0.1:\(port)/there"
                : head.hasPrefix("GET /path") ? "unix:\(path)" : "/next"
            return "HTTP/1.1 307 Go\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n"
        }
        var request = HTTPRequest(.get, "http://box.test/")
        request.unixPath = path
        let recorder = try web.send(request)
        #expect(recorder.outcome == "200")
        #expect(web.seen.last?.hasPrefix("GET /next HTTP/1.1\r\nHost: box.test\r\n") == true)
        #expect(recorder.metrics?.remoteAddress == SocketAddress(path))
        for keeps in [false, true] {
            request.url = "http://box.test/away"
            request.redirects = .follow
            request.redirects?.keepsCredentials = keeps
            let away = try web.send(request)
            #expect(away.outcome == "200")
            #expect(away.metrics?.remoteAddress == .ipv4(.loopback, port: port))
        }
        let refused = try web.send(HTTPRequest(.get, "http://127.0.0.1:\(port)/path"))
        guard case .redirectRefused = refused.error else {
            Issue.record("\(refused.outcome)")
            return
        }
        request.unixPath = "/nowhere/at/all.socket"
        guard case .connect = try web.send(request).error else {
            Issue.record("it was connected")
            return
        }
        try web.end()
    }
}

import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Redirects") struct RedirectTests {
    /// A web whose servers send `/status/N` to a place, and say `here` everywhere else.
    private func web(to place: String, _ configuration: HTTPClient.Configuration = .init()) throws
        -> SimulatedWeb
    {
        let web = try SimulatedWeb(configuration: configuration)
        web.network.names["a.test"] = [.ipv4(.loopback)]
        web.network.names["b.test"] = [.ipv4(.loopback)]
        for port in [80, 8080] as [UInt16] {
            try web.serve(port: port) { peer, seen in
                let parts = seen.line.split(separator: " ")[1].split(separator: "/")
                guard parts.count == 2, parts[0] == "status" else {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
                    if !seen.line.hasPrefix("HEAD") { peer.send("here") }
                    return
                }
                peer.send("HTTP/1.1 \(parts[1]) Go\r\nLocation: \(place)\r\n")
                peer.send("Content-Length: 2\r\n\r\n\(seen.line.hasPrefix("HEAD") ? "" : "no")")
            }
        }
        return web
    }

    @Test(
        "What becomes of method and body",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
            (308, "POST", "POST"), (301, "PUT", "PUT"), (302, "DELETE", "DELETE"),
            (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"), (302, "GET", "GET"),
        ]
    )
    func methods(status: Int, method: String, next: String) throws {
        let web = try web(to: "/there")
        let hasBody = method == "POST" || method == "PUT"
        let request = HTTPRequest(
            HTTPMethod(rawValue: method),
            "http://a.test/status/\(status)",
            headers: hasBody ? ["Content-Type": "text/plain", "X-Mine": "1"] : ["X-Mine": "1"],
            body: hasBody ? .text("data") : .none
        )
        let recorder = try web.send(request)
        #expect(recorder.outcome == "200" || method == "HEAD")
        let second = try #require(web.seen.last)
        #expect(second.line == "\(next) /there HTTP/1.1")
        #expect(second.body == (hasBody && next != "GET" ? "data" : ""))
        #expect(second.head.contains("Content-Type") == (hasBody && next != "GET"))
        #expect(second.head.contains("X-Mine: 1"))
        #expect(web.seen.allSatisfy { $0.connection == 1 }, "the same place, the same connection")
        #expect(recorder.endCount == 1)
        try web.end()
    }

    @Test("A redirect without a place, and other 3xx, are shown", arguments: [300, 304, 305, 306])
    func shown(status: Int) throws {
        let web = try web(to: "/there")
        let recorder = try web.send(HTTPRequest(.get, "http://a.test/status/\(status)"))
        #expect(recorder.outcome == "\(status)")
        try web.end()
    }

    @Test(
        "Credentials go nowhere but to the origin that they were given for",
        arguments: [
            ("/there", true), ("http://a.test/there", true), ("http://b.test/there", false),
            ("http://a.test:8080/there", false), ("//b.test/there", false),
        ]
    )
    func credentials(place: String, keeps: Bool) throws {
        let web = try web(to: place)
        var request = HTTPRequest(
            .get,
            "http://a.test/status/302",
            headers: ["COOKIE": "a=b", "authorization": "x", "X-Secret": "1", "X-Open": "1"]
        )
        request.sensitiveHeaders = ["x-secret"]
        try web.send(request)
        let head = try #require(web.seen.last).head
        #expect(head.contains("COOKIE: a=b") == keeps)
        #expect(head.contains("authorization: x") == keeps)
        #expect(head.contains("X-Secret: 1") == keeps)
        #expect(head.contains("X-Open: 1"))
        try web.end()
    }

    @Test("Credentials that were lost on the way stay lost when the way leads back")
    func thereAndBack() throws {
        let web = try SimulatedWeb()
        for name in ["a.test", "b.test"] { web.network.names[name] = [.ipv4(.loopback)] }
        try web.serve { peer, seen in
            let place =
                switch seen.line {
                case "GET /1 HTTP/1.1": "http://b.test/2"
                case "GET /2 HTTP/1.1": "http://a.test/3"
                default: ""
                }
            peer.send(
                place.isEmpty
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 302 Go\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n"
            )
        }
        var request = HTTPRequest(.get, "http://a.test/1")
        request.credential = .basic(user: "me", password: "secret")
        let recorder = try web.send(request)
        #expect(recorder.outcome == "200")
        #expect(
            web.seen.map { $0.head.contains("Authorization: Basic bWU6c2VjcmV0") } == [
                true, false, false,
            ]
        )
        #expect(web.network.names.lookups == ["a.test", "b.test"], "one lookup a connection")
        try web.end()
    }

    @Test(
        "Places that nobody is sent to",
        arguments: [
            "ftp://a.test/", "file:///etc/passwd", "javascript:alert(1)", "http://", "http://a b/",
            "http://a.test/\u{1}", "unix:/run/x",
        ]
    )
    func refusedPlaces(place: String) throws {
        let web = try web(to: place)
        let recorder = try web.send(HTTPRequest(.get, "http://a.test/status/302"))
        guard case .redirectRefused = recorder.error else {
            Issue.record("\(place): \(recorder.outcome)")
            return
        }
        #expect(web.seen.count == 1)
        try web.end()
    }

    @Test("Twenty redirects are followed, one more is an error, and none at all is a response")
    func limits() throws {
        let web = try web(to: "/status/302")
        let recorder = try web.send(HTTPRequest(.get, "http://a.test/status/302"))
        guard case .tooManyRedirects(limit: 20) = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect(web.seen.count == 21)
        var request = HTTPRequest(.get, "http://a.test/status/302")
        request.redirects = .show
        #expect(try web.send(request).outcome == "302")
        try web.end()
    }

    @Test("The delegate may stop a redirect, or send something else")
    func decisions() throws {
        let web = try web(to: "/there")
        for (decision, line) in [("stop", nil), ("send", "GET /elsewhere HTTP/1.1")] {
            let recorder = ExchangeRecorder()
            recorder.redirectDecision = { request in
                guard decision == "send" else { return .stop }
                var other = request
                other.url = "http://a.test/elsewhere"
                return .send(other)
            }
            web.client.start(HTTPRequest(.get, "http://a.test/status/302"), delegate: recorder)
            try web.turn { recorder.hasEnded }
            #expect(recorder.outcome == (line == nil ? "302" : "200"))
            if let line { #expect(web.seen.last?.line == line) }
        }
        try web.end()
    }

    @Test("A body that can be had once is not sent twice")
    func notReplayable() throws {
        let web = try web(to: "/there")
        let body = HTTPBody.stream(length: 1) { exchange in
            exchange.supply([0x78])
            exchange.finishBody()
        }
        let recorder = try web.send(HTTPRequest(.post, "http://a.test/status/307", body: body))
        guard case .bodyNotReplayable = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect(web.seen.count == 1)
        try web.end()
    }
}

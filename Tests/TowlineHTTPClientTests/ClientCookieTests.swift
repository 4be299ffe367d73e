import Synchronization
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Cookies of a client") struct ClientCookieTests {
    private func web(_ jar: SharedCookieJar?) throws -> SimulatedWeb {
        var configuration = HTTPClient.Configuration()
        configuration.cookieJar = jar
        let web = try SimulatedWeb(configuration: configuration)
        for name in ["a.test", "b.test"] { web.network.names[name] = [.ipv4(.loopback)] }
        try web.serve { peer, seen in
            switch seen.line.split(separator: " ")[1] {
            case "/login":
                peer.send("HTTP/1.1 302 Go\r\nLocation: /home\r\nSet-Cookie: s=1\r\n")
                peer.send("Set-Cookie: t=2; Path=/home; Max-Age=60\r\nContent-Length: 0\r\n\r\n")
            case "/away":
                peer.send("HTTP/1.1 302 Go\r\nLocation: http://b.test/\r\n")
                peer.send("Set-Cookie: w=3\r\nContent-Length: 0\r\n\r\n")
            case "/who" where seen.field("Authorization") == nil:
                peer.send("HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic\r\nSet-Cookie: q=4\r\n")
                peer.send("Content-Length: 0\r\n\r\n")
            default:
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        return web
    }

    @Test("Without a jar none is kept")
    func off() throws {
        let web = try web(nil)
        try web.send(HTTPRequest(.get, "http://a.test/login"))
        #expect(web.seen.map { $0.field("Cookie") } == [nil, nil])
        try web.end()
    }

    @Test("The cookies of a redirect, and of a question for a password, go with what follows it")
    func followed() throws {
        let web = try web(SharedCookieJar())
        try web.send(HTTPRequest(.get, "http://a.test/login"))
        #expect(web.seen.map { $0.field("Cookie") } == [nil, "t=2; s=1"])
        var request = HTTPRequest(.get, "http://a.test/who")
        request.credential = .anyOffered(user: "me", password: "pw")
        #expect(try web.send(request).outcome == "200")
        #expect(web.seen.suffix(2).map { $0.field("Cookie") } == ["s=1", "s=1; q=4"])
        try web.send(HTTPRequest(.get, "http://a.test/away"))
        #expect(web.seen.last?.field("Cookie") == nil, "another host is told nothing")
        try web.end()
    }

    @Test("A cookie field of the caller's is sent as it is, and goes nowhere else")
    func setByHand() throws {
        let web = try web(SharedCookieJar())
        try web.send(HTTPRequest(.get, "http://a.test/login"))
        let request = HTTPRequest(.get, "http://a.test/away", headers: ["cookie": "mine=1"])
        try web.send(request)
        #expect(web.seen.suffix(2).map { $0.field("Cookie") } == ["mine=1", nil])
        var omitting = HTTPRequest(.get, "http://a.test/")
        omitting.omittedHeaders = ["Cookie"]
        try web.send(omitting)
        #expect(web.seen.last?.field("Cookie") == nil)
        try web.end()
    }

    @Test("Cookies end by the clock of their jar, which several clients share")
    func time() throws {
        let now = Mutex<Int64>(1_000)
        let jar = SharedCookieJar(clock: { now.withLock { $0 } })
        let web = try web(jar)
        try web.send(HTTPRequest(.get, "http://a.test/login"))
        var configuration = HTTPClient.Configuration()
        configuration.cookieJar = jar
        let other = HTTPClient(reactor: web.reactor, configuration: configuration)
        for (time, cookies) in [(1_059, "t=2; s=1"), (1_060, "s=1")] as [(Int64, String)] {
            now.withLock { $0 = time }
            let recorder = ExchangeRecorder()
            other.start(HTTPRequest(.get, "http://a.test/home"), delegate: recorder)
            try web.turn { recorder.hasEnded }
            #expect(web.seen.last?.field("Cookie") == cookies)
        }
        #expect(jar.contents.count == 2)
        jar.update { $0.removeAll { _ in true } }
        #expect(jar.contents.cookies.isEmpty)
        other.closeIdleConnections()
        try web.end()
    }
}

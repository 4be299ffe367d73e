import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTLS

/// A proxy that others have written, as a process at a port of this host.
private struct RealProxy {
    let port: UInt16
    private let process: ChildProcess
    private let file: ScratchFile?

    /// Whether Debian's package is installed.
    static func isInstalled(_ path: String) -> Bool {
        (try? FileContents.read(path)) != nil
    }

    static func tinyproxy(_ lines: String = "") throws -> RealProxy {
        let port = try freePort()
        let text = "Port \(port)\nListen 127.0.0.1\nTimeout 30\nAllow 127.0.0.1\n\(lines)"
        let file = try ScratchFile(Array(text.utf8))
        return RealProxy(
            port: port,
            process: try ChildProcess("/usr/bin/tinyproxy", ["-d", "-c", file.path]),
            file: file
        )
    }

    static func microsocks(_ arguments: [String] = []) throws -> RealProxy {
        let port = try freePort()
        let all = ["-i", "127.0.0.1", "-p", "\(port)"] + arguments
        return RealProxy(
            port: port,
            process: try ChildProcess("/usr/bin/microsocks", all),
            file: nil
        )
    }

    private static func freePort() throws -> UInt16 {
        let listener = try BlockingListener()
        defer { listener.close() }
        return try #require(listener.address.port)
    }

    /// Sends a request through it as soon as it takes connections.
    func send(_ request: HTTPRequest, _ web: LoopbackWeb) throws -> ExchangeRecorder {
        for _ in 0..<500 {
            let recorder = try web.send(request)
            guard case .connect = recorder.error else { return recorder }
            try web.reactor.turn(waitingAtMost: .milliseconds(20))
        }
        return try web.send(request)
    }
}

@Suite("Through proxies that others have written") struct RealProxyTests {
    private static let me = HTTPCredential.basic(user: "me", password: "secret")

    private static func web() throws -> LoopbackWeb {
        var configuration = HTTPClient.Configuration()
        configuration.tls = try LoopbackWeb.trusting()
        configuration.makeResolver = { _ in FixedResolver(["good.test": [.ipv4(.loopback)]]) }
        configuration.addressFamilies = [.ipv4]
        return try LoopbackWeb(configuration)
    }

    @Test(
        "tinyproxy: whole URLs and tunnels, with the right password and the wrong one",
        .enabled(if: RealProxy.isInstalled("/usr/bin/tinyproxy"), "needs tinyproxy-bin")
    )
    func tinyproxy() throws {
        let web = try Self.web()
        let plain = try web.serve()
        let secure = try web.serve(.server(try LoopbackWeb.identity("good")))
        let proxy = try RealProxy.tinyproxy("BasicAuth me secret\n")
        web.client.configuration.proxy = .all(.http("127.0.0.1", proxy.port, credential: Self.me))
        let forwarded = try proxy.send(HTTPRequest(.get, "http://127.0.0.1:\(plain)/x"), web)
        #expect(forwarded.text == "hi")
        #expect(web.seen.last?.contains("Proxy-Authorization") == false)
        let tunnelled = try proxy.send(HTTPRequest(.get, "https://localhost:\(secure)/y"), web)
        #expect(tunnelled.text == "hi")
        #expect(web.names == ["localhost"])
        web.client.configuration.proxy = .all(
            .http(
                "127.0.0.1",
                proxy.port,
                credential: .anyOffered(user: "me", password: "secret"),
                tunnelsAll: true
            )
        )
        #expect(try web.send(HTTPRequest(.get, "http://127.0.0.1:\(plain)/z")).text == "hi")
        var request = HTTPRequest(.get, "https://localhost:\(secure)/")
        request.proxyCredential = .basic(user: "me", password: "wrong")
        guard case .proxy(_?, _) = try web.send(request).error else {
            Issue.record("it was let in")
            return
        }
        try web.end()
    }

    @Test(
        "microsocks: names looked up there and here, with the right password and the wrong one",
        .enabled(if: RealProxy.isInstalled("/usr/bin/microsocks"), "needs microsocks")
    )
    func microsocks() throws {
        let web = try Self.web()
        let plain = try web.serve()
        let secure = try web.serve(.server(try LoopbackWeb.identity("good")))
        let proxy = try RealProxy.microsocks(["-u", "me", "-P", "secret"])
        for looksUpThere in [true, false] {
            web.client.configuration.proxy = .all(
                .socks5(
                    "127.0.0.1",
                    proxy.port,
                    credential: Self.me,
                    resolvesNames: looksUpThere
                )
            )
            let address = HTTPRequest(.get, "http://127.0.0.1:\(plain)/x")
            #expect(try proxy.send(address, web).text == "hi")
            let host = looksUpThere ? "127.0.0.1" : "good.test"
            let named = HTTPRequest(.get, "https://\(host):\(secure)/y")
            #expect(try proxy.send(named, web).text == "hi")
        }
        #expect(web.names == [nil, "good.test"])
        var request = HTTPRequest(.get, "http://127.0.0.1:1/")
        guard case .proxy(nil, let refused) = try web.send(request).error else {
            Issue.record("port 1 answers")
            return
        }
        #expect(refused.contains("having it connect, for 127.0.0.1:1: "))
        request.proxyCredential = .basic(user: "me", password: "wrong")
        guard case .proxy(nil, let reason) = try web.send(request).error else {
            Issue.record("it was let in")
            return
        }
        #expect(reason.contains("authenticating"), "\(reason)")
        try web.end()
    }
}

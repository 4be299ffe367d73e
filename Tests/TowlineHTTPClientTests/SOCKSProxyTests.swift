import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Through proxies of SOCKS") struct SOCKSProxyTests {
    /// A client whose proxy listens on port 1080, and answers by script: the first answer to the
    /// first bytes, and so on; what comes behind them is answered as HTTP.
    private static func web(
        _ proxy: HTTPProxy = .socks5("127.0.0.1", 1080),
        _ answers: [[UInt8]],
        _ peers: @escaping (SimulatedPeer) -> Void = { _ in }
    ) throws -> (SimulatedWeb, SimulatedServer) {
        var configuration = HTTPClient.Configuration()
        configuration.proxy = .all(proxy)
        let web = try SimulatedWeb(configuration: configuration)
        web.network.names["a.test"] = [.ipv4(IPv4Address(rawValue: 0xC000_0207))]
        let server = web.network.listen(at: .ipv4(.loopback, port: 1080)) { peer in
            var taken = 0
            var count = 0
            peer.whenNewsComes = { peer in
                guard peer.received.count > taken else { return }
                taken = peer.received.count
                if count < answers.count {
                    peer.send(answers[count])
                } else {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                }
                count += 1
                peers(peer)
            }
        }
        return (web, try #require(server))
    }

    private static let made: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

    @Test("Each origin has its own tunnel; names are looked up there, or here")
    func tunnels() throws {
        for looksUpThere in [true, false] {
            let proxy = HTTPProxy.socks5("127.0.0.1", 1080, resolvesNames: looksUpThere)
            let (web, server) = try Self.web(proxy, [[5, 0], Self.made])
            for path in ["1", "2"] {
                #expect(try web.send(HTTPRequest(.get, "http://a.test/\(path)")).text == "hi")
            }
            #expect(try web.send(HTTPRequest(.get, "http://[::1]:81/")).text == "hi")
            #expect(server.peers.count == 2)
            #expect(web.network.names.lookups == (looksUpThere ? [] : ["a.test"]))
            let asked: [UInt8] =
                looksUpThere
                ? [3, 6] + Array("a.test".utf8) + [0, 80] : [1, 192, 0, 2, 7, 0, 80]
            let start = [5, 1, 0, 5, 1, 0] + asked + Array("GET /1 HTTP/1.1\r\n".utf8)
            #expect(server.peers[0].received.starts(with: start))
            #expect(server.peers[1].received[6] == 4)
            try web.end()
        }
    }

    @Test("Of the addresses that are found here each is tried, until the proxy reaches one")
    func addresses() throws {
        let proxy = HTTPProxy.socks5("127.0.0.1", 1080, resolvesNames: false)
        for count in [1, 2] {
            var asked = 0
            var configuration = HTTPClient.Configuration()
            configuration.proxy = .all(proxy)
            let web = try SimulatedWeb(configuration: configuration)
            web.network.names["b.test"] = [
                .ipv6(.loopback), .ipv4(IPv4Address(rawValue: 0xC000_0208)),
            ]
            let server = web.network.listen(at: .ipv4(.loopback, port: 1080)) { peer in
                var taken = 0
                peer.whenNewsComes = { peer in
                    guard peer.received.count > taken else { return }
                    taken = peer.received.count
                    switch taken {
                    case 3: peer.send([5, 0])
                    case ..<30:
                        asked += 1
                        peer.send(asked <= count ? [5, 4] : Self.made)
                    default: peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
                    }
                }
            }
            let result = try web.send(HTTPRequest(.get, "http://b.test/"))
            #expect(server?.peers.count == 2)
            if count == 1 {
                #expect(result.text == "hi")
            } else {
                let words = "having it connect, for b.test:80 (192.0.2.8): the host is unreachable"
                #expect("\(result.error!)".contains(words), "\(result.error!)")
            }
            try web.end()
        }
    }

    @Test("User and password are proved; failures name the proxy, the phase and the answer")
    func failures() throws {
        let rows: [([[UInt8]], String)] = [
            ([[5, 0xFF]], "agreeing on how to authenticate, for a.test:443: it takes neither"),
            ([[5, 2], [1, 1]], "authenticating, for a.test:443: it did not accept"),
            ([[5, 2], [1, 0], [5, 5]], "having it connect, for a.test:443: the host refused"),
            ([[5, 0], Self.made + [0x16]], "bytes came in front"),
            ([Array("HTTP/1.1 400 Bad Request\r\n".utf8)], "answers in version 72"),
        ]
        let credential = HTTPCredential.basic(user: "me", password: "pw")
        for (answers, words) in rows {
            let proxy = HTTPProxy.socks5("127.0.0.1", 1080, credential: credential)
            let (web, server) = try Self.web(proxy, answers)
            let recorder = try web.send(HTTPRequest(.get, "https://a.test/"))
            guard case .proxy(nil, let reason) = recorder.error else {
                Issue.record("\(recorder.outcome)")
                continue
            }
            #expect(reason.hasPrefix("the proxy socks5://127.0.0.1:1080, "))
            #expect(reason.contains(words), "\(reason)")
            #expect(recorder.endCount == 1)
            #expect(server.peers.count == 1)
            try web.end()
        }
    }

    @Test("A proxy that closes, that nobody finds, or that is given a name that nobody has")
    func gone() throws {
        let (web, server) = try Self.web(.socks5("127.0.0.1", 1080), []) { $0.close() }
        let closed = try web.send(HTTPRequest(.get, "https://a.test/"))
        if case .proxy(nil, _) = closed.error {} else { Issue.record("\(closed.outcome)") }
        #expect(server.peers.count == 1)
        var request = HTTPRequest(.get, "http://a.test/")
        request.proxy = .all(.socks5("p.test", 1080))
        let unknown = try web.send(request)
        if case .resolve("p.test", _) = unknown.error {} else { Issue.record("\(unknown.outcome)") }
        request.proxy = .all(.socks5("127.0.0.1", 1080, resolvesNames: false))
        request.url = "http://b.test/"
        let nobody = try web.send(request)
        if case .resolve("b.test", _) = nobody.error {} else { Issue.record("\(nobody.outcome)") }
        request.proxy = .all(.socks5("127.0.0.1", 1081))
        let refused = try web.send(request)
        if case .connect("127.0.0.1", _, _) = refused.error {
        } else {
            Issue.record("\(refused.outcome)")
        }
        try web.end()
    }
}

import Testing
import TowlineHTTP
import TowlineHTTPClient

@Suite("Which proxy is asked") struct ProxyRuleTests {
    @Test("Proxies as people write them")
    func texts() throws {
        #expect(try HTTPProxy("http://p.test:3128") == .http("p.test", 3128))
        #expect(try HTTPProxy("P.test:8080") == .http("p.test", 8080))
        #expect(try HTTPProxy("p.test") == .http("p.test", 1080))
        #expect(try HTTPProxy("http://p.test:80/") == .http("p.test", 80))
        #expect(try HTTPProxy("p.test:443") == .http("p.test", 443))
        #expect(try HTTPProxy("[::1]:3128") == .http("::1", 3128))
        let named = HTTPCredential.basic(user: "me", password: "p@ss")
        #expect(
            try HTTPProxy("http://me:p%40ss@p.test:1") == .http("p.test", 1, credential: named)
        )
        #expect(try HTTPProxy("SOCKS5h://p.test") == .socks5("p.test", 1080))
        #expect(
            try HTTPProxy("socks5://me:p%40ss@127.0.0.1:9")
                == .socks5("127.0.0.1", 9, credential: named, resolvesNames: false)
        )
        for text in ["", "://", "https://p.test", "socks4://p.test", "p.test:x", "http://", "a b"] {
            #expect(throws: HTTPError.self, "\(text)") { try HTTPProxy(text) }
        }
    }

    @Test("The environment: names, empty ones, and HTTP_PROXY, which a request can set")
    func environment() throws {
        func rules(_ variables: [String: String]) throws -> HTTPProxyRules {
            try HTTPProxyRules.environment { variables[$0] }
        }
        #expect(try rules([:]) == .direct)
        #expect(try rules(["HTTP_PROXY": "evil.test:1"]) == .direct)
        let plain = try rules(["http_proxy": "p.test:1", "all_proxy": ""])
        #expect(plain.forHTTP == .http("p.test", 1) && plain.forHTTPS == nil)
        let all = try rules(["ALL_PROXY": "socks5h://p.test", "HTTPS_PROXY": "q.test:2"])
        #expect(all.forHTTP == .socks5("p.test", 1080) && all.forHTTPS == .http("q.test", 2))
        let some = try rules(["all_proxy": "p.test", "no_proxy": "a.test, .b.test\t10.0.0.0/8,"])
        #expect(some.exceptions == ["a.test", ".b.test", "10.0.0.0/8"])
        #expect(throws: HTTPError.self) { try rules(["https_proxy": "gopher://p.test"]) }
    }

    @Test("Hosts that need none: names, all below them, addresses and their networks, all")
    func exceptions() throws {
        let rows: [(String, [String], [String])] = [
            (
                "a.test", ["a.test", "A.TEST.", "x.a.test", "x.y.a.test:8080"],
                ["ba.test", "test", "a.test.b"]
            ),
            (".a.test", ["a.test", "x.a.test"], ["ba.test"]),
            ("*", ["a.test", "127.0.0.1", "[::1]"], []),
            (
                "127.0.0.1", ["127.0.0.1", "0x7f.1", "127.0.0.1:81"],
                ["127.0.0.2", "x.127.0.0.1.a"]
            ),
            ("10.0.0.0/8", ["10.255.0.1", "10.0.0.0"], ["11.0.0.0", "9.255.255.255", "[a00::]"]),
            ("192.0.2.128/25", ["192.0.2.200"], ["192.0.2.127"]),
            ("0.0.0.0/0", ["8.8.8.8"], ["[::1]"]),
            ("::1", ["[::1]", "[0:0::1]"], ["[::2]"]), ("[::1]", ["[::1]"], ["[::2]"]),
            ("fd00::/8", ["[fdff::1]"], ["[fe00::]", "253.0.0.1"]),
            ("10.0.0.0/33", [], ["10.0.0.1"]), ("10.0.0.0/", [], ["10.0.0.0"]),
            ("10.0.0.0/8/8", [], ["10.0.0.0"]), ("", [], ["a.test", "127.0.0.1"]),
            (".", [], ["a.test"]), ("/8", [], ["10.0.0.0"]), ("10.0.0.0/-1", [], ["10.0.0.0"]),
        ]
        for (entry, direct, proxied) in rows {
            let rules = HTTPProxyRules.all(.http("p.test", 1), except: ["other.test", entry])
            for host in direct {
                #expect(rules.proxy(for: try HTTPURL("http://\(host)/")) == nil, "\(entry) \(host)")
            }
            for host in proxied {
                let url = try HTTPURL("https://\(host)/")
                #expect(rules.proxy(for: url) != nil, "\(entry) \(host)")
            }
        }
    }
}

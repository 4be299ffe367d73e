import Testing

@testable import TowlineHTTP

@Suite("Cookies") struct CookieJarTests {
    private let now: Int64 = 1_000_000_000

    /// What a jar tells `url` after `from` has set cookies.
    private func told(
        _ fields: [String],
        from: String = "https://a.example.com/x/y",
        to url: String? = nil,
        later: Int64 = 0
    ) throws -> String? {
        var jar = CookieJar()
        for field in fields {
            let headers: HTTPHeaders = ["Set-Cookie": field]
            jar.store(headers, from: try HTTPURL(from), now: now)
        }
        return try told(by: &jar, url ?? from, later: later)
    }

    private func told(by jar: inout CookieJar, _ url: String, later: Int64 = 0) throws -> String? {
        let url = try HTTPURL(url)
        return jar.field(for: url, now: now + later).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "Name and value are what stands around the first =, trimmed",
        arguments: [
            ("a=b", "a=b"), (" a = b ; Path=/", "a=b"), ("a=b=c", "a=b=c"), ("a=", "a="),
            ("=b", "b"), ("b", "b"), ("", nil), ("=", nil), (" ; Secure", nil),
            ("a=\"b c\"", "a=\"b c\""),
            ("a=b,c=d", "a=b,c=d"), ("a=é", "a=é"), ("a=b\tc", "a=b\tc"), ("a=b\u{1}", nil),
            ("a=b\u{7F}", nil), ("a=b;c=d", "a=b"), ("a=b;;;", "a=b"),
        ]
    )
    func pairs(_ field: String, _ pair: String?) throws {
        #expect(try told([field]) == pair)
    }

    @Test("A cookie goes to its host alone, or with a domain to all below it")
    func domains() throws {
        let sub = "https://b.a.example.com/x/y"
        #expect(try told(["a=b"], to: sub) == nil)
        for domain in ["a.example.com", ".A.Example.com", "example.com"] {
            #expect(try told(["a=b; Domain=\(domain)"], to: sub) == "a=b")
        }
        #expect(try told(["a=b; domain=example.com"], to: "https://example.com/x/") == "a=b")
        #expect(try told(["a=b; Domain="], to: sub) == nil)
        #expect(try told(["a=b; Domain="]) == "a=b")
        #expect(try told(["a=b; Domain=com; Domain=example.com"], to: sub) == "a=b", "the last")
        for domain in [
            "b.a.example.com", "example.org", "ample.com", "xample.com", "a b", "1.2.3.4",
        ] {
            #expect(try told(["a=b; Domain=\(domain)"]) == nil, "\(domain)")
        }
        #expect(try told(["a=b; Domain=example.com"], to: "https://badexample.com/x/") == nil)
    }

    @Test("A domain of one label is nobody's, unless it is the host itself")
    func suffixes() throws {
        #expect(try told(["a=b; Domain=com"]) == nil)
        let host = "http://localhost/"
        #expect(try told(["a=b; Domain=localhost"], from: host) == "a=b")
        #expect(try told(["a=b; Domain=localhost"], from: host, to: "http://x.localhost/") == nil)
        var jar = CookieJar()
        let url = try HTTPURL("https://a.com/")
        #expect(throws: CookieFault.publicSuffix("com")) {
            try jar.store(Array("a=b; Domain=com".utf8), from: url, now: now)
        }
    }

    @Test(
        "With the list, no cookie is for a public suffix",
        .enabled(if: PublicSuffix.isBuilt, "built without the trait PublicSuffixes")
    )
    func publicSuffixes() throws {
        let shop = "https://a.shop.co.uk/"
        #expect(try told(["a=b; Domain=co.uk"], from: shop) == nil)
        #expect(try told(["a=b; Domain=shop.co.uk"], from: shop) == "a=b")
        #expect(try told(["a=b; Domain=github.io"], from: "https://x.github.io/") == nil)
    }

    @Test("Addresses have no domains around them")
    func addresses() throws {
        let host = "http://127.0.0.1/"
        #expect(try told(["a=b; Domain=127.0.0.1"], from: host) == "a=b")
        #expect(try told(["a=b; Domain=0.0.1"], from: host) == nil)
        #expect(try told(["a=b"], from: "http://[::1]/") == "a=b")
        #expect(try told(["a=b; Domain=::1"], from: "http://[::1]/") == nil)
    }

    @Test(
        "A path counts by whole segments and by case",
        arguments: [
            ("", "/x/y", true), ("", "/x/", true), ("", "/x", true), ("", "/xy", false),
            ("", "/", false), ("/", "/z", true), ("/x", "/x/z", true), ("/x/", "/x", false),
            ("/x", "/xz", false), ("/X", "/x", false), ("x", "/x/1", true),
            ("/x/y/z", "/x/y", false),
            ("/%7E", "/~", false),
        ]
    )
    func paths(_ path: String, _ asked: String, _ goes: Bool) throws {
        let pair = try told(["a=b; Path=\(path)"], to: "https://a.example.com\(asked)")
        #expect((pair == "a=b") == goes)
    }

    @Test("A cookie for TLS goes over TLS alone, comes over it alone, and is not hidden")
    func secure() throws {
        let clear = "http://a.example.com/x/y"
        #expect(try told(["a=b; Secure"], to: clear) == nil)
        #expect(try told(["a=b; Secure"], from: clear) == nil)
        #expect(try told(["a=b"], from: clear, to: "https://a.example.com/x/y") == "a=b")
        var jar = CookieJar()
        let tls = try HTTPURL("https://example.com/x/")
        try jar.store(Array("a=b; Secure; Domain=example.com".utf8), from: tls, now: now)
        let other = try HTTPURL("http://a.example.com/x/y")
        #expect(throws: CookieFault.hidesSecureCookie) {
            try jar.store(Array("a=evil; Path=/x".utf8), from: other, now: now)
        }
        try jar.store(Array("a=c; Path=/".utf8), from: other, now: now)
        #expect(try told(by: &jar, "https://a.example.com/x/") == "a=b; a=c")
    }

    @Test("Names that promise something have to keep it, in whatever case")
    func prefixes() throws {
        #expect(try told(["__Secure-a=b; Secure"]) == "__Secure-a=b")
        #expect(try told(["__Host-a=b; Secure; Path=/"]) == "__Host-a=b")
        let broken = [
            "__Secure-a=b", "__secURE-a=b", "__Host-a=b; Secure", "__Host-a=b; Path=/",
            "__host-a=b; Secure; Path=/; Domain=a.example.com", "=__Secure-a=b; Secure",
            "__Host-a; Secure; Path=/",
        ]
        for field in broken { #expect(try told([field]) == nil, "\(field)") }
    }

    @Test("Max-Age counts before Expires, and none lasts for more than 400 days")
    func ages() throws {
        let future = HTTPDate.text(of: now + 100)
        #expect(try told(["a=b; Expires=\(future)"], later: 99) == "a=b")
        #expect(try told(["a=b; Expires=\(future)"], later: 100) == nil)
        #expect(try told(["a=b; Max-Age=10; Expires=\(future)"], later: 10) == nil)
        #expect(try told(["a=b; Expires=\(future); Max-Age=200"], later: 199) == "a=b")
        #expect(try told(["a=b; Max-Age=9\(String(repeating: "9", count: 40))"]) == "a=b")
        let days: Int64 = 400 * 86_400
        for age in ["Max-Age=99999999", "Expires=1 Jan 9999 0:0:0"] {
            #expect(try told(["a=b; \(age)"], later: days - 1) == "a=b")
            #expect(try told(["a=b; \(age)"], later: days) == nil)
        }
        for age in ["-1", "0", "-0", "-99999999999999999999999"] {
            #expect(try told(["a=b", "a=c; Max-Age=\(age)"]) == nil, "\(age) deletes")
        }
        for age in ["", "1x", "+1", "1.5"] {
            #expect(try told(["a=b; Max-Age=\(age)"], later: 10_000_000_000) == "a=b")
        }
        #expect(try told(["a=b; Expires=never"], later: 10_000_000_000) == "a=b")
        #expect(try told(["a=b", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]) == nil)
    }

    @Test("Longer paths come first, then older cookies; a replaced one keeps its age")
    func order() throws {
        let fields = ["a=1; Path=/", "b=2; Path=/x", "c=3; Path=/", "a=4; Path=/", "d=5; Path=/x"]
        #expect(try told(fields) == "b=2; d=5; a=4; c=3")
        #expect(try told(["a=1", "a=2; Domain=a.example.com"]) == "a=1; a=2", "two of a name")
    }

    @Test("Each bound holds, and what was used stays longer")
    func bounds() throws {
        let half = String(repeating: "x", count: 2048)
        #expect(try told(["\(half)=\(half)"])?.utf8.count == 4097)
        #expect(try told(["\(half)=\(half)y"]) == nil)
        let long = "a=b; Path=/\(String(repeating: "p", count: 1024))"
        #expect(try told([long]) == "a=b", "an attribute that is too long is passed over")

        var jar = CookieJar()
        let url = try HTTPURL("https://h.example/")
        try jar.store(Array("first=1; Path=/p; Secure".utf8), from: url, now: now)
        try jar.store(Array("second=1; Path=/q".utf8), from: url, now: now)
        for index in 0..<49 {
            if index == 30 { _ = try told(by: &jar, "https://h.example/q") }
            try jar.store(Array("n\(index)=1; Path=/r".utf8), from: url, now: now)
        }
        #expect(jar.count == CookieJar.domainLimit)
        let names = jar.cookies.map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names.contains("first") && names.contains("second") && !names.contains("n0"))

        for index in 0..<3200 {
            var cookie = HTTPCookie(name: "a", value: "b", domain: "h\(index).example")
            cookie.expires = index < 2500 ? nil : now + 10
            jar.insert(cookie, now: now)
            if index % 100 == 0 { _ = try told(by: &jar, "https://h.example/q") }
        }
        #expect(jar.count == CookieJar.limit && jar.cookies.count == CookieJar.limit)
        #expect(try told(by: &jar, "https://h.example/q") == "second=1")
        #expect(try told(by: &jar, "https://h0.example/") == nil, "the oldest has gone")
        jar.removeExpired(now: now + 10)
        #expect(jar.count == 2300)
        jar.removeSessionCookies()
        #expect(jar.count == 0 && jar.cookies.isEmpty)
    }

    @Test("A file of cookies is read as it was written, and as curl writes it")
    func files() throws {
        let text = """
            # Netscape HTTP Cookie File

            .example.com\tTRUE\t/\tTRUE\t2000000000\tname\tvalue
            #HttpOnly_h.example\tFALSE\t/x\tFALSE\t0\ta\tb\tc\r
            # comment\tFALSE\t/\tFALSE\t0\tx\ty
            h.example\tFALSE\t/\tFALSE\t0\tempty
            old.example\tFALSE\t/\tFALSE\t1\tx\ty
            broken\tFALSE
            h.example\tFALSE\t/\tFALSE\tx\tx\ty
            """
        var jar = CookieJar(file: Array(text.utf8), now: now)
        #expect(jar.count == 3)
        #expect(try told(by: &jar, "https://a.example.com/") == "name=value")
        #expect(try told(by: &jar, "http://a.example.com/") == nil)
        #expect(try told(by: &jar, "http://h.example/x/") == "a=b\tc; empty=")
        let file = jar.file(now: now)
        #expect(CookieJar(file: file, now: now).cookies == jar.cookies)
        let wanted = "\n.example.com\tTRUE\t/\tTRUE\t2000000000\tname\tvalue\n"
        #expect(String(decoding: file, as: UTF8.self).contains(wanted))
        #expect(CookieJar(file: jar.file(now: 2_000_000_000), now: now).count == 2)
    }

    @Test("What was not taken is told, one by one")
    func faults() throws {
        var jar = CookieJar()
        let headers: HTTPHeaders = [
            "Set-Cookie": "a=b", "set-cookie": "", "SET-COOKIE": "c=d; Domain=x.org",
        ]
        let faults = jar.store(headers, from: try HTTPURL("https://h.example/"), now: now)
        #expect(faults == [.malformed, .foreignDomain("x.org")])
        #expect(jar.count == 1)
    }
}

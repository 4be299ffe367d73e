import Testing

@testable import TowlineHTTP

@Suite("URLs") struct HTTPURLTests {
    @Test("A URL is taken apart, and whole again")
    func parts() throws {
        let text = "https://me:p%40ss@Example.COM:8443/a%20b/c?d=e&f#g"
        let url = try HTTPURL(text)
        #expect(url.scheme == .https)
        #expect(url.username == "me" && url.password == "p%40ss")
        #expect(url.decodedPassword == "p@ss" && url.hasUserInfo)
        #expect(url.host == .name("example.com"))
        #expect(url.port == 8443 && url.effectivePort == 8443)
        #expect(url.path == "/a%20b/c" && url.query == "d=e&f" && url.fragment == "g")
        #expect(url.href == "https://me:p%40ss@example.com:8443/a%20b/c?d=e&f#g")
        #expect(url.authority == "example.com:8443")
        #expect(url.requestTarget == "/a%20b/c?d=e&f")
        #expect(url.absoluteTarget == "https://example.com:8443/a%20b/c?d=e&f")
        #expect(url.tunnelTarget == "example.com:8443")
        #expect(url.origin.description == "https://example.com:8443")
        #expect(url.withoutUserInfo.withoutFragment.href == url.absoluteTarget)
        #expect(url.withFragment("h i").fragment == "h%20i")
    }

    @Test("What a server is asked for is never empty, and the scheme's port not named")
    func defaults() throws {
        let url = try HTTPURL("http://[::0001]:80")
        #expect(url.host == .ipv6("::1") && url.host.isAddress && url.host.text == "::1")
        #expect(url.port == nil && url.effectivePort == 80)
        #expect(url.authority == "[::1]")
        #expect(url.requestTarget == "/")
        #expect(url.tunnelTarget == "[::1]:80")
        #expect(try HTTPURL("https://h?").requestTarget == "/?")
        #expect(try HTTPURL("https://h:443").origin == HTTPURL("https://H").origin)
        #expect(try HTTPURL("https://h:80").origin != HTTPURL("http://h:80").origin)
    }

    @Test(
        "References are resolved as RFC 3986 section 5.4 shows, strictly",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
            ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
            ("../../", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
            ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
            ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"), ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ]
    )
    func references(_ reference: String, _ result: String) throws {
        #expect(try HTTPURL("http://a/b/c/d;p?q").resolve(reference).href == result)
    }

    @Test("Dots in a path can be kept as they are")
    func dotSegments() throws {
        let url = try HTTPURL("http://h/a/../b/./%2e%2e/c", keepsDotSegments: true)
        #expect(url.path == "/a/../b/./%2e%2e/c")
        #expect(try HTTPURL("http://h/a/../b/./%2e%2e/c").path == "/c")
    }

    @Test("A reference that is not UTF-8 keeps its bytes, encoded; a host refuses them")
    func bytes() throws {
        let base = try HTTPURL("http://a/b")
        #expect(try base.resolve(Array("c".utf8) + [0xE9, 0xFF]).href == "http://a/c%E9%FF")
        #expect(throws: HTTPURLError.invalidHost("\u{FFFD}", .notUTF8, offset: 2)) {
            try base.resolve(Array("//".utf8) + [0xFF])
        }
    }

    @Test("An error says what is wrong, and where")
    func errors() throws {
        #expect(throws: HTTPURLError.missingScheme) { try HTTPURL("example.com/") }
        #expect(throws: HTTPURLError.missingScheme) { try HTTPURL("") }
        #expect(throws: HTTPURLError.unsupportedScheme("ftp")) { try HTTPURL("ftp://h/") }
        #expect(throws: HTTPURLError.missingHost(offset: 7)) { try HTTPURL("http://") }
        #expect(throws: HTTPURLError.missingHost(offset: 9)) { try HTTPURL("http://u@:80/") }
        #expect(throws: HTTPURLError.invalidPort("8a", offset: 9)) { try HTTPURL("http://h:8a") }
        #expect(throws: HTTPURLError.invalidPort("65536", offset: 10)) {
            try HTTPURL(" http://h:65536/")
        }
        let fault = HTTPURLError.HostFault.forbiddenCharacter(" ")
        #expect(throws: HTTPURLError.invalidHost("a b", fault, offset: 9)) {
            try HTTPURL("http://u@a b/")
        }
        #expect(throws: HTTPURLError.invalidHost("1.2.3.256", .invalidIPv4, offset: 7)) {
            try HTTPURL("http://1.2.3.256/")
        }
        #expect(throws: HTTPURLError.invalidHost("[::g]", .invalidIPv6, offset: 7)) {
            try HTTPURL("http://[::g]/")
        }
        #expect(
            "\(HTTPURLError.invalidHost("a b", fault, offset: 9))"
                == "the host \"a b\" at offset 9 of the URL has the character U+0020, "
                + "which no host may have"
        )
    }

    @Test("Addresses of IPv6 are written in their shortest form")
    func addresses() throws {
        let pairs = [
            ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("0:0:0:0:0:0:0:0", "::"),
            ("1:0:0:0:0:0:0:0", "1::"),
            ("0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1"), ("::FFFF:1.2.3.4", "::ffff:102:304"),
            ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"), ("2001:DB8::", "2001:db8::"), ("1::8", "1::8"),
            ("0:0:1::", "0:0:1::"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ]
        for (text, result) in pairs {
            #expect(try HTTPURL("http://[\(text)]/").host == .ipv6(result))
        }
        let refused = [
            "", ":", ":::", "1", "1:", ":1", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8:9",
            "::1:2:3:4:5:6:7:8", "1::2::3", "12345::", "::1.2.3", "::1.2.3.4.5", "::01.2.3.4",
            "::1.2.3.400", "1:2:3:4:5:6:7:1.2.3.4", "::.1.2.3", "::1%25eth0", "::1.2.3.4:5",
            "1:::2",
        ]
        for text in refused {
            #expect(throws: HTTPURLError.self, "\(text)") { try HTTPURL("http://[\(text)]/") }
        }
    }

    @Test("A long row of whatever has a meaning takes a moment")
    func long() throws {
        for part in ["../", "/", "a/../", "%2e%2E/", "%", "\u{E9}", "?", "#", "@"] {
            let text = String(repeating: part, count: 40_000 / part.utf8.count)
            #expect(try HTTPURL("http://h/\(text)").host == .name("h"))
        }
        let dots = String(repeating: "1.", count: 20_000)
        #expect(throws: HTTPURLError.self) { try HTTPURL("http://\(dots)/") }
        let colons = String(repeating: ":", count: 40_000)
        #expect(throws: HTTPURLError.self) { try HTTPURL("http://[\(colons)]/") }
        let user = String(repeating: "@", count: 40_000)
        #expect(try HTTPURL("http://\(user)h/").username.utf8.count == 119_997)
    }
}

import Testing

@testable import TowlineHTTP

@Suite("International names") struct InternationalNameTests {
    @Test(
        "A name beyond ASCII becomes the one that is looked up",
        .enabled(if: InternationalName.isBuilt, "the package is built without the trait IDN")
    )
    func names() throws {
        let pairs = [
            ("Bücher.example", "xn--bcher-kva.example"), ("faß.de", "xn--fa-hia.de"),
            ("日本語。ＪＰ", "xn--wgv71a119e.jp"), ("%E2%98%83.net", "xn--n3h.net"),
            ("ｅｘａｍｐｌｅ.com", "example.com"), ("a\u{AD}b", "ab"),
        ]
        for (text, name) in pairs {
            #expect(try HTTPURL("https://\(text)/").host == .name(name))
        }
        #expect(try HTTPURL("http://１２７.１/").host == .ipv4("127.0.0.1"))
    }

    @Test(
        "What is forbidden in a name is looked for in the result, too",
        .enabled(if: InternationalName.isBuilt, "the package is built without the trait IDN")
    )
    func refused() throws {
        let texts = [
            "a．1.2.3.4", "ａ％b", "a\u{3000}b", "é\0b", "\u{AD}", "１.２.３.４.５", "a／b", "xn--é",
            "é%0D%0Ab",
        ]
        for text in texts {
            #expect(throws: HTTPURLError.self, "\(text)") { try HTTPURL("http://\(text)/") }
        }
    }

    @Test(
        "Without the trait, such a name is an error that says so",
        .enabled(if: !InternationalName.isBuilt, "the package is built with the trait IDN")
    )
    func notBuilt() {
        let fault = HTTPURLError.HostFault.internationalNamesNotBuilt
        #expect(throws: HTTPURLError.invalidHost("é.com", fault, offset: 7)) {
            try HTTPURL("http://é.com/")
        }
        #expect("\(fault)".contains("trait IDN"))
    }

    @Test("Names in ASCII are taken as they are, A-labels included")
    func ascii() throws {
        #expect(try HTTPURL("http://XN--N3H.NET/").host == .name("xn--n3h.net"))
        #expect(try HTTPURL("http://a_b.c-.d/").host == .name("a_b.c-.d"))
    }
}

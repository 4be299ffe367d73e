import Testing

@testable import TowlineHTTP

@Suite("Authentication") struct AuthenticationTests {
    private func challenges(_ values: String...) -> [HTTPChallenge] {
        HTTPChallenge.all(
            in: HTTPHeaders(values.map { .init(name: "WWW-Authenticate", value: $0) }),
            named: "www-authenticate"
        )
    }

    /// One line for each, for comparing.
    private func lines(_ value: String) -> [String] {
        challenges(value).map { challenge in
            let parameters = challenge.parameters.map {
                "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))"
            }
            return ([challenge.scheme] + (challenge.token.map { [$0] } ?? []) + parameters)
                .joined(separator: "|")
        }
    }

    @Test(
        "Several challenges in one field are told apart",
        arguments: [
            ("Basic realm=\"a\"", ["basic|realm=a"]),
            ("Basic", ["basic"]), ("", []), (",, ,", []),
            (
                "Basic realm=\"a, b\", Digest realm=\"c\", nonce=d",
                [
                    "basic|realm=a, b", "digest|realm=c|nonce=d",
                ]
            ),
            ("Negotiate, NTLM, Basic realm=x", ["negotiate", "ntlm", "basic|realm=x"]),
            ("Negotiate YWJj==, Basic realm=x", ["negotiate|YWJj==", "basic|realm=x"]),
            (
                "Newauth realm=a, type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
                [
                    "newauth|realm=a|type=1|title=Login to \"apps\"", "basic|realm=simple",
                ]
            ),
            ("BASIC  Realm = \"a\"", ["basic|realm=a"]), ("Basic realm=\"a", ["basic|realm=a"]),
            ("realm=x, Basic realm=y", ["basic|realm=y"]), ("\"x\", Basic", ["basic"]),
            ("Basic realm=a realm=b", ["basic|realm=a|realm=b"]), ("@@ , Basic", ["basic"]),
            (
                "Bearer error=\"invalid_token\", scope=\"a b\"",
                [
                    "bearer|error=invalid_token|scope=a b"
                ]
            ),
            ("Basic, realm=x", ["basic|realm=x"]), ("A b/c+d=, E", ["a|b/c+d=", "e"]),
        ]
    )
    func parsing(_ value: String, _ wanted: [String]) {
        #expect(lines(value) == wanted)
    }

    @Test("Any bytes are gone through to their end")
    func anything() {
        var generator = SystemRandomNumberGenerator()
        let letters = Array("Ba =\",\\\t;@/\u{E9}".utf8)
        for _ in 0..<2000 {
            let bytes = (0..<20).map { _ in letters.randomElement(using: &generator) ?? 0 }
            var headers = HTTPHeaders()
            headers.add("A", bytes)
            #expect(HTTPChallenge.all(in: headers, named: "A").count <= 20)
        }
    }

    @Test("Challenges of several fields come in their order")
    func fields() {
        let found = challenges("Digest nonce=1", "Basic realm=a, Bearer")
        #expect(found.map(\.scheme) == ["digest", "basic", "bearer"])
        #expect(found[1].realm == "a" && found[0].realm == nil)
    }

    @Test("Basic and Bearer are what RFC 7617 and RFC 6750 show")
    func basic() throws {
        let aladdin = try HTTPAuthorization.basic(username: "Aladdin", password: "open sesame")
        #expect(aladdin == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        let test = try HTTPAuthorization.basic(username: "test", password: "123£")
        #expect(test == "Basic dGVzdDoxMjPCow==")
        #expect(try HTTPAuthorization.basic(username: "", password: "a:b") == "Basic OmE6Yg==")
        #expect(try HTTPAuthorization.bearer("mF_9.B5f-4.1JqM") == "Bearer mF_9.B5f-4.1JqM")
    }

    @Test("Names and passwords with what would change the field are refused, and not shown")
    func refused() {
        for (name, password) in [("a:b", "c"), ("a\n", "c"), ("a", "c\r"), ("a", "\0"), ("\t", "")]
        {
            #expect(throws: HTTPRequestFault.self) {
                try HTTPAuthorization.basic(username: name, password: password)
            }
        }
        for token in ["", "a b", "a\r\nX: y", "é"] {
            #expect(throws: HTTPRequestFault.self) { try HTTPAuthorization.bearer(token) }
        }
    }
}

import Testing

@testable import TowlineHTTP

@Suite("Digest") struct DigestTests {
    /// Notes what is hashed; the hash is the number of the text, two hexadecimal digits.
    private final class Log {
        var texts: [String] = []

        func digest(_ hash: DigestCredential.Hash, _ bytes: [UInt8]) -> [UInt8] {
            texts.append(String(decoding: bytes, as: UTF8.self))
            return [UInt8(texts.count)]
        }
    }

    private func credential(_ challenge: String) -> DigestCredential? {
        DigestCredential(
            answering: HTTPChallenge.all(in: ["A": "Digest \(challenge)"], named: "A")
        )
    }

    private func answer(
        _ credential: inout DigestCredential,
        _ log: Log,
        username: String = "me",
        clientNonce: String = "c1"
    ) throws -> String {
        let bytes = try credential.answer(
            method: .get,
            target: "/a?b",
            username: username,
            password: "pw",
            clientNonce: clientNonce,
            digest: log.digest
        )
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("With qop the count of the nonce's uses goes up, and everything is hashed in its place")
    func quality() throws {
        let log = Log()
        var digest = try #require(
            credential("realm=\"r\\\"s\", nonce=\"n\", opaque=\"o\", qop=\"auth-int, auth\"")
        )
        #expect(digest.hash == .md5)
        #expect(
            try answer(&digest, log)
                == "Digest username=\"me\", realm=\"r\\\"s\", nonce=\"n\", uri=\"/a?b\", "
                + "response=\"03\", cnonce=\"c1\", opaque=\"o\", qop=auth, nc=00000001"
        )
        #expect(log.texts == ["me:r\"s:pw", "GET:/a?b", "01:n:00000001:c1:auth:02"])
        #expect(try answer(&digest, log, clientNonce: "c2").hasSuffix("qop=auth, nc=00000002"))
        #expect(log.texts[5] == "04:n:00000002:c2:auth:05")
    }

    @Test("Without qop, the answer is that of old servers")
    func old() throws {
        let log = Log()
        var digest = try #require(credential("realm=r, nonce=n, algorithm=MD5"))
        let text = try answer(&digest, log)
        #expect(text.hasSuffix("response=\"03\", algorithm=MD5"))
        #expect(log.texts[2] == "01:n:02")
    }

    @Test("A session's secret is made of the nonces that it began with")
    func session() throws {
        let log = Log()
        var digest = try #require(
            credential("realm=r, nonce=n, algorithm=SHA-256-sess, qop=auth")
        )
        #expect(digest.hash == .sha256)
        _ = try answer(&digest, log)
        #expect(log.texts[1] == "01:n:c1" && log.texts[3] == "02:n:00000001:c1:auth:03")
        let second = try answer(&digest, log, clientNonce: "c2")
        #expect(second.contains("cnonce=\"c1\"") && second.contains("nc=00000002"))
    }

    @Test("Names beyond ASCII, and hidden ones, have forms of their own")
    func names() throws {
        let log = Log()
        var digest = try #require(credential("realm=r, nonce=n, qop=auth"))
        let text = try answer(&digest, log, username: "é\"x")
        #expect(text.hasPrefix("Digest username*=UTF-8''%C3%A9%22x, realm"))
        var hidden = try #require(credential("realm=r, nonce=n, qop=auth, userhash=true"))
        let answer = try answer(&hidden, log)
        #expect(answer.contains("username=\"07\"") && answer.hasSuffix("userhash=true"))
        #expect(log.texts[6] == "me:r")
        #expect(throws: HTTPRequestFault.self) {
            try self.answer(&digest, log, username: "a\r\nb")
        }
    }

    @Test("The first challenge that can be answered is")
    func choice() throws {
        let headers: HTTPHeaders = [
            "A": "Basic realm=b, Digest realm=r, nonce=n, algorithm=SHA-512-256",
            "a": "Digest realm=r, nonce=m, algorithm=SHA-256, Digest realm=r, nonce=l",
        ]
        let all = HTTPChallenge.all(in: headers, named: "A")
        #expect(DigestCredential(answering: all)?.hash == .sha256)
        #expect(credential("realm=r") == nil, "no nonce")
        #expect(credential("nonce=n") == nil, "no realm")
        #expect(credential("realm=r, nonce=n, qop=auth-int") == nil)
    }

    @Test("A stale nonce, and the next one, begin a new count")
    func stale() throws {
        let stale = HTTPChallenge.all(in: ["A": "Digest nonce=n, stale=TRUE"], named: "A")
        #expect(DigestCredential.isStale(stale))
        let wrong = HTTPChallenge.all(in: ["A": "Digest nonce=n, stale=false"], named: "A")
        #expect(!DigestCredential.isStale(wrong))
        let log = Log()
        var digest = try #require(credential("realm=r, nonce=n, qop=auth"))
        _ = try answer(&digest, log)
        digest.update(authenticationInfo: Array("qop=auth, nextnonce=\"m\"".utf8))
        let text = try answer(&digest, log)
        #expect(text.contains("nonce=\"m\"") && text.hasSuffix("nc=00000001"))
    }
}

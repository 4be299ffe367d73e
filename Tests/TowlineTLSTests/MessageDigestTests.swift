import COpenSSL
import Testing

@testable import TowlineTLS

@Suite("Message digests") struct MessageDigestTests {
    @Test(
        "Each digest is that of its standard",
        arguments: [
            (MessageDigest.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
            (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
            (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ]
    )
    func standards(digest: MessageDigest, text: String, expected: String) throws {
        let bytes = Array(text.utf8)
        let result = try digest.digest(of: bytes)
        let digits = Array("0123456789abcdef".utf8)
        let text = result.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        #expect(String(decoding: text, as: UTF8.self) == expected)
        #expect(try digest.digest(of: bytes.span.bytes) == result)
    }

    @Test(
        "A configuration without an algorithm is answered by an error",
        arguments: MessageDigest.allCases
    )
    func absence(digest: MessageDigest) throws {
        // A context in which nothing is offered at all.
        let library = try #require(OSSL_LIB_CTX_new())
        defer { OSSL_LIB_CTX_free(library) }
        let provider = try #require(OSSL_PROVIDER_load(library, "null"))
        defer { OSSL_PROVIDER_unload(provider) }
        #expect(throws: AlgorithmError.notAvailable(digest.rawValue)) {
            try digest.digest(of: [UInt8]().span.bytes, in: library)
        }
        #expect(ERR_peek_error() == 0, "nothing is left in the queue of errors")
        #expect("\(AlgorithmError.notAvailable("MD5"))".contains("no MD5"))
    }

    @Test("Where FIPS is asked for one digest is missing, and the others are answered for")
    func properties() throws {
        let library = try #require(OSSL_LIB_CTX_new())
        defer { OSSL_LIB_CTX_free(library) }
        #expect(EVP_set_default_properties(library, "fips=yes") == 1)
        #expect(throws: AlgorithmError.notAvailable("MD5")) {
            try MessageDigest.md5.digest(of: [UInt8]().span.bytes, in: library)
        }
    }

    @Test("Random bytes are as many as asked for, and others each time")
    func random() throws {
        #expect(try RandomBytes.make(count: 0) == [])
        let first = try RandomBytes.make(count: 24)
        #expect(first.count == 24)
        #expect(try RandomBytes.make(count: 24) != first)
    }
}

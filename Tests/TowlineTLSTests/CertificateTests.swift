import TestSupport
import Testing

@testable import TowlineTLS

@Suite("Certificates") struct CertificateTests {
    private let certificates: TestCertificates

    init() throws {
        certificates = try TestCertificates.made()
    }

    @Test("What a certificate says can be asked for")
    func facts() throws {
        let good = try certificate("server/good.pem")
        #expect(good.subject == "O=Test, CN=good.test")
        #expect(good.issuer == "O=Test, CN=Test Intermediate")
        #expect(good.serialNumber == "1001")
        #expect(good.notBefore?.description == "2020-01-01")
        #expect(good.notAfter?.description == "2049-12-31 23:59:59")
        #expect(good.hostNames == ["good.test", "localhost"])
        #expect(good.addresses == ["127.0.0.1", "::1"])
        #expect(good.keyType == .ellipticCurve("prime256v1") && good.keyBits == 256)
        #expect(good.publicKeyPin == (try certificates.pins()["good"]))
        #expect(
            good.description == "certificate of good.test, issued by O=Test, CN=Test Intermediate"
        )
        let rsa = try certificate("server/good-rsa.pem")
        #expect(rsa.keyType == .rsa && rsa.keyBits == 2_048)
        #expect(try certificate("server/good-ed25519.pem").keyType == .ed25519)
        #expect(try certificate("trust/roots.pem").title == "\"Test Root\"")
    }

    @Test("The fingerprint is what the command line tool says")
    func fingerprint() throws {
        let path = certificates.path("server/good.pem")
        let arguments = ["x509", "-in", path, "-noout", "-fingerprint", "-sha256"]
        let exit = try #require(try ChildProcess.run("openssl", arguments))
        let digits = exit.standardOutput.split { $0 == "=" || $0 == "\n" }.last ?? ""
        let bytes = digits.split(separator: ":").compactMap { UInt8($0, radix: 16) }
        #expect(bytes.count == 32)
        #expect(try certificate("server/good.pem").fingerprint == bytes)
    }

    @Test("PEM and DER are read and written, and equal bytes are equal certificates")
    func forms() throws {
        let pem = try certificates.bytes("server/good.pem")
        let good = try certificate("server/good.pem")
        #expect(Array(good.pem.utf8) == pem)
        let again = try Certificate(der: good.der)
        #expect(again == good && again.hashValue == good.hashValue)
        #expect(try certificate("server/sni-a.pem") != good)
        let files = try Certificate.certificates(file: certificates.path("client/alice.der"))
        #expect(files == [try certificate("client/alice.pem")])
    }

    @Test("Blocks of PEM are found with any ends of lines and with text around them")
    func blocks() throws {
        let good = try certificate("server/good.pem")
        let windows = good.pem.replacing("\n", with: "\r\n")
        let spaced = "\u{FEFF}# comment\n-----\n" + good.pem.replacing("\n", with: " \n") + "end"
        for text in [windows, spaced, good.pem + good.pem] {
            let found = try Certificate.certificates(pem: Array(text.utf8))
            #expect(Set(found) == [good])
        }
        for text in ["", "-----BEGIN", "no block\n"] {
            #expect(throws: IdentityError.self) {
                try Certificate.certificates(pem: Array(text.utf8))
            }
        }
    }

    @Test("Any cut of a block is refused, and stops nothing")
    func cuts() throws {
        let pem = try certificates.bytes("server/good.pem")
        for count in 0..<(pem.count - 1) {
            #expect(throws: IdentityError.self) {
                try Certificate.certificates(pem: Array(pem.prefix(count)))
            }
        }
    }

    @Test("A name with what would end a line prints as one line")
    func lines() {
        let text = OneLine.text("a\nb\u{2028}c\u{202E}d\0")
        #expect(text == "a\\u{a}b\\u{2028}c\\u{202e}d\\u{0}")
        #expect(OneLine.text(String(repeating: "x", count: 999)).count == 261)
    }

    @Test("A pin is read with and without what curl puts in front")
    func pins() throws {
        let text = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let pin = try #require(PublicKeyPin(text))
        #expect(pin.sha256.prefix(2) == [0xE3, 0xB0] && pin.description == text)
        #expect(PublicKeyPin("sha256//" + text) == pin)
        for wrong in ["", "abc", String(text.dropLast()), text + "=", "YWI="] {
            #expect(PublicKeyPin(wrong) == nil, "\(wrong)")
        }
    }

    @Test(
        "Moments print as dates",
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31 23:59:59"), (951_782_400, "2000-02-29"),
            (1_769_817_600, "2026-01-31"), (4_107_542_399, "2100-02-28 23:59:59"),
            (4_107_542_400, "2100-03-01"), (253_402_300_799, "9999-12-31 23:59:59"),
        ]
    )
    func moments(seconds: Int64, text: String) {
        #expect(UnixTime(seconds: seconds).description == text)
    }

    private func certificate(_ name: String) throws -> Certificate {
        try Certificate.certificates(pem: certificates.bytes(name))[0]
    }
}

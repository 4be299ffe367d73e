import TestSupport
import Testing

@testable import TowlineTLS

@Suite("Identities") struct IdentityTests {
    private let certificates: TestCertificates
    private let password = TestCertificates.password

    init() throws {
        certificates = try TestCertificates.made()
    }

    @Test(
        "TI1 Certificates and a key come from one file or two, in any order, with text around them"
    )
    func oneOrTwo() throws {
        let chain = try certificates.bytes("client/alice-chain.pem")
        let key = try certificates.bytes("client/alice.key")
        let parts = try Certificate.certificates(pem: chain)
        let text = { (certificate: Certificate) in Array("some text\n".utf8) + certificate.pem.utf8
        }
        let sources: [([UInt8], [UInt8]?)] = [
            (chain, key), (chain + key, nil), (key + chain, nil),
            (text(parts[1]) + key + text(parts[0]), nil),
            (parts[0].der, key), (text(parts[1]) + text(parts[0]), key + chain),
        ]
        for (place, source) in sources.enumerated() {
            let identity = try Identity(certificateChain: source.0, privateKey: source.1)
            #expect(identity.certificate == parts[0], "source \(place)")
            let others = source.0 == parts[0].der ? [] : [parts[1]]
            #expect(identity.intermediates == others, "source \(place)")
        }
        let files = try Identity(
            certificateFile: certificates.path("client/alice.der"),
            privateKeyFile: certificates.path("client/alice-key.der")
        )
        #expect(files.certificate == parts[0])
    }

    @Test("TI1 Intermediates follow in sending order, others behind them")
    func order() throws {
        let chain = try Certificate.certificates(
            pem: certificates.bytes("client/alice-chain.pem")
        )
        let root = try Certificate.certificates(pem: certificates.bytes("trust/roots.pem"))
        let other = try Certificate.certificates(pem: certificates.bytes("trust/other-roots.pem"))
        let text = (other + root + chain.reversed()).map(\.pem).joined()
        let identity = try Identity(
            certificateChain: Array(text.utf8),
            privateKey: certificates.bytes("client/alice.key")
        )
        #expect(identity.intermediates == [chain[1]] + root + other)
    }

    @Test(
        "TI1 Keys are read in all their forms",
        arguments: ["ec", "rsa"],
        [
            "pkcs8.pem", "pkcs8.der", "traditional.pem", "traditional.der", "pkcs8-protected.pem",
            "pkcs8-protected.der", "traditional-protected.pem",
        ]
    )
    func forms(kind: String, form: String) throws {
        let isProtected = form.contains("protected")
        let identity = try Identity(
            certificateFile: certificates.path("key/\(kind).pem"),
            privateKeyFile: certificates.path("key/\(kind)-\(form)"),
            password: isProtected ? password : nil
        )
        #expect(identity.intermediates.count == 1)
        guard isProtected else { return }
        expect(.passwordRequired, "key/\(kind).pem", "key/\(kind)-\(form)", password: nil)
        expect(.wrongPassword, "key/\(kind).pem", "key/\(kind)-\(form)", password: "wrong")
        expect(.wrongPassword, "key/\(kind).pem", "key/\(kind)-\(form)", password: "")
    }

    @Test(
        "TI1 PKCS#12 has it all, with the name that it calls it",
        arguments: [
            ("alice", "correct horse"), ("alice-3des", "correct horse"), ("alice-utf8", "pä§§wörd"),
        ]
    )
    func pkcs12(file: String, password: String) throws {
        let identity = try Identity(
            pkcs12File: certificates.path("client/\(file).p12"),
            password: password
        )
        let chain = try Certificate.certificates(
            pem: certificates.bytes("client/alice-chain.pem")
        )
        #expect([identity.certificate] + identity.intermediates == chain)
        #expect(identity.friendlyName == "alice")
        expect(.wrongPassword, pkcs12: file, password: "wrong")
        expect(.passwordRequired, pkcs12: file, password: nil)
    }

    @Test("TI2 What cannot be read says why")
    func faults() throws {
        expect(.unreadable(path: "/nowhere.pem", errno: 2), "/nowhere.pem", nil)
        expect(.noCertificate, "client/garbage.pem", "client/alice.key")
        expect(.noCertificate, "client/alice.key", nil)
        expect(.noKey, "client/alice.pem", nil)
        expect(.noKey, "client/alice.pem", "client/alice.pem")
        expect(.noKey, "client/alice.der", nil)
        expect(.keyMismatch, "client/alice.pem", "client/revoked.key")
        expect(.noIntegrity, pkcs12: "alice-nomac", password: password)
        expect(.noKey, pkcs12: "no-key", password: password)
        expect(.malformed(.pkcs12, offset: 0), pkcs12: "broken", password: password)
        expect(.tooWeak("RSA key of 768 bits"), "key/tiny.pem", "key/tiny.key")
    }

    @Test("TI1 A key of which only the public half is whole is refused", arguments: ["ec", "rsa"])
    func privateHalf(kind: String) throws {
        let certificate = try certificates.bytes("key/\(kind).pem")
        var key = try certificates.bytes("key/\(kind)-traditional.der")
        _ = try Identity(certificateChain: certificate, privateKey: key)
        // In the middle of EC's secret number, and of all of RSA's.
        if kind == "ec" {
            key[20] ^= 1
        } else {
            for place in stride(from: 300, to: key.count, by: 60) { key[place] ^= 1 }
        }
        #expect(throws: IdentityError.keyMismatch) {
            try Identity(certificateChain: certificate, privateKey: key)
        }
    }

    @Test("TI2 A certificate whose key cannot be read is malformed, not weak")
    func unreadableKey() throws {
        var leaf = try certificates.bytes("client/alice.der")
        // The last digit of the curve's number, P-256.
        let curve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let place = try #require(
            leaf.indices.first { leaf[$0...].starts(with: curve) }
        )
        let pem = try certificates.bytes("client/alice-chain.pem")
        leaf[place + 7] = 0x7F
        let damaged = try Certificate(der: leaf)
        #expect(!damaged.hasReadableKey)
        let key = try certificates.bytes("client/alice.key")
        let encoded = Array(damaged.pem.utf8)
        #expect(throws: IdentityError.malformed(.der, offset: 0)) {
            try Identity(certificateChain: pem + encoded, privateKey: key)
        }
    }

    @Test("TI2 An error names the file that it is about, and the way to read what is no such file")
    func names() throws {
        func text(_ make: () throws -> Identity) -> String {
            do {
                _ = try make()
                return "read"
            } catch {
                return "\(error)"
            }
        }
        let alice = certificates.path("client/alice.pem")
        let other = certificates.path("client/revoked.key")
        let keys = certificates.path("client/alice.key")
        let bundle = certificates.path("client/alice.p12")
        #expect(
            text { try Identity(certificateFile: alice, privateKeyFile: other) }
                == "\(other): the private key belongs to none of the certificates, or is damaged"
        )
        #expect(
            text { try Identity(certificateFile: keys, privateKeyFile: alice) }
                == "\(keys): there is no certificate"
        )
        #expect(
            text { try Identity(certificateFile: bundle) }
                == "\(bundle): this is PKCS#12, not PEM or DER; it is read by pkcs12 or pkcs12File"
        )
        #expect(
            text { try Identity(pkcs12File: alice) }
                == "\(alice): this is PEM, not PKCS#12; "
                + "it is read by certificateChain or certificateFile"
        )
        #expect(
            text { try Identity(pkcs12File: bundle, password: "wrong") }
                == "\(bundle): the password is wrong"
        )
        let error = IdentityError.inFile(path: "/a", .inFile(path: "/b", .noKey))
        #expect(error.reason == .noKey && error == .noKey && error != .noCertificate)
        #expect(throws: IdentityError.wrongFormat(.pkcs12, expected: [.pem, .der])) {
            try Certificate.certificates(file: bundle)
        }
    }

    @Test("TI2 Damage is told with its place")
    func damage() throws {
        let der = try certificates.bytes("client/alice.der")
        #expect(throws: IdentityError.malformed(.der, offset: 0)) {
            try Certificate(der: Array(der.dropLast()))
        }
        #expect(throws: IdentityError.malformed(.der, offset: der.count)) {
            try Certificate(der: der + [0])
        }
        var inner = der
        // The version, behind the headers of the certificate and of what is signed in it.
        #expect(der[8..<13].elementsEqual([0xA0, 3, 2, 1, 2]))
        inner[11] = 0x7F
        #expect(throws: IdentityError.malformed(.der, offset: 10)) { try Certificate(der: inner) }
        let pem = try certificates.bytes("client/alice.pem")
        #expect(throws: IdentityError.malformed(.pem, offset: pem.count)) {
            try Certificate.certificates(pem: pem + pem.dropLast(10))
        }
        #expect(throws: IdentityError.malformed(.der, offset: 0)) {
            try Identity(certificateChain: der, privateKey: [1, 2, 3])
        }
    }

    @Test("TI2, openssl#14790: old algorithms are told by name, and read only where asked for")
    func legacy() throws {
        let rc2 = IdentityError.unsupportedAlgorithm("RC2-40-CBC")
        expect(rc2, pkcs12: "alice-rc2", password: password)
        let identity = try Identity(
            pkcs12File: certificates.path("client/alice-rc2.p12"),
            password: password,
            allowsLegacyAlgorithms: true
        )
        #expect(identity.friendlyName == "alice" && identity.intermediates.count == 1)
        // The library of everybody else is as it was, and as it is while old ones are at hand.
        let library = try LegacyLibrary()
        withExtendedLifetime(library) {
            expect(rc2, pkcs12: "alice-rc2", password: password)
        }
        expect(rc2, "key/ec.pem", "key/ec-rc2.pem", password: password)
        _ = try Identity(
            certificateFile: certificates.path("key/ec.pem"),
            privateKeyFile: certificates.path("key/ec-rc2.pem"),
            password: password,
            allowsLegacyAlgorithms: true
        )
        #expect(throws: IdentityError.wrongPassword) {
            try Identity(
                pkcs12File: certificates.path("client/alice-rc2.p12"),
                password: "wrong",
                allowsLegacyAlgorithms: true
            )
        }
    }

    @Test("TI3 An empty password and none are both tried")
    func emptyPassword() throws {
        for password in [nil, ""] as [String?] {
            let identity = try Identity(
                pkcs12File: certificates.path("client/alice-empty.p12"),
                password: password
            )
            #expect(identity.friendlyName == "alice")
        }
        expect(.wrongPassword, pkcs12: "alice-empty", password: "wrong")
        expect(.wrongPassword, pkcs12: "alice", password: "")
    }

    @Test("TI3 A password is wiped when nobody needs it any more")
    func wiping() {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 12, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: "hidden words".utf8)
        Wiping.wipe(memory)
        #expect(memory.allSatisfy { $0 == 0 })
    }

    @Test("TI4 The certificates of a PKCS#12 file without a key can be trusted")
    func anchors() throws {
        let alice = try Certificate.certificates(pem: certificates.bytes("client/alice.pem"))
        let found = try Certificate.certificates(
            pkcs12: certificates.bytes("client/no-key.p12"),
            password: password
        )
        #expect(found == alice)
        let identity = try Identity(
            pkcs12File: certificates.path("client/alice.p12"),
            password: password
        )
        #expect(identity.description == "\"alice\", \(alice[0])")
        #expect(throws: IdentityError.wrongPassword) {
            try Certificate.certificates(
                pkcs12: certificates.bytes("client/no-key.p12"),
                password: "wrong"
            )
        }
    }

    @Test("TI2 Every cut of a PKCS#12 file is refused")
    func damagedPKCS12() throws {
        let file = try certificates.bytes("client/alice-empty.p12")
        for count in stride(from: 0, to: file.count, by: 29) {
            #expect(throws: IdentityError.self) { try Identity(pkcs12: Array(file.prefix(count))) }
        }
    }

    @Test("A staple can be replaced at any time")
    func staple() throws {
        let identity = try Identity(
            pkcs12File: certificates.path("client/alice.p12"),
            password: password
        )
        #expect(identity.stapledResponse == nil)
        identity.stapledResponse = [1, 2, 3]
        #expect(identity.stapledResponse == [1, 2, 3])
    }

    @Test("What a level asks for is told from what there is")
    func strength() throws {
        let weak = try Identity(
            certificateFile: certificates.path("server/weak-key.pem"),
            privateKeyFile: certificates.path("server/weak-key.key")
        )
        #expect(throws: IdentityError.tooWeak("RSA key of 1024 bits")) {
            try weak.checkStrength(securityLevel: 2)
        }
        let good = try Identity(
            certificateFile: certificates.path("server/good-rsa-chain.pem"),
            privateKeyFile: certificates.path("server/good-rsa.key")
        )
        try good.checkStrength(securityLevel: 2)
        // A configuration asks for level 2, unless its ciphers say otherwise.
        var configuration = TLSConfiguration.server(weak)
        #expect(throws: TLSError.identity(.tooWeak("RSA key of 1024 bits"))) {
            try configuration.prepare()
        }
        configuration.cipherList = "ECDHE+AESGCM:@SECLEVEL=1"
        try configuration.prepare()
    }

    @Test("TB8 Whatever fails, the library's error queue is left empty")
    func errorQueue() throws {
        expect(.keyMismatch, "client/alice.pem", "client/revoked.key")
        expect(.wrongPassword, pkcs12: "alice", password: "wrong")
        expect(.malformed(.pkcs12, offset: 0), pkcs12: "broken", password: password)
        _ = try? Certificate(der: [0x30, 3])
        let chain = try Certificate.certificates(
            pem: certificates.bytes("server/expired-chain.pem")
        )
        _ = TrustPolicy.anchors(chain).evaluate(
            chain,
            for: nil,
            role: .server,
            stapledResponse: [0x30, 3]
        )
        #expect(LibraryErrors.take() == [])
    }

    private func expect(
        _ error: IdentityError,
        _ chain: String,
        _ key: String?,
        password: String? = nil,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: error, sourceLocation: location) {
            try Identity(
                certificateFile: chain.hasPrefix("/") ? chain : certificates.path(chain),
                privateKeyFile: key.map { certificates.path($0) },
                password: password
            )
        }
    }

    private func expect(
        _ error: IdentityError,
        pkcs12 file: String,
        password: String?,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: error, sourceLocation: location) {
            try Identity(pkcs12File: certificates.path("client/\(file).p12"), password: password)
        }
    }
}

import TestSupport
import Testing

@testable import TowlineTLS

@Suite("What is said of untrusted certificates") struct TrustFailureTests {
    private let certificates: TestCertificates

    init() throws {
        certificates = try TestCertificates.made()
    }

    @Test("A wrong name is told with those that are there")
    func wrongName() throws {
        #expect(
            try text("sni-a", "b.multi.test") == "certificate is for a.multi.test, not b.multi.test"
        )
        let good = try text("good", "other.test")
        let names = "good.test, localhost, 127.0.0.1, ::1"
        #expect(good == "certificate is for \(names), not other.test")
        let none = try text("cn-only", "cnonly.test")
        #expect(none == "certificate is for no host name, not cnonly.test")
        let many = try text("large", "other.test")
        #expect(many.hasSuffix("host-008.large.example.test and 692 more, not other.test"))
        var empty = TrustFailure(.nameMismatch)
        empty.present = ["", "a.test"]
        empty.wanted = try PeerName("b.test")
        #expect(empty.description == "certificate is for \"\", a.test, not b.test")
    }

    @Test("Dates are told with what the clock says, and by the second where they are of one day")
    func dates() throws {
        let expired = try text("expired", "good.test", clock: 1_793_664_000)
        #expect(
            expired == "certificate of good.test expired on 2020-02-01, clock says 2026-11-03"
        )
        let issuer = try text("int-expired", "good.test", clock: 1_793_664_000)
        #expect(
            issuer == "certificate of \"Expired Intermediate\" expired on 2020-02-01, "
                + "clock says 2026-11-03"
        )
        let early = try text("not-yet-valid", "good.test", clock: 1_793_664_000)
        #expect(
            early == "certificate of good.test is not valid before 2048-01-01, "
                + "clock says 2026-11-03"
        )
        let close = try text("expired", "good.test", clock: 1_580_515_205)
        #expect(
            close == "certificate of good.test expired on 2020-02-01, "
                + "clock says 2020-02-01 00:00:05"
        )
    }

    @Test("An unknown issuer is told with where roots were looked for")
    func unknownIssuer() throws {
        let given = try text("good", "good.test", roots: "trust/other-roots.pem")
        #expect(
            given == "no trusted issuer for \"Test Root\" (20 unable to get local issuer "
                + "certificate). Looked in: the policy's anchor O=Test, CN=Other Root"
        )
        let chain = try Certificate.certificates(pem: certificates.bytes("server/good-chain.pem"))
        guard
            case .failure(let failure) = TrustPolicy.system.evaluate(chain, for: nil, role: .server)
        else {
            Issue.record("the system trusts the tests' root")
            return
        }
        #expect(failure.description.contains("). Looked in: SSL_CERT_FILE"))
        #expect(failure.lookedIn.contains { $0.hasPrefix("SSL_CERT_DIR") })
    }

    @Test("Other faults name the certificate and the library's reason")
    func others() throws {
        #expect(
            try text("self-signed", "good.test") == "certificate of good.test is self-signed "
                + "(18 self-signed certificate). Looked in: "
                + "the policy's anchor O=Test, CN=Test Root"
        )
        #expect(
            try text("untrusted-root", "good.test").hasPrefix(
                "root \"Other Root\" is not trusted "
                    + "(19 self-signed certificate in certificate chain)"
            )
        )
        #expect(
            try text("client-eku", "good.test")
                == "certificate of good.test is not meant for this use "
                + "(26 unsuitable certificate purpose)"
        )
        #expect(
            try text("weak-key", "good.test")
                == "the key of good.test is too weak (66 EE certificate key too weak)"
        )
        #expect(
            try text("int-noca", "good.test").hasPrefix("\"Not A CA\" may not issue certificates")
        )
    }

    @Test("A pin that does not match is told with those that could be pinned")
    func pins() throws {
        let chain = try Certificate.certificates(pem: certificates.bytes("server/good-chain.pem"))
        let seen = chain.map(\.publicKeyPin)
        let failure = TrustFailure(.pinMismatch(seen: seen))
        #expect(
            failure.description == "none of the policy's pins is in the chain of the peer: "
                + "sha256//\(seen[0]), "
                + "sha256//\(seen[1])"
        )
    }

    @Test("Each fault has the alert that tells the peer")
    func alerts() throws {
        let expected: [String: TLSAlert] = [
            "expired": .certificateExpired, "int-expired": .certificateExpired,
            "not-yet-valid": .badCertificate, "wrong-host": .badCertificate,
            "cn-only": .badCertificate, "self-signed": .unknownCA, "untrusted-root": .unknownCA,
            "missing-int": .unknownCA, "int-noca": .unknownCA, "names-bad": .certificateUnknown,
            "unknown-critical": .certificateUnknown, "client-eku": .unsupportedCertificate,
            "weak-key": .badCertificate, "weak-sha1": .badCertificate,
        ]
        for (name, alert) in expected {
            let failure = try failure(name, name == "cn-only" ? "cnonly.test" : "good.test")
            #expect(failure?.alert == alert, "\(name)")
        }
        var staple = TrustFailure(.revocationUnavailable("it is missing"))
        staple.isAboutStaple = true
        #expect(staple.alert == .badCertificateStatusResponse)
        #expect(TrustFailure(.revoked(nil, nil)).alert == .certificateRevoked)
        #expect(TrustFailure(.noCertificate).alert == .certificateRequired)
        #expect(TrustFailure(.pinMismatch(seen: [])).alert == .badCertificate)
        #expect(TrustFailure(.badSignature).alert == .decryptError)
        #expect(TrustFailure(.malformed).alert == .decodeError)
        #expect(TrustFailure(.pathLength).alert == .unknownCA)
    }

    private func text(
        _ certificate: String,
        _ name: String,
        clock: Int64? = nil,
        roots: String = "trust/roots.pem"
    ) throws -> String {
        try #require(try failure(certificate, name, clock: clock, roots: roots)).description
    }

    private func failure(
        _ certificate: String,
        _ name: String,
        clock: Int64? = nil,
        roots: String = "trust/roots.pem"
    ) throws -> TrustFailure? {
        let chain = try Certificate.certificates(
            pem: certificates.bytes("server/\(certificate)-chain.pem")
        )
        var policy = TrustPolicy.anchors(
            try Certificate.certificates(pem: certificates.bytes(roots))
        )
        policy.clock = clock.map { UnixTime(seconds: $0) }
        switch policy.evaluate(chain, for: try PeerName(name), role: .server) {
        case .success: return nil
        case .failure(let failure): return failure
        }
    }
}

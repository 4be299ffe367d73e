import TestSupport
import Testing
import TowlineTLS

@Suite("Stapled responses") struct StapledResponseTests {
    private let certificates: TestCertificates
    private let chain: [Certificate]
    private var policy: TrustPolicy

    init() throws {
        certificates = try TestCertificates.made()
        chain = try Certificate.certificates(
            pem: certificates.bytes("server/must-staple-chain.pem")
        )
        policy = .anchors(try Certificate.certificates(pem: certificates.bytes("trust/roots.pem")))
        policy.revocation = .staple(.required)
    }

    @Test(
        "TV4 A response of who may give it says that a certificate is good",
        arguments: [
            "good", "by-issuer",
        ]
    )
    func good(file: String) throws {
        #expect(reason(try evaluate(staple: file)) == nil)
    }

    @Test(
        "TV4 A response is refused that is another's, or by others, or does not know",
        arguments: [
            ("wrong-cert", "another certificate"), ("uncharged", "may not do so"),
            ("stranger", "may not do so"), ("expired-signer", "may not do so"),
            ("unknown", "does not know"),
        ]
    )
    func refused(file: String, words: String) throws {
        let result = try evaluate(staple: file)
        #expect(isUnavailable(result))
        #expect(text(result).contains(words), "\(text(result))")
    }

    @Test("TV4 A response holds from when it was made until when it says")
    mutating func window() throws {
        let now = UnixTime.now.seconds
        policy.clock = UnixTime(seconds: now + 120)
        #expect(isUnavailable(try evaluate(staple: "short")))
        #expect(reason(try evaluate(staple: "good")) == nil)
        policy.clock = UnixTime(seconds: now - 7_200)
        #expect(isUnavailable(try evaluate(staple: "good")))
    }

    @Test("TV4 A response that says revoked is believed, with its date")
    func revoked() throws {
        let chain = try Certificate.certificates(
            pem: certificates.bytes("server/revoked-chain.pem")
        )
        let result = policy.evaluate(
            chain,
            for: try PeerName("good.test"),
            role: .server,
            stapledResponse: try certificates.bytes("ocsp/revoked.der")
        )
        guard case .revoked(let date?, .keyCompromise?) = reason(result) else {
            Issue.record("\(result)")
            return
        }
        #expect(abs(date.seconds - UnixTime.now.seconds) < 3_600)
    }

    @Test("TV4 Bytes that are no response, cut or changed anywhere, are refused and stop nothing")
    func damaged() throws {
        let response = try certificates.bytes("ocsp/good.der")
        let name = try PeerName("staple.test")
        for count in stride(from: 0, to: response.count, by: 7) {
            let cut = Array(response.prefix(count))
            let result = policy.evaluate(chain, for: name, role: .server, stapledResponse: cut)
            #expect(isUnavailable(result), "\(count) bytes")
        }
        var refused = 0
        let places = Array(stride(from: 0, to: response.count, by: 5))
        for place in places {
            var changed = response
            changed[place] ^= 0x41
            let result = policy.evaluate(chain, for: name, role: .server, stapledResponse: changed)
            refused += isUnavailable(result) ? 1 : 0
        }
        // There may be a byte of the certificate that comes along at which nobody looks.
        #expect(refused >= places.count - 1)
    }

    @Test("TV4 None is refused where one is required, or the certificate says that there is one")
    mutating func missing() throws {
        #expect(isUnavailable(try evaluate(staple: nil)))
        policy.revocation = .staple(.ifDemandedByCertificate)
        #expect(isUnavailable(try evaluate(staple: nil)))
        #expect(reason(try evaluate(staple: "good")) == nil)
        policy.revocation = .staple(.ifPresent)
        #expect(reason(try evaluate(staple: nil)) == nil)
        #expect(isUnavailable(try evaluate(staple: "wrong-cert")))
        let good = try Certificate.certificates(pem: certificates.bytes("server/good-chain.pem"))
        policy.revocation = .staple(.ifDemandedByCertificate)
        #expect(reason(policy.evaluate(good, for: nil, role: .server)) == nil)
    }

    private func evaluate(staple file: String?) throws -> Result<VerifiedChain, TrustFailure> {
        policy.evaluate(
            chain,
            for: try PeerName("staple.test"),
            role: .server,
            stapledResponse: try file.map { try certificates.bytes("ocsp/\($0).der") }
        )
    }

    private func text(_ result: Result<VerifiedChain, TrustFailure>) -> String {
        switch result {
        case .success: "trusted"
        case .failure(let failure): failure.description
        }
    }
}

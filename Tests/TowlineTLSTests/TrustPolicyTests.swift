import TestSupport
import Testing
import TowlineTLS

@Suite("Trust policies") struct TrustPolicyTests {
    private let certificates: TestCertificates
    private let roots: [Certificate]
    private let good: [Certificate]
    private let name: PeerName

    init() throws {
        certificates = try TestCertificates.made()
        roots = try Certificate.certificates(pem: certificates.bytes("trust/roots.pem"))
        good = try Certificate.certificates(pem: certificates.bytes("server/good-chain.pem"))
        name = try PeerName("good.test")
    }

    @Test("A verified chain goes from the peer's certificate to the anchor, whatever the order")
    func chain() throws {
        let shuffled = [good[0]] + roots + good.dropFirst()
        let chain = try TrustPolicy.anchors(roots).evaluate(shuffled, for: name, role: .server)
            .get()
        #expect(chain.certificates == good + roots && chain.isVerified)
        #expect(chain.leaf == good[0] && chain.anchor == roots[0])
    }

    @Test("TV2 A server's certificate does not do for a client, nor a client's for a server")
    func purposes() throws {
        let alice = try Certificate.certificates(pem: certificates.bytes("client/alice-chain.pem"))
        let policy = TrustPolicy.anchors(roots)
        #expect(reason(policy.evaluate(good, for: nil, role: .client)) == .wrongPurpose)
        #expect(reason(policy.evaluate(alice, for: nil, role: .server)) == .wrongPurpose)
        #expect(reason(policy.evaluate(alice, for: nil, role: .client)) == nil)
    }

    @Test("TV2 The policy's clock is the time at which certificates have to be valid")
    func clock() throws {
        var policy = TrustPolicy.anchors(roots)
        policy.clock = UnixTime(seconds: 1_577_836_799)
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == .notYetValid)
        policy.clock = UnixTime(seconds: 2_524_608_000)
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == .expired)
        policy.clock = UnixTime(seconds: 2_500_000_000)
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == nil)
    }

    @Test("TV2 At most so many certificates stand between the peer's and the anchor")
    func depth() throws {
        var policy = TrustPolicy.anchors(roots)
        policy.maximumDepth = 1
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == nil)
        policy.maximumDepth = 0
        let failure = reason(policy.evaluate(good, for: name, role: .server))
        #expect(failure == .chainTooLong)
    }

    @Test("An intermediate ends a chain only where the policy says so")
    func partialChains() throws {
        var policy = TrustPolicy.anchors([good[1]])
        let issuer = reason(policy.evaluate(good, for: name, role: .server))
        #expect(issuer == .unknownIssuer("Test Root"))
        policy.allowsPartialChains = true
        let chain = try policy.evaluate(good, for: name, role: .server).get()
        #expect(chain.certificates == good)
    }

    @Test("Without a check of names the chain is verified still")
    func unnamed() throws {
        var policy = TrustPolicy.anchors(roots)
        let other = try PeerName("other.test")
        #expect(reason(policy.evaluate(good, for: other, role: .server)) == .nameMismatch)
        policy.checksName = false
        #expect(reason(policy.evaluate(good, for: other, role: .server)) == nil)
        policy.anchors = .only([])
        let failure = reason(policy.evaluate(good, for: other, role: .server))
        #expect(failure == .unknownIssuer("Test Root"))
    }

    @Test("TV3 One pin of the verified chain suffices, and a pin replaces no check")
    func pins() throws {
        let pins = try certificates.pins()
        let ours = try #require(pins["good"])
        #expect(good[0].publicKeyPin == ours)
        var policy = TrustPolicy.anchors(roots)
        policy.pins = [try #require(pins["expired"]), ours]
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == nil)
        policy.pins = [roots[0].publicKeyPin]
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == nil)
        policy.pins = [try #require(pins["expired"])]
        let seen = (good + roots).map(\.publicKeyPin)
        let mismatch = reason(policy.evaluate(good, for: name, role: .server))
        #expect(mismatch == .pinMismatch(seen: seen))
        policy.pins = [ours]
        let other = try PeerName("other.test")
        #expect(reason(policy.evaluate(good, for: other, role: .server)) == .nameMismatch)
    }

    @Test("TV3 A pin is looked for in the verified chain, not in what the peer sent along")
    func pinsOfStrangers() throws {
        let other = try Certificate.certificates(pem: certificates.bytes("trust/other-roots.pem"))
        var policy = TrustPolicy.anchors(roots)
        policy.pins = [other[0].publicKeyPin]
        let result = policy.evaluate(good + other, for: name, role: .server)
        let seen = (good + roots).map(\.publicKeyPin)
        #expect(reason(result) == .pinMismatch(seen: seen))
    }

    @Test("TV4 A list is needed for each certificate that is looked up, and says when and why")
    func lists() throws {
        let all = try RevocationList.lists(pem: certificates.bytes("crl/all.pem"))
        let leafOnly = try RevocationList.lists(pem: certificates.bytes("crl/int.pem"))
        #expect(all.count == 2 && leafOnly.count == 1)
        var policy = TrustPolicy.anchors(roots)
        policy.revocation = .lists(leafOnly, of: .leaf)
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == nil)
        policy.revocation = .lists(leafOnly, of: .chain)
        #expect(isUnavailable(policy.evaluate(good, for: name, role: .server)))
        policy.revocation = .lists([], of: .leaf)
        #expect(isUnavailable(policy.evaluate(good, for: name, role: .server)))
        policy.revocation = .lists(all, of: .chain)
        let bad = try Certificate.certificates(pem: certificates.bytes("server/revoked-chain.pem"))
        guard
            case .revoked(let date?, .keyCompromise?) = reason(
                policy.evaluate(bad, for: name, role: .server)
            )
        else {
            Issue.record("not revoked, or without a date and a reason")
            return
        }
        #expect(abs(date.seconds - UnixTime.now.seconds) < 3_600)
    }

    @Test("Only one policy verifies nothing, and says so of the chain")
    func insecure() throws {
        let selfSigned = try Certificate.certificates(
            pem: certificates.bytes("server/self-signed.pem")
        )
        let other = try PeerName("other.test")
        let chain = try TrustPolicy.insecureAcceptAny
            .evaluate(selfSigned, for: other, role: .server).get()
        #expect(chain.certificates == selfSigned && !chain.isVerified && chain.anchor == nil)
    }

    @Test("No certificate is no trust")
    func nothing() {
        let result = TrustPolicy.anchors(roots).evaluate([], for: name, role: .server)
        #expect(reason(result) == .noCertificate)
    }

    @Test("Anchors of one's own stand beside the system's only where that is asked for")
    func systemAnchors() throws {
        let system = TrustPolicy.system.evaluate(good, for: name, role: .server)
        #expect(reason(system) == .unknownIssuer("Test Root"))
        var policy = TrustPolicy.system
        policy.anchors = .systemAnd(roots)
        #expect(reason(policy.evaluate(good, for: name, role: .server)) == nil)
    }

    @Test("TV9 Many threads may ask one policy at once")
    func threads() async throws {
        let policy = TrustPolicy.anchors(roots)
        let verdicts = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<32 {
                group.addTask { [good, name] in
                    (try? policy.evaluate(good, for: name, role: .server).get()) != nil
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts.count == 32 && verdicts.allSatisfy { $0 })
    }

    @Test("A damaged signature is one, wherever it is")
    func damaged() throws {
        var bytes = good[0].der
        bytes[bytes.count - 1] ^= 1
        let chain = [try Certificate(der: bytes)] + good.dropFirst()
        let failure = reason(TrustPolicy.anchors(roots).evaluate(chain, for: name, role: .server))
        #expect(failure == .badSignature)
    }
}

/// Why a chain is not trusted; `nil` if it is.
func reason(_ result: Result<VerifiedChain, TrustFailure>) -> TrustFailure.Reason? {
    switch result {
    case .success: nil
    case .failure(let failure): failure.reason
    }
}

/// Whether it cannot be told if something is revoked.
func isUnavailable(_ result: Result<VerifiedChain, TrustFailure>) -> Bool {
    if case .revocationUnavailable = reason(result) { true } else { false }
}

extension TestCertificates {
    /// The pins of the servers' certificates, as the command line tool has made them.
    func pins() throws -> [String: PublicKeyPin] {
        var pins: [String: PublicKeyPin] = [:]
        for line in String(decoding: try bytes("pins.tsv"), as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: "\t")
            pins[String(fields[0])] = PublicKeyPin(String(fields[1]))
        }
        return pins
    }
}

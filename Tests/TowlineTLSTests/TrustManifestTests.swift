import TestSupport
import Testing
import TowlineTLS

@Suite("Trust, by the certificates of the script") struct TrustManifestTests {
    @Test("TV2 TV4 Each certificate of the manifest has its outcome")
    func manifest() throws {
        let certificates = try TestCertificates.made()
        #expect(certificates.rows.count == 54)
        for row in certificates.rows {
            #expect(try outcome(of: row, in: certificates) == row.expected, "\(row)")
        }
    }

    @Test("Each failure says which certificate it is about, and has the library's number")
    func facts() throws {
        let certificates = try TestCertificates.made()
        for row in certificates.rows where !["ok", "invalidPeerName"].contains(row.expected) {
            guard case .failure(let failure) = try evaluate(row, in: certificates) else {
                Issue.record("\(row) is trusted")
                continue
            }
            #expect(failure.depth != nil && failure.subject?.isEmpty == false, "\(row)")
            #expect(failure.clock != nil && failure.notAfter != nil, "\(row)")
            #expect(!failure.description.contains("\n"), "\(row)")
            // What the library cannot know of is the staple.
            let isNumbered = failure.libraryNumber != 0 && !failure.libraryText.isEmpty
            #expect(isNumbered == (row.name != "must-staple+policy"), "\(row)")
        }
    }

    private func outcome(of row: TestCertificates.Row, in all: TestCertificates) throws -> String {
        do {
            switch try evaluate(row, in: all) {
            case .success(let chain):
                #expect(chain.isVerified && chain.leaf != nil && chain.anchor != nil)
                return "ok"
            case .failure(let failure):
                return name(of: failure.reason)
            }
        } catch TLSError.configuration(.invalidPeerName) {
            return "invalidPeerName"
        }
    }

    private func evaluate(
        _ row: TestCertificates.Row,
        in all: TestCertificates
    ) throws -> Result<VerifiedChain, TrustFailure> {
        let peer = try PeerName(row.peer)
        let chain = try Certificate.certificates(pem: all.bytes(row.chain))
        var policy = TrustPolicy.anchors(try Certificate.certificates(pem: all.bytes(row.roots)))
        switch row.name.split(separator: "+").last {
        case "crl":
            policy.revocation = .lists(
                try RevocationList.lists(pem: all.bytes("crl/all.pem")),
                of: .chain
            )
        case "stale-crl":
            policy.revocation = .lists(
                try RevocationList.lists(pem: all.bytes("crl/stale.pem")),
                of: .chain
            )
        case "policy":
            policy.revocation = .staple(.ifDemandedByCertificate)
        default:
            break
        }
        return policy.evaluate(chain, for: peer, role: .server)
    }
}

/// The name of a reason without its values.
func name(of reason: TrustFailure.Reason) -> String {
    String("\(reason)".prefix { $0 != "(" })
}

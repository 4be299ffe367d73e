import Foundation
import TestSupport
import Testing
import TowlineTLS

@Suite("Trust, by the cases of others") struct TrustNameTests {
    @Test(
        "TN2 TN3 TN4 TV9 Names, constraints, lists and dates are judged as the cases say",
        .enabled(if: SharedCases.areThere("tls-names.json"), Comment(rawValue: SharedCases.hint))
    )
    func cases() throws {
        let file = try JSONDecoder().decode(
            CaseFile.self,
            from: Data(SharedCases.read("tls-names.json"))
        )
        #expect(file.cases.count == 124)
        for entry in file.cases {
            let (outcome, number) = try judge(entry)
            #expect(outcome == (entry.error ?? "accept"), "\(entry.name)")
            #expect(number == entry.x509, "\(entry.name)")
            #expect((outcome == "accept") == (entry.expect == "accept"), "\(entry.name)")
        }
    }

    private func judge(_ entry: CaseFile.Case) throws -> (outcome: String, number: Int) {
        guard let peer = try? PeerName(entry.peer.name) else { return ("invalidPeerName", 0) }
        #expect(peer.isAddress == (entry.peer.kind == "ip"), "\(entry.name)")
        var policy = TrustPolicy.anchors(try entry.roots.flatMap { try certificates($0) })
        policy.allowsPartialChains = true
        policy.clock = try entry.time.map { text in
            let date = try #require(try? Date(text, strategy: .iso8601), "\(text)")
            return UnixTime(seconds: Int64(date.timeIntervalSince1970))
        }
        if !entry.crls.isEmpty {
            let lists = try entry.crls.flatMap { try RevocationList.lists(pem: Array($0.utf8)) }
            policy.revocation = .lists(lists, of: .chain)
        }
        let chain = try entry.chain.flatMap { try certificates($0) }
        switch policy.evaluate(chain, for: peer, role: .server) {
        case .success: return ("accept", 0)
        case .failure(let failure): return (name(of: failure.reason), failure.libraryNumber)
        }
    }

    private func certificates(_ pem: String) throws -> [Certificate] {
        try Certificate.certificates(pem: Array(pem.utf8))
    }
}

/// The file of cases.
private struct CaseFile: Decodable {
    let cases: [Case]

    struct Case: Decodable {
        let name: String
        let peer: Peer
        let chain, roots, crls: [String]
        let time: String?
        let expect: String
        let error: String?
        let x509: Int
    }

    struct Peer: Decodable {
        let kind, name: String
    }
}

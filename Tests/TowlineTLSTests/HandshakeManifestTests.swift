import COpenSSL
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Handshakes, by the certificates of the script") struct HandshakeManifestTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    @Test(
        "TV1 TV2 TV4 Each certificate has its error, and the server its alert",
        arguments: Handing.allCases,
        TLSVersion.allCases
    )
    func manifest(handing: Handing, version: TLSVersion) throws {
        #expect(credentials.files.rows.count == 54)
        for row in credentials.files.rows where row.expected != "invalidPeerName" {
            // Bytewise they all take the same way.
            if handing == .byteByByte, row.name == "large" { continue }
            try check(row, handing, version)
        }
    }

    @Test("TN1 A name that is none is refused before anything is sent")
    func invalidName() throws {
        for row in credentials.files.rows where row.expected == "invalidPeerName" {
            var client = try configuration(for: row)
            client.serverName = .name(row.peer)
            #expect(throws: TLSError.configuration(.invalidPeerName(row.peer))) {
                try client.prepare()
            }
        }
    }

    private func check(
        _ row: TestCertificates.Row,
        _ handing: Handing,
        _ version: TLSVersion
    ) throws {
        var settings = try configuration(for: row)
        settings.serverName = .name(row.peer)
        settings.maximumVersion = version
        let client = try MemoryEnd(settings)
        let server = MemoryEnd(context: try serverContext(for: row))
        let pair = MemoryPair(client, server, handing)
        pair.run()
        if row.expected == "ok" {
            #expect(client.failure == nil && server.failure == nil, "\(row)")
            #expect(client.isSecured && server.isSecured, "\(row)")
            return
        }
        guard case .untrusted(let failure) = client.failure else {
            Issue.record("\(row) \(version): \(String(describing: client.failure))")
            return
        }
        #expect(TrustNames.name(of: failure.reason) == row.expected, "\(row)")
        #expect(!client.isSecured, "\(row)")
        guard let alert = Self.alert(for: row) else { return }
        #expect(server.failure == .alert(TLSAlert(code: alert), from: .peer), "\(row) \(version)")
    }

    private static func alert(for row: TestCertificates.Row) -> UInt8? {
        switch row.expected {
        case "expired": 45
        case "notYetValid", "nameMismatch", "weakKey", "weakSignature": 42
        case "selfSigned", "untrustedRoot", "unknownIssuer", "invalidIssuer": 48
        case "nameConstraint", "unsupportedExtension": 46
        case "wrongPurpose": 43
        case "revoked": 44
        case "revocationUnavailable": row.name == "must-staple+policy" ? 113 : nil
        default: nil
        }
    }

    private func configuration(for row: TestCertificates.Row) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.client
        let roots = try Certificate.certificates(pem: credentials.files.bytes(row.roots))
        var policy = TrustPolicy.anchors(roots)
        switch row.name.split(separator: "+").last {
        case "crl": policy.revocation = .lists(try lists("crl/all.pem"), of: .chain)
        case "stale-crl": policy.revocation = .lists(try lists("crl/stale.pem"), of: .chain)
        case "policy": policy.revocation = .staple(.ifDemandedByCertificate)
        default: break
        }
        configuration.trust = policy
        return configuration
    }

    private func lists(_ file: String) throws -> [RevocationList] {
        try RevocationList.lists(pem: credentials.files.bytes(file))
    }

    /// A server that may show what is too weak for others.
    private func serverContext(for row: TestCertificates.Row) throws -> TLSContext {
        guard row.name.hasPrefix("weak") else {
            let identity = try Identity(
                certificateChain: credentials.files.bytes(row.chain),
                privateKey: credentials.files.bytes(row.key)
            )
            return try TLSContext(.server(identity).detached)
        }
        // Of the same kind of key, which it is replaced by.
        let other = try credentials.server(row.name == "weak-key" ? "good-rsa" : "good")
        let context = try TLSContext(TLSConfiguration.server(other).detached, level: 0)
        let chain = credentials.files.path(row.chain)
        let key = credentials.files.path(row.key)
        // No identity can be made of those.
        try #require(SSL_CTX_use_certificate_chain_file(context.pointer, chain) == 1)
        try #require(SSL_CTX_use_PrivateKey_file(context.pointer, key, SSL_FILETYPE_PEM) == 1)
        return context
    }
}

/// Reasons by the names that the script's manifest has for them.
enum TrustNames {
    static func name(of reason: TrustFailure.Reason) -> String {
        let text = "\(reason)"
        return String(text.prefix { $0 != "(" })
    }
}

import TestSupport

@testable import TowlineTLS

/// The certificates of the script as values.
struct Credentials {
    let files: TestCertificates

    init() throws {
        files = try TestCertificates.made()
    }

    func server(_ name: String) throws -> Identity {
        try Identity(
            certificateChain: files.bytes("server/\(name)-chain.pem"),
            privateKey: files.bytes("server/\(name).key")
        )
    }

    func client(_ name: String) throws -> Identity {
        try Identity(
            certificateChain: files.bytes("client/\(name)-chain.pem"),
            privateKey: files.bytes("client/\(name).key")
        )
    }

    func roots() throws -> [Certificate] {
        try Certificate.certificates(pem: files.bytes("trust/roots.pem"))
    }

    /// A client that trusts the script's root.
    func trustingClient() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.client
        configuration.trust = .anchors(try roots())
        return configuration
    }
}

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

    /// A server that asks its clients for certificates of the script's root.
    func askingServer(
        _ authentication: TLSConfiguration.ClientAuthentication = .required
    ) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.server(try server("good"))
        configuration.clientAuthentication = authentication
        configuration.trust = .anchors(try roots())
        return configuration
    }

    /// A client and a server that trust each other, unless they are changed.
    func pair(
        _ version: TLSVersion = .tls13,
        _ handing: Handing = .whole,
        change: (inout TLSConfiguration, inout TLSConfiguration) throws -> Void = { _, _ in }
    ) throws -> MemoryPair {
        var client = try trustingClient()
        var server = TLSConfiguration.server(try server("good"))
        client.maximumVersion = version
        try change(&client, &server)
        return MemoryPair(
            try MemoryEnd(client, host: "good.test"),
            try MemoryEnd(server, isAccepted: true),
            handing
        )
    }
}

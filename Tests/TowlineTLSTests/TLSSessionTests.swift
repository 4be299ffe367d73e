import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Sessions") struct TLSSessionTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    private func pair(
        _ version: TLSVersion = .tls13,
        _ handing: Handing = .whole,
        change: (inout TLSConfiguration, inout TLSConfiguration) throws -> Void = { _, _ in }
    ) throws -> MemoryPair {
        var client = try credentials.trustingClient()
        var server = TLSConfiguration.server(try credentials.server("good"))
        client.maximumVersion = version
        try change(&client, &server)
        return MemoryPair(
            try MemoryEnd(client, host: "good.test"),
            try MemoryEnd(server, isAccepted: true),
            handing
        )
    }

    @Test(
        "TB2 TB4 Two ends agree and echo, however their bytes are cut",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func echo(version: TLSVersion, handing: Handing) throws {
        let pair = try pair(version, handing)
        pair.run()
        #expect(pair.client.failure == nil && pair.server.failure == nil)
        #expect(pair.client.isSecured && pair.server.isSecured)
        let text = Array("hello\n".utf8)
        pair.client.send(text)
        pair.run()
        #expect(pair.server.plaintext == text)
        pair.server.send(pair.server.plaintext)
        pair.run()
        #expect(pair.client.plaintext == text)
        pair.client.finish()
        pair.run()
        #expect(pair.server.hasEnded && pair.server.failure == nil)
    }
}

import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Combinations of what two ends can agree on", .timeLimit(.minutes(10)))
struct CombinationTests {
    let credentials: Credentials

    /// Servers, one of each type of key, by the name that they are.
    private static let servers = [
        "good": "good.test", "good-rsa": "rsa.test", "good-ed25519": "ed.test",
    ]

    init() throws {
        credentials = try Credentials()
    }

    /// What varies beside the version and the key.
    private struct Choice {
        let isResumed, hasIdentity, hasProtocol: Bool

        static let all = (0..<8).map {
            Choice(isResumed: $0 & 1 > 0, hasIdentity: $0 & 2 > 0, hasProtocol: $0 & 4 > 0)
        }
    }

    @Test(
        "TV1 TI5 TS3 TR1 Each key, resumed or not, with identity, protocol or without: both ways",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func combinations(version: TLSVersion, handing: Handing) throws {
        // Byte by byte the key makes no difference, but takes its time.
        for (server, name) in Self.servers where handing != .byteByByte || server == "good" {
            for choice in Choice.all { try check(version, handing, server, name, choice) }
        }
    }

    private func check(
        _ version: TLSVersion,
        _ handing: Handing,
        _ server: String,
        _ name: String,
        _ choice: Choice
    ) throws {
        var client = try credentials.trustingClient()
        client.serverName = .name(name)
        client.maximumVersion = version
        var host = try credentials.askingServer(choice.hasIdentity ? .required : .none)
        host.identity = try credentials.server(server)
        if choice.hasIdentity { client.identity = try credentials.client("alice") }
        if choice.hasProtocol {
            client.applicationProtocols = ["h2", "http/1.1"]
            host.applicationProtocols = ["spdy", "http/1.1"]
        }
        if choice.isResumed { _ = try connect(client, host, .whole, byteCount: 1) }
        let byteCount = handing == .byteByByte ? 700 : 40_000
        let pair = try connect(client, host, handing, byteCount: byteCount)
        let ends = [pair.client, pair.server]
        for (end, place) in zip(ends, ["client", "server"]) {
            let info = try #require(end.session.currentInfo)
            let comment = Comment(rawValue: "\(place) of \(server) \(version) \(choice)")
            #expect(info.version == version, comment)
            #expect(info.isResumed == choice.isResumed, comment)
            let agreed = choice.hasProtocol ? "http/1.1" : nil
            #expect(info.applicationProtocol == agreed, comment)
            #expect(info.sentServerName == name, comment)
        }
        let seen = pair.server.session.currentInfo?.peerChain.first?.subject
        #expect((seen?.contains("alice") ?? false) == choice.hasIdentity)
        let materials = ends.map {
            $0.session.currentInfo?.keyingMaterial(label: "EXPORTER-x", context: [1], count: 32)
        }
        #expect(materials[0] == materials[1] && materials[0]?.count == 32)
    }

    /// Connects, and sends so many bytes each way.
    private func connect(
        _ client: TLSConfiguration,
        _ server: TLSConfiguration,
        _ handing: Handing,
        byteCount: Int
    ) throws -> MemoryPair {
        let pair = MemoryPair(
            try MemoryEnd(client),
            try MemoryEnd(server, isAccepted: true),
            handing
        )
        pair.run()
        #expect(pair.client.failure == nil && pair.server.failure == nil)
        let there = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        let back = Array(there.reversed())
        pair.client.send(there)
        pair.server.send(back)
        pair.run()
        #expect(pair.server.plaintext == there && pair.client.plaintext == back)
        return pair
    }

    @Test("TB3 16 MiB both ways at once", arguments: TLSVersion.allCases)
    func bulk(version: TLSVersion) throws {
        let pair = try credentials.pair(version)
        pair.run()
        let block = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 9) }
        for _ in 0..<256 {
            pair.client.send(block)
            pair.server.send(block)
            pair.run()
        }
        for end in [pair.client, pair.server] {
            #expect(end.plaintext.count == 16 << 20 && end.failure == nil)
            let isWhole = stride(from: 0, to: 16 << 20, by: block.count).allSatisfy {
                end.plaintext[$0..<$0 + block.count] == block[...]
            }
            #expect(isWhole)
        }
    }
}

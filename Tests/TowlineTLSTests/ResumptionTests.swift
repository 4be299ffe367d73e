import COpenSSL
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Resumption") struct ResumptionTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    /// Connects once, and says whether that went on from an earlier connection.
    @discardableResult
    private func connect(
        _ client: TLSConfiguration,
        _ server: TLSConfiguration,
        host: String = "good.test",
        port: UInt16 = 443
    ) throws -> MemoryPair {
        let pair = MemoryPair(
            try MemoryEnd(
                client,
                host: host,
                address: .ipv4(IPv4Address(rawValue: 0x7F00_0001), port: port)
            ),
            try MemoryEnd(server, isAccepted: true)
        )
        pair.run()
        #expect(pair.client.failure == nil && pair.server.failure == nil)
        #expect(pair.client.isSecured && pair.server.isSecured)
        pair.client.send([7])
        pair.run()
        #expect(pair.server.plaintext == [7])
        return pair
    }

    private func isResumed(_ pair: MemoryPair) -> Bool {
        let client = pair.client.session.currentInfo?.isResumed
        #expect(client == pair.server.session.currentInfo?.isResumed)
        return client == true
    }

    @Test(
        "TR1 A second connection of a configuration goes on from the first",
        arguments: TLSVersion.allCases
    )
    func resumed(version: TLSVersion) throws {
        var client = try credentials.trustingClient()
        client.maximumVersion = version
        let server = TLSConfiguration.server(try credentials.server("good"))
        let first = try connect(client, server)
        #expect(!isResumed(first))
        let second = try connect(client, server)
        #expect(isResumed(second))
        #expect(second.client.session.currentInfo?.peerChain.first?.der.isEmpty == false)
        #expect(second.sentByServer.count < first.sentByServer.count)
    }

    @Test(
        "TR1 Another name, port or configuration goes on from nothing",
        arguments: TLSVersion.allCases
    )
    func strangers(version: TLSVersion) throws {
        var client = try credentials.trustingClient()
        client.maximumVersion = version
        let server = TLSConfiguration.server(try credentials.server("good"))
        #expect(!isResumed(try connect(client, server)))
        #expect(!isResumed(try connect(client, server, host: "localhost")))
        #expect(!isResumed(try connect(client, server, port: 444)))
        var changed = client
        changed.trust.maximumDepth = 9
        #expect(!isResumed(try connect(changed, server)))
        #expect(isResumed(try connect(client, server)))
        // With and without the dot it is the same name.
        #expect(isResumed(try connect(client, server, host: "Good.test.")))
    }

    @Test("TR3 A session of TLS 1.3 is used once, and at most four are kept")
    func once() throws {
        let cache = SessionCache()
        var client = try credentials.trustingClient()
        client.resumption = .cache(cache)
        var server = TLSConfiguration.server(try credentials.server("good"))
        server.ticketCount = 6
        try connect(client, server)
        #expect(cache.count == 4)
        #expect(isResumed(try connect(client, server)))
        cache.removeAll()
        #expect(!isResumed(try connect(client, server)))
    }

    @Test(
        "TR3 A ticket that a hello has no room for is not kept",
        arguments: TLSVersion.allCases,
        [4_000, 20_000]
    )
    func large(version: TLSVersion, byteCount: Int) throws {
        let cache = SessionCache()
        var client = try credentials.trustingClient()
        client.maximumVersion = version
        client.resumption = .cache(cache)
        let server = TLSConfiguration.server(try credentials.server("good"))
        try server.prepare()
        let context = try #require(server.box.context)
        let count = UnsafeMutableRawPointer(bitPattern: byteCount)
        let fill: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt = {
            let bytes = [UInt8](repeating: 7, count: Int(bitPattern: $1))
            return SSL_SESSION_set1_ticket_appdata(SSL_get_session($0), bytes, bytes.count)
        }
        SSL_CTX_set_session_ticket_cb(context.pointer, fill, nil, count)
        try connect(client, server)
        #expect((cache.count > 0) == (byteCount < 12_288))
        #expect(isResumed(try connect(client, server)) == (byteCount < 12_288))
    }

    @Test("TR6 Two tickets come behind a full handshake, and one behind one that went on")
    func counts() throws {
        let cache = SessionCache()
        var client = try credentials.trustingClient()
        client.resumption = .cache(cache)
        let server = TLSConfiguration.server(try credentials.server("good"))
        try connect(client, server)
        #expect(cache.count == 2)
        try connect(client, server)
        #expect(cache.count == 2)
        var silent = server
        silent.ticketCount = 0
        cache.removeAll()
        try connect(client, silent)
        #expect(cache.count == 0)
    }

    @Test("TR2 A session of a connection that breaks is good, one of an untrusted peer is not kept")
    func broken() throws {
        let cache = SessionCache()
        var client = try credentials.trustingClient()
        client.resumption = .cache(cache)
        let server = TLSConfiguration.server(try credentials.server("good"))
        let pair = try connect(client, server)
        pair.client.receiveEnd()
        #expect(pair.client.failure == .truncated(bytes: 0))
        #expect(isResumed(try connect(client, server)))

        cache.removeAll()
        client.trust = .insecureAcceptAny
        try connect(client, server)
        #expect(cache.count == 0)
    }

    @Test("Off is off on either side", arguments: TLSVersion.allCases, [true, false])
    func off(version: TLSVersion, isClients: Bool) throws {
        var client = try credentials.trustingClient()
        client.maximumVersion = version
        var server = TLSConfiguration.server(try credentials.server("good"))
        if isClients { client.resumption = .off } else { server.resumption = .off }
        try connect(client, server)
        #expect(!isResumed(try connect(client, server)))
    }

    @Test(
        "TR4 Report nginx#493: a ticket is worth nothing where a client has to show a certificate",
        arguments: TLSVersion.allCases
    )
    func otherHost(version: TLSVersion) throws {
        var client = try credentials.trustingClient()
        client.maximumVersion = version
        client.identity = try credentials.client("alice")
        let open = TLSConfiguration.server(try credentials.server("good"))
        let asking = try credentials.askingServer()
        try connect(client, open)
        let pair = try connect(client, asking)
        #expect(!isResumed(pair))
        #expect(pair.server.session.currentInfo?.peerChain.count == 2)
        // And goes on from its own.
        let again = try connect(client, asking)
        #expect(isResumed(again))
        #expect(
            again.server.session.currentInfo?.peerChain.first?.subject.contains("alice") == true
        )
    }

    @Test("TR5 Keys of tickets are replaced every twelve hours, and the two before still open them")
    func keys() throws {
        let keys = TicketKeys()
        let start = UnixTime(seconds: 1_000_000_000)
        let first = keys.keys(at: start)
        #expect(first.count == 1)
        #expect(keys.keys(at: UnixTime(seconds: start.seconds + 43_199)) == first)
        let second = keys.keys(at: UnixTime(seconds: start.seconds + 43_200))
        #expect(second.count == 2 && second[1] == first[0])
        let third = keys.keys(at: UnixTime(seconds: start.seconds + 86_400))
        let fourth = keys.keys(at: UnixTime(seconds: start.seconds + 129_600))
        #expect(third.count == 3 && fourth.count == 3 && !fourth.contains(first[0]))
        // A key that nobody has asked for in days opens nothing.
        let late = keys.keys(at: UnixTime(seconds: start.seconds + 1_000_000))
        #expect(late.count == 1)
    }

    @Test(
        "TR5 Two servers that share keys take each other's tickets",
        arguments: TLSVersion.allCases
    )
    func shared(version: TLSVersion) throws {
        var client = try credentials.trustingClient()
        client.maximumVersion = version
        var one = TLSConfiguration.server(try credentials.server("good"))
        one.ticketKeys = TicketKeys([try #require(TicketKey.random())])
        var other = TLSConfiguration.server(try credentials.server("good"))
        other.ticketKeys = TicketKeys(one.ticketKeys.keys)
        try connect(client, one)
        #expect(isResumed(try connect(client, other)))
        other.ticketKeys = TicketKeys([try #require(TicketKey.random())])
        #expect(!isResumed(try connect(client, other)))
    }
}

import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Whom a server is, and who a client") struct ServerChoiceTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    /// Replies when it is told to.
    private final class SlowChooser: ServerIdentityChooser, ClientIdentityChooser {
        let hello = Locked<ClientHello?>(nil)
        let issuers = Locked<[String]>([])
        let serverReply = Locked<(@Sendable (ServerChoice) -> Void)?>(nil)
        let clientReply = Locked<(@Sendable (Identity?) -> Void)?>(nil)

        func choose(
            for hello: ClientHello,
            reply: @escaping @Sendable (ServerChoice) -> Void
        ) {
            self.hello.withLock { $0 = hello }
            serverReply.withLock { $0 = reply }
        }

        func choose(issuers: [String], reply: @escaping @Sendable (Identity?) -> Void) {
            self.issuers.withLock { $0 = issuers }
            clientReply.withLock { $0 = reply }
        }
    }

    private func pair(
        _ host: String?,
        _ chooser: any ServerIdentityChooser,
        _ version: TLSVersion = .tls13,
        _ handing: Handing = .whole,
        change: (inout TLSConfiguration) throws -> Void = { _ in }
    ) throws -> MemoryPair {
        let pair = try credentials.pair(version, handing) { client, server in
            client.serverName = .name(host ?? "127.0.0.1")
            client.applicationProtocols = ["h2", "http/1.1"]
            server.chooser = chooser
            try change(&client)
        }
        pair.run()
        return pair
    }

    private func leaf(_ pair: MemoryPair) -> String? {
        pair.client.session.currentInfo?.peerChain.first?.subject
    }

    @Test(
        "TS1 The name that a client sends chooses the identity, an exact one before a wildcard",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func names(version: TLSVersion, handing: Handing) throws {
        let table = NamedIdentities([
            "A.multi.test": .identity(try credentials.server("sni-a")),
            "*.multi.test": .identity(try credentials.server("sni-b")),
            "gone.test": .refuse,
        ])
        let first = try pair("a.multi.test", table, version, handing)
        #expect(leaf(first)?.contains("a.multi.test") == true)
        #expect(first.server.session.currentInfo?.sentServerName == "a.multi.test")
        let second = try pair("b.multi.test", table, version, handing)
        #expect(leaf(second)?.contains("b.multi.test") == true)
        let third = try pair("good.test", table, version, handing)
        #expect(leaf(third)?.contains("good.test") == true)
        let none = try pair(nil, table, version, handing)
        #expect(none.client.isSecured && none.server.session.currentInfo?.sentServerName == nil)
        let refused = try pair("gone.test", table, version, handing)
        #expect(refused.server.failure == .alert(.unrecognizedName, from: .us))
        #expect(refused.client.failure == .alert(.unrecognizedName, from: .peer))
    }

    @Test(
        "TS1 The choice may come later, and then the handshake goes on",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func later(version: TLSVersion, handing: Handing) throws {
        let chooser = SlowChooser()
        let pair = try pair("a.multi.test", chooser, version, handing)
        #expect(!pair.server.isSecured && pair.server.waitCount == 1 && pair.sentByServer.isEmpty)
        let hello = try #require(chooser.hello.withLock { $0 })
        #expect(hello.serverName == "a.multi.test")
        #expect(hello.applicationProtocols == ["h2", "http/1.1"])
        #expect(hello.versions == (version == .tls13 ? [.tls13, .tls12] : [.tls12]))
        let reply = try #require(chooser.serverReply.withLock { $0 })
        reply(.identity(try credentials.server("sni-a")))
        reply(.refuse)
        pair.run()
        #expect(pair.client.isSecured && pair.server.isSecured && pair.server.waitCount == 1)
    }

    @Test(
        "TS2 A configuration that is chosen holds as a whole, its demand of certificates included",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func configuration(version: TLSVersion, handing: Handing) throws {
        var demanding = try credentials.askingServer()
        demanding.identity = try credentials.server("sni-a")
        demanding.applicationProtocols = ["http/1.1"]
        let choice = demanding
        let table = NamedIdentities(["a.multi.test": .configuration(choice)])
        // Not built yet: that waits, too.
        let bare = try pair("a.multi.test", table, version, handing)
        #expect(try waitForBuild(of: bare))
        guard case .untrusted(let failure) = bare.server.failure else {
            Issue.record("\(String(describing: bare.server.failure))")
            return
        }
        #expect(failure.reason == .noCertificate)
        let alert: TLSAlert = version == .tls13 ? .certificateRequired : .handshakeFailure
        #expect(bare.client.failure == .alert(alert, from: .peer))
        let known = try pair("a.multi.test", table, version, handing) { client in
            client.identity = try credentials.client("alice")
        }
        #expect(known.client.isSecured && known.server.isSecured)
        #expect(known.client.session.currentInfo?.applicationProtocol == "http/1.1")
        #expect(known.server.session.currentInfo?.verifiedChain?.isVerified == true)
    }

    @Test("A list of issuers that cannot be read is the server's fault, not a matter of trust")
    func malformedIssuers() throws {
        let pair = try credentials.pair(.tls12) { _, server in
            server = try credentials.askingServer()
        }
        pair.server.receive(pair.client.outbox)
        var flight = pair.server.outbox
        let name = Array("Test Root".utf8)
        let place = try #require(
            flight.indices.last { flight[$0...].starts(with: name) },
            "the list names the root"
        )
        // The length of its text.
        flight[place - 1] = 0x7F
        pair.client.receive(flight)
        let words = "malformed list of issuers in CertificateRequest"
        #expect(pair.client.failure == .protocolViolation(words))
    }

    private func waitForBuild(of pair: MemoryPair) throws -> Bool {
        let isDone = holds { pair.server.wakeCount > 0 || pair.server.failure != nil }
        pair.run()
        return isDone
    }

    @Test(
        "TI5 A client chooses among its identities by the issuers that a server accepts",
        arguments: TLSVersion.allCases,
        [true, false]
    )
    func clientChooses(version: TLSVersion, hasOne: Bool) throws {
        let chooser = SlowChooser()
        let pair = try credentials.pair(version) { client, server in
            client.clientChooser = chooser
            server = try credentials.askingServer()
        }
        pair.run()
        #expect(pair.client.waitCount == 1 && !pair.server.isSecured)
        #expect(chooser.issuers.withLock { $0 } == ["O=Test, CN=Test Root"])
        let reply = try #require(chooser.clientReply.withLock { $0 })
        reply(hasOne ? try credentials.client("alice") : nil)
        pair.run()
        #expect(pair.server.isSecured == hasOne)
        if hasOne { #expect(pair.client.isSecured && pair.client.failure == nil) }
    }

    @Test("TS3 The server's order decides what is spoken", arguments: TLSVersion.allCases)
    func order(version: TLSVersion) throws {
        let pair = try credentials.pair(version) { client, server in
            client.applicationProtocols = ["http/1.1", "h2"]
            server.applicationProtocols = ["h2", "http/1.1"]
        }
        pair.run()
        #expect(pair.client.session.currentInfo?.applicationProtocol == "h2")
        #expect(pair.server.session.currentInfo?.applicationProtocol == "h2")
    }

    @Test("TS3 Without a protocol in common both say so", arguments: TLSVersion.allCases)
    func noOverlap(version: TLSVersion) throws {
        let pair = try credentials.pair(version) { client, server in
            client.applicationProtocols = ["one"]
            server.applicationProtocols = ["two"]
        }
        pair.run()
        #expect(pair.server.failure == .noAgreement(.applicationProtocol))
        #expect(pair.client.failure == .noAgreement(.applicationProtocol))
    }

    @Test(
        "TS3 Who requires a protocol refuses a peer that offers or picks none",
        arguments: TLSVersion.allCases,
        [true, false]
    )
    func required(version: TLSVersion, isClient: Bool) throws {
        let pair = try credentials.pair(version) { client, server in
            if isClient {
                client.applicationProtocols = ["h2"]
                client.requiresApplicationProtocol = true
            } else {
                server.applicationProtocols = ["h2"]
                server.requiresApplicationProtocol = true
            }
        }
        pair.run()
        let refusing = isClient ? pair.client : pair.server
        #expect(refusing.failure == .noAgreement(.applicationProtocol))
        #expect(!refusing.isSecured)
        if !isClient { #expect(pair.client.failure == .noAgreement(.applicationProtocol)) }
    }

    @Test(
        "TS4 A client without a certificate is refused where one is required",
        arguments: TLSVersion.allCases
    )
    func required(version: TLSVersion) throws {
        let pair = try credentials.pair(version) { _, server in
            server = try credentials.askingServer()
        }
        pair.run()
        guard case .untrusted(let failure) = pair.server.failure else {
            Issue.record("\(String(describing: pair.server.failure))")
            return
        }
        #expect(failure.reason == .noCertificate)
        let alert: TLSAlert = version == .tls13 ? .certificateRequired : .handshakeFailure
        #expect(pair.client.failure == .alert(alert, from: .peer))
        #expect(pair.client.failure?.isOfHandshake == true)
    }

    @Test(
        "TH4 Report rustls#1707: a refusal of the client's certificate arrives with its alert",
        arguments: ["untrusted", "expired", "server-eku"]
    )
    func refusedClient(name: String) throws {
        let pair = try credentials.pair { client, server in
            client.identity = try credentials.client(name)
            server = try credentials.askingServer()
        }
        pair.run()
        let alert: TLSAlert =
            switch name {
            case "expired": .certificateExpired
            case "server-eku": .unsupportedCertificate
            default: .unknownCA
            }
        #expect(pair.client.isSecured)
        #expect(pair.client.failure == .alert(alert, from: .peer))
        #expect(pair.client.failure?.isOfHandshake == true)
        #expect(!pair.server.isSecured)
    }
}

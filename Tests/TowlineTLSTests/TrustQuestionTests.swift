import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Questions of trust") struct TrustQuestionTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    private func clientAsks(
        _ version: TLSVersion,
        _ handing: Handing = .whole,
        _ decision: TrustPolicy.Decision = .delegate
    ) throws -> MemoryPair {
        try credentials.pair(version, handing) { client, server in
            client.trust.decision = decision
            client.identity = try credentials.client("alice")
            server.clientAuthentication = .required
            server.trust = .anchors(try credentials.roots())
        }
    }

    private func serverAsks(
        _ version: TLSVersion,
        _ handing: Handing = .whole,
        identity: String? = "alice",
        change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> MemoryPair {
        try credentials.pair(version, handing) { client, server in
            client.identity = try identity.map { try credentials.client($0) }
            server.clientAuthentication = .required
            server.trust = .anchors(try credentials.roots())
            server.trust.decision = .delegate
            change(&server)
        }
    }

    @Test(
        "TV6 A client that asks sends nothing, not even who it is, before the answer",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func clientWaits(version: TLSVersion, handing: Handing) throws {
        let pair = try clientAsks(version, handing)
        pair.run()
        let sent = pair.sentByClient.count
        #expect(pair.client.askCount == 1 && !pair.client.isSecured && !pair.server.isSecured)
        // What comes meanwhile is kept, and moves nothing.
        pair.client.receive([])
        pair.run()
        #expect(pair.sentByClient.count == sent)
        let question = try #require(pair.client.session.question)
        #expect(question.trust.serverName?.description == "good.test")
        #expect((try? question.trust.verdict.get()) != nil)
        #expect(question.trust.chain.count == 2)
        pair.client.answer(true)
        pair.client.answer(false)
        pair.run()
        #expect(pair.client.isSecured && pair.server.isSecured && pair.client.askCount == 1)
        pair.client.send([1, 2, 3])
        pair.run()
        #expect(pair.server.plaintext == [1, 2, 3])
    }

    @Test(
        "TV5 A client that is told no says so by an alert, and the server never learns who it is",
        arguments: TLSVersion.allCases
    )
    func clientRefuses(version: TLSVersion) throws {
        let pair = try clientAsks(version)
        pair.run()
        pair.client.answer(false)
        pair.run()
        guard case .untrusted(let failure) = pair.client.failure else {
            Issue.record("\(String(describing: pair.client.failure))")
            return
        }
        #expect(failure.reason == .rejected)
        #expect(pair.server.failure == .alert(.badCertificate, from: .peer))
        #expect(!pair.server.isSecured)
    }

    @Test("TV5 The delegate's yes counts against the library's no, if that is asked whatever comes")
    func overruled() throws {
        let pair = try credentials.pair { client, server in
            client.trust = .anchors([])
            client.trust.decision = .delegate
            client.trust.anchors = .only(
                try Certificate.certificates(pem: credentials.files.bytes("trust/other-roots.pem"))
            )
        }
        pair.run()
        let question = try #require(pair.client.session.question)
        #expect((try? question.trust.verdict.get()) == nil)
        pair.client.answer(true)
        pair.run()
        #expect(pair.client.isSecured && pair.server.isSecured)
        #expect(pair.client.session.currentInfo?.verifiedChain == nil)
    }

    @Test("TV5 The delegate is not asked behind the library's no, if that comes first")
    func libraryFirst() throws {
        let pair = try credentials.pair { client, _ in
            client.serverName = .name("other.test")
            client.trust.decision = .delegateAfterLibrary
        }
        pair.run()
        #expect(pair.client.askCount == 0)
        guard case .untrusted(let failure) = pair.client.failure else {
            Issue.record("\(String(describing: pair.client.failure))")
            return
        }
        #expect(failure.reason == .nameMismatch)
    }

    @Test(
        "TV7 A server that asks gives no data and no ticket before the answer",
        arguments: TLSVersion.allCases,
        Handing.allCases
    )
    func serverWaits(version: TLSVersion, handing: Handing) throws {
        let pair = try serverAsks(version, handing)
        pair.run()
        #expect(pair.server.askCount == 1 && !pair.server.isSecured)
        let sent = pair.sentByServer.count
        let types = Records.split(pair.sentByServer).map { $0[0] }
        if pair.client.isSecured { pair.client.send(Array("early".utf8)) }
        pair.run()
        #expect(pair.sentByServer.count == sent && pair.server.plaintext.isEmpty)
        #expect(pair.server.askCount == 1 && !types.isEmpty)
        #expect(pair.client.session.context?.sessions?.count == 0)
        pair.server.answer(true)
        pair.run()
        #expect(pair.server.isSecured && pair.client.isSecured)
        if version == .tls12 { pair.client.send(Array("early".utf8)) }
        pair.run()
        #expect(pair.server.plaintext == Array("early".utf8))
        let tickets = pair.client.session.context?.sessions?.count
        #expect(tickets == (version == .tls13 ? 2 : 1))
    }

    @Test(
        "TV7 A server that is told no says so by an alert that the client can read",
        arguments: TLSVersion.allCases,
        ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    )
    func serverRefuses(version: TLSVersion, suite: String) throws {
        let pair = try serverAsks(version) { $0.cipherSuites = [suite] }
        pair.run()
        pair.server.answer(false)
        pair.run()
        guard case .untrusted(let failure) = pair.server.failure else {
            Issue.record("\(String(describing: pair.server.failure))")
            return
        }
        #expect(failure.reason == .rejected && !pair.server.isSecured)
        #expect(pair.client.failure == .alert(.badCertificate, from: .peer))
        #expect(pair.client.failure?.isOfHandshake == true)
    }

    @Test("TV8 Nobody is asked about a client that has no certificate and needs none")
    func optional() throws {
        let pair = try serverAsks(.tls13, identity: nil) { $0.clientAuthentication = .optional }
        pair.run()
        #expect(pair.server.askCount == 0 && pair.server.isSecured)
        #expect(pair.server.session.currentInfo?.peerChain.isEmpty == true)
    }

    @Test("TV5 An answer that comes too late, and an end during the question")
    func endsWhileAsking() throws {
        let pair = try clientAsks(.tls13)
        pair.run()
        #expect("\(pair.client.session.timeoutError)".contains("whether to trust"))
        pair.client.receiveEnd()
        #expect(pair.client.failure == .interrupted)
        pair.client.session.question?.answer.give(true)
        pair.client.goOnIfWoken()
        #expect(!pair.client.isSecured)
    }
}

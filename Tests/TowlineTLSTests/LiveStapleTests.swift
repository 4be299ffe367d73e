import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Stapled responses in handshakes") struct LiveStapleTests {
    let credentials: Credentials

    init() throws {
        credentials = try Credentials()
    }

    /// A handshake of a client that wants a staple with a server that has one.
    private func shakeHands(
        _ version: TLSVersion,
        _ demand: TrustPolicy.Demand,
        server: String = "must-staple",
        name: String = "staple.test",
        staple: String?,
        clock: UnixTime? = nil
    ) throws -> MemoryPair {
        let pair = try credentials.pair(version) { client, host in
            client.serverName = .name(name)
            client.trust.revocation = .staple(demand)
            client.trust.clock = clock
            let identity = try credentials.server(server)
            identity.stapledResponse = try staple.map {
                try credentials.files.bytes("ocsp/\($0).der")
            }
            host.identity = identity
        }
        pair.run()
        return pair
    }

    private func isSecured(_ pair: MemoryPair) -> Bool {
        pair.client.isSecured && pair.server.isSecured && pair.client.failure == nil
            && pair.server.failure == nil
    }

    /// What the client finds wrong; and that the server hears of it by the alert for it.
    private func reason(_ pair: MemoryPair, alert: TLSAlert) -> TrustFailure.Reason? {
        #expect(!pair.client.isSecured)
        #expect(pair.server.failure == .alert(alert, from: .peer))
        guard case .untrusted(let failure) = pair.client.failure else { return nil }
        return failure.reason
    }

    @Test("TV4 A good staple is taken, whatever the demand", arguments: TLSVersion.allCases)
    func good(version: TLSVersion) throws {
        for demand in [.ifPresent, .required, .ifDemandedByCertificate]
            as [TrustPolicy.Demand]
        {
            let pair = try shakeHands(version, demand, staple: "good")
            #expect(isSecured(pair), "\(demand): \(String(describing: pair.client.failure))")
        }
    }

    @Test("TV4 Without a staple the demand decides", arguments: TLSVersion.allCases)
    func missing(version: TLSVersion) throws {
        #expect(isSecured(try shakeHands(version, .ifPresent, staple: nil)))
        for demand in [.required, .ifDemandedByCertificate] as [TrustPolicy.Demand] {
            let pair = try shakeHands(version, demand, staple: nil)
            let reason = reason(pair, alert: .badCertificateStatusResponse)
            #expect(reason.map { TrustNames.name(of: $0) } == "revocationUnavailable", "\(demand)")
        }
        let other = try shakeHands(
            version,
            .ifDemandedByCertificate,
            server: "good",
            name: "good.test",
            staple: nil
        )
        #expect(isSecured(other))
    }

    @Test("TV4 A staple that says revoked is believed", arguments: TLSVersion.allCases)
    func revoked(version: TLSVersion) throws {
        for demand in [.ifPresent, .required] as [TrustPolicy.Demand] {
            let pair = try shakeHands(
                version,
                demand,
                server: "revoked",
                name: "good.test",
                staple: "revoked"
            )
            // With TLS 1.2 it comes behind the chain, and the library picks the alert.
            let alert: TLSAlert =
                version == .tls13 ? .certificateRevoked : .badCertificateStatusResponse
            guard case .revoked(_?, .keyCompromise?) = reason(pair, alert: alert) else {
                Issue.record("\(demand): \(String(describing: pair.client.failure))")
                continue
            }
        }
    }

    @Test(
        "TV4 A staple for another certificate, or of long ago, is none",
        arguments: TLSVersion.allCases
    )
    func useless(version: TLSVersion) throws {
        let later = UnixTime(seconds: UnixTime.now.seconds + 120)
        for (staple, clock) in [("wrong-cert", nil), ("short", later)] {
            for demand in [.ifPresent, .required, .ifDemandedByCertificate]
                as [TrustPolicy.Demand]
            {
                let pair = try shakeHands(version, demand, staple: staple, clock: clock)
                let reason = reason(pair, alert: .badCertificateStatusResponse)
                #expect(
                    reason.map { TrustNames.name(of: $0) } == "revocationUnavailable",
                    "\(staple) \(demand)"
                )
            }
        }
    }

    @Test(
        "TV4 Where a staple is required no session goes on without",
        arguments: TLSVersion.allCases
    )
    func resumed(version: TLSVersion) throws {
        for (demand, resumes) in [(.required, false), (.ifPresent, true)]
            as [(TrustPolicy.Demand, Bool)]
        {
            let identity = try credentials.server("must-staple")
            identity.stapledResponse = try credentials.files.bytes("ocsp/good.der")
            var client = try credentials.trustingClient()
            client.serverName = .name("staple.test")
            client.maximumVersion = version
            client.trust.revocation = .staple(demand)
            let server = TLSConfiguration.server(identity)
            for round in 0..<2 {
                let pair = MemoryPair(
                    try MemoryEnd(client),
                    try MemoryEnd(server, isAccepted: true)
                )
                pair.run()
                #expect(isSecured(pair))
                #expect(pair.client.session.currentInfo?.isResumed == (round == 1 && resumes))
            }
        }
    }

    @Test("TV4 A staple that is replaced while the server runs is what the next client sees")
    func replaced() throws {
        let identity = try credentials.server("must-staple")
        let server = TLSConfiguration.server(identity)
        var client = try credentials.trustingClient()
        client.serverName = .name("staple.test")
        client.trust.revocation = .staple(.required)
        let answers = ["wrong-cert", "good"].map { "ocsp/\($0).der" }
        let isGood = try answers.map { file in
            identity.stapledResponse = try credentials.files.bytes(file)
            let pair = MemoryPair(try MemoryEnd(client), try MemoryEnd(server, isAccepted: true))
            pair.run()
            return pair.client.isSecured
        }
        #expect(isGood == [false, true])
    }
}

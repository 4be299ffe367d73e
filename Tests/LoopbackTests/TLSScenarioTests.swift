import TestSupport
import Testing
import Towline
import TowlineTLS

/// What people do with TLS and what they are told, from the connect to the line in their log.
@Suite("TLS as people meet it", .timeLimit(.minutes(10))) struct TLSScenarioTests {
    /// The line that a client logs of a server that it does not like.
    private func line(
        _ server: TLSConfiguration,
        _ change: (inout TLSConfiguration) throws -> Void = { _ in }
    ) throws -> (client: DisconnectReport, server: DisconnectReport, port: UInt16) {
        var client = try TestTLS.client()
        try change(&client)
        let host = try TLSHost(server)
        let line = try TLSLine(to: host.port, client, on: host.loop)
        try line.socket.write("a request", tag: 1)
        try line.socket.read()
        let report = try line.turnToTheReport()
        #expect(try host.loop.turn { !host.reports.isEmpty })
        let told = try #require(host.reports.first)
        try host.loop.end()
        return (report, told, host.port)
    }

    @Test(
        "Scenario 12, Wish 17: what is wrong with a certificate is told in a line, with the facts"
    )
    func certificates() throws {
        let today = "\(UnixTime.now)".prefix(10)
        let cases: [(name: String, line: String, alert: TLSAlert)] = [
            (
                "expired", "certificate of good.test expired on 2020-02-01, clock says \(today)",
                .certificateExpired
            ),
            (
                "not-yet-valid",
                "certificate of good.test is not valid before 2048-01-01, clock says \(today)",
                .badCertificate
            ),
            (
                "wrong-host", "certificate is for wrong.test, not good.test", .badCertificate
            ),
            (
                "self-signed",
                """
                certificate of good.test is self-signed (18 self-signed certificate). \
                Looked in: the policy's anchor O=Test, CN=Test Root
                """,
                .unknownCA
            ),
            (
                "missing-int",
                """
                no trusted issuer for "Test Intermediate" (20 unable to get local issuer \
                certificate). Looked in: the policy's anchor O=Test, CN=Test Root
                """,
                .unknownCA
            ),
        ]
        for (name, expected, alert) in cases {
            let (client, server, port) = try line(TestTLS.server(name))
            #expect(
                "\(client)" == "TLS with 127.0.0.1:\(port) failed while securing: \(expected)"
            )
            #expect(
                client.incompleteWrites.map { [$0.tag, $0.bytesWritten, $0.total] } == [[1, 0, 9]]
            )
            #expect(server.error?.tls == .alert(alert, from: .peer), "\(server)")
            #expect(server.phase == .securing)
        }
    }

    @Test("Scenario 12: a name that is not the certificate's is told with those that are")
    func wrongName() throws {
        let (client, _, port) = try line(TestTLS.server()) { $0.serverName = .name("b.test") }
        #expect(
            "\(client)" == """
                TLS with 127.0.0.1:\(port) failed while securing: certificate is for good.test, \
                localhost, 127.0.0.1, ::1, not b.test
                """
        )
    }

    @Test("Scenario 12: a certificate that was revoked is told with when and why")
    func revoked() throws {
        let lists = try RevocationList.lists(pem: TestCertificates.made().bytes("crl/all.pem"))
        let (client, server, port) = try line(TestTLS.server("revoked")) {
            $0.trust.revocation = .lists(lists, of: .chain)
        }
        let start =
            "TLS with 127.0.0.1:\(port) failed while securing: certificate of good.test was "
            + "revoked on "
        #expect("\(client)".hasPrefix(start), "\(client)")
        #expect("\(client)".hasSuffix(": key compromise"), "\(client)")
        #expect(server.error?.tls == .alert(.certificateRevoked, from: .peer))
    }

    @Test("Scenario 12: no version, no cipher suite and no identity are three different lines")
    func nothingInCommon() throws {
        var server = try TestTLS.server()
        server.maximumVersion = .tls12
        let (version, oldServer, port) = try line(server) { $0.minimumVersion = .tls13 }
        #expect(
            "\(version)" == """
                TLS with 127.0.0.1:\(port) failed while securing: no version of TLS in common; \
                ours: TLS 1.3
                """
        )
        #expect(oldServer.error?.tls == .noAgreement(.version([.tls12])))

        server.cipherList = "ECDHE-ECDSA-AES128-GCM-SHA256"
        let (suite, suiteServer, suitePort) = try line(server) {
            $0.maximumVersion = .tls12
            $0.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384"
        }
        #expect(
            "\(suite)" == """
                TLS with 127.0.0.1:\(suitePort) failed while securing: peer sent alert 40 \
                handshake failure; we offered TLS 1.2
                """
        )
        #expect("\(suiteServer)".hasSuffix("failed while securing: no cipher suite in common"))

        var demanding = try TestTLS.server()
        demanding.clientAuthentication = .required
        demanding.trust = try TestTLS.client().trust
        let (identity, identityServer, identityPort) = try line(demanding)
        #expect(
            "\(identity)" == """
                TLS with 127.0.0.1:\(identityPort) failed while securing: peer sent alert 116 \
                certificate required; it had asked for a certificate, and we had none to show: \
                set identity
                """
        )
        #expect("\(identityServer)".hasSuffix("failed while securing: peer sent no certificate"))
    }

    @Test("E7 What is no TLS is shown, and an end is called by its name")
    func notTLS() throws {
        for (text, line) in [
            (
                "220 mail\r\n",
                """
                peer did not answer with TLS (wrong version number); the first bytes look like \
                "220 mail", which is SMTP or FTP
                """
            ), ("", "peer ended the connection before it was secure"),
        ] {
            let listener = try BlockingListener()
            let port = try #require(listener.address.port)
            let client = try TLSLine(to: port, TestTLS.client())
            try client.loop.turn(times: 1)
            let peer = try listener.accept()
            try peer.send(text)
            peer.finishSending()
            let report = try client.turnToTheReport()
            #expect("\(report)" == "TLS with 127.0.0.1:\(port) failed while securing: \(line)")
            try client.loop.end()
        }
    }

    @Test("Scenario 12, Wish 12, TH1: a peer that stalls is told with what was waited for")
    func stalls() throws {
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        let loop = try Loop()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(to: listener.address)
        try socket.startTLS(TestTLS.client(), timeout: .milliseconds(40))
        #expect(try loop.turn { recorder.isDisconnected })
        #expect(
            "\(recorder.reports[0])" == """
                TLS with 127.0.0.1:\(port) failed while securing: handshake timed out waiting for \
                the peer's hello
                """
        )
        try loop.end()
    }

    @Test(
        "Scenario 10, TN2, TN5: an address is sent to nobody, and checked against addresses",
        arguments: ["127.0.0.1", "::1", "[::1]"]
    )
    func addresses(host name: String) throws {
        let loop = try Loop()
        let acceptor = Acceptor()
        let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        let server = try TestTLS.server()
        acceptor.whenAccepted = { socket, _ in try socket.startTLS(server) }
        let isLegacy = name == "127.0.0.1"
        try listener.listen(
            on: isLegacy ? .ipv4(.loopback, port: 0) : .ipv6(.loopback, port: 0)
        )
        let port = try #require(listener.localAddress?.port)
        var client = try TestTLS.client()
        client.serverName = .fromConnect
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(toHost: name, port: port)
        try socket.startTLS(client)
        #expect(try loop.turn { recorder.heard.contains(.didSecure) || recorder.isDisconnected })
        #expect(recorder.reports.isEmpty, "\(recorder.reports)")
        #expect(try loop.turn { acceptor.recorders.first?.heard.contains(.didSecure) == true })
        #expect(acceptor.sockets.first?.tlsInfo?.sentServerName == nil)
        try loop.end()
    }

    @Test("Scenario 10: an address that is spelled as a host name in a certificate is none")
    func addressAsName() throws {
        let (client, _, port) = try line(TestTLS.server("ip-as-dns")) {
            $0.serverName = .fromConnect
        }
        #expect(
            "\(client)" == """
                TLS with 127.0.0.1:\(port) failed while securing: certificate is for 127.0.0.1, \
                not 127.0.0.1
                """
        )
    }

    @Test("Scenario 9: called by its address for its name; a request is sent to no other")
    func byAddress() throws {
        let host = try TLSHost.http(TestTLS.server()) { $0.tlsInfo?.sentServerName ?? "nobody" }
        let line = try TLSLine(to: host.port, TestTLS.client(), on: host.loop)
        try line.socket.write("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n")
        try line.socket.readToEnd(maxLength: 10_000)
        #expect(try line.turnToTheReport().error == .closedByPeer)
        let answer = String(decoding: line.recorder.readBytes, as: UTF8.self)
        #expect(answer.hasSuffix("\r\n\r\ngood.test"))
        try host.loop.end()
    }

    /// What a mail server does with STARTTLS that it should not.
    enum Misbehaviour: CaseIterable, Sendable {
        case refuses, refusesAndEnds, injects, ignoresTheHello
    }

    @Test(
        "Scenario 13, TU2, TU4: whatever becomes of STARTTLS, nothing that follows goes in clear",
        arguments: Misbehaviour.allCases
    )
    func mail(misbehaviour: Misbehaviour) throws {
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        let client = try TLSLine(to: port, TestTLS.client()) { socket in
            try socket.read(to: .crlf, tag: 1)
            try socket.write("STARTTLS\r\n", tag: 2)
            try socket.read(to: .crlf, tag: 3)
        }
        try client.socket.write("AUTH PLAIN secret\r\n", tag: 4)
        try client.socket.read(to: .crlf, tag: 5)
        try client.loop.turn(times: 1)
        let peer = try listener.accept()
        let server = BackgroundWork {
            try peer.send("220 mail\r\n")
            _ = try peer.receive("STARTTLS\r\n".utf8.count)
            switch misbehaviour {
            case .refuses:
                try peer.send("454 not now\r\n")
                _ = try peer.receiveSome()
                try peer.send("500 what?\r\n")
            case .refusesAndEnds:
                try peer.send("454 not now\r\n")
                peer.finishSending()
            case .injects:
                try peer.send("220 go\r\n250 you are in\r\n")
            case .ignoresTheHello:
                try peer.send("220 go\r\n")
                _ = try peer.receiveSome()
                try peer.send("250 still in clear\r\n")
            }
            var rest: [UInt8] = []
            // It may be reset, with what nobody has read.
            while let more = try? peer.receiveSome(), !more.isEmpty { rest += more }
            return rest
        }
        let report = try client.turnToTheReport()
        let rest = String(decoding: try server.value(), as: UTF8.self)
        #expect(!rest.contains("AUTH") && !rest.contains("secret"))
        let reads = client.recorder.heard.filter { if case .didRead = $0 { true } else { false } }
        #expect(reads.count == 2, "the greeting and the answer, and nothing behind them")
        #expect(
            report.incompleteWrites.map { [$0.tag, $0.bytesWritten, $0.total] } == [[4, 0, 19]]
        )
        #expect(report.phase == .securing)
        switch (misbehaviour, report.error?.tls) {
        case (.refuses, .notTLS), (.ignoresTheHello, .notTLS), (.refusesAndEnds, .interrupted):
            break
        case (.injects, let error):
            #expect(error == .unexpectedPlaintext(byteCount: 16))
            #expect(rest.isEmpty, "not even a hello")
        default: Issue.record("\(report)")
        }
        try client.loop.end()
    }

    @Test("Scenario 8, S5: thousands that connect and close leave nothing, and are no news")
    func healthChecks() throws {
        let host = try TLSHost(TestTLS.server())
        nonisolated(unsafe) var noted: [String] = []
        host.loop.reactor.log = { event in
            if event.level > .debug { noted.append("\(event)") }
        }
        let count = 2_000
        for round in 0..<count {
            let peer = try BlockingPeer(connectingTo: host.address)
            // Some say a little first.
            if round % 3 == 0 { try peer.send([22, 3]) }
            if round % 2 == 0 { peer.close() } else { peer.reset() }
            if round % 50 == 0 { try host.loop.turn(times: 1) }
        }
        #expect(
            try host.loop.turn {
                host.loop.reactor.figures.openSockets == 1
                    && host.reports.count == host.acceptor.sockets.count
            }
        )
        #expect(host.acceptor.sockets.count >= count / 2)
        #expect(noted.isEmpty, "\(noted.prefix(3))")
        try host.loop.end()
    }
}

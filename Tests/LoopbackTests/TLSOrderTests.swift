import TestSupport
import Testing
import Towline
import TowlineTLS

@Suite("The place of TLS in a connection's life", .timeLimit(.minutes(10))) struct TLSOrderTests {
    @Test("D6 A disconnect says farewell without waiting, so the peer knows that nothing was cut")
    func farewellOfDisconnect() throws {
        let pair = try SecurePair.secured()
        try pair.server.read()
        pair.client.disconnect()
        try pair.turnToTheEnd()
        #expect(pair.serverRecorder.reports[0].error == .closedByPeer)
        try pair.loop.end()
    }

    @Test("D6 One that leaves writes undone says none, so the peer knows that something was")
    func noFarewell() throws {
        let pair = try SecurePair.secured(buffer: 4096)
        pair.serverRecorder.readsOn = true
        pair.serverRecorder.recordsReads = false
        try pair.client.write([UInt8](repeating: 1, count: 1_000_000))
        try pair.loop.turn(times: 1)
        pair.client.disconnect()
        try pair.server.read()
        try pair.turnToTheEnd()
        let report = pair.serverRecorder.reports[0]
        let count = pair.serverRecorder.readBytes.count
        #expect(count < 1_000_000)
        if case .system = report.error {
        } else {
            #expect(report.error?.tls == .truncated(bytes: count), "\(report)")
        }
        try pair.loop.end()
    }

    @Test("E3 When a write fails, the peer's alert is the reason, not what the kernel says")
    func alertBehindFailedWrite() throws {
        var client = try TestTLS.client()
        client.identity = try TestTLS.identity("client/untrusted")
        var server = try TestTLS.server()
        server.clientAuthentication = .required
        server.trust = client.trust
        let pair = try SecurePair(
            buffer: 4096,
            prepare: { socket, _ in
                try socket.startTLS(client)
                try socket.write([UInt8](repeating: 1, count: 1_000_000), tag: 1)
            },
            accepting: { socket, _ in try socket.startTLS(server) }
        )
        try pair.turnToTheEnd()
        let report = pair.clientRecorder.reports[0]
        #expect(report.error?.tls == .alert(.unknownCA, from: .peer), "\(report)")
        #expect(report.incompleteWrites.map(\.tag) == [1])
        try pair.loop.end()
    }

    @Test("S2 A read of whatever comes keeps the handshake waiting, which is noted")
    func openEndedRead() throws {
        let (clientTLS, serverTLS) = (try TestTLS.client(), try TestTLS.server())
        nonisolated(unsafe) var notes: [String] = []
        let pair = try SecurePair(
            accepting: { socket, _ in
                try socket.startTLS(serverTLS)
                try socket.read(toLength: 2, tag: 3)
            }
        )
        pair.loop.reactor.log = { event in
            if event.level == .warning { notes.append("\(event)") }
        }
        try pair.client.read(tag: 1)
        try pair.client.startTLS(clientTLS)
        try pair.client.write("hi", tag: 2)
        #expect(
            notes.contains { $0.contains("startTLS waits for a read that takes whatever comes") }
        )
        try pair.loop.turn(times: 20)
        #expect(!pair.clientRecorder.heard.contains(.didSecure))
        #expect(pair.serverRecorder.heard.isEmpty, "no byte of a hello, and no plain byte")
        try pair.loop.end()
    }

    @Test("S7 What a configuration asks for in vain ends the connection; nothing goes on in clear")
    func brokenConfiguration() throws {
        var tls = try TestTLS.client()
        tls.cipherSuites = ["no such suite"]
        let pair = try SecurePair(
            prepare: { socket, _ in
                try socket.startTLS(tls)
                try socket.write("secret", tag: 1)
            },
            accepting: { socket, _ in try socket.read(tag: 2) }
        )
        try pair.turnToTheEnd()
        let report = pair.clientRecorder.reports[0]
        let fault = ConfigurationFault.invalidValue(field: "cipherSuites", value: "no such suite")
        #expect(report.error?.tls == .configuration(fault), "\(report)")
        #expect(report.phase == .securing)
        #expect(pair.serverRecorder.readBytes.isEmpty)
        try pair.loop.end()
    }

    @Test("TV1, X4: a client that is told nothing trusts nobody that the system does not")
    func trustByDefault() throws {
        let host = try TLSHost(TestTLS.server())
        var tls = TLSConfiguration.client
        tls.serverName = .name("good.test")
        let line = try TLSLine(to: host.port, tls, on: host.loop)
        let report = try line.turnToTheReport()
        switch report.error?.tls {
        // On a machine without any roots there is nothing to begin with.
        case .configuration(.noTrustedRoots): break
        case .untrusted(let failure):
            guard case .unknownIssuer = failure.reason else {
                Issue.record("\(report)")
                break
            }
        default: Issue.record("\(report)")
        }
        try host.loop.end()
    }
}

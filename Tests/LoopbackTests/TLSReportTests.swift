import Glibc
import TestSupport
import Testing
import Towline
import TowlineTLS
import TowlineTestKit

/// What has hit users of TLS elsewhere, by the numbers under which they reported it.
@Suite("Reports about TLS", .timeLimit(.minutes(10))) struct TLSReportTests {
    /// A record of the handshake with a message that there is not; the library refuses it.
    private static let nonsense: [UInt8] = [22, 3, 1, 0, 4, 99, 0, 0, 0]

    @Test("openssl#11889, h2o#1448, TB8, X3: failures of others in the same turn hit nobody else")
    func othersFail() throws {
        let pair = try SecurePair.secured()
        let host = try TLSHost(try TestTLS.server(), on: pair.loop) { socket, _ in
            // Nobody who is told why closes.
            socket.lingerTimeout = .zero
        }
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        try pair.client.read(toLength: 1, tag: 1)
        let count = 10_000, atOnce = 50
        for round in 0..<count / atOnce {
            let failing = try (0..<atOnce).map { _ in
                let peer = try BlockingPeer(connectingTo: host.address)
                try peer.send(Self.nonsense)
                return peer
            }
            // A record with nothing to read in it: the other one finds that it wants more.
            try pair.server.rekey()
            #expect(try pair.loop.turn { host.reports.count == (round + 1) * atOnce })
            failing.forEach { $0.close() }
            #expect(!client.isDisconnected && !server.isDisconnected)
        }
        for report in host.reports.suffix(atOnce) {
            guard case .protocolViolation = report.error?.tls else {
                Issue.record("\(report)")
                continue
            }
        }
        try pair.server.write("x")
        #expect(try pair.loop.turn { client.heard == [.didRead("x", tag: 1)] })
        try pair.loop.end()
    }

    @Test("openssl#21002, X2: a queue that grows and shrinks while the peer does not read")
    func changingQueue() throws {
        var numbers = SeededNumbers(for: "changing queue")
        let pair = try SecurePair.secured(buffer: 4096)
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        var expected: [UInt8] = []
        var cancelled = 0
        for round in 0..<300 {
            let bytes = numbers.bytes(numbers.number(in: 0..<9_000))
            let id = try pair.client.write(bytes, tag: round)
            if numbers.number(in: 0..<3) == 0, pair.client.cancel(id) {
                cancelled += 1
            } else {
                expected += bytes
            }
            if numbers.number(in: 0..<4) == 0 { try pair.loop.turn(times: 1) }
        }
        #expect(cancelled > 10)
        server.recordsReads = false
        try pair.server.read(toLength: expected.count)
        #expect(
            try pair.loop.turn(within: .seconds(30)) {
                !server.readBytes.isEmpty || client.isDisconnected || server.isDisconnected
            }
        )
        #expect(server.readBytes == expected)
        #expect(client.reports.isEmpty && server.reports.isEmpty)
        try pair.loop.end()
    }

    @Test("node#62967, TB6: closed with ciphertext in flight, each side hears of it once")
    func closedInFlight() throws {
        try closeInFlight(on: Loop().reactor)
        try closeInFlight(on: SimulatedNetwork(seed: 62_967).makeReactor())
    }

    private func closeInFlight(on reactor: Reactor) throws {
        let acceptor = Acceptor()
        let listener = StreamListener(reactor: reactor, delegate: acceptor)
        let (clientTLS, serverTLS) = (try TestTLS.client(), try TestTLS.server())
        try clientTLS.prepare()
        try serverTLS.prepare()
        acceptor.whenAccepted = { socket, recorder in
            recorder.readsOn = true
            recorder.recordsReads = false
            try socket.startTLS(serverTLS)
            try socket.write([UInt8](repeating: 1, count: 300_000))
            try socket.read()
        }
        try listener.listen(on: .ipv4(.loopback, port: 0))
        let address = try #require(listener.localAddress)
        func turn(until condition: () -> Bool) throws {
            for _ in 0..<2_000 where !condition() {
                try reactor.turn(waitingAtMost: .milliseconds(10))
            }
        }
        for round in 0..<24 {
            let recorder = Recorder()
            let socket = StreamSocket(reactor: reactor, delegate: recorder)
            try socket.connect(to: address)
            try socket.startTLS(clientTLS)
            (recorder.readsOn, recorder.recordsReads) = (true, false)
            try socket.read()
            for tag in 0..<4 { try socket.write([UInt8](repeating: 2, count: 100_000), tag: tag) }
            try turn { recorder.heard.contains(.didSecure) || recorder.isDisconnected }
            for _ in 0..<(round / 6) { try reactor.turn(waitingAtMost: .zero) }
            switch round % 6 {
            case 0: socket.disconnect()
            case 1: socket.abort()
            case 2: acceptor.sockets[round].disconnect()
            case 3: acceptor.sockets[round].abort()
            case 4:
                socket.disconnect()
                acceptor.sockets[round].abort()
            default: socket.disconnect(.afterWrites)
            }
            try turn { recorder.isDisconnected && acceptor.recorders[round].isDisconnected }
            let counts = [recorder.reports.count, acceptor.recorders[round].reports.count]
            #expect(counts == [1, 1], "round \(round) of \(reactor)")
        }
        #expect(reactor.figures.openSockets <= 1, "the listener alone")
        reactor.stop()
        try reactor.turn()
        for recorder in acceptor.recorders { #expect(recorder.reports.count == 1) }
    }

    @Test("swift-nio-ssl#467: written from didConnect, in front of the handshake's end: few turns")
    func writtenFromDidConnect() throws {
        let (clientTLS, serverTLS) = (try TestTLS.client(), try TestTLS.server())
        try clientTLS.prepare()
        try serverTLS.prepare()
        let client = Recorder()
        client.whenConnected = { try $0.write("at once", tag: 1) }
        let pair = try SecurePair(
            clientRecorder: client,
            prepare: { socket, _ in try socket.startTLS(clientTLS) },
            accepting: { socket, _ in
                try socket.startTLS(serverTLS)
                try socket.read(toLength: 7, tag: 2)
            }
        )
        #expect(try pair.loop.turn { pair.serverRecorder.heard.count == 2 })
        #expect(pair.serverRecorder.heard == [.didSecure, .didRead("at once", tag: 2)])
        #expect(client.heard.contains(.didSecure) && client.heard.contains(.didWrite(tag: 1)))
        #expect(pair.loop.reactor.figures.turns < 50)
        try pair.loop.end()
    }

    /// What connects, sends a mebibyte and closes without having read, as the library of another
    /// language does it.
    private static let hastyClient = """
        import socket, ssl, sys
        context = ssl.create_default_context(cafile=sys.argv[2])
        plain = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        secured = context.wrap_socket(plain, server_hostname="good.test")
        secured.sendall(b"x" * 1048576)
        secured.close()
        """

    @Test(
        "openssl#7948, TR6: a client that never reads: all of it, or an error",
        arguments: [2, 0]
    )
    func hastyClient(ticketCount: Int) throws {
        var tls = try TestTLS.server()
        tls.ticketCount = ticketCount
        let host = try TLSHost(tls) { socket, recorder in
            recorder.recordsReads = false
            recorder.readsOn = true
            try socket.read()
        }
        let roots = try TestCertificates.made().path("trust/roots.pem")
        let client = try ChildProcess(
            "/usr/bin/python3",
            ["-c", Self.hastyClient, "\(host.port)", roots]
        )
        let exit = try host.turn(untilTheEndOf: client)
        #expect(exit.code == 0, "\(exit)")
        #expect(try host.loop.turn { !host.reports.isEmpty })
        let count = host.acceptor.recorders[0].readBytes.count
        switch host.reports[0].error {
        case .system(let error):
            #expect(error.errno == ECONNRESET)
            #expect(ticketCount > 0, "nothing that it could have reset for")
        case .security:
            #expect(host.reports[0].error?.tls == .truncated(bytes: 1 << 20))
            #expect(count == 1 << 20)
        default: Issue.record("\(host.reports[0])")
        }
        try host.loop.end()
    }

    @Test(
        "rustls#1707, TH4: a refusal behind didSecure is told with its alert, as of the handshake"
    )
    func lateRefusal() throws {
        var client = try TestTLS.client()
        client.identity = try TestTLS.identity("client/untrusted")
        var server = try TestTLS.server()
        server.clientAuthentication = .required
        server.trust = client.trust
        let pair = try SecurePair(
            prepare: { socket, _ in
                try socket.startTLS(client)
                try socket.read(tag: 1)
            },
            accepting: { socket, _ in try socket.startTLS(server) }
        )
        try pair.turnToTheEnd()
        #expect(pair.clientRecorder.heard.contains(.didSecure))
        let report = pair.clientRecorder.reports[0]
        #expect(report.error?.tls == .alert(.unknownCA, from: .peer), "\(report)")
        #expect(report.phase == .securing)
        guard case .untrusted(let failure) = pair.serverRecorder.reports[0].error?.tls else {
            Issue.record("\(pair.serverRecorder.reports[0])")
            return
        }
        guard case .unknownIssuer = failure.reason else {
            Issue.record("\(failure)")
            return
        }
        try pair.loop.end()
    }

    /// Knows one host, with and without the dot behind it.
    private final class OneHost: Resolver {
        func resolve(
            _ host: String,
            port: UInt16,
            reply: @escaping @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
        ) {
            let address = SocketAddress.ipv4(.loopback, port: port)
            reply(
                host.hasPrefix("good.test")
                    ? .success(ResolvedAddresses(addresses: [address])) : .failure(.noSuchHost)
            )
        }
    }

    @Test("rustls#421, openssl#12090, TN1, TN5: a dot behind the name is for the lookup alone")
    func trailingDot() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.makeResolver = { _ in OneHost() }
        let loop = try Loop(configuration)
        let host = try TLSHost(try TestTLS.server(), on: loop) { socket, _ in
            try socket.write("x")
        }
        var tls = try TestTLS.client()
        tls.serverName = .fromConnect
        for (round, name) in ["good.test.", "good.test", "good.test."].enumerated() {
            let recorder = Recorder()
            let socket = StreamSocket(reactor: host.loop.reactor, delegate: recorder)
            try socket.connect(toHost: name, port: host.port)
            try socket.startTLS(tls)
            try socket.read(toLength: 1, tag: 1)
            #expect(
                try host.loop.turn {
                    recorder.isDisconnected || recorder.heard.contains(.didRead("x", tag: 1))
                }
            )
            #expect(recorder.reports.isEmpty, "\(recorder.reports)")
            #expect(host.acceptor.sockets[round].tlsInfo?.sentServerName == "good.test")
            #expect(socket.tlsInfo?.isResumed == (round > 0))
            socket.disconnect()
        }
        try host.loop.end()
    }

    @Test(
        "netty#10158, TH1: no deadline is told of behind the handshake, or on the next connection"
    )
    func deadlines() throws {
        let host = try TLSHost(try TestTLS.server())
        let recorder = Recorder()
        let socket = StreamSocket(reactor: host.loop.reactor, delegate: recorder)
        let tls = try TestTLS.client()
        try tls.prepare()
        // Secured in time; gone in time; and connected anew, in the clear of the earlier deadlines.
        for round in 0..<3 {
            recorder.heard = []
            try socket.connect(to: host.address)
            try socket.startTLS(tls, timeout: round == 2 ? .seconds(10) : .milliseconds(150))
            if round == 1 {
                #expect(try host.loop.turn { !recorder.heard.isEmpty })
            } else {
                #expect(try host.loop.turn { recorder.heard.contains(.didSecure) })
            }
            guard round < 2 else { break }
            socket.disconnect()
            #expect(try host.loop.turn { recorder.reports.count == round + 1 })
        }
        let end = ContinuousClock.now + .milliseconds(250)
        while ContinuousClock.now < end {
            try host.loop.reactor.turn(waitingAtMost: .milliseconds(20))
        }
        #expect(recorder.reports.allSatisfy { $0.error == nil } && recorder.reports.count == 2)
        #expect(socket.state == .connected && host.acceptor.sockets[2].state == .connected)
        try host.loop.end()
    }

    @Test("dovecot#29, Scenario 8: clients that connect and close disturb no other")
    func connectAndClose() throws {
        let pair = try SecurePair.secured()
        nonisolated(unsafe) var noted: [String] = []
        pair.loop.reactor.log = { event in
            if event.level > .debug { noted.append("\(event)") }
        }
        let host = try TLSHost(try TestTLS.server(), on: pair.loop)
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        server.whenRead = { socket, bytes, _ in
            try socket.write(bytes)
            try socket.read(toLength: 4)
        }
        try pair.server.read(toLength: 4)
        client.recordsReads = false
        for round in 0..<500 {
            let peer = try BlockingPeer(connectingTo: host.address)
            if round % 2 == 0 { peer.close() } else { peer.reset() }
            try pair.client.write("ping")
            try pair.client.read(toLength: 4)
            #expect(try pair.loop.turn { client.readBytes.count == (round + 1) * 4 })
        }
        #expect(try pair.loop.turn { host.reports.count == host.acceptor.sockets.count })
        #expect(client.reports.isEmpty && server.reports.isEmpty)
        for report in host.reports {
            switch report.error {
            case .system(let error): #expect(error.errno == ECONNRESET)
            default: #expect(report.error?.tls == .interrupted)
            }
        }
        #expect(noted.isEmpty, "\(noted.prefix(3))")
        try pair.loop.end()
    }

    @Test("tokio-rustls#4, TS6: a hello byte by byte is given up at the deadline, and costs little")
    func dribble() throws {
        let host = try TLSHost(try TestTLS.server(), within: .milliseconds(300))
        // A hello that would go on for 512 bytes.
        let hello: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]
        let peers = try (0..<300).map { _ in try BlockingPeer(connectingTo: host.address) }
        for round in 0..<200 {
            for peer in peers where host.reports.isEmpty {
                try peer.send([round < hello.count ? hello[round] : 0])
            }
            try host.loop.reactor.turn(waitingAtMost: .milliseconds(2))
            let handles = host.acceptor.sockets.compactMap { $0.withUnsafeTLSHandle { $0 } }
            #expect(handles.isEmpty, "none before the first record is whole")
            if !host.reports.isEmpty { break }
        }
        #expect(try host.loop.turn { host.reports.count == peers.count })
        for report in host.reports {
            #expect(report.error?.tls == .timedOut(.hello), "\(report)")
            #expect(report.phase == .securing)
        }
        try host.loop.end()
    }
}

import TestSupport
import Testing
import Towline
import TowlineTLS

/// Somebody between a client and a server, who passes on what each sends, but only so much of what
/// one of them does, and then ends both connections.
final class Middle {
    /// Where the client connects to.
    let address: SocketAddress

    private let listener: BlockingListener
    private let server: SocketAddress
    private let limit: Int
    private let isTowardsClient: Bool
    private var peers: [BlockingPeer] = []
    private var hasEnded = [false, false]
    private var isCut = false

    /// What was passed on in the direction that is cut, and what was kept from the receiver.
    private(set) var passedCount = 0
    private(set) var droppedCount = 0

    /// - Parameters:
    ///   - server: Where the server is.
    ///   - limit: How much is passed on.
    ///   - isTowardsClient: Which direction is cut.
    /// - Throws: If it cannot listen.
    init(to server: SocketAddress, limit: Int, isTowardsClient: Bool) throws {
        listener = try BlockingListener()
        address = listener.address
        (self.server, self.limit, self.isTowardsClient) = (server, limit, isTowardsClient)
    }

    /// Takes the client's connection, and makes its own to the server.
    func meet() throws {
        peers = [try listener.accept(), try BlockingPeer(connectingTo: server)]
        try pass()
    }

    /// Passes on what is there; does not wait.
    func pass() throws {
        for from in [0, 1] where !hasEnded[from] {
            let isLimited = (from == 1) == isTowardsClient
            if isLimited, !isCut, passedCount >= limit { cut() }
            let bytes: [UInt8]?
            // One that resets has nothing more to say.
            do { bytes = try peers[from].receiveAvailable() } catch { bytes = [] }
            guard let bytes else { continue }
            guard !bytes.isEmpty else {
                hasEnded[from] = true
                peers[1 - from].finishSending()
                continue
            }
            guard isLimited else {
                if !isCut { try peers[1 - from].send(bytes) }
                continue
            }
            let part = isCut ? [] : Array(bytes.prefix(limit - passedCount))
            droppedCount += bytes.count - part.count
            passedCount += part.count
            if !part.isEmpty { try peers[1 - from].send(part) }
            if !isCut, passedCount >= limit { cut() }
        }
    }

    private func cut() {
        isCut = true
        peers.forEach { $0.finishSending() }
    }
}

@Suite("Ends of secured connections", .timeLimit(.minutes(10))) struct TLSEndTests {
    struct Outcome {
        let report: DisconnectReport
        let isSecured: Bool
        let byteCount: Int
        let passedCount: Int
        let droppedCount: Int
        let turns: Int
    }

    private static let message = [UInt8](repeating: 77, count: 700)

    /// One end sends a message and ends, the other one reads, behind a middle that cuts.
    private func exchange(
        on loop: Loop,
        _ client: TLSConfiguration,
        _ server: TLSConfiguration,
        towardsClient: Bool,
        limit: Int
    ) throws -> Outcome {
        func send(_ socket: StreamSocket) throws {
            try socket.write(Self.message)
            socket.disconnect(.afterWrites)
        }
        let host = try TLSHost(server, on: loop) { socket, recorder in
            recorder.readsOn = true
            if towardsClient { try send(socket) } else { try socket.read() }
        }
        let middle = try Middle(to: host.address, limit: limit, isTowardsClient: towardsClient)
        let recorder = Recorder()
        recorder.readsOn = true
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(to: middle.address)
        try socket.startTLS(client)
        if towardsClient { try socket.read() } else { try send(socket) }
        try loop.turn(times: 1)
        try middle.meet()
        let deadline = ContinuousClock.now + .seconds(5)
        var turns = 0
        var ends: [Recorder] { [recorder] + host.acceptor.recorders }
        while ends.count < 2 || !ends.allSatisfy(\.isDisconnected), ContinuousClock.now < deadline {
            try loop.reactor.turn(waitingAtMost: .milliseconds(1))
            try middle.pass()
            turns += 1
        }
        let receiver = towardsClient ? recorder : try #require(host.acceptor.recorders.first)
        #expect(ends.allSatisfy { $0.reports.count == 1 }, "one farewell each")
        return Outcome(
            report: try #require(receiver.reports.first, "it hangs at \(limit)"),
            isSecured: receiver.heard.contains(.didSecure),
            byteCount: receiver.readBytes.count,
            passedCount: middle.passedCount,
            droppedCount: middle.droppedCount,
            turns: turns
        )
    }

    /// Every byte of the first records' heads and around the last bytes, and a sample between them
    /// that begins elsewhere in each run.
    private func limits(upTo total: Int) -> [Int] {
        var numbers = SeededNumbers(for: "where connections end")
        let sample = stride(from: numbers.number(in: 0..<17), to: total, by: 17)
        let borders = Array(0..<12) + Array(total - 60...total + 2)
        return Set(borders + sample).sorted()
    }

    /// A client that has sent much before it looks at what came back.
    private static let eagerClient = """
        import socket, ssl, sys
        context = ssl.create_default_context(cafile=sys.argv[2])
        peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        try:
            peer = context.wrap_socket(peer, server_hostname="good.test")
            peer.sendall(bytes(8 << 20))
            print("end" if peer.recv(1) == b"" else "data")
        except OSError as error:
            print(error)
        """

    @Test("D4, TE4: a client that goes on sending hears why it is refused, not a reset")
    func lastWord() throws {
        let files = try TestCertificates.made()
        var tls = try TestTLS.server()
        tls.clientAuthentication = .required
        tls.trust = try .anchors(file: files.path("trust/roots.pem"))
        let host = try TLSHost(tls)
        let client = try ChildProcess(
            "/usr/bin/python3",
            ["-c", Self.eagerClient, "\(host.port)", files.path("trust/roots.pem")]
        )
        let exit = try host.turn(untilTheEndOf: client)
        #expect(exit.standardOutput.lowercased().contains("alert certificate required"), "\(exit)")
        #expect(try host.loop.turn { !host.reports.isEmpty })
        guard case .untrusted(let failure)? = host.reports[0].error?.tls else {
            Issue.record("\(host.reports)")
            return
        }
        #expect(failure.reason == .noCertificate)
        try host.loop.end()
    }

    @Test("TE4, TH1: a client that hears why it is refused and stays is not waited for without end")
    func lastWordTimeout() throws {
        let host = try TLSHost(try TestTLS.server()) { socket, _ in
            socket.lingerTimeout = .milliseconds(50)
        }
        let peer = try BlockingPeer(connectingTo: host.address)
        // A message of the handshake that there is not.
        try peer.send([22, 3, 1, 0, 4, 99, 0, 0, 0])
        #expect(try host.loop.turn { !host.reports.isEmpty })
        guard case .protocolViolation? = host.reports[0].error?.tls else {
            Issue.record("\(host.reports)")
            return
        }
        // Unexpected message, and then the end.
        #expect(try peer.receiveUntilEnd().suffix(2) == [2, 10])
        #expect(host.loop.reactor.figures.timers == 0)
        try host.loop.end()
    }

    @Test(
        "TE3, K1, S5: an end at any byte is interrupted, truncated or in order, in both roles",
        arguments: [true, false],
        TLSVersion.allCases
    )
    func everywhere(towardsClient: Bool, version: TLSVersion) throws {
        let loop = try Loop()
        var (client, server) = (try TestTLS.client(), try TestTLS.server())
        client.maximumVersion = version
        client.resumption = .off
        server.resumption = .off
        try client.prepare()
        try server.prepare()
        func outcome(at limit: Int) throws -> Outcome {
            try exchange(on: loop, client, server, towardsClient: towardsClient, limit: limit)
        }
        let whole = try outcome(at: .max)
        #expect(whole.report.error == .closedByPeer && whole.byteCount == Self.message.count)
        var kinds: Set<String> = []
        for limit in limits(upTo: whole.passedCount) {
            let end = try outcome(at: limit)
            #expect(end.turns < 200, "it spins at \(limit)")
            if !end.isSecured {
                #expect(end.report.error?.tls == .interrupted, "\(limit): \(end.report)")
                #expect(end.report.phase == .securing && end.byteCount == 0)
                kinds.insert("interrupted")
            } else if end.report.error == .closedByPeer {
                #expect(end.droppedCount == 0, "\(limit): \(end)")
                #expect(end.byteCount == Self.message.count)
                kinds.insert("in order")
            } else {
                #expect(
                    end.report.error?.tls == .truncated(bytes: end.byteCount),
                    "\(limit): \(end.report)"
                )
                #expect(end.report.phase == .connected && limit < whole.passedCount + 16)
                kinds.insert("truncated")
            }
        }
        #expect(kinds.count == 3, "\(kinds)")
        try loop.end()
    }

    @Test("TE3 A program may take an end without a farewell for one, but not within a record")
    func takenForAnEnd() throws {
        let loop = try Loop()
        var client = try TestTLS.client()
        client.serverName = .name("rsa.test")
        client.truncation = .asEnd
        client.resumption = .off
        // Its signatures are all of one length, so each exchange has its borders where they were.
        var server = try TestTLS.server("good-rsa")
        server.resumption = .off
        let whole = try exchange(on: loop, client, server, towardsClient: true, limit: .max)
        // The farewell has 24 bytes.
        for missing in [24, 23, 25, 700, 1] {
            let end = try exchange(
                on: loop,
                client,
                server,
                towardsClient: true,
                limit: whole.passedCount - missing
            )
            if missing == 24 {
                #expect(end.report.error == .closedByPeer, "\(end.report)")
                #expect(end.byteCount == Self.message.count)
            } else {
                #expect(end.report.error?.tls == .truncated(bytes: end.byteCount), "\(missing)")
            }
        }
        try loop.end()
    }
}

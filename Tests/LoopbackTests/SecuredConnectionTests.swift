import Glibc
import TestSupport
import Testing
import Towline
import TowlineTLS

@Suite("Connections that are secured", .timeLimit(.minutes(5))) struct SecuredConnectionTests {
    @Test("Files alone say who a server is, and whom a client trusts")
    func shortForms() throws {
        let files = try TestCertificates.made()
        let server = try TLSConfiguration.server(
            certificateFile: files.path("server/good-chain.pem"),
            privateKeyFile: files.path("server/good.key")
        )
        var client = TLSConfiguration.client(
            trusting: try .anchors(file: files.path("trust/roots.pem"))
        )
        client.serverName = .name("good.test")
        let pair = try SecurePair.secured(client: client, server: server)
        #expect(pair.client.tlsInfo?.verifiedChain != nil)
        try pair.loop.end()
        let missing = files.path("no such file")
        let error = IdentityError.unreadable(path: missing, errno: ENOENT)
        #expect(throws: error) { try TLSConfiguration.server(certificateFile: missing) }
        #expect(throws: error) { try TrustPolicy.anchors(file: missing) }
    }

    @Test("TH6 New keys are asked for among data, by either end; TLS 1.2 has no way to")
    func rekey() throws {
        let pair = try SecurePair.secured()
        try pair.server.read(toLength: 40, tag: 1)
        try pair.client.read(toLength: 40, tag: 2)
        for _ in 0..<10 {
            try pair.client.rekey()
            try pair.client.write("data")
            try pair.server.rekey()
            try pair.server.write("more")
            try pair.loop.turn(times: 2)
        }
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        #expect(
            try pair.loop.turn { client.readBytes.count == 40 && server.readBytes.count == 40 }
        )
        #expect(server.readBytes == Array(String(repeating: "data", count: 10).utf8))
        #expect(client.readBytes == Array(String(repeating: "more", count: 10).utf8))
        try pair.loop.end()

        var old = try TestTLS.client()
        old.maximumVersion = .tls12
        let older = try SecurePair.secured(client: old)
        #expect {
            try older.client.rekey()
        } throws: { error in
            (error as? SocketError)?.tls == .noAgreement(.version([.tls13]))
        }
        try older.loop.end()
        let plain = try SecurePair()
        #expect(throws: SocketError.notConnected) { try plain.client.rekey() }
        try plain.loop.end()
    }

    @Test("Both ends make the same secret bytes, others for other labels; the library's handle")
    func keyingMaterial() throws {
        let pair = try SecurePair.secured()
        func bytes(_ socket: StreamSocket, _ label: String, _ context: [UInt8]?) -> [UInt8]? {
            socket.tlsInfo?.keyingMaterial(label: label, context: context, count: 48)
        }
        let ours = try #require(bytes(pair.client, "EXPORTER-a", [1]))
        #expect(ours == bytes(pair.server, "EXPORTER-a", [1]) && ours.count == 48)
        #expect(ours != bytes(pair.server, "EXPORTER-b", [1]))
        #expect(ours != bytes(pair.server, "EXPORTER-a", [2]))
        #expect(bytes(pair.client, "EXPORTER-a", nil) == bytes(pair.server, "EXPORTER-a", nil))
        #expect(pair.client.tlsInfo?.keyingMaterial(label: "x", context: nil, count: 0) == nil)

        let handles = [pair.client, pair.server].map { $0.withUnsafeTLSHandle { $0 } }
        #expect(handles[0] != nil && handles[1] != nil && handles[0] != handles[1])
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try pair.client.withUnsafeTLSHandle { _ in throw Failure() }
        }
        let info = try #require(pair.client.tlsInfo)
        pair.client.disconnect()
        try pair.turnToTheEnd()
        #expect(pair.client.tlsInfo == nil && pair.client.withUnsafeTLSHandle { $0 } == nil)
        // What is known stays known; the secrets are gone with the connection.
        #expect(info.version == .tls13 && info.cipherSuite.hasPrefix("TLS_"))
        try pair.loop.end()
        #expect(info.keyingMaterial(label: "EXPORTER-a", context: nil, count: 48) == nil)
        let plain = try SecurePair()
        #expect(plain.client.withUnsafeTLSHandle { $0 } == nil && plain.client.tlsInfo == nil)
        try plain.loop.end()
    }

    @Test("A socket that connects again in its farewell is in clear, and can be secured again")
    func connectingAgain() throws {
        /// Connects again once, and keeps what it is told of its security.
        final class Returning: StreamSocketDelegate {
            let address: SocketAddress
            var versions: [[TLSVersion?]] = []

            init(_ address: SocketAddress) { self.address = address }

            func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
                versions.append([socket.tlsInfo?.version])
                try socket.startTLS(TestTLS.client())
            }

            func socketDidSecure(_ socket: StreamSocket) {
                versions[versions.count - 1].append(socket.tlsInfo?.version)
                socket.disconnect()
            }

            func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
                versions[versions.count - 1].append(socket.tlsInfo?.version)
                if versions.count == 1 { try? socket.connect(to: address) }
            }
        }
        let served = try ServedSecurely(TestTLS.server())
        let returning = Returning(try #require(served.listener.localAddress))
        let socket = StreamSocket(reactor: served.loop.reactor, delegate: returning)
        try socket.connect(to: returning.address)
        #expect(try served.loop.turn { returning.versions.flatMap { $0 }.count == 6 })
        #expect(returning.versions == Array(repeating: [nil, .tls13, .tls13], count: 2))
        #expect(socket.tlsInfo == nil)
        try served.loop.end()
    }

    @Test("TS5 A listener's configuration is replaced; what runs goes on with the one it has")
    func reload() throws {
        let certificates = try TestCertificates.made()
        let other = TLSConfiguration.server(
            try Identity(
                certificateFile: certificates.path("server/good-rsa-chain.pem"),
                privateKeyFile: certificates.path("server/good-rsa.key")
            )
        )
        let served = try ServedSecurely(TestTLS.server())
        let first = try served.connect()
        try first.secure(served)
        // A handshake that runs: accepted, and nothing said yet.
        let second = try served.connect()
        try served.listener.replaceTLS(other)
        let third = try served.connect()
        try second.secure(served)
        try third.secure(served, name: "rsa.test")
        let subjects = [first, second, third].map { $0.socket.tlsInfo?.peerChain.first?.subject }
        #expect(subjects[0]?.contains("good.test") == true)
        #expect(subjects[1] == subjects[0])
        #expect(subjects[2]?.contains("rsa.test") == true)
        for peer in [first, second, third] { try peer.echo(served) }

        // What cannot be leaves the one in force.
        var broken = try TestTLS.server()
        broken.cipherList = "NO-SUCH-CIPHER"
        for wrong in [TLSConfiguration.client, broken] {
            #expect(throws: SocketError.self) { try served.listener.replaceTLS(wrong) }
        }
        let fourth = try served.connect()
        try fourth.secure(served, name: "rsa.test")
        try fourth.echo(served)
        try served.loop.end()
    }

    @Test("TS5, TR5: a ticket from before a reload is good behind it")
    func ticketsBehindReload() throws {
        var tls = try TestTLS.client()
        tls.resumption = .cache(SessionCache())
        let served = try ServedSecurely(TestTLS.server())
        let first = try served.connect()
        try first.secure(served, by: tls)
        try first.echo(served)
        try served.listener.replaceTLS(try TestTLS.server())
        // Of the same port, which is a part of what a session is kept by.
        let second = try served.connect()
        try second.secure(served, by: tls)
        #expect(first.socket.tlsInfo?.isResumed == false)
        #expect(second.socket.tlsInfo?.isResumed == true)
        try served.loop.end()
    }

    @Test("TS6, LS4: with too many handshakes under way nobody is accepted until one is over")
    func handshakesAtOnce() throws {
        let served = try ServedSecurely(TestTLS.server(), maxHandshakes: 3)
        let reactor = served.loop.reactor
        let clients = try (0..<8).map { _ in
            let client = ServedSecurely.Client(reactor)
            try client.socket.connect(to: #require(served.listener.localAddress))
            return client
        }
        let accepted = { served.acceptor.sockets.count }
        #expect(try served.loop.turn { clients.allSatisfy { !$0.recorder.heard.isEmpty } })
        try served.loop.turn(times: 5)
        #expect(accepted() == 3)
        #expect(reactor.figures.acceptPauses == 1)
        // Who secures nobody is not held up.
        let plain = Acceptor()
        let open = StreamListener(reactor: reactor, delegate: plain)
        try open.listen(on: .ipv4(.loopback, port: 0))
        let others = try (0..<5).map { _ in
            let client = ServedSecurely.Client(reactor)
            try client.socket.connect(to: #require(open.localAddress))
            return client
        }
        #expect(try served.loop.turn { plain.sockets.count == others.count })
        // One that is complete makes room for one, and so does one that never will be.
        try clients[0].secure(served)
        #expect(try served.loop.turn { accepted() == 4 })
        clients[1].socket.disconnect()
        #expect(try served.loop.turn { accepted() == 5 })
        try served.loop.turn(times: 5)
        #expect(accepted() == 5)
        for client in clients[2...] { try client.secure(served) }
        #expect(accepted() == 8)
        try clients[7].echo(served)
        try served.loop.end()
    }

    @Test("TH1, S6: when the time is over it is said whether messages or an answer were waited for")
    func waitedFor() throws {
        let hello = try hello()
        let flight = try Pair()
        let server = try TestTLS.server()
        try server.prepare()
        try flight.socket.startTLS(server, timeout: .milliseconds(50))
        try flight.peer.send(hello)
        #expect(try flight.turn { flight.recorder.isDisconnected })
        #expect(flight.recorder.reports[0].error?.tls == .timedOut(.flight))
        // It has said its part.
        #expect(try flight.peer.receive(5).first == 22)
        try flight.loop.end()

        let doubter = TrustRecorder()
        var asking = try TestTLS.client()
        asking.trust.decision = .delegate
        let tls = asking
        let trust = try ServedSecurely(TestTLS.server())
        let client = try trust.connect()
        client.socket.delegate = doubter
        try client.socket.startTLS(tls, timeout: .milliseconds(300))
        #expect(try trust.loop.turn { !doubter.reports.isEmpty })
        #expect(doubter.questions.count == 1)
        #expect(doubter.reports[0].error?.tls == .timedOut(.trust))
        #expect(doubter.reports[0].phase == .securing)
        try trust.loop.end()
    }

    /// What a client says first.
    private func hello() throws -> [UInt8] {
        let pair = try Pair()
        let tls = try TestTLS.client()
        try tls.prepare()
        try pair.socket.startTLS(tls)
        try pair.loop.turn(times: 3)
        let header = try pair.peer.receive(5)
        let rest = try pair.peer.receive(Int(header[3]) << 8 | Int(header[4]))
        try pair.loop.end()
        return header + rest
    }

    @Test("TH1 Without a timeout a handshake may take as long as it likes, and has no timer")
    func withoutTimeout() throws {
        let pair = try SecurePair()
        let armed = { pair.loop.reactor.figures.timers }
        let before = armed()
        try pair.client.startTLS(try TestTLS.client(), timeout: nil)
        try pair.loop.turn(times: 5)
        #expect(armed() == before)
        try pair.server.startTLS(try TestTLS.server())
        try pair.loop.turn(times: 1)
        #expect(armed() == before + 1)
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        #expect(
            try pair.loop.turn {
                client.heard.contains(.didSecure) && server.heard.contains(.didSecure)
            }
        )
        // That of the server has gone with its handshake.
        #expect(armed() == before)
        try pair.loop.end()
    }

    @Test("TU4 Whoever wants TLS or nothing says so once: what was queued behind it never leaves")
    func tlsOrNothing() throws {
        let pair = try Pair()
        let (socket, recorder) = (pair.socket, pair.recorder)
        // As a mail client does: its secret is queued only where the answer is yes.
        recorder.whenRead = { socket, bytes, _ in
            guard bytes.starts(with: Array("220".utf8)) else {
                socket.disconnect()
                return
            }
            try socket.startTLS(try TestTLS.client())
            try socket.write("secret")
        }
        try socket.write("STARTTLS\r\n")
        try socket.read(to: .crlf)
        #expect(try pair.turn { recorder.heard.contains(.didWrite(tag: 0)) })
        try pair.peer.send("454 not now\r\n")
        #expect(try pair.turn { recorder.isDisconnected })
        #expect(String(decoding: try pair.peer.receiveUntilEnd(), as: UTF8.self) == "STARTTLS\r\n")
        try pair.loop.end()

        // And where the answer was yes, and what follows is no TLS.
        let liar = try Pair()
        liar.recorder.whenRead = recorder.whenRead
        try liar.socket.write("STARTTLS\r\n")
        try liar.socket.read(to: .crlf)
        try liar.peer.send("220 go\r\n")
        #expect(try liar.turn { liar.recorder.heard.count >= 2 })
        try liar.peer.send("250 still in clear\r\n")
        #expect(try liar.turn { liar.recorder.isDisconnected })
        let sent = try liar.peer.receiveUntilEnd()
        #expect(!String(decoding: sent, as: UTF8.self).contains("secret"))
        try liar.loop.end()
    }

    @Test("TU2, requiresEmptyReadBuffer false: early bytes are the handshake's, and no data")
    func earlyBytes() throws {
        var lenient = try TestTLS.client()
        lenient.requiresEmptyReadBuffer = false
        let tls = lenient
        let pair = try SecurePair(
            prepare: { socket, _ in
                try socket.read(to: .crlf, tag: 1)
                try socket.startTLS(tls)
                try socket.read(to: .crlf, tag: 2)
            },
            accepting: { socket, _ in try socket.write("220 go\r\n250 injected\r\n") }
        )
        let recorder = pair.clientRecorder
        #expect(try pair.loop.turn { recorder.isDisconnected })
        guard case .notTLS(let bytes) = recorder.reports[0].error?.tls else {
            Issue.record("\(recorder.reports[0])")
            return
        }
        #expect("250 injected\r\n".utf8.starts(with: bytes) && !bytes.isEmpty)
        #expect(recorder.heard.filter { if case .didRead = $0 { true } else { false } }.count == 1)
        try pair.loop.end()
    }
}

/// A listener that secures, and echoes.
private struct ServedSecurely {
    let loop: Loop
    let listener: StreamListener
    let acceptor = Acceptor()

    init(_ tls: TLSConfiguration, maxHandshakes: Int = 1_024) throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.maxHandshakes = maxHandshakes
        loop = try Loop(configuration)
        listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        acceptor.whenAccepted = { socket, recorder in
            recorder.whenRead = { socket, bytes, _ in try socket.write(bytes) }
            recorder.readsOn = true
            try socket.read()
        }
        try listener.replaceTLS(tls)
        try listener.listen(on: .ipv4(.loopback, port: 0))
    }

    /// A client that is connected and accepted, and has said nothing.
    func connect() throws -> Client {
        let client = Client(loop.reactor)
        let count = acceptor.sockets.count
        try client.socket.connect(to: #require(listener.localAddress))
        #expect(
            try loop.turn { acceptor.sockets.count > count && !client.recorder.heard.isEmpty }
        )
        return client
    }

    struct Client {
        let socket: StreamSocket
        let recorder = Recorder()

        init(_ reactor: Reactor) {
            socket = StreamSocket(reactor: reactor, delegate: recorder)
        }

        func secure(
            _ served: ServedSecurely,
            by configuration: TLSConfiguration? = nil,
            name: String = "good.test"
        ) throws {
            var tls = try configuration ?? TestTLS.client()
            if configuration == nil { tls.serverName = .name(name) }
            try socket.startTLS(tls)
            #expect(try served.loop.turn { recorder.heard.contains(.didSecure) })
        }

        func echo(_ served: ServedSecurely) throws {
            let before = recorder.readBytes.count
            try socket.write("echo")
            try socket.read(toLength: 4)
            #expect(try served.loop.turn { recorder.readBytes.count == before + 4 })
        }
    }
}

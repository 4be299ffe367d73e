import TestSupport
import Testing
import Towline
import TowlineTLS

@Suite("Connections that are secured", .timeLimit(.minutes(5))) struct SecuredConnectionTests {
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

    init(_ tls: TLSConfiguration) throws {
        loop = try Loop()
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

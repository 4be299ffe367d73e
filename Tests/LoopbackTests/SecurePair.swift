import TestSupport
import Testing
import Towline
import TowlineTLS

/// Settings of both ends, from the certificates of the tests.
enum TestTLS {
    /// A server that is `good.test`, `localhost` and 127.0.0.1.
    ///
    /// - Parameter name: Another of the servers' certificates.
    /// - Returns: The configuration.
    /// - Throws: If there are no certificates.
    static func server(_ name: String = "good") throws -> TLSConfiguration {
        .server(try identity("server/\(name)"))
    }

    /// A certificate with its chain, and its key.
    ///
    /// - Parameter name: Such as `client/alice`.
    /// - Returns: The identity.
    /// - Throws: If there is none.
    static func identity(_ name: String) throws -> Identity {
        let certificates = try TestCertificates.made()
        return try Identity(
            certificateFile: certificates.path("\(name)-chain.pem"),
            privateKeyFile: certificates.path("\(name).key")
        )
    }

    /// A client that trusts the tests' root, and expects `good.test`.
    static func client() throws -> TLSConfiguration {
        let roots = try TestCertificates.made().bytes("trust/roots.pem")
        var configuration = TLSConfiguration.client
        configuration.trust = .anchors(try Certificate.certificates(pem: roots))
        configuration.serverName = .name("good.test")
        return configuration
    }
}

/// Both ends of a connection on one reactor, which a test turns by hand; nothing is secured before
/// the test says so.
struct SecurePair {
    let loop: Loop
    let client: StreamSocket
    let clientRecorder: Recorder
    let acceptor = Acceptor()
    private let listener: StreamListener

    var server: StreamSocket { acceptor.sockets[0] }
    var serverRecorder: Recorder { acceptor.recorders[0] }

    /// Connects; `prepare` may queue what the client does before the connection is there, and
    /// `accepting` what the server does as soon as it has it.
    init(
        buffer: CInt? = nil,
        clientRecorder: Recorder = Recorder(),
        makeServerRecorder: @escaping () -> Recorder = { Recorder() },
        prepare: (StreamSocket, Recorder) throws -> Void = { _, _ in },
        accepting: @escaping (StreamSocket, Recorder) throws -> Void = { _, _ in }
    ) throws {
        loop = try Loop()
        self.clientRecorder = clientRecorder
        acceptor.makeRecorder = makeServerRecorder
        listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        listener.options.sendBufferSize = buffer
        listener.options.receiveBufferSize = buffer
        acceptor.whenAccepted = accepting
        try listener.listen(on: .ipv4(.loopback, port: 0))
        client = StreamSocket(reactor: loop.reactor, delegate: clientRecorder)
        client.options.sendBufferSize = buffer
        client.options.receiveBufferSize = buffer
        let address = try #require(listener.localAddress)
        try client.connect(to: address)
        try prepare(client, clientRecorder)
        let (recorder, acceptor) = (clientRecorder, acceptor)
        let isConnected = try loop.turn {
            !acceptor.sockets.isEmpty && !recorder.heard.isEmpty
        }
        #expect(isConnected)
    }

    /// The same, secured on both sides.
    static func secured(
        buffer: CInt? = nil,
        client: TLSConfiguration? = nil,
        server: TLSConfiguration? = nil
    ) throws -> SecurePair {
        let (client, server) = (try client ?? TestTLS.client(), try server ?? TestTLS.server())
        let pair = try SecurePair(
            buffer: buffer,
            prepare: { socket, _ in try socket.startTLS(client) },
            accepting: { socket, _ in try socket.startTLS(server) }
        )
        let isSecured = try pair.loop.turn {
            pair.clientRecorder.heard.contains(.didSecure)
                && pair.serverRecorder.heard.contains(.didSecure)
        }
        #expect(isSecured)
        pair.clientRecorder.heard = []
        pair.serverRecorder.heard = []
        return pair
    }

    /// Turns until both ends have had their farewell.
    func turnToTheEnd() throws {
        let (client, server) = (clientRecorder, serverRecorder)
        #expect(try loop.turn { client.isDisconnected && server.isDisconnected })
    }
}

import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTLS

/// A client and servers of one reactor, on real sockets of this host.
final class LoopbackWeb: StreamListenerDelegate, StreamSocketDelegate {
    let reactor: Reactor
    let client: HTTPClient
    /// The heads of the requests that came.
    private(set) var seen: [String] = []
    /// The names that secured connections asked for.
    private(set) var names: [String?] = []
    /// What is sent for a head.
    var answer: (String) -> String = { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi" }

    private var listeners: [(listener: StreamListener, tls: TLSConfiguration?)] = []
    private var sockets: [ObjectIdentifier: (socket: StreamSocket, bytes: [UInt8])] = [:]

    init(_ configuration: HTTPClient.Configuration = .init()) throws {
        reactor = try Reactor()
        client = HTTPClient(reactor: reactor, configuration: configuration)
    }

    /// Listens at a port of 127.0.0.1.
    func serve(_ tls: TLSConfiguration? = nil) throws -> UInt16 {
        let listener = StreamListener(reactor: reactor, delegate: self)
        listeners.append((listener, tls))
        try listener.listen(on: .ipv4(.loopback, port: 0))
        return try #require(listener.localAddress?.port)
    }

    /// Listens at a path.
    func serve(path: String) throws {
        let listener = StreamListener(reactor: reactor, delegate: self)
        listeners.append((listener, nil))
        try listener.listen(onUnixPath: path)
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        sockets[ObjectIdentifier(socket)] = (socket, [])
        if let tls = listeners.first(where: { $0.listener === listener })?.tls {
            try socket.startTLS(tls)
        }
        try socket.read()
    }

    func socketDidSecure(_ socket: StreamSocket) throws {
        names.append(socket.tlsInfo?.sentServerName)
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        sockets[ObjectIdentifier(socket)]?.bytes += [UInt8](bytes)
        if let bytes = sockets[ObjectIdentifier(socket)]?.bytes, bytes.hasSuffix("\r\n\r\n") {
            sockets[ObjectIdentifier(socket)]?.bytes = []
            let head = String(decoding: bytes, as: UTF8.self)
            seen.append(head)
            try socket.write(answer(head))
        }
        try socket.read()
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        sockets[ObjectIdentifier(socket)] = nil
    }

    /// Sends a request and turns until its end.
    func send(
        _ request: HTTPRequest,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ExchangeRecorder {
        let recorder = ExchangeRecorder()
        client.start(request, delegate: recorder)
        try turn(sourceLocation: sourceLocation) { recorder.hasEnded }
        return recorder
    }

    /// Turns until a condition holds, for ten seconds at most.
    func turn(
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) throws {
        let end = reactor.now.advanced(by: .seconds(10))
        while !condition() {
            guard reactor.now < end else {
                Issue.record("it never came", sourceLocation: sourceLocation)
                return
            }
            try reactor.turn(waitingAtMost: .milliseconds(100))
        }
    }

    /// Ends all of it.
    func end() throws {
        for (listener, _) in listeners { listener.stop() }
        client.closeIdleConnections()
        for (socket, _) in sockets.values { socket.disconnect() }
        reactor.stop()
        try reactor.run()
        #expect(client.connectionCounts.all == 0)
    }

    /// Settings of a client that trusts the certificates of the tests.
    static func trusting() throws -> TLSConfiguration {
        let roots = try TestCertificates.made().bytes("trust/roots.pem")
        var configuration = TLSConfiguration.client
        configuration.trust = .anchors(try Certificate.certificates(pem: roots))
        return configuration
    }

    /// One of the servers' certificates, with its key.
    static func identity(_ name: String) throws -> Identity {
        let certificates = try TestCertificates.made()
        return try Identity(
            certificateFile: certificates.path("server/\(name)-chain.pem"),
            privateKeyFile: certificates.path("server/\(name).key")
        )
    }
}

extension [UInt8] {
    fileprivate func hasSuffix(_ text: String) -> Bool {
        suffix(text.utf8.count) == Array(text.utf8)[...]
    }
}

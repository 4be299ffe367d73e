internal import Towline
internal import TowlineTLS

/// The echo as any user writes it: one delegate for all sockets, held weakly, bytes lent.
final class TowlineEcho: StreamListenerDelegate, StreamSocketDelegate {
    static func serve() throws {
        try serve(secured: nil)
    }

    /// The same over TLS.
    static func serveTLS() throws {
        let credentials = try TLSCredentials.inherited()
        let pem = Array((credentials.certificate + credentials.key).utf8)
        let tls = TLSConfiguration.server(try Identity(certificateChain: pem))
        try tls.prepare()
        try serve(secured: tls)
    }

    private static func serve(secured tls: TLSConfiguration?) throws {
        let configuration = Reactor.Configuration(backend: .epoll)
        let reactor = try Reactor(configuration)
        let echo = TowlineEcho()
        let listener = StreamListener(reactor: reactor, delegate: echo)
        try listener.listen(on: .ipv4(.loopback, port: 0))
        if let tls { try listener.replaceTLS(tls) }
        guard let port = listener.localAddress?.port else {
            preconditionFailure("a TCP listener has a port")
        }
        let bufferSize = "\(configuration.receiveBufferSize / 1024) KiB receive buffer"
        ServeCommand.announce(
            port: port,
            "\(reactor.backendReport), \(bufferSize), one weak delegate for all sockets"
        )
        try reactor.run()
        withExtendedLifetime(echo) {}
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        try socket.read()
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try socket.write(bytes)
        try socket.read()
    }
}

// An echo server: sends back whatever it reads, until SIGTERM.

import ExampleSupport
import Towline

final class Echo: ServerDelegate, StreamSocketDelegate {
    let server: Server
    let idleTimeout: Duration?

    init(_ server: Server, _ options: Options) throws {
        self.server = server
        idleTimeout = try options.seconds("--idle-timeout")
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        // So many bytes of its echo may a peer leave unread before no more is read from it.
        socket.writeHighWaterMark = 16 * 1024 * 1024
        if let idleTimeout { try socket.setIdleTimeout(both: idleTimeout) }
        try socket.read()
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try socket.write(bytes)
        if !socket.isAboveHighWaterMark { try socket.read() }
    }

    func socketDidBecomeWritable(_ socket: StreamSocket) throws {
        try socket.read()
    }

    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) {
        socket.disconnect()
    }
}

@main
enum EchoServer {
    static func main() {
        let help = """
              --idle-timeout SECONDS
                               close connections on which nothing has moved for so long; never
            """
        Server.main("echo-server", options: ["--idle-timeout"], help: help) { server, options in
            try server.run(Echo(server, options))
        }
    }
}

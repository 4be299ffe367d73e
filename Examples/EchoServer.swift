// An echo server: sends back whatever it reads, until SIGTERM.

import Glibc
import Towline

final class Echo: StreamListenerDelegate, StreamSocketDelegate {
    /// How many bytes of its echo a peer may leave unread, besides what the kernel holds.
    static let patience = 16 * 1024 * 1024

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        try socket.read()
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try socket.write(bytes)
        if socket.pendingWriteBytes < Self.patience {
            try socket.read()
        } else {
            // From a peer that does not read its echo, no more is read until it has.
            socket.userInfo = "paused"
        }
    }

    func socketDidBecomeWritable(_ socket: StreamSocket) {
        guard socket.userInfo != nil else { return }
        socket.userInfo = nil
        do {
            try socket.read()
        } catch {
            // The connection ends already, and what is left of its echo is still sent.
        }
    }

    func listener(_ listener: StreamListener, didFailToAccept error: SocketError) {
        complain("\(error)")
    }
}

struct Arguments {
    static let usage = """
        usage: echo-server [--host ADDRESS] [--port PORT] [--unix PATH]
                           [--backend automatic|epoll|ring]

          --host ADDRESS   the IPv4 or IPv6 address to listen on; 127.0.0.1
          --port PORT      the port, 0 through 65535; 0, the default, has the kernel choose one
          --unix PATH      listen on a Unix socket instead; @NAME for an abstract name
          --backend NAME   what the reactor runs on; automatic

        Prints one line, "listening on ADDRESS:PORT", once it accepts. SIGTERM and SIGINT end it
        after what is being sent has been sent, 5 s at most; a second one ends it at once.
        """

    var host = IPAddress.ipv4(.loopback)
    var port: UInt16 = 0
    var unixPath: String?
    var backend = BackendChoice.automatic

    init(_ words: [String]) throws(UsageError) {
        var words = words[...]
        while let option = words.popFirst() {
            if option == "--help" { throw UsageError(description: "") }
            guard let value = words.popFirst() else {
                throw UsageError(description: "\(option) needs a value, or is not known")
            }
            try set(option, to: value)
        }
    }

    private mutating func set(_ option: String, to value: String) throws(UsageError) {
        let invalid = UsageError(description: "\(option) \(value): not valid")
        switch option {
        case "--host":
            guard let address = IPAddress(value) else { throw invalid }
            host = address
        case "--port":
            guard let number = UInt16(value) else { throw invalid }
            port = number
        case "--unix":
            unixPath = value
        case "--backend":
            guard let choice = BackendChoice(rawValue: value) else { throw invalid }
            backend = choice
        default:
            throw UsageError(description: "\(option) is not known")
        }
    }
}

struct UsageError: Error {
    let description: String
}

func complain(_ text: String) {
    let line = Array("echo-server: \(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
}

@main
enum EchoServer {
    static func main() {
        do {
            try serve(Arguments(Array(CommandLine.arguments.dropFirst())))
        } catch let error as UsageError {
            if error.description.isEmpty {
                print(Arguments.usage)
                exit(0)
            }
            complain("\(error.description)\n\(Arguments.usage)")
            exit(2)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    static func serve(_ arguments: Arguments) throws {
        let reactor = try Reactor(Reactor.Configuration(backend: arguments.backend))
        let echo = Echo()
        // Before anything is open, so that no failure leaves a socket file behind.
        var isDraining = false
        let signals = try SignalSource(reactor: reactor, signals: [SIGTERM, SIGINT]) { _ in
            guard !isDraining else {
                reactor.stop()
                return
            }
            isDraining = true
            reactor.drain(within: .seconds(5)) { _ in reactor.stop() }
        }
        let listener = StreamListener(reactor: reactor, delegate: echo)
        if let path = arguments.unixPath {
            try listener.listen(onUnixPath: path)
        } else {
            try listener.listen(on: SocketAddress(arguments.host, port: arguments.port))
        }
        if let address = listener.localAddress { print("listening on \(address)") }
        fflush(nil)
        try reactor.run()
        withExtendedLifetime((echo, signals)) {}
    }
}

// An echo server: sends back whatever it reads, until SIGTERM.

import Glibc
import Towline

final class Echo: StreamListenerDelegate, StreamSocketDelegate {
    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        // So many bytes of its echo may a peer leave unread before no more is read from it.
        socket.writeHighWaterMark = 16 * 1024 * 1024
        try socket.read()
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try socket.write(bytes)
        if !socket.isAboveHighWaterMark { try socket.read() }
    }

    func socketDidBecomeWritable(_ socket: StreamSocket) throws {
        try socket.read()
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
            try set(option, to: words.popFirst())
        }
    }

    private mutating func set(_ option: String, to word: String?) throws(UsageError) {
        guard ["--host", "--port", "--unix", "--backend"].contains(option) else {
            throw UsageError(description: "\(option) is not known")
        }
        guard let value = word else { throw UsageError(description: "\(option) needs a value") }
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
            break
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
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Serves until it is told to end; the exit code.
    static func run(_ words: [String]) -> CInt {
        do {
            try serve(Arguments(words))
            return 0
        } catch let error as UsageError {
            if error.description.isEmpty {
                print(Arguments.usage)
                return 0
            }
            complain("\(error.description)\n\(Arguments.usage)")
            return 2
        } catch {
            complain("\(error)")
            return 1
        }
    }

    static func serve(_ arguments: Arguments) throws {
        let reactor = try Reactor(Reactor.Configuration(backend: arguments.backend))
        let echo = Echo()
        // Before anything is open, so that no failure leaves a socket file behind.
        var isDraining = false
        let signals = try SignalSource(reactor: reactor, signals: [SIGTERM, SIGINT]) {
            [unowned reactor] _ in
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

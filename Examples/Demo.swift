// A line server and its client on one reactor: prints every callback as it comes, and takes no
// options. Exit codes: 0, they came in the order that is promised; 1, they did not.

import Glibc
import Towline

/// One delegate for the listener, for the socket that it accepts, and for the client.
@main
final class Demo: StreamListenerDelegate, StreamSocketDelegate {
    /// What the client hears; a number is the tag of a read or write.
    static let clientOrder = """
        didConnectTo, didProgressWrite 1, didWrite 1, didProgressRead 1, didRead 1, \
        didProgressWrite 2, didWrite 2, didProgressRead 2, didRead 2, \
        didProgressWrite 3, didWrite 3, didRead 3, didProgressWrite 4, didWrite 4, \
        shouldTimeOutRead 4, didProgressRead 4, didRead 4, didDisconnect, didDisconnect
        """

    /// What the server hears: tag 11 is a line, 12 what follows STORE, 13 what follows ECHO.
    static let serverOrder = """
        didAccept, didProgressRead 11, didRead 11, didProgressWrite 11, didWrite 11, \
        didProgressRead 11, didRead 11, didProgressRead 12, didRead 12, \
        didProgressWrite 12, didWrite 12, didProgressRead 11, didRead 11, didRead 13, \
        didProgressWrite 13, didWrite 13, didProgressRead 11, didRead 11, \
        didProgressWrite 14, didWrite 14, didDisconnect, didStopWith
        """

    let start = ContinuousClock.now
    let reactor: Reactor
    lazy var listener = StreamListener(reactor: reactor, delegate: self)
    lazy var client = StreamSocket(reactor: reactor, delegate: self)
    var waiting: StreamSocket?
    var address = SocketAddress.ipv4(.loopback, port: 0)
    var order: [String: [String]] = ["client": [], "server": []]

    init() throws { reactor = try Reactor() }

    static func main() {
        do { try Demo().run() } catch {
            print("demo: \(error)")
            exit(1)
        }
    }

    func run() throws {
        try listener.listen(on: address)
        if let chosen = listener.localAddress { address = chosen }
        try client.connect(to: address)
        reactor.schedule(after: .seconds(8)) { self.reactor.stop() }
        try reactor.run()
        let promised = ["client": Self.clientOrder, "server": Self.serverOrder]
        for (side, order) in order where order.joined(separator: ", ") != promised[side] {
            print("demo: this is not what is promised to the \(side): \(order)")
            exit(1)
        }
        print("Every callback came in the order that is promised.")
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        note(socket, "didAccept", socket.remoteAddress.map { "from \($0)" } ?? "")
        socket.delegate = self
        try socket.read(to: .crlf, maxLength: 100, tag: 11)
    }

    func answer(_ socket: StreamSocket, _ text: String, tag: Int) throws {
        switch (tag, text) {
        case (11, "STORE\r\n"): try socket.read(toLength: 500_000, tag: 12)
        case (11, "ECHO\r\n"): try socket.read(tag: 13)
        case (11, "SLOW\r\n"): waiting = socket
        default: try socket.write(tag == 13 ? text : "THANKS\r\n", tag: tag)
        }
        // Reads are queued: this one waits until the body that may come first has been read.
        if tag == 11 { try socket.read(to: .crlf, maxLength: 100, tag: 11) }
    }

    func ask(_ socket: StreamSocket, after tag: Int) throws {
        switch tag {
        case 1:
            try socket.write("STORE\r\n".utf8 + [UInt8](repeating: 0, count: 500_000), tag: 2)
            try socket.read(to: .crlf, tag: 2)
        case 2:
            try socket.write("ECHO\r\nany bytes, however many", tag: 3)
            try socket.read(tag: 3)
        case 3:
            try socket.write("SLOW\r\n", tag: 4)
            try socket.read(to: .crlf, timeout: .milliseconds(200), tag: 4)
        default: socket.disconnect(.afterWrites)
        }
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        note(socket, "didConnectTo", "\(address)")
        try socket.write("HELLO\r\n", tag: 1)
        try socket.read(to: .crlf, tag: 1)
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        let text = bytes.byteCount > 40 ? "…" : String(decoding: bytes)
        note(socket, "didRead", "\(bytes.byteCount) bytes, \(text.debugDescription)", tag: tag)
        guard socket === client else { return try answer(socket, text, tag: tag) }
        try ask(socket, after: tag)
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) {
        note(socket, "didWrite", "the kernel has it all", tag: tag)
    }

    func socket(_ socket: StreamSocket, didProgressRead tag: Int, _ progress: IOProgress) {
        note(socket, "didProgressRead", "\(progress.bytesDone) bytes so far", tag: tag)
    }

    func socket(_ socket: StreamSocket, didProgressWrite tag: Int, _ progress: IOProgress) {
        note(socket, "didProgressWrite", "\(progress.bytesDone) bytes so far", tag: tag)
    }

    func socket(
        _ socket: StreamSocket,
        shouldTimeOutRead tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision {
        note(socket, "shouldTimeOutRead", "\(elapsed) are over; it gets 5 s more", tag: tag)
        reactor.schedule(after: .milliseconds(100)) {
            do { try self.waiting?.write("AT LAST\r\n", tag: 14) } catch { print(error) }
        }
        return .extend(by: .seconds(5))
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        note(socket, "didDisconnect", "\(report)")
        guard socket === client else { return }
        if report.phase == .connected { listener.stop() } else { reactor.stop() }
    }

    func listener(_ listener: StreamListener, didStopWith error: SocketError?) {
        note(nil, "didStopWith", error.map { "\($0)" } ?? "no error")
        // A socket that has ended may connect again; this time nobody listens.
        do { try client.connect(to: address) } catch { print(error) }
    }

    /// Prints a callback with the time since the start, and remembers it.
    func note(_ socket: StreamSocket?, _ callback: String, _ detail: String, tag: Int? = nil) {
        let side = socket === client ? "client" : "server"
        let entry = tag.map { "\(callback) \($0)" } ?? callback
        let tenths = ((ContinuousClock.now - start) / .milliseconds(0.1)).rounded()
        print("\(tenths / 10) ms\t\(side)\t\(entry): \(detail)")
        // How many pieces a large message comes in is the kernel's business.
        if entry.contains("Progress"), order[side]?.last == entry { return }
        order[side]?.append(entry)
    }
}

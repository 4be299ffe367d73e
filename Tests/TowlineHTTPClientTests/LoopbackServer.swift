import Synchronization
import Towline

/// A server on a reactor thread of its own: it answers by what stands in the path.
///
/// `/small` has five bytes, `/big/N` N of them as fast as they are taken, `/cut` ends within its
/// body, and `/never` has no answer.
struct LoopbackServer {
    let handle: ReactorHandle
    let port: UInt16
    private let count: SharedCount

    /// Bytes of bodies that the kernel has taken.
    var sentByteCount: Int { count.value }

    init() async throws {
        let count = SharedCount()
        handle = try Reactor.start(Reactor())
        port = try await handle.submit { reactor in
            let host = Host { count.add($0) }
            let listener = StreamListener(reactor: reactor, delegate: host)
            listener.keep(host)
            listener.options.sendBufferSize = 128 * 1024
            try listener.listen(on: .ipv4(.loopback, port: 0))
            host.listener = listener
            return listener.localAddress?.port ?? 0
        }
        self.count = count
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// How many connections there are to it.
    func connectionCount() async throws -> Int {
        try await handle.submit { $0.figures.connectedSockets }
    }

    func end() async {
        handle.stop()
        await handle.ended()
    }

    private final class Host: StreamListenerDelegate {
        var listener: StreamListener?
        private let didSend: @Sendable (Int) -> Void

        init(_ didSend: @escaping @Sendable (Int) -> Void) {
            self.didSend = didSend
        }

        func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
            socket.keep(Conversation(didSend))
            try socket.read(to: Delimiter("\r\n\r\n"))
        }
    }

    private final class Conversation: StreamSocketDelegate {
        private static let chunk = [UInt8](repeating: 0x78, count: 64 * 1024)

        private var left = 0
        private let didSend: @Sendable (Int) -> Void

        init(_ didSend: @escaping @Sendable (Int) -> Void) {
            self.didSend = didSend
        }

        func socket(_ socket: StreamSocket, didRead head: RawSpan, tag: Int) throws {
            let path = String(decoding: head).split(separator: " ")[1].split(separator: "/")
            switch path.first {
            case "small":
                try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                try socket.read(to: Delimiter("\r\n\r\n"))
            case "big":
                left = Int(path[1]) ?? 0
                try socket.write("HTTP/1.1 200 OK\r\nContent-Length: \(left)\r\n\r\n")
                try sendMore(socket)
                try socket.read(to: Delimiter("\r\n\r\n"))
            case "cut":
                try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
                socket.disconnect(.afterWrites)
            default:
                try socket.read(to: Delimiter("\r\n\r\n"))
            }
        }

        func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
            didSend(tag)
            if tag > 0 { try sendMore(socket) }
        }

        private func sendMore(_ socket: StreamSocket) throws {
            let count = min(left, Self.chunk.count)
            guard count > 0 else { return }
            left -= count
            let bytes = count == Self.chunk.count ? Self.chunk : Array(Self.chunk[..<count])
            try socket.write(bytes, tag: count)
        }
    }
}

/// A number that threads add to.
final class SharedCount: Sendable {
    private let sum = Atomic(0)

    var value: Int { sum.load(ordering: .relaxed) }

    func add(_ count: Int) {
        sum.add(count, ordering: .relaxed)
    }
}

import Glibc
import TestSupport
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTLS

/// Bodies of many MiB in both directions, counted and in chunks, in clear and secured, whose bytes
/// are all looked at: memory has to stay as it is, also where the reader is slow.
enum Transfers {
    /// What memory may grow by, in KiB.
    private static let growthLimit = 4_096

    static func run(_ plan: Plan) throws -> CInt {
        var complaints: [String] = []
        let byteCount = plan.mebibytes << 20
        for isSecured in [false, true] {
            let reactor = try Reactor(Reactor.Configuration(backend: .epoll))
            let files = try TestCertificates.made()
            let server = try BodyServer(reactor, isSecured ? files : nil)
            let client = try makeClient(reactor, files)
            for isChunked in [false, true] {
                for isUpload in [false, true] {
                    let transfer = Transfer(
                        byteCount: byteCount,
                        isChunked: isChunked,
                        isUpload: isUpload
                    )
                    let url = "\(isSecured ? "https" : "http")://127.0.0.1:\(server.port)"
                    complaints += try transfer.run(client, server, url)
                }
            }
            let slow = Transfer(
                byteCount: min(byteCount, 4 << 20),
                isChunked: false,
                isUpload: false
            )
            slow.pause = .milliseconds(62)
            complaints += try slow.run(
                client,
                server,
                "\(isSecured ? "https" : "http")://127.0.0.1:\(server.port)"
            )
            server.stop()
            reactor.stop()
            try reactor.run()
        }
        complaints.forEach { print("soak: \($0)") }
        return complaints.isEmpty ? 0 : 1
    }

    private static func makeClient(
        _ reactor: Reactor,
        _ files: TestCertificates
    ) throws -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.tls.trust =
            .anchors(try Certificate.certificates(pem: files.bytes("trust/roots.pem")))
        return HTTPClient(reactor: reactor, configuration: configuration)
    }

    /// What is complained about if memory has grown from one count of KiB to another.
    fileprivate static func complaint(_ name: String, _ before: Int, _ after: Int) -> [String] {
        after - before > growthLimit ? ["\(name): memory grew by \(after - before) KiB"] : []
    }
}

/// The bytes of all bodies: each says where it stands.
private enum Pattern {
    static let period = 251
    static let bytes = (0..<(65_536 + period)).map { UInt8($0 % period) }

    static func piece(at offset: Int, count: Int) -> [UInt8] {
        let start = offset % period
        return Array(bytes[start..<(start + count)])
    }

    static func isRight(_ piece: RawSpan, at offset: Int) -> Bool {
        var start = 0
        while start < piece.byteCount {
            let count = min(65_536, piece.byteCount - start)
            let wanted = (offset + start) % period
            let part = piece.extracting(start..<(start + count))
            let isEqual = part == bytes.span.bytes.extracting(wanted..<(wanted + count))
            guard isEqual else { return false }
            start += count
        }
        return true
    }
}

/// One body in one direction.
private final class Transfer: HTTPExchangeDelegate {
    let byteCount: Int
    let isChunked: Bool
    let isUpload: Bool
    var pause = Duration.zero
    private var reactor: Reactor?
    private var received = 0
    private var isRight = true
    private var ending: String?

    init(byteCount: Int, isChunked: Bool, isUpload: Bool) {
        self.byteCount = byteCount
        self.isChunked = isChunked
        self.isUpload = isUpload
    }

    func run(_ client: HTTPClient, _ server: BodyServer, _ origin: String) throws -> [String] {
        let scheme = origin.prefix { $0 != ":" }
        let name =
            "\(scheme), \(isChunked ? "chunked" : "counted"), \(isUpload ? "up" : "down")"
            + (pause > .zero ? ", slowly" : "")
        let framing = isChunked ? "chunked" : "counted"
        var request = HTTPRequest(.get, "\(origin)/\(framing)/\(byteCount)")
        if isUpload {
            request.method = .put
            request.expectsContinue = .never
            request.body = body()
        }
        let before = Belongings().residentKiB
        var (most, turnCount) = (before, 0)
        let began = ContinuousClock.now
        reactor = client.reactor
        client.start(request, delegate: self)
        while ending == nil, ContinuousClock.now - began < .seconds(280) {
            try client.reactor.turn(waitingAtMost: .seconds(1))
            turnCount += 1
            if turnCount % 1_024 == 0 { most = max(most, Belongings().residentKiB) }
        }
        most = max(most, Belongings().residentKiB)
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        print("\(name): \(byteCount >> 20) MiB in \(seconds) s, \(before) -> \(most) KiB")
        var complaints = Transfers.complaint(name, before, most)
        if ending != "in order" { complaints.append("\(name): \(ending ?? "it hangs")") }
        let count = isUpload ? server.takeReceivedByteCount() : received
        if count != byteCount || !isRight || !server.isRight {
            complaints.append("\(name): \(count) of \(byteCount) bytes, or wrong ones")
        }
        return complaints
    }

    private func body() -> HTTPBody {
        let byteCount = byteCount
        nonisolated(unsafe) var offset = 0
        return .stream(length: isChunked ? nil : UInt64(byteCount)) { exchange in
            let count = min(65_536, byteCount - offset)
            guard count > 0 else { return exchange.finishBody() }
            exchange.supply(Pattern.piece(at: offset, count: count))
            offset += count
        }
    }

    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) {
        if isUpload { return }
        if !Pattern.isRight(bytes, at: received) { isRight = false }
        received += bytes.byteCount
        guard pause > .zero else { return }
        exchange.suspend()
        reactor?.schedule(after: pause) { exchange.resume() }
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) { ending = "in order" }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        ending = "\(error)"
    }
}

/// Sends bodies of the pattern, and looks at those that it is sent.
private final class BodyServer: StreamListenerDelegate, StreamSocketDelegate {
    private enum Part: Int {
        case head, counted, chunkSize, chunk, lastChunk
    }

    private static let pieceByteCount = 65_536

    private var listener: StreamListener?
    private var isChunked = false
    private var rest = 0
    private var offset = 0
    private(set) var isRight = true

    init(_ reactor: Reactor, _ files: TestCertificates?) throws {
        let listener = StreamListener(reactor: reactor, delegate: self)
        self.listener = listener
        if let files {
            let identity = try Identity(
                certificateFile: files.path("server/good-chain.pem"),
                privateKeyFile: files.path("server/good.key")
            )
            try listener.replaceTLS(.server(identity))
        }
        try listener.listen(on: .ipv4(.loopback, port: 0))
    }

    var port: UInt16 { listener?.localAddress?.port ?? 0 }

    func stop() {
        listener?.stop()
    }

    func takeReceivedByteCount() -> Int { offset }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        try readHead(socket)
    }

    private func readHead(_ socket: StreamSocket) throws {
        let end = Delimiter("\r\n\r\n")
        try socket.read(to: end, maxLength: 16_384, tag: Part.head.rawValue)
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        switch Part(rawValue: tag) {
        case .head, nil: try begin(String(decoding: bytes), socket)
        case .counted:
            take(bytes)
            rest -= bytes.byteCount
            try rest > 0 ? readCounted(socket) : answer(socket)
        case .chunkSize:
            let count = Int(String(decoding: bytes).prefix { $0.isHexDigit }, radix: 16) ?? 0
            let part = count > 0 ? Part.chunk : .lastChunk
            try socket.read(toLength: count + 2, tag: part.rawValue)
        case .chunk:
            take(bytes.extracting(0..<(bytes.byteCount - 2)))
            try socket.read(to: .crlf, maxLength: 32, tag: Part.chunkSize.rawValue)
        case .lastChunk: try answer(socket)
        }
    }

    private func take(_ bytes: RawSpan) {
        if !Pattern.isRight(bytes, at: offset) { isRight = false }
        offset += bytes.byteCount
    }

    private func begin(_ head: String, _ socket: StreamSocket) throws {
        let words = head.split(separator: " ")
        let path = words[1].split(separator: "/")
        isChunked = path[0] == "chunked"
        rest = Int(path[1]) ?? 0
        offset = 0
        switch (words[0], isChunked) {
        case ("PUT", false): try readCounted(socket)
        case ("PUT", true):
            try socket.read(to: .crlf, maxLength: 32, tag: Part.chunkSize.rawValue)
        default:
            let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(rest)"
            try socket.write("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            try sendMore(socket)
        }
    }

    private func readCounted(_ socket: StreamSocket) throws {
        try socket.read(maxLength: Self.pieceByteCount, tag: Part.counted.rawValue)
    }

    private func answer(_ socket: StreamSocket) throws {
        try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        try readHead(socket)
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        if tag == 1 { try sendMore(socket) }
    }

    /// Sends the next piece; the one behind it follows when the kernel has it.
    private func sendMore(_ socket: StreamSocket) throws {
        guard rest > 0 else { return try readHead(socket) }
        let count = min(Self.pieceByteCount, rest)
        var piece = Pattern.piece(at: offset, count: count)
        offset += count
        rest -= count
        if isChunked {
            piece = Array("\(String(count, radix: 16))\r\n".utf8) + piece
            piece += Array((rest > 0 ? "\r\n" : "\r\n0\r\n\r\n").utf8)
        }
        try socket.write(piece, tag: 1)
    }
}

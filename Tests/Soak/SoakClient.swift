import TestSupport
import Towline

/// One socket that connects anew from each farewell.
final class SoakClient: StreamSocketDelegate {
    private let address: SocketAddress
    private let work: Work
    private let tally: Tally
    private var numbers: SeededNumbers
    private let socket: StreamSocket
    private var end = Ending.clientNow
    private var body: [UInt8] = []
    private let file: SoakFile
    private var sendsFile = false
    private var isConnecting = false
    private(set) var isDone = false

    init(
        _ reactor: Reactor,
        _ address: SocketAddress,
        _ work: Work,
        _ tally: Tally,
        _ file: SoakFile,
        _ numbers: SeededNumbers
    ) {
        self.address = address
        self.work = work
        self.tally = tally
        self.file = file
        self.numbers = numbers
        socket = StreamSocket(reactor: reactor)
        socket.delegate = self
    }

    /// Begins the next conversation, or is done.
    func start() {
        guard work.remaining > 0 else {
            isDone = true
            return
        }
        work.remaining -= 1
        end = Ending.allCases[numbers.number(in: 0..<Ending.allCases.count)]
        let count = 1 << numbers.number(in: 0..<17)
        sendsFile = numbers.number(in: 0..<4) == 0
        body = sendsFile ? Array(file.bytes.prefix(count)) : numbers.bytes(count)
        do {
            // Longer than any conversation: it is set and dropped, and never told of.
            try socket.setIdleTimeout(both: .seconds(60))
            if numbers.number(in: 0..<2) == 0, let port = address.port {
                // Both families are raced, and one of them is refused.
                try socket.connect(toHost: "localhost", port: port, timeout: .seconds(20))
            } else {
                try socket.connect(to: address, timeout: .seconds(20))
            }
            tally.started += 1
            isConnecting = true
        } catch {
            tally.note(error, unless: false)
            isDone = true
        }
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        isConnecting = false
        let count = UInt32(body.count)
        let head =
            [end.rawValue] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
        try socket.write(head)
        let (unsent, unread) = (try socket.write("never"), try socket.read())
        if !socket.cancel(unsent) || !socket.cancel(unread) {
            tally.wrong("what has not begun cannot be cancelled")
        }
        if sendsFile {
            try socket.write(file: file.file, range: 0..<body.count)
        } else {
            try socket.write(body)
        }
        if end == .clientEndsWriting {
            try socket.shutdownWrite()
            try socket.readToEnd(maxLength: body.count, timeout: .seconds(20))
        } else if end == .clientNow {
            try socket.read(toLength: max(1, body.count / 2), timeout: .seconds(20))
        } else {
            try socket.read(toLength: body.count, timeout: .seconds(20))
        }
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        if [UInt8](bytes) != body.prefix(bytes.byteCount).map({ $0 }) {
            tally.wrong("an answer of \(bytes.byteCount) bytes differs from its request")
        }
        tally.answers += 1
        switch end {
        case .clientAfterWrites: socket.disconnect(.afterWrites)
        case .clientNow: socket.disconnect()
        case .clientReset: socket.abort()
        case .serverAfterWrites, .serverThrows: try socket.read()
        case .clientEndsWriting: break
        }
    }

    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) {
        tally.wrong("\(direction) is idle")
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        tally.farewells += 1
        if isConnecting, report.phase == .connected { tally.wrong("a farewell before didConnect") }
        isConnecting = false
        // A server that throws may reset what it has not read.
        let isExpected =
            switch end {
            case .serverAfterWrites, .clientEndsWriting: report.error == .closedByPeer
            case .serverThrows: true
            default: report.error == .reactorStopped
            }
        tally.note(report.error, unless: isExpected)
        start()
    }

    /// The reactor has ended.
    func retire() {
        if tally.started != tally.farewells, isDone {
            tally.wrong("\(tally.started) were started, \(tally.farewells) had a farewell")
        }
    }
}

/// A file that is sent, and its bytes.
struct SoakFile {
    let file: OpenFile
    let bytes: [UInt8]

    /// A file of these bytes, which has no name any more.
    init(_ bytes: [UInt8]) throws {
        let scratch = try ScratchFile(bytes)
        file = try OpenFile(path: scratch.path)
        self.bytes = bytes
        withExtendedLifetime(scratch) {}
    }
}

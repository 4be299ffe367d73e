import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

/// One end of a connection without a socket: a session, and what a socket would do with it.
final class MemoryEnd {
    let session: TLSSession
    let output = SecurityOutput()

    /// What has been made for the peer and not been handed over.
    var outbox: [UInt8] = []

    /// What has come of the peer and not been taken.
    private(set) var inbox: [UInt8] = []

    private(set) var plaintext: [UInt8] = []
    private(set) var isSecured = false
    private(set) var hasEnded = false
    private(set) var failure: TLSError?
    private(set) var askCount = 0
    private(set) var waitCount = 0
    private(set) var notes: [String] = []

    /// Whether the session must not be called, as it waits for somebody.
    private(set) var isPaused = false

    private let woken = Locked(0)
    private let room: UnsafeMutableRawBufferPointer

    init(
        _ configuration: TLSConfiguration,
        host: String? = nil,
        address: SocketAddress? = nil,
        isAccepted: Bool = false,
        roomByteCount: Int = 16_384
    ) throws {
        try configuration.prepare()
        session = TLSSession(configuration)
        room = .allocate(byteCount: roomByteCount, alignment: 1)
        begin(host, address, isAccepted)
    }

    /// An end with a context that the library's level of security does not bind.
    init(context: TLSContext, host: String? = nil) {
        session = TLSSession(context)
        room = .allocate(byteCount: 16_384, alignment: 1)
        begin(host, nil, false)
    }

    /// An end whose configuration is built when it begins.
    init(unprepared configuration: TLSConfiguration, host: String? = nil) {
        session = TLSSession(configuration)
        room = .allocate(byteCount: 16_384, alignment: 1)
        begin(host, nil, false)
    }

    deinit {
        room.deallocate()
    }

    private func begin(_ host: String?, _ address: SocketAddress?, _ isAccepted: Bool) {
        let woken = woken
        let facts = SecurityFacts(
            host: host,
            remoteAddress: address,
            isAccepted: isAccepted,
            wake: { woken.withLock { $0 += 1 } },
            note: { [unowned self] level, message, _ in notes.append("\(level) \(message)") }
        )
        note(session.begin(facts, into: output))
        collect()
    }

    /// How often the session has been woken.
    var wakeCount: Int { woken.withLock { $0 } }

    /// Takes bytes of the peer.
    func receive(_ bytes: some Sequence<UInt8>) {
        inbox += bytes
        run()
    }

    /// Takes the peer's end.
    func receiveEnd() {
        guard failure == nil else { return }
        note(session.receiveEnd())
    }

    /// Has the session called again.
    func wakeUp() {
        woken.withLock { $0 += 1 }
    }

    /// Calls the session again if it has been woken.
    ///
    /// - Returns: Whether it had been.
    @discardableResult
    func goOnIfWoken() -> Bool {
        let wasWoken = woken.withLock { count in
            defer { count = 0 }
            return count > 0
        }
        guard wasWoken else { return false }
        isPaused = false
        run()
        return true
    }

    private func run() {
        var rounds = 0
        while !isPaused, failure == nil {
            let bytes = inbox
            let taken = bytes.withUnsafeBytes { all in
                var rest = all
                let (count, step) = session.receive(&rest, into: room, answeringInto: output)
                plaintext += UnsafeRawBufferPointer(rebasing: room[..<count])
                note(step)
                isDone = if case .needsInput = step { true } else { false }
                return all.count - rest.count
            }
            inbox.removeFirst(taken)
            collect()
            if isDone || hasEnded { return }
            rounds += 1
            if rounds > 100_000 {
                Issue.record("the session spins")
                return
            }
        }
    }

    private var isDone = false

    private func note(_ step: SecurityStep) {
        switch step {
        case .needsInput, .hasMore: break
        case .secured: isSecured = true
        case .asks:
            isPaused = true
            askCount += 1
        case .waits:
            isPaused = true
            waitCount += 1
        case .ended: hasEnded = true
        case .failed(let error): failure = error as? TLSError
        }
    }

    func collect() {
        outbox += output.bytes
        output.removeAll()
    }

    /// Sends data.
    func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { all in
            for start in stride(from: 0, to: all.count, by: 16_384) {
                let part = all[start..<min(start + 16_384, all.count)]
                let error = session.encrypt(UnsafeRawBufferPointer(rebasing: part), into: output)
                if let error { failure = error.tls }
                collect()
            }
        }
    }

    /// Says farewell.
    func finish() {
        session.finish(into: output)
        collect()
    }
}

/// How bytes are handed from one end to the other.
enum Handing: CaseIterable {
    case whole
    case byteByByte
    case atRecordBorders

    func pieces(of bytes: [UInt8]) -> [[UInt8]] {
        switch self {
        case .whole: return bytes.isEmpty ? [] : [bytes]
        case .byteByByte: return bytes.map { [$0] }
        case .atRecordBorders: return Records.split(bytes)
        }
    }
}

/// Records of TLS in a row of bytes.
enum Records {
    /// Each record by itself; what is no whole record is the last one.
    static func split(_ bytes: [UInt8]) -> [[UInt8]] {
        var records: [[UInt8]] = []
        var place = 0
        while place < bytes.count {
            let header = bytes[place...].prefix(5)
            let length =
                header.count == 5 ? Int(header[place + 3]) << 8 | Int(header[place + 4]) : 0
            let end = min(place + 5 + length, bytes.count)
            records.append(Array(bytes[place..<end]))
            place = end
        }
        return records
    }
}

/// Two ends.
final class MemoryPair {
    let client: MemoryEnd
    let server: MemoryEnd
    var handing: Handing

    /// What went from each end to the other so far.
    private(set) var sentByClient: [UInt8] = []
    private(set) var sentByServer: [UInt8] = []

    init(_ client: MemoryEnd, _ server: MemoryEnd, _ handing: Handing = .whole) {
        self.client = client
        self.server = server
        self.handing = handing
    }

    /// Hands bytes over until neither end has more.
    func run() {
        var isBusy = true
        while isBusy {
            let moved = [
                hand(from: client, to: server) { sentByClient += $0 },
                hand(from: server, to: client) { sentByServer += $0 },
                client.goOnIfWoken(),
                server.goOnIfWoken(),
            ]
            isBusy = moved.contains(true)
        }
    }

    private func hand(
        from: MemoryEnd,
        to target: MemoryEnd,
        _ record: ([UInt8]) -> Void
    ) -> Bool {
        let bytes = from.outbox
        from.outbox = []
        record(bytes)
        for piece in handing.pieces(of: bytes) { target.receive(piece) }
        return !bytes.isEmpty
    }
}

extension MemoryEnd {
    /// Answers the question whether to trust the peer, as a delegate would.
    func answer(_ isTrusted: Bool) {
        guard let question = session.question, let facts = session.facts else {
            Issue.record("nothing was asked")
            return
        }
        _ = question.answer.await(facts.wake)
        question.answer.give(isTrusted)
        // Known at once, whoever gives it.
        wakeUp()
    }
}

import TestSupport
import Towline
@testable import TowlineTestKit

/// One connection of a storm: the socket under test, its delegate, and the peer at the other end.
///
/// Both directions carry a known pattern, so that a byte that is lost, doubled or somebody else's
/// shows at once.
final class Party: StreamSocketDelegate {
    private let number: Int
    private unowned let storm: Storm
    private(set) var socket: StreamSocket?
    private var peer: SimulatedPeer?

    private var isStarted = false
    private var farewells = 0
    private var report: DisconnectReport?
    /// Bytes that the peer was told to send, and those that reads have delivered.
    private var sentByPeer = 0
    private var delivered = 0
    /// Bytes that writes were given, and the tags of reads and writes in the order they were
    /// queued.
    private var written = 0
    private var queuedReads: [Int] = []
    private var queuedWrites: [Int] = []
    private var nextTag = 0
    private var closesOfReading = 0
    private var peerHasReset = false

    init(_ number: Int, _ storm: Storm) {
        self.number = number
        self.storm = storm
    }

    var isOver: Bool { farewells > 0 }

    private func complain(_ text: String) {
        storm.complain("connection \(number): \(text)")
    }

    private func chance(_ one: Int) -> Bool { storm.numbers.number(in: 0..<one) == 0 }

    /// The byte at a place of a direction's stream.
    private func pattern(_ place: Int, fromPeer: Bool) -> UInt8 {
        let direction = fromPeer ? 1 : 101
        return UInt8(truncatingIfNeeded: place &* 7 &+ (place >> 8) &+ number &* 31 &+ direction)
    }

    private func pattern(_ range: Range<Int>, fromPeer: Bool) -> [UInt8] {
        range.map { pattern($0, fromPeer: fromPeer) }
    }

    // MARK: Beginning

    func connect(to address: SocketAddress, on reactor: Reactor) throws {
        let socket = StreamSocket(reactor: reactor, delegate: self)
        self.socket = socket
        try socket.connect(to: address, timeout: chance(4) ? .milliseconds(10) : .seconds(30))
        isStarted = true
        if chance(2) { actOnSocket() }
    }

    func begin(with socket: StreamSocket) {
        self.socket = socket
        isStarted = true
        socket.delegate = self
        if chance(2) { socket.halfClosePolicy = chance(2) ? .disconnect : .keepOpen }
        queueRead()
    }

    func attach(_ peer: SimulatedPeer) {
        self.peer = peer
        sendFromPeer()
    }

    // MARK: Acting

    /// Does something, on whichever side.
    func act() {
        if chance(2) { actOnPeer() } else { actOnSocket() }
    }

    private func actOnPeer() {
        guard let peer, peer.state != .closed else { return }
        switch storm.numbers.number(in: 0..<24) {
        case 0: peer.finishSending()
        case 1: peer.close()
        case 2:
            peerHasReset = true
            peer.reset()
        case 3: peer.stopReading()
        case 4, 5, 6: peer.resumeReading()
        default: sendFromPeer()
        }
    }

    private func sendFromPeer() {
        guard let peer, peer.state != .closed, sentByPeer < 60_000 else { return }
        let count = storm.numbers.number(in: 1..<4_000)
        peer.send(pattern(sentByPeer..<sentByPeer + count, fromPeer: true))
        sentByPeer += count
    }

    private func actOnSocket() {
        guard let socket, farewells == 0 else { return }
        switch storm.numbers.number(in: 0..<40) {
        case 0: socket.disconnect()
        case 1: socket.disconnect(.afterWrites)
        case 2: socket.disconnect(.afterReads)
        case 3: socket.disconnect(.afterReadsAndWrites)
        case 4: socket.abort()
        case 5: endWriting()
        case 6..<20: queueWrite()
        default: queueRead()
        }
    }

    private func queueRead() {
        guard let socket, queuedReads.count < 50 else { return }
        nextTag += 1
        let timeout: Duration? = chance(6) ? .milliseconds(storm.numbers.number(in: 0..<30)) : nil
        do {
            switch storm.numbers.number(in: 0..<4) {
            case 0:
                let length = storm.numbers.number(in: 1..<3_000)
                try socket.read(toLength: length, timeout: timeout, tag: nextTag)
            case 1:
                let byte = UInt8.random(in: 0...255, using: &storm.numbers)
                try socket.read(to: Delimiter([byte]), timeout: timeout, tag: nextTag)
            case 2:
                let limit = storm.numbers.number(in: 1..<2_000)
                try socket.read(maxLength: limit, timeout: timeout, tag: nextTag)
            default:
                try socket.read(timeout: timeout, tag: nextTag)
            }
            queuedReads.append(nextTag)
        } catch {
            lookAtRefusal(error)
        }
    }

    private func queueWrite() {
        guard let socket, written < 200_000 else { return }
        nextTag += 1
        let count = chance(10) ? 30_000 : storm.numbers.number(in: 0..<3_000)
        let bytes = pattern(written..<written + count, fromPeer: false)
        let timeout: Duration? = chance(10) ? .milliseconds(storm.numbers.number(in: 1..<50)) : nil
        do {
            if chance(2) {
                try socket.write(bytes, timeout: timeout, tag: nextTag)
            } else {
                try socket.write(bytes.span.bytes, timeout: timeout, tag: nextTag)
            }
            written += count
            queuedWrites.append(nextTag)
        } catch {
            lookAtRefusal(error)
        }
    }

    private func endWriting() {
        do { try socket?.shutdownWrite() } catch { lookAtRefusal(error) }
    }

    private func lookAtRefusal(_ error: SocketError) {
        switch error {
        case .notConnected, .disconnectPending, .readClosed, .writeClosed, .system, .closedByPeer,
            .reactorStopped:
            break
        default: complain("refused with \(error)")
        }
    }

    // MARK: Hearing

    private func note(_ callback: String) {
        if farewells > 0 { complain("\(callback) after the farewell") }
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        note("didConnectTo")
        if delivered > 0 { complain("didConnectTo after a read") }
        actOnSocket()
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        note("didRead")
        if bytes.isEmpty { complain("a read of nothing") }
        take(bytes)
        if queuedReads.isEmpty || queuedReads.removeFirst() != tag {
            complain("read \(tag) out of order")
        }
        actInCallback()
        if chance(200) { throw StormError() }
    }

    private func take(_ bytes: RawSpan) {
        let range = delivered..<delivered + bytes.byteCount
        if !(bytes == pattern(range, fromPeer: true)) { complain("wrong bytes at \(range)") }
        delivered = range.upperBound
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        note("didWrite")
        if queuedWrites.isEmpty || queuedWrites.removeFirst() != tag {
            complain("write \(tag) out of order")
        }
        actInCallback()
    }

    func socketDidCloseReadStream(_ socket: StreamSocket) throws {
        note("didCloseReadStream")
        if closesOfReading > 0 { complain("the reading side closed twice") }
        closesOfReading += 1
        if !queuedReads.isEmpty { complain("the reading side closed in front of a read") }
        actInCallback()
        if chance(2) { endWriting() }
    }

    func socket(_ socket: StreamSocket, didCancelRead tag: Int, partialBytes: RawSpan) throws {
        note("didCancelRead")
        take(partialBytes)
        if queuedReads.isEmpty || queuedReads.removeFirst() != tag {
            complain("cancelled read \(tag) out of order")
        }
    }

    private func actInCallback() {
        if chance(2) { queueRead() }
        if chance(3) { queueWrite() }
        if chance(6) { actOnSocket() }
        if chance(10) { actOnPeer() }
    }

    func socket(
        _ socket: StreamSocket,
        shouldTimeOutRead tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision {
        note("shouldTimeOutRead")
        if queuedReads.first != tag { complain("asked about read \(tag), which is not the first") }
        switch storm.numbers.number(in: 0..<4) {
        case 0: return .disconnect
        case 1: return .extend(by: .milliseconds(5))
        default: return .cancelOperation
        }
    }

    func socket(
        _ socket: StreamSocket,
        shouldTimeOutWrite tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision {
        note("shouldTimeOutWrite")
        return chance(2) ? .extend(by: .milliseconds(20)) : .disconnect
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        farewells += 1
        self.report = report
        if socket.state != .idle { complain("not idle in the farewell") }
    }

    // MARK: The end

    func lookAtTheEnd() {
        guard isStarted else { return }
        guard farewells == 1, let report else { return complain("\(farewells) farewells") }
        let unread = report.unreadBytes
        if unread != pattern(delivered..<delivered + unread.count, fromPeer: true) {
            complain("the report has wrong unread bytes")
        }
        if delivered + unread.count > sentByPeer { complain("more bytes than were sent") }
        if report.error == .closedByPeer, report.receivedByteCount > delivered + unread.count {
            complain("\(report.receivedByteCount) received, \(delivered) delivered")
        }
        if report.sentByteCount > written { complain("more bytes sent than written") }
        if report.incompleteReads != queuedReads {
            complain("incomplete reads \(report.incompleteReads), queued \(queuedReads)")
        }
        lookAtPeer(report)
    }

    private func lookAtPeer(_ report: DisconnectReport) {
        guard let peer else { return }
        let received = peer.received
        if received != pattern(0..<received.count, fromPeer: false) {
            complain("the peer received wrong bytes")
        }
        if received.count > report.sentByteCount { complain("the peer received too much") }
        if peer.sawEnd, received.count != report.sentByteCount {
            complain("the peer saw the end after \(received.count) of \(report.sentByteCount)")
        }
    }
}

private struct StormError: Error {}

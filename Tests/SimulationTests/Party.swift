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
    private var readIDs: [Int: OperationID] = [:]
    private var readsToEnd: Set<Int> = []
    private var queuedWrites: [Int] = []
    private var writeIDs: [Int: OperationID] = [:]
    /// What the writes that were not cancelled consist of, in their order.
    private var output: [(tag: Int, bytes: [UInt8])] = []
    /// Whether the socket has left for another place on its reactor, and not arrived.
    private var isMoving = false
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

    func connect(to address: SocketAddress, on reactor: Reactor, in network: SimulatedNetwork)
        throws
    {
        let socket = StreamSocket(reactor: reactor, delegate: self)
        self.socket = socket
        let timeout = chance(4) ? Duration.milliseconds(10) : .seconds(30)
        if chance(2), let port = address.port {
            try socket.connect(toHost: name(port, in: network), port: port, timeout: timeout)
        } else {
            try socket.connect(to: address, timeout: timeout)
        }
        isStarted = true
        if chance(2) { actOnSocket() }
    }

    /// A name for the port on both families, one of which does not answer, or refuses.
    private func name(_ port: UInt16, in network: SimulatedNetwork) -> String {
        let name = "party\(number).test"
        if chance(2) { network.silence(.ipv6(.loopback, port: port)) }
        network.names.answer(
            name,
            with: chance(8) ? .silence : .addresses([.ipv6(.loopback), .ipv4(.loopback)]),
            after: chance(2) ? .zero : .milliseconds(5),
            repeats: chance(4) ? 2 : 1
        )
        return name
    }

    func begin(with socket: StreamSocket) {
        self.socket = socket
        isStarted = true
        socket.delegate = self
        if chance(2) { socket.halfClosePolicy = chance(2) ? .disconnect : .keepOpen }
        setIdleTimeout(of: socket)
        queueRead()
    }

    private func setIdleTimeout(of socket: StreamSocket) {
        guard chance(2) else { return }
        let limit = Duration.milliseconds(storm.numbers.number(in: 1..<40))
        do {
            try socket.setIdleTimeout(read: limit, write: limit * 2, both: limit * 3)
        } catch {
            complain("an idle timeout is refused with \(error)")
        }
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
        case 6..<17: queueWrite()
        case 17: queueFile()
        case 18, 19: cancelWrite(on: socket)
        case 20..<23: cancelRead(on: socket)
        case 23: socket.pauseReads()
        case 24, 25: socket.resumeReads()
        case 26: move(socket)
        default: queueRead()
        }
    }

    /// Leaves for another object, on the same reactor.
    private func move(_ socket: StreamSocket) {
        nonisolated(unsafe) let party = self
        do {
            // It may be called from within: only the job's turn comes later.
            try socket.move(to: storm.reactor.handle) { party.arrive(on: $0) }
            isMoving = true
            self.socket = nil
        } catch {
            lookAtRefusal(error)
        }
    }

    private func arrive(on socket: StreamSocket) {
        if !isMoving { complain("it arrives, and has not left") }
        isMoving = false
        self.socket = socket
        socket.delegate = self
        if chance(2) { actOnSocket() }
    }

    private func queueRead() {
        guard let socket, queuedReads.count < 50 else { return }
        nextTag += 1
        let timeout: Duration? = chance(6) ? .milliseconds(storm.numbers.number(in: 0..<30)) : nil
        do {
            readIDs[nextTag] = try queueRead(on: socket, timeout)
            queuedReads.append(nextTag)
        } catch {
            lookAtRefusal(error)
        }
    }

    /// Asks for a read of any kind, into a buffer or not.
    private func queueRead(
        on socket: StreamSocket,
        _ timeout: Duration?
    ) throws(SocketError) -> OperationID {
        let offset = storm.numbers.number(in: 0..<20)
        let length = storm.numbers.number(in: 1..<3_000)
        let delimiter = Delimiter([UInt8.random(in: 0...255, using: &storm.numbers)])
        switch storm.numbers.number(in: 0..<30) {
        case 0:
            readsToEnd.insert(nextTag)
            return try socket.readToEnd(maxLength: 100_000, timeout: timeout, tag: nextTag)
        case 1..<3:
            return try socket.read(
                into: ReadBuffer(count: 20),
                at: offset,
                to: delimiter,
                timeout: timeout,
                tag: nextTag
            )
        case 3..<6:
            return try socket.read(
                into: ReadBuffer(count: 2_000),
                at: offset,
                toLength: length,
                timeout: timeout,
                tag: nextTag
            )
        case 6..<12:
            return try socket.read(toLength: length, timeout: timeout, tag: nextTag)
        case 12..<18:
            return try socket.read(to: delimiter, timeout: timeout, tag: nextTag)
        case 18..<24:
            return try socket.read(maxLength: length, timeout: timeout, tag: nextTag)
        default:
            return try socket.read(timeout: timeout, tag: nextTag)
        }
    }

    private func cancelRead(on socket: StreamSocket) {
        guard !queuedReads.isEmpty else { return }
        let index = storm.numbers.number(in: 0..<queuedReads.count)
        let tag = queuedReads[index]
        guard let id = readIDs[tag] else { return }
        let isOpen = socket.state == .connected || socket.state == .connecting
        let hasEnded =
            chance(2) ? socket.cancel(id) : socket.cancelRead(takingBufferOf: id) != nil
        if hasEnded {
            queuedReads.remove(at: index)
        } else if isOpen, socket.cancel(id) {
            // It had no buffer.
            queuedReads.remove(at: index)
        }
        if socket.cancel(id) { complain("read \(tag) was cancelled twice") }
    }

    /// Puts some of what was just read back, and looks at what is next.
    private func putBack(_ bytes: RawSpan, into socket: StreamSocket) {
        let count = storm.numbers.number(in: 0..<max(1, bytes.byteCount))
        do {
            try socket.unread(bytes.extracting(last: count))
            delivered -= count
        } catch {
            lookAtRefusal(error)
        }
        let next = socket.peek { [UInt8]($0) }
        if next != pattern(delivered..<delivered + next.count, fromPeer: true) {
            complain("a peek shows wrong bytes")
        }
    }

    private func queueWrite() {
        guard let socket, written < 200_000 else { return }
        nextTag += 1
        let count = chance(10) ? 30_000 : storm.numbers.number(in: 0..<3_000)
        let bytes = pattern(written..<written + count, fromPeer: false)
        let timeout: Duration? = chance(10) ? .milliseconds(storm.numbers.number(in: 1..<50)) : nil
        do {
            let id =
                chance(2)
                ? try socket.write(bytes, timeout: timeout, tag: nextTag)
                : try socket.write(bytes.span.bytes, timeout: timeout, tag: nextTag)
            noteQueued(id, bytes)
        } catch {
            lookAtRefusal(error)
        }
    }

    private func queueFile() {
        guard let socket, written < 200_000 else { return }
        nextTag += 1
        let start = storm.numbers.number(in: 0..<StormFile.byteCount)
        let end = storm.numbers.number(in: start..<StormFile.byteCount + 1)
        do {
            let id = try socket.write(file: StormFile.shared, range: start..<end, tag: nextTag)
            noteQueued(id, StormFile.bytes(start..<end))
        } catch {
            lookAtRefusal(error)
        }
    }

    private func noteQueued(_ id: OperationID, _ bytes: [UInt8]) {
        written += bytes.count
        queuedWrites.append(nextTag)
        writeIDs[nextTag] = id
        output.append((nextTag, bytes))
    }

    private func cancelWrite(on socket: StreamSocket) {
        guard !queuedWrites.isEmpty else { return }
        let index = storm.numbers.number(in: 0..<queuedWrites.count)
        let tag = queuedWrites[index]
        guard let id = writeIDs[tag], socket.cancel(id) else { return }
        queuedWrites.remove(at: index)
        output.removeAll { $0.tag == tag }
        if socket.cancel(id) { complain("write \(tag) was cancelled twice") }
    }

    private func endWriting() {
        do { try socket?.shutdownWrite() } catch { lookAtRefusal(error) }
    }

    private func lookAtRefusal(_ error: SocketError) {
        switch error {
        case .notConnected, .disconnectPending, .readClosed, .writeClosed, .system, .closedByPeer,
            .reactorStopped, .writesUnderWay:
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
        if bytes.isEmpty, !readsToEnd.contains(tag) { complain("a read of nothing") }
        take(bytes)
        if queuedReads.isEmpty || queuedReads.removeFirst() != tag {
            complain("read \(tag) out of order")
        }
        if chance(8) { putBack(bytes, into: socket) }
        actInCallback()
        if chance(200) { throw StormError() }
    }

    private func take(_ bytes: RawSpan) {
        let range = delivered..<delivered + bytes.byteCount
        if !(bytes == pattern(range, fromPeer: true)) { complain("wrong bytes at \(range)") }
        delivered = range.upperBound
    }

    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) throws {
        note("socketDidIdle")
        actInCallback()
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
        // On its way when the reactor ended, it was closed without a word, as is said.
        if isMoving { return }
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
        let incomplete = report.incompleteWrites.map(\.tag)
        if !incomplete.isEmpty, incomplete != queuedWrites.suffix(incomplete.count) {
            complain("incomplete writes \(incomplete), queued \(queuedWrites)")
        }
        if report.incompleteReads != queuedReads {
            complain("incomplete reads \(report.incompleteReads), queued \(queuedReads)")
        }
        lookAtPeer(report)
    }

    private func lookAtPeer(_ report: DisconnectReport) {
        guard let peer else { return }
        let received = peer.received
        if received != output.lazy.flatMap(\.bytes).prefix(received.count).map({ $0 }) {
            complain("the peer received wrong bytes")
        }
        if received.count > report.sentByteCount { complain("the peer received too much") }
        if peer.sawEnd, received.count != report.sentByteCount {
            complain("the peer saw the end after \(received.count) of \(report.sentByteCount)")
        }
    }
}

private struct StormError: Error {}

internal import Glibc
internal import Towline

/// A connection of a simulated network: two sides, and what is on its way between them.
///
/// Bytes, an end and a reset that one side sends arrive at the other in their order. Nothing
/// arrives before the next wait.
final class SimulatedConnection {
    struct Side {
        let address: SocketAddress
        /// Bytes that may be here and on their way here together.
        var windowByteCount: Int
        /// Bytes to be received.
        var arrived = ByteQueue()
        /// Bytes sent to this side that have not arrived.
        var onTheWay = 0
        var lastArrival: MonotonicInstant
        /// The other side's end has arrived.
        var hasEnded = false
        /// The connection has failed here; `pendingError` says why to the first call that looks.
        var hasFailed = false
        var pendingError: CInt = 0
        var hasSentEnd = false
        var isClosed = false
        weak var peer: SimulatedPeer?

        // The books: what was sent to this side is what was taken, dropped, is here or on its way.
        var sentCount = 0
        var takenCount = 0
        var droppedCount = 0

        var room: Int { windowByteCount - arrived.count - onTheWay }
    }

    let wire: Wire
    var sides: [Side]

    init(_ wire: Wire, client: SocketAddress, server: SocketAddress) {
        self.wire = wire
        let window = wire.conditions.windowByteCount
        sides = [client, server].map {
            Side(address: $0, windowByteCount: window, lastArrival: wire.clock.now)
        }
        wire.add(self)
    }

    var client: SimulatedEnd { SimulatedEnd(connection: self, side: 0) }
    var server: SimulatedEnd { SimulatedEnd(connection: self, side: 1) }

    // MARK: On the way

    /// Sends bytes to a side, in pieces with a delay of their own.
    func transmit(_ bytes: UnsafeRawBufferPointer, to side: Int) {
        var start = 0
        sides[side].onTheWay += bytes.count
        sides[side].sentCount += bytes.count
        while start < bytes.count {
            let count = min(wire.draw(wire.conditions.bytesPerSegment), bytes.count - start)
            let piece = [UInt8](bytes[start..<start + count])
            start += count
            schedule(arrivalAt: side) { $0.arrive(piece, at: side) }
        }
    }

    func transmitEnd(to side: Int) {
        schedule(arrivalAt: side) { $0.arriveEnd(at: side) }
    }

    func transmitFailure(_ number: CInt, to side: Int) {
        schedule(arrivalAt: side) { $0.arriveFailure(number, at: side) }
    }

    private func schedule(arrivalAt side: Int, _ arrive: @escaping (SimulatedConnection) -> Void) {
        // Never in front of what was sent before.
        let time = max(wire.drawArrival(), sides[side].lastArrival)
        sides[side].lastArrival = time
        wire.clock.schedule(at: time) { arrive(self) }
    }

    // MARK: Arriving

    private func arrive(_ bytes: [UInt8], at side: Int) {
        sides[side].onTheWay -= bytes.count
        if sides[side].isClosed || sides[side].hasFailed {
            sides[side].droppedCount += bytes.count
            // Nobody is there: the sender is told so.
            if sides[side].isClosed { transmitFailure(ECONNRESET, to: 1 - side) }
            return
        }
        sides[side].arrived.append(bytes)
        sides[side].peer?.noteArrival()
    }

    private func arriveEnd(at side: Int) {
        guard !sides[side].isClosed, !sides[side].hasFailed else { return }
        sides[side].hasEnded = true
        sides[side].peer?.noteArrival()
    }

    private func arriveFailure(_ number: CInt, at side: Int) {
        guard !sides[side].isClosed, !sides[side].hasFailed else { return }
        sides[side].hasFailed = true
        // Behind an end a reset only says that nobody takes our bytes any more.
        sides[side].pendingError = sides[side].hasEnded ? EPIPE : number
        sides[side].peer?.noteArrival()
    }

    /// What is wrong with the books, in sentences.
    func inspect() -> [String] {
        sides.indices.compactMap { index in
            let side = sides[index]
            let known = side.takenCount + side.droppedCount + side.arrived.count + side.onTheWay
            guard side.sentCount != known || side.onTheWay < 0 else { return nil }
            return "\(side.address): \(side.sentCount) bytes were sent to it, \(known) are known of"
        }
    }
}

/// One end of a connection, with what the kernel of its host can do.
struct SimulatedEnd {
    let connection: SimulatedConnection
    let side: Int

    private var other: Int { 1 - side }

    /// What the kernel knows of this end.
    var state: SimulatedConnection.Side {
        get { connection.sides[side] }
        nonmutating set { connection.sides[side] = newValue }
    }

    var remoteAddress: SocketAddress { connection.sides[other].address }

    /// Whether a receive has something to say.
    var isReadable: Bool { hasBytes || hasReachedEnd }

    var hasBytes: Bool { !connection.sides[side].arrived.isEmpty }

    /// Whether the peer's end or a failure has arrived, behind whatever bytes.
    var hasReachedEnd: Bool {
        connection.sides[side].hasEnded || connection.sides[side].hasFailed
    }

    var hasFailed: Bool { connection.sides[side].hasFailed }

    /// Whether a send has something to say.
    var isWritable: Bool {
        connection.sides[other].room > 0 || hasFailed || connection.sides[side].hasSentEnd
    }

    /// Receives: recv(2).
    func receive(into buffer: UnsafeMutableRawPointer, atMost limit: Int) -> CallOutcome {
        guard hasBytes else { return receiveEnd() }
        let count = connection.sides[side].arrived.withFirst(atMost: limit) { bytes in
            // `limit` is at most the buffer's size, and there is a byte, so there is a base.
            buffer.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
            return bytes.count
        }
        connection.sides[side].arrived.consume(count)
        connection.sides[side].takenCount += count
        connection.sides[other].peer?.noteRoom()
        return .done(count)
    }

    private func receiveEnd() -> CallOutcome {
        let state = connection.sides[side]
        if state.hasEnded { return .done(0) }
        if state.pendingError != 0 { return .failed(takePendingError()) }
        return state.hasFailed ? .done(0) : .failed(EAGAIN)
    }

    /// Sends: send(2) with `MSG_NOSIGNAL`.
    func send(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) -> CallOutcome {
        let state = connection.sides[side]
        if state.pendingError != 0 { return .failed(takePendingError()) }
        if state.hasFailed || state.hasSentEnd { return .failed(EPIPE) }
        let count = min(bytes.count, limit, connection.sides[other].room)
        guard count > 0 else { return .failed(EAGAIN) }
        connection.transmit(UnsafeRawBufferPointer(rebasing: bytes[..<count]), to: other)
        return .done(count)
    }

    func takePendingError() -> CInt {
        defer { connection.sides[side].pendingError = 0 }
        return connection.sides[side].pendingError
    }

    /// Sends an end: shutdown(2) of the sending half.
    func finishSending() {
        guard !state.hasSentEnd, !state.hasFailed, !state.isClosed else { return }
        connection.sides[side].hasSentEnd = true
        connection.transmitEnd(to: other)
    }

    /// Closes: close(2).
    ///
    /// What has not been received is lost, and the other side learns that by a reset.
    func close(_ manner: ClosingManner) {
        guard !state.isClosed else { return }
        let unread = state.arrived.count
        connection.sides[side].droppedCount += unread
        connection.sides[side].arrived.removeAll()
        let isAbrupt = manner == .reset || unread > 0
        if isAbrupt {
            fail(with: ECONNRESET)
        } else {
            finishSending()
            connection.sides[side].isClosed = true
        }
        if connection.sides[other].isClosed { connection.wire.remove(connection) }
    }

    /// Ends this side, and has the connection fail with `number` at the other, behind the bytes
    /// that are on their way.
    func fail(with number: CInt) {
        guard !state.isClosed else { return }
        connection.sides[side].droppedCount += state.arrived.count
        connection.sides[side].arrived.removeAll()
        connection.sides[side].isClosed = true
        if !state.hasFailed { connection.transmitFailure(number, to: other) }
    }
}

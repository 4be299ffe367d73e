/// Ties two connected sockets: what comes on one is written to the other, each way.
///
/// A side is read from only while the other takes its bytes, so that what is held is bounded by
/// ``StreamSocket/writeHighWaterMark`` and one receive, each way. The end of a side is passed on
/// behind its last byte; the other direction goes on until it ends itself. A side that fails has
/// the other reset, as soon as what the failed one had sent before is with the kernel, so that
/// nobody takes half of something for the whole. When a reactor drains, a splice goes on for as
/// long as its bytes move, and ends when there has been silence for a second.
///
/// From this call on the sockets belong to the splice, which is their delegate and is held by them;
/// the delegates that they had hear nothing more. Bytes that came already and that no read has
/// taken are passed on first; reads that were paused go on. Their half-close policies and idle
/// timeouts are the splice's.
///
/// A side that the program takes away, by another delegate or none, by `move(to:then:)` or by
/// `disconnect(notifyingDelegate: false)`, has ended as far as the splice is concerned: the other
/// one ends behind its bytes, and the report has what was known of the first at that moment.
///
/// - Parameters:
///   - first: A connected socket.
///   - second: Another one of the same reactor.
///   - idleTimeout: The longest time in which nothing moves on either, more than 0; `nil`, no
///     limit.
///   - halfOpenTimeout: The same once a side has ended; 2 minutes.
///   - file: The file of the call, for the error.
///   - line: The line of the call, for the error.
///   - completion: Called once, from the last farewell of the two; in the next turn if the side
///     that is left last is taken away.
/// - Throws: ``SocketError/notConnected`` if one of them is not; ``SocketError/disconnectPending``,
///   ``SocketError/writeClosed``; ``SocketError/invalidArgument(_:)`` for one socket twice, sockets
///   of two reactors, a socket with reads that wait, or a timeout of no time;
///   ``SocketError/wrongThread``; ``SocketError/reactorStopped``. Nothing is changed then.
public func splice(
    _ first: StreamSocket,
    _ second: StreamSocket,
    idleTimeout: Duration? = nil,
    halfOpenTimeout: Duration? = .seconds(120),
    file: StaticString = #fileID,
    line: UInt = #line,
    then completion: @escaping (SpliceReport) -> Void = { _ in }
) throws(SocketError) {
    func refuse(_ reason: String) -> SocketError {
        .invalidArgument(InvalidArgument("splice", reason, file, line))
    }
    guard first !== second else { throw refuse("a socket cannot be tied to itself") }
    let reactor = try first.reactorForCall("splice")
    guard try second.reactorForCall("splice") === reactor else {
        throw refuse("both sockets must belong to one reactor")
    }
    for limit in [idleTimeout, halfOpenTimeout] where (limit ?? .seconds(1)) <= .zero {
        throw refuse("timeouts must be more than 0")
    }
    for socket in [first, second] {
        guard socket.lifecycle.phase == .connected else { throw .notConnected }
        try socket.checkOpen()
        guard !socket.lifecycle.isWritingOver else { throw .writeClosed }
        guard socket.reads.isEmpty else { throw refuse("no read may wait") }
    }
    try Splice(first, second, idleTimeout, halfOpenTimeout, completion).begin()
}

/// One of the two sockets of a splice.
public enum SpliceSide: Sendable, Hashable {
    /// The one that was named first.
    case first
    /// The other one.
    case second
}

/// How two tied sockets ended.
public struct SpliceReport: Sendable, CustomStringConvertible {
    /// Why a splice ended.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// Both sides have ended, and each end was passed on.
        case complete
        /// Nothing has moved for so long.
        case silent(Duration)
        /// The program has disconnected a side or taken it away, or the reactor drains.
        case disconnected
        /// A side has failed; its report has the error.
        case failed(SpliceSide)
    }

    /// Why it ended.
    public let reason: Reason

    /// Bytes that came from the first side and that the kernel has taken for the second.
    public let bytesToSecond: Int

    /// Bytes that came from the second side and that the kernel has taken for the first.
    public let bytesToFirst: Int

    /// How the first side ended.
    public let first: DisconnectReport

    /// How the second side ended.
    public let second: DisconnectReport

    /// The error of the side that has failed; `nil` if none has.
    public var error: SocketError? {
        switch reason {
        case .failed(.first): first.error
        case .failed(.second): second.error
        case .complete, .silent, .disconnected: nil
        }
    }

    /// Bytes each way and the reason, as one line.
    public var description: String {
        let why =
            switch reason {
            case .complete: "both have ended"
            case .silent(let time): "silent for \(time)"
            case .disconnected: "disconnected"
            case .failed(.first): "\(first)"
            case .failed(.second): "\(second)"
            }
        return "spliced, \(bytesToSecond) bytes there and \(bytesToFirst) back: \(why)"
    }
}

/// The delegate of both sockets, held by them until their ends.
final class Splice: StreamSocketDelegate {
    /// How long a splice whose reactor drains may be silent.
    private static let drainTimeout = Duration.seconds(1)

    /// A socket, and what is known of the direction that begins there.
    private final class Side {
        let name: SpliceSide
        let socket: StreamSocket
        /// Bytes that were written to it before.
        let earlierCount: Int
        /// It has sent its end.
        var hasEnded = false
        /// Nothing is read from it until the other takes more.
        var isHeld = false
        /// The other has failed: it is reset when what waits is with the kernel.
        var awaitsReset = false
        var report: DisconnectReport?

        init(_ name: SpliceSide, _ socket: StreamSocket) {
            self.name = name
            self.socket = socket
            earlierCount = socket.writes.finishedEnd + socket.writes.pendingBytes
        }

        /// Whether it reads and writes, as far as it has not ended itself.
        var isOpen: Bool {
            report == nil && socket.lifecycle.phase == .connected
                && !socket.lifecycle.isDisconnectPending
        }

        /// Whether what is written to it can still be sent.
        var isTaking: Bool { isOpen && socket.extras?.sendFailure == nil }

        /// When something moved last.
        var lastMoved: MonotonicInstant {
            max(socket.idleClock.lastReceived, socket.idleClock.lastSent)
        }
    }

    private let first: Side
    private let second: Side
    private let idleTimeout: Duration?
    private let halfOpenTimeout: Duration?
    private var isDraining = false
    private var reason: SpliceReport.Reason?
    private let completion: (SpliceReport) -> Void

    init(
        _ first: StreamSocket,
        _ second: StreamSocket,
        _ idleTimeout: Duration?,
        _ halfOpenTimeout: Duration?,
        _ completion: @escaping (SpliceReport) -> Void
    ) {
        self.first = Side(.first, first)
        self.second = Side(.second, second)
        self.idleTimeout = idleTimeout
        self.halfOpenTimeout = halfOpenTimeout
        self.completion = completion
    }

    func begin() throws(SocketError) {
        for side in [first, second] {
            side.socket.halfClosePolicy = .keepOpen
            side.socket.keep(self)
            side.socket.resumeReads()
        }
        try setTimeouts()
        for (own, other) in [(first, second), (second, first)] {
            if own.socket.lifecycle.peerHasEnded {
                try noteEnd(of: own, other)
            } else {
                try readOn(from: own, to: other)
            }
        }
    }

    private func sides(of socket: StreamSocket) -> (own: Side, other: Side) {
        socket === first.socket ? (first, second) : (second, first)
    }

    // MARK: Bytes

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        let (own, other) = sides(of: socket)
        // One that is about to end takes nothing; its farewell ends this side, too.
        guard other.isTaking else { return }
        try other.socket.write(bytes)
        try readOn(from: own, to: other)
    }

    private func readOn(from source: Side, to other: Side) throws(SocketError) {
        // Its end may be known, and still be told.
        guard source.isOpen, !source.socket.lifecycle.peerHasEnded else { return }
        source.isHeld = other.socket.isAboveHighWaterMark
        if !source.isHeld { try source.socket.read() }
    }

    func socketDidBecomeWritable(_ socket: StreamSocket) throws {
        let (own, other) = sides(of: socket)
        if other.isHeld { try readOn(from: other, to: own) }
    }

    func socketDidCloseReadStream(_ socket: StreamSocket) throws {
        let (own, other) = sides(of: socket)
        try noteEnd(of: own, other)
    }

    private func noteEnd(of own: Side, _ other: Side) throws(SocketError) {
        own.hasEnded = true
        guard other.isTaking else { return }
        try other.socket.shutdownWrite()
        try setTimeouts()
    }

    // MARK: Silence

    /// The longest silence as things are.
    private var limit: Duration? {
        let limit = first.hasEnded || second.hasEnded ? halfOpenTimeout : idleTimeout
        guard isDraining else { return limit }
        return min(limit ?? Self.drainTimeout, Self.drainTimeout)
    }

    private func setTimeouts() throws(SocketError) {
        for side in [first, second] where side.isOpen && !side.awaitsReset {
            try side.socket.setIdleTimeout(both: limit)
        }
    }

    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) {
        let (own, other) = sides(of: socket)
        guard !own.awaitsReset else {
            socket.abort()
            return
        }
        guard let limit, let reactor = socket.reactorIfOnThread("splice") else { return }
        // If the other has moved since, it is the one to say when both have been silent.
        if other.isOpen, reactor.recentTime.since(other.lastMoved) < limit { return }
        reason = reason ?? (isDraining ? .disconnected : .silent(limit))
        for side in [own, other] where side.report == nil {
            if isDraining, side.socket.writes.isEmpty {
                side.socket.disconnect(.afterWrites)
            } else {
                side.socket.abort()
            }
        }
    }

    func socketShouldFinish(_ socket: StreamSocket) {
        guard !isDraining else { return }
        isDraining = true
        do { try setTimeouts() } catch { socket.disconnect(.afterWrites) }
    }

    // MARK: Ends

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        let (own, other) = sides(of: socket)
        own.report = report
        noteReason(of: own, report)
        if other.report == nil { endAlso(other) } else { complete() }
    }

    /// The program has taken the socket away, and no farewell comes from it.
    func noteLoss(of socket: StreamSocket, _ report: DisconnectReport, _ reactor: Reactor) {
        let (own, other) = sides(of: socket)
        guard own.report == nil else { return }
        own.report = report
        reason = reason ?? .disconnected
        if other.report == nil {
            endAlso(other)
        } else {
            // This is a call of the program's, and nothing is called back within one.
            nonisolated(unsafe) let splice = self
            reactor.handle.execute { _ in splice.complete() }
        }
    }

    private func complete() {
        guard let first = first.report, let second = second.report else { return }
        completion(
            SpliceReport(
                reason: reason ?? .complete,
                bytesToSecond: max(0, second.sentByteCount - self.second.earlierCount),
                bytesToFirst: max(0, first.sentByteCount - self.first.earlierCount),
                first: first,
                second: second
            )
        )
    }

    /// The first reason stands.
    private func noteReason(of side: Side, _ report: DisconnectReport) {
        guard reason == nil else { return }
        switch report.error {
        case .closedByPeer where first.hasEnded && second.hasEnded:
            break
        case nil, .closedByPeer, .reactorStopped:
            reason = .disconnected
        default:
            reason = .failed(side.name)
        }
    }

    /// The other side has ended; this one follows, unless it only has to send what waits.
    private func endAlso(_ side: Side) {
        switch reason {
        case nil, .complete, .silent:
            break
        case .disconnected:
            side.socket.disconnect(.afterWrites)
        case .failed:
            guard side.isOpen, !side.socket.writes.isEmpty else {
                side.socket.abort()
                return
            }
            side.awaitsReset = true
            do {
                try side.socket.setIdleTimeout(both: side.socket.lingerLimit)
            } catch {
                side.socket.abort()
            }
        }
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) {
        guard sides(of: socket).own.awaitsReset, socket.writes.isEmpty else { return }
        socket.abort()
    }
}

internal import Towline

/// What the simulated backend knows of one ID.
final class SimulatedEntry {
    /// Bytes that the network would not take yet: a piece, and how much of it is finished.
    struct Piece {
        enum Source {
            case bytes([UInt8])
            case file(OpenFile)
        }

        let source: Source
        var range: Range<Int>

        var count: Int { range.count }

        /// What is left of it without a range of its waiting bytes.
        func removing(_ removed: Range<Int>) -> [Piece] {
            let front = range.lowerBound..<range.lowerBound + removed.lowerBound
            let back = range.lowerBound + removed.upperBound..<range.upperBound
            return [front, back].filter { !$0.isEmpty }.map { Piece(source: source, range: $0) }
        }

        /// What a send from it that fails is told as.
        func error(_ number: CInt) -> SystemCallError {
            switch source {
            case .bytes: SystemCallError(call: SimulatedCall.send.rawValue, errno: number)
            case .file: OpenFile.error(number)
            }
        }

        /// So many of its bytes are finished.
        mutating func consume(_ byteCount: Int) {
            range = range.lowerBound + byteCount..<range.upperBound
        }
    }

    let id: SocketID
    let kind: SocketKind
    var descriptor: CInt?

    /// Where a connect begins, from when it was opened.
    var local: SocketAddress?
    /// A connect under way.
    var attempt: SimulatedConnect?
    /// The connection of a stream, from when it is established.
    var end: SimulatedEnd?
    var listener: SimulatedListener?

    /// Bytes, or connections, are wanted.
    var wantsInput = false
    /// `connected` was told, or need not be.
    var isConnected = false
    /// A hang-up was told.
    var toldHangUp = false
    /// The end, or a failure to receive, was told: nothing more comes.
    var toldEnd = false
    /// What was told is the peer's end, behind which it may still receive.
    var peerHasEnded = false
    /// A failure to send was met: nothing more goes.
    var cannotSend = false
    /// The end is to be sent behind the pending output.
    var finishesAfterOutput = false
    /// The wait in which a listener last accepted somebody.
    var acceptedInWait = 0

    var output: [Piece] = []

    /// The books: bytes asked to be sent, and those that were said to be finished.
    var askedBytes = 0
    var finishedBytes = 0

    init(id: SocketID, kind: SocketKind) {
        self.id = id
        self.kind = kind
    }

    var pendingBytes: Int { output.reduce(0) { $0 + $1.count } }

    /// Whether a peer that has ended takes nothing any more, and nobody has been told.
    var hasLostPeer: Bool {
        guard let end, peerHasEnded, !cannotSend, output.isEmpty else { return false }
        return end.hasFailed && !end.state.hasSentEnd
    }

    /// Whether serving the entry now would tell something, or get something done.
    ///
    /// Exactly then: a ready entry that is served in vain would never let the time pass.
    var isReady: Bool {
        if let attempt { return attempt.outcome != nil }
        if let listener { return wantsInput && !listener.waiting.isEmpty }
        guard let end, isConnected else { return false }
        if !output.isEmpty, end.isWritable { return true }
        guard !toldEnd else { return hasLostPeer }
        if wantsInput { return end.isReadable }
        // The end behind bytes is a hang-up; when they have been received, it is an end.
        return end.hasReachedEnd && (!toldHangUp || !end.hasBytes)
    }
}

/// What a stream socket may do, from its start to the one farewell that answers it.
///
///     idle ──▶ connecting ──▶ connected ──▶ finishing ──▶ disconnecting ──▶ idle
///                  │              └──────────────────────────▲
///                  └─────────────────────────────────────────┘
///
/// In *finishing* our end is sent and whatever the peer still sends is dropped until its end comes;
/// in *disconnecting* the descriptor is being closed. While *connected*, either side may have ended
/// already. It knows no descriptor, no queue and no clock: it is told facts and answers what to do.
struct Lifecycle {
    enum Phase: UInt8 {
        case idle
        case connecting
        case connected
        case finishing
        case disconnecting
    }

    enum Action: Equatable {
        case none
        /// Close the descriptor.
        case close
        /// Send our end, and wait for the peer's for as long as the linger timeout.
        case finish
        /// Wait until the writes are with the kernel, for as long as the finish timeout.
        case awaitWrites
        /// End the reads that wait, one by one, and tell that nothing more comes.
        case closeReading
        /// Send our end; reading goes on.
        case sendEnd
    }

    /// What has happened in a phase, or is to happen when it can.
    private struct Marks: OptionSet {
        let rawValue: UInt8

        /// A pending disconnect waits for the reads.
        static let awaitsReads = Marks(rawValue: 1 << 0)
        /// A pending disconnect waits for the writes.
        static let awaitsWrites = Marks(rawValue: 1 << 1)
        /// The peer's end was taken note of.
        static let peerHasEnded = Marks(rawValue: 1 << 2)
        /// The policy lets writing go on behind it.
        static let staysOpen = Marks(rawValue: 1 << 3)
        /// The reads that waited are being ended.
        static let closesReading = Marks(rawValue: 1 << 4)
        /// Our end is to be sent behind the writes.
        static let endsWriting = Marks(rawValue: 1 << 5)
        /// Our end is sent.
        static let hasSentEnd = Marks(rawValue: 1 << 6)
        /// If the connection ends without another reason, the peer's end is it.
        static let endsByPeer = Marks(rawValue: 1 << 7)
    }

    /// What the queues hold when a decision is asked for.
    struct Queues {
        var hasReads: Bool
        var hasWrites: Bool
        /// Whether a byte was ever written on this connection.
        var hasWritten: Bool
    }

    private(set) var phase = Phase.idle

    private var marks: Marks = []

    /// Whether the peer's end was taken note of.
    var peerHasEnded: Bool { marks.contains(.peerHasEnded) }

    /// Whether the connection goes on although the peer has ended.
    var staysOpen: Bool { marks.contains(.staysOpen) }

    /// Whether the reads that waited for more than the peer has sent are being ended.
    var isClosingReading: Bool { marks.contains(.closesReading) }

    /// Whether our end was asked for, so that nothing may be written any more.
    var isWritingOver: Bool { marks.contains(.endsWriting) }

    /// Whether a connection that ends without another reason was ended by the peer.
    var endsByPeer: Bool { marks.contains(.endsByPeer) }

    /// Whether a disconnect was asked for that has not happened yet.
    var isDisconnectPending: Bool { !marks.isDisjoint(with: [.awaitsReads, .awaitsWrites]) }

    /// Whether reads and writes may be queued.
    var isOpen: Bool { phase == .connecting || phase == .connected }

    // MARK: Inputs

    mutating func start(connecting: Bool) {
        precondition(phase == .idle, "only an idle socket starts")
        self = Lifecycle()
        phase = connecting ? .connecting : .connected
    }

    /// The connection is established; whether that is news to anybody.
    mutating func connected() -> Bool {
        guard phase == .connecting else { return false }
        phase = .connected
        return true
    }

    /// Somebody asks for a disconnect.
    mutating func ask(_ moment: DisconnectMoment, _ queues: Queues) -> Action {
        guard isOpen else { return .none }
        switch moment {
        case .now:
            return close()
        case .afterReads:
            marks.insert(.awaitsReads)
        case .afterWrites:
            marks.insert(.awaitsWrites)
        case .afterReadsAndWrites:
            marks.formUnion([.awaitsReads, .awaitsWrites])
        }
        return queuesChanged(queues)
    }

    /// Somebody asks for our end to be sent behind the writes.
    mutating func endWriting(_ queues: Queues) -> Action {
        guard isOpen else { return .none }
        marks.insert(.endsWriting)
        return queuesChanged(queues)
    }

    /// A queue may have become empty.
    mutating func queuesChanged(_ queues: Queues) -> Action {
        guard isOpen, !isClosingReading else { return .none }
        if peerHasEnded, !staysOpen { return queues.hasWrites ? .none : end() }
        if isDisconnectPending, !isAwaited(queues) {
            // A reset would destroy bytes that the peer has not read yet, so our end is sent first,
            // unless the peer's is here: then nothing is unread.
            guard marks.contains(.awaitsWrites), queues.hasWritten, phase == .connected,
                !peerHasEnded
            else { return end() }
            phase = .finishing
            return .finish
        }
        guard isWritingOver, !queues.hasWrites, phase == .connected else { return .none }
        if peerHasEnded {
            // Both ends are sent: nothing is left of the connection.
            marks.insert(.endsByPeer)
            return end()
        }
        guard !marks.contains(.hasSentEnd) else { return .none }
        marks.insert(.hasSentEnd)
        return .sendEnd
    }

    /// Whether a pending disconnect still waits for what is queued.
    private func isAwaited(_ queues: Queues) -> Bool {
        marks.contains(.awaitsReads) && queues.hasReads
            || marks.contains(.awaitsWrites) && queues.hasWrites
    }

    /// The peer's end came, and every byte in front of it is dealt with.
    mutating func peerEnded(_ policy: HalfClosePolicy, _ queues: Queues) -> Action {
        switch phase {
        case .finishing:
            return close()
        case .connected:
            marks.insert(.peerHasEnded)
            switch policy {
            case .disconnect:
                marks.insert(.endsByPeer)
                return close()
            case .finishWrites:
                marks.insert(.endsByPeer)
                return queues.hasWrites ? .awaitWrites : close()
            case .keepOpen:
                // An end during a pending disconnect is the peer's, whichever comes first.
                if isDisconnectPending { marks.insert(.endsByPeer) }
                marks.formUnion([.staysOpen, .closesReading])
                return .closeReading
            }
        case .idle, .connecting, .disconnecting:
            return .none
        }
    }

    /// The reads that waited are ended, and it was told that nothing more comes.
    mutating func readingClosed(_ queues: Queues) -> Action {
        marks.remove(.closesReading)
        return queuesChanged(queues)
    }

    /// Something ends the connection now, for whatever reason; no disconnect is pending any more.
    mutating func close() -> Action {
        marks.subtract([.awaitsReads, .awaitsWrites])
        return end()
    }

    /// Something ends the connection, and the peer has been told why.
    ///
    /// With bytes of the peer's unread, or behind the close, a reset would destroy that last word.
    mutating func closeBehindLastWord() -> Action {
        guard phase == .connected, !peerHasEnded, !marks.contains(.hasSentEnd) else {
            return close()
        }
        marks.subtract([.awaitsReads, .awaitsWrites])
        phase = .finishing
        return .finish
    }

    private mutating func end() -> Action {
        switch phase {
        case .connecting, .connected, .finishing:
            phase = .disconnecting
            return .close
        case .idle, .disconnecting:
            // The first reason stands; what follows is its echo.
            return .none
        }
    }

    /// The descriptor is gone.
    mutating func closed() {
        self = Lifecycle()
    }
}

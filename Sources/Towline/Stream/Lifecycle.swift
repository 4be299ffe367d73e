/// What a stream socket may do, from its start to the one farewell that answers it.
///
///     idle ──▶ connecting ──▶ connected ──▶ finishing ──▶ disconnecting ──▶ idle
///                  │              └──────────────────────────▲
///                  └─────────────────────────────────────────┘
///
/// In *finishing* our end is sent and whatever the peer still sends is dropped until its end comes;
/// in *disconnecting* the descriptor is being closed. It knows no descriptor, no queue and no
/// clock: it is told facts and answers what to do.
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
    }

    /// What the queues hold when a decision is asked for.
    struct Queues {
        var hasReads: Bool
        var hasWrites: Bool
        /// Whether a byte was ever written on this connection.
        var hasWritten: Bool
    }

    private(set) var phase = Phase.idle

    /// Which queues a pending disconnect waits for.
    private var awaitsReads = false
    private var awaitsWrites = false

    /// The peer's end was taken note of.
    private(set) var peerHasEnded = false

    /// Whether a disconnect was asked for that has not happened yet.
    var isDisconnectPending: Bool { awaitsReads || awaitsWrites }

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
            awaitsReads = true
        case .afterWrites:
            awaitsWrites = true
        case .afterReadsAndWrites:
            awaitsReads = true
            awaitsWrites = true
        }
        return queuesChanged(queues)
    }

    /// A queue may have become empty.
    mutating func queuesChanged(_ queues: Queues) -> Action {
        guard isOpen else { return .none }
        if peerHasEnded {
            return queues.hasWrites ? .none : end()
        }
        guard isDisconnectPending, !(awaitsReads && queues.hasReads),
            !(awaitsWrites && queues.hasWrites)
        else { return .none }
        // A reset would destroy bytes that the peer has not read yet, so their end is sent first.
        guard awaitsWrites, queues.hasWritten, phase == .connected else { return end() }
        phase = .finishing
        return .finish
    }

    /// The peer's end came, and every byte in front of it is dealt with.
    mutating func peerEnded(_ policy: HalfClosePolicy, _ queues: Queues) -> Action {
        switch phase {
        case .finishing:
            return close()
        case .connected:
            peerHasEnded = true
            switch policy {
            case .disconnect: return close()
            case .finishWrites: return queues.hasWrites ? .awaitWrites : close()
            }
        case .idle, .connecting, .disconnecting:
            return .none
        }
    }

    /// Something ends the connection now, for whatever reason; no disconnect is pending any more.
    mutating func close() -> Action {
        awaitsReads = false
        awaitsWrites = false
        return end()
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

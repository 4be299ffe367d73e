/// What all secured connections of a reactor share, since one is served at a time.
final class SecurityWorkspace {
    /// Where data is decrypted to, and lent from.
    let plaintext: UnsafeMutableRawBufferPointer
    let output = SecurityOutput()
    let gate: HandshakeGate

    /// Handshakes take a hundred times what a read does, so a turn makes only so many.
    @exclusivity(unchecked) private var turn = -1
    @exclusivity(unchecked) private var begun = 0
    /// In nanoseconds.
    @exclusivity(unchecked) private var spent: Int64 = 0

    init(_ gate: HandshakeGate) {
        self.gate = gate
        plaintext = .allocate(byteCount: 256 * 1024, alignment: 64)
    }

    deinit {
        plaintext.deallocate()
    }

    /// Whether a handshake may take a step in this turn.
    ///
    /// - Parameters:
    ///   - hasBegun: Whether it has had one before; set when it has.
    ///   - turn: The number of the turn.
    ///   - budget: What a turn may do.
    /// - Returns: Whether it may.
    func admitsHandshake(hasBegun: inout Bool, turn: Int, _ budget: TurnBudget) -> Bool {
        if turn != self.turn {
            self.turn = turn
            begun = 0
            spent = 0
        }
        guard spent == 0 || .nanoseconds(spent) < budget.handshakeTime else { return false }
        if !hasBegun {
            guard begun < budget.handshakes else { return false }
            hasBegun = true
            begun += 1
        }
        return true
    }

    /// Counts the time that a step of a handshake has taken.
    func note(from start: MonotonicInstant, to end: MonotonicInstant) {
        spent &+= end.nanoseconds &- start.nanoseconds
    }
}

extension Reactor {
    /// Made when the first connection is secured.
    var securityWorkspace: SecurityWorkspace {
        if let made = madeSecurityWorkspace { return made }
        let made = SecurityWorkspace(HandshakeGate(limit: configuration.maxHandshakes, link))
        madeSecurityWorkspace = made
        securityReference = .passUnretained(made)
        return made
    }

    /// The same, which lives as long as the reactor, without a retain.
    @inline(__always)
    var securityWorkspaceReference: Unmanaged<SecurityWorkspace> {
        securityReference ?? .passUnretained(securityWorkspace)
    }

    /// Its output, likewise.
    @inline(__always)
    var securityOutput: Unmanaged<SecurityOutput> {
        securityWorkspaceReference._withUnsafeGuaranteedRef { .passUnretained($0.output) }
    }
}

/// Bytes for the peer, as a security layer makes them; one for all layers of a reactor, empty
/// between their calls.
package final class SecurityOutput {
    @exclusivity(unchecked) package private(set) var start: UnsafeMutableRawPointer
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) private var capacity: Int

    /// How many of them whoever sends them has taken note of.
    @exclusivity(unchecked) var notedCount = 0

    /// An empty output with room for what is mostly made in one call.
    package init(capacity: Int = 96 * 1024) {
        self.capacity = capacity
        start = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit {
        start.deallocate()
    }

    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Adds bytes behind the others.
    package func append(_ bytes: UnsafeRawPointer, count added: Int) {
        if count + added > capacity { grow(by: added) }
        // Within the store by the line above.
        (start + count).copyMemory(from: bytes, byteCount: added)
        count += added
    }

    package func removeAll() {
        count = 0
        notedCount = 0
    }

    private func grow(by added: Int) {
        let larger = max(capacity * 2, count + added)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
        moved.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = moved
        capacity = larger
    }
}

internal import Glibc
package import Towline

extension SimulatedBackend {
    /// Makes a listener on `address`; it accepts nobody before it is resumed.
    ///
    /// - Parameters:
    ///   - address: Where; a port of 0 has one chosen.
    ///   - options: What is set on it.
    ///   - backlog: How many may wait to be accepted; one more than that does.
    ///   - permissions: Of no consequence: no file stands for a simulated path.
    ///   - id: The listener's ID.
    /// - Returns: The address that it is bound to.
    /// - Throws: `EADDRINUSE` where somebody listens; an injected failure. Nothing stays open.
    package func listen(
        on address: SocketAddress,
        options: SocketOptions,
        backlog: Int32,
        permissions: UInt16?,
        as id: SocketID
    ) throws(SystemCallError) -> SocketAddress {
        let descriptor = try makeSocket()
        let listener = SimulatedListener(at: wire.completed(address), backlog: Int(backlog))
        do throws(SystemCallError) {
            try applyOptions(options)
            try check(.bind)
            guard wire.add(listener) else {
                throw SystemCallError(call: SimulatedCall.bind.rawValue, errno: EADDRINUSE)
            }
            try check(.listen)
            try check(.watch)
        } catch {
            wire.remove(listener)
            closeDescriptor(descriptor)
            throw error
        }
        let entry = beginEntry(for: id, kind: .listener)
        entry.descriptor = descriptor
        entry.listener = listener
        return listener.address
    }

    /// Accepts as the backend on epoll does: one, or, where the wait before accepted too, as many
    /// as there are within the budget.
    func acceptConnections<Sink: EventSink>(_ listener: SimulatedEntry, _ sink: Sink) {
        let isBusy = listener.acceptedInWait == waitNumber - 1
        let limit = isBusy ? budget.acceptsPerListener : 1
        var acceptedCount = 0
        var failureCount = 0
        while acceptedCount < limit, failureCount < budget.acceptsPerListener {
            // Looked up anew each time: a callback may have stopped it.
            guard let entry = entry(of: listener.id), entry.wantsInput else { return }
            var accepted: SimulatedEnd?
            let outcome = wire.call(.accept) { accept(entry, &accepted) }
            switch outcome {
            case .done(let descriptor):
                guard let accepted else { preconditionFailure("a descriptor has a connection") }
                entry.acceptedInWait = waitNumber
                acceptedCount += 1
                let peer = accepted.remoteAddress
                sink.handle(.accepted(CInt(descriptor), from: peer), of: entry.id, from: self)
            case .failed(let number):
                guard !outcome.wouldBlock else { return }
                guard AcceptFailure(errno: number) != .ofOneConnection else {
                    failureCount += 1
                    continue
                }
                let error = SystemCallError(call: SimulatedCall.accept.rawValue, errno: number)
                sink.handle(.failed(.accepting, error), of: entry.id, from: self)
                return
            }
        }
    }

    /// Takes a connection that waits: accept(2).
    ///
    /// At the limit of descriptors it goes on waiting.
    private func accept(_ entry: SimulatedEntry, _ accepted: inout SimulatedEnd?) -> CallOutcome {
        guard let listener = entry.listener, !listener.waiting.isEmpty else {
            return .failed(EAGAIN)
        }
        guard let descriptor = openDescriptor() else { return .failed(EMFILE) }
        accepted = listener.takeFirst()
        unadopted[descriptor] = accepted
        handedOut.insert(descriptor)
        return .done(Int(descriptor))
    }

    /// Whether somebody waits in the listener's queue.
    package func hasWaitingConnections(_ id: SocketID) -> Bool {
        entry(of: id)?.listener.map { !$0.waiting.isEmpty } ?? false
    }

    // MARK: Out of descriptors

    /// Keeps one descriptor aside; once is enough.
    ///
    /// - Throws: `EMFILE` if there is none.
    package func takeReserve() throws(SystemCallError) {
        guard reserve == nil else { return }
        guard let number = openDescriptor() else {
            throw SystemCallError(call: "open", errno: EMFILE)
        }
        reserve = number
    }

    /// Resets connections in the listener's queue, with the descriptor that is kept aside.
    ///
    /// - Parameters:
    ///   - id: The listener.
    ///   - limit: The most that are reset.
    /// - Returns: How many were.
    package func shedConnections(of id: SocketID, atMost limit: Int) -> Int {
        guard reserve != nil, let listener = entry(of: id)?.listener else { return 0 }
        var count = 0
        // Here nobody takes the descriptor in between, so it stays what it is.
        while count < limit, let end = listener.takeFirst() {
            end.close(.reset)
            count += 1
        }
        return count
    }

    /// How many descriptors the process may have: a condition of the network.
    package var descriptorLimit: Int? { wire.conditions.descriptorLimit }
}

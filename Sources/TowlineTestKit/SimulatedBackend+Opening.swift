internal import Glibc
package import Towline

extension SimulatedBackend {
    /// Takes ownership of a simulated descriptor that was accepted, or made by
    /// ``makeDescriptor()``.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - id: Whom it belongs to from now on.
    ///   - kind: A stream, or something only to be read.
    /// - Throws: `EBADF` for a number that is none of ours; an injected failure. The descriptor is
    ///   then still the caller's.
    package func adopt(
        _ descriptor: CInt,
        as id: SocketID,
        kind: SocketKind
    ) throws(SystemCallError) {
        guard let end = unadopted[descriptor] else {
            throw SystemCallError(call: SimulatedCall.watch.rawValue, errno: EBADF)
        }
        try check(.watch)
        unadopted[descriptor] = nil
        handedOut.remove(descriptor)
        let entry = beginEntry(for: id, kind: kind)
        entry.descriptor = descriptor
        entry.end = end
        entry.isConnected = true
    }

    /// Closes a descriptor that nobody adopts.
    package func discard(_ descriptor: CInt) {
        unadopted.removeValue(forKey: descriptor)?.close(.end)
        handedOut.remove(descriptor)
        closeDescriptor(descriptor)
    }

    /// An established connection, as if inherited or accepted elsewhere, and its scripted peer.
    ///
    /// - Returns: A descriptor to adopt, and the peer.
    package func makeDescriptor() throws(SystemCallError) -> (CInt, SimulatedPeer) {
        guard let number = openDescriptor() else {
            throw SystemCallError(call: SimulatedCall.socket.rawValue, errno: EMFILE)
        }
        let connection = SimulatedConnection(
            wire,
            client: wire.clientAddress(for: .ipv4(.loopback, port: 0)),
            server: wire.clientAddress(for: .ipv4(.loopback, port: 0))
        )
        unadopted[number] = connection.server
        let peer = SimulatedPeer(wire, connection.client)
        wire.add(peer)
        return (number, peer)
    }

    /// Makes a call of which nothing comes but that it may be refused.
    private func check(_ call: SimulatedCall) throws(SystemCallError) {
        if case .failed(let number) = wire.call(call, { .done(0) }) {
            throw SystemCallError(call: call.rawValue, errno: number)
        }
    }

    /// Makes a descriptor: socket(2).
    private func makeSocket() throws(SystemCallError) -> CInt {
        try check(.socket)
        guard let number = openDescriptor() else {
            throw SystemCallError(call: SimulatedCall.socket.rawValue, errno: EMFILE)
        }
        return number
    }

    // MARK: Listening

    /// Makes a listener on `address`; it accepts nobody before it is resumed.
    ///
    /// - Parameters:
    ///   - address: Where; a port of 0 has one chosen.
    ///   - options: What is set on it.
    ///   - backlog: How many may wait to be accepted; one more than that does.
    ///   - id: The listener's ID.
    /// - Returns: The address that it is bound to.
    /// - Throws: `EADDRINUSE` where somebody listens; an injected failure. Nothing stays open.
    package func listen(
        on address: SocketAddress,
        options: SocketOptions,
        backlog: Int32,
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

    // MARK: Connecting

    /// Connects a stream to `address`; `connected` or `failed(.connecting)` follows.
    package func connect(_ id: SocketID, to address: SocketAddress, options: SocketOptions) {
        let entry = entry(of: id) ?? beginEntry(for: id, kind: .stream)
        precondition(entry.descriptor == nil, "a socket connects on one descriptor at a time")
        do {
            entry.descriptor = try makeSocket()
            try applyOptions(options)
            try callConnect(entry, address)
            try check(.watch)
        } catch {
            abandonConnect(entry, error)
            return
        }
        // At once, as in the Unix domain: told like any other result.
        if case .connected(let end)? = entry.attempt?.outcome {
            entry.attempt = nil
            entry.end = end
            results.append(.connected(id, local: end.state.address))
        }
    }

    /// connect(2): an interrupted one goes on by itself.
    private func callConnect(
        _ entry: SimulatedEntry,
        _ address: SocketAddress
    ) throws(SystemCallError) {
        let injected = wire.call(.connect) { .done(0) }
        if case .failed(let number) = injected, number != EINTR, number != EINPROGRESS {
            throw SystemCallError(call: SimulatedCall.connect.rawValue, errno: number)
        }
        let attempt = SimulatedConnect(wire, from: wire.clientAddress(for: address), to: address)
        entry.attempt = attempt
        attempt.start()
        guard case .failed(let number)? = attempt.outcome else { return }
        throw SystemCallError(call: SimulatedCall.connect.rawValue, errno: number)
    }

    /// The attempt has come to its end.
    func finishConnecting<Sink: EventSink>(_ entry: SimulatedEntry, _ sink: Sink) {
        switch entry.attempt?.outcome {
        case .connected(let end):
            entry.attempt = nil
            entry.end = end
            entry.isConnected = true
            sink.handle(.connected(local: end.state.address), of: entry.id, from: self)
        case .failed(let number):
            abandonConnect(
                entry,
                SystemCallError(call: SimulatedCall.connect.rawValue, errno: number)
            )
        case nil:
            preconditionFailure("a connect under way is not ready")
        }
    }

    /// Closes an attempt's descriptor and tells why; the ID stays, for another attempt.
    private func abandonConnect(_ entry: SimulatedEntry, _ error: SystemCallError) {
        closeParts(of: entry, .end)
        removeEntry(of: entry.id)
        _ = beginEntry(for: entry.id, kind: .stream)
        results.append(.failed(entry.id, .connecting, error))
    }

    // MARK: Facts

    /// Changes the options of an open socket.
    ///
    /// - Parameters:
    ///   - options: What to set.
    ///   - id: The socket; a stale one is let pass.
    /// - Throws: The refused call.
    package func apply(_ options: SocketOptions, to id: SocketID) throws(SystemCallError) {
        guard entry(of: id)?.descriptor != nil else { return }
        try applyOptions(options)
    }

    /// Sets options: setsockopt(2), with the ranges of tcp(7).
    private func applyOptions(_ options: SocketOptions) throws(SystemCallError) {
        try check(.setOption)
        guard let probes = options.keepAlive else { return }
        let seconds: ClosedRange<Int32> = 1...32_767
        guard seconds.contains(probes.idleSeconds), seconds.contains(probes.intervalSeconds),
            (1...127).contains(probes.probeCount)
        else { throw SystemCallError(call: SimulatedCall.setOption.rawValue, errno: EINVAL) }
    }

    /// The address that the socket is bound to, if it has one.
    package func localAddress(of id: SocketID) -> SocketAddress? {
        guard let entry = entry(of: id) else { return nil }
        return entry.listener?.address ?? entry.end?.state.address ?? entry.attempt?.local
    }

    /// Always `nil`: no descriptor of the process is behind a simulated socket.
    package func descriptor(of id: SocketID) -> CInt? { nil }
}

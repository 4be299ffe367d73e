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
    /// - Throws: `EBADF` for a number that is none of ours, `EPERM` for one that is only to be
    ///   watched; an injected failure. The descriptor is then still the caller's.
    package func adopt(
        _ descriptor: CInt,
        as id: SocketID,
        kind: SocketKind
    ) throws(SystemCallError) {
        guard kind != .watched else {
            throw SystemCallError(call: SimulatedCall.watch.rawValue, errno: EPERM)
        }
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

    /// Gives the descriptor of a connected stream away, to be adopted on this network again.
    ///
    /// - Parameter id: The stream.
    /// - Returns: The descriptor; `nil` if bytes wait to be sent.
    package func release(_ id: SocketID) -> CInt? {
        guard let entry = entry(of: id), entry.isConnected, !entry.cannotSend,
            entry.pendingBytes == 0, let end = entry.end, let descriptor = entry.descriptor
        else { return nil }
        removeEntry(of: id)
        unadopted[descriptor] = end
        return descriptor
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
    func check(_ call: SimulatedCall) throws(SystemCallError) {
        if case .failed(let number) = wire.call(call, { .done(0) }) {
            throw SystemCallError(call: call.rawValue, errno: number)
        }
    }

    /// Makes a descriptor: socket(2).
    func makeSocket() throws(SystemCallError) -> CInt {
        try check(.socket)
        guard let number = openDescriptor() else {
            throw SystemCallError(call: SimulatedCall.socket.rawValue, errno: EMFILE)
        }
        return number
    }

    // MARK: Connecting

    /// Makes a descriptor for a stream that is to connect to `address`.
    ///
    /// - Parameters:
    ///   - id: The stream; it has no descriptor.
    ///   - address: Where it is to connect to.
    ///   - local: What it is bound to; `nil`, whatever the network chooses.
    ///   - options: What is set on it.
    /// - Throws: An injected failure; nothing stays open.
    package func open(
        _ id: SocketID,
        for address: SocketAddress,
        from local: SocketAddress?,
        options: SocketOptions
    ) throws(SystemCallError) {
        precondition(
            entry(of: id)?.descriptor == nil,
            "a socket connects on one descriptor at a time"
        )
        let descriptor = try makeSocket()
        do {
            try applyOptions(options)
            if local != nil { try check(.bind) }
        } catch {
            closeDescriptor(descriptor)
            throw error
        }
        let entry = entry(of: id) ?? beginEntry(for: id, kind: .stream)
        entry.descriptor = descriptor
        entry.local = wire.source(local, for: address)
    }

    /// Connects a stream that was opened; `connected` or `failed(.connecting)` follows.
    package func connect(_ id: SocketID, to address: SocketAddress) {
        guard let entry = entry(of: id), entry.descriptor != nil else { return }
        do {
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
        let local = entry.local ?? wire.clientAddress(for: address)
        let attempt = SimulatedConnect(wire, from: local, to: address)
        entry.attempt = attempt
        attempt.start()
        guard case .failed(let number)? = attempt.outcome else { return }
        throw SystemCallError(call: SimulatedCall.connect.rawValue, errno: number)
    }

    /// Gives the connection that an attempt has made to another ID.
    package func handOver(_ attempt: SocketID, to id: SocketID) {
        guard let old = entry(of: attempt) else { return }
        if entry(of: id) != nil { removeEntry(of: id) }
        let entry = beginEntry(for: id, kind: .stream)
        entry.descriptor = old.descriptor
        entry.end = old.end
        entry.isConnected = true
        removeEntry(of: attempt)
        closeCount += 1
        results.append(.closed(attempt))
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
    func applyOptions(_ options: SocketOptions) throws(SystemCallError) {
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
        return entry.listener?.address ?? entry.end?.state.address ?? entry.local
    }

    /// In the Unix domain the process itself: all its peers are scripts of its own.
    package func peerCredentials(of id: SocketID) -> PeerCredentials? {
        guard case .unix? = entry(of: id)?.end?.remoteAddress else { return nil }
        return PeerCredentials(processID: getpid(), userID: getuid(), groupID: getgid())
    }

    /// Always `nil`: no descriptor of the process is behind a simulated socket.
    package func descriptor(of id: SocketID) -> CInt? { nil }
}

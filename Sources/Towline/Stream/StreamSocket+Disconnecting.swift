internal import TowlineBytes

extension StreamSocket {
    /// Ends the connection, or the attempt to make one; on an idle socket does nothing.
    ///
    /// With ``DisconnectMoment/now`` both queues are dropped; of writes that the kernel has taken
    /// already, `didWrite` still tells. With the others, no read or write is
    /// accepted any more, and what is queued completes first; after writes the end is sent, and the
    /// peer's awaited for ``lingerTimeout``, so that nothing sent is lost by a reset. The calls add
    /// up, and cannot be taken back. `didDisconnect` follows with no error, unless something else
    /// ends the connection before.
    ///
    /// - Parameter moment: When.
    public func disconnect(_ moment: DisconnectMoment = .now) {
        guard let reactor = reactorIfOnThread("disconnect(_:)") else { return }
        guard lifecycle.isOpen else { return }
        if moment == .now {
            disconnect(because: nil, reactor)
            return
        }
        perform(lifecycle.ask(moment, queues), reactor)
        if lifecycle.isDisconnectPending { obstacles.insert(.awaitsDisconnect) }
    }

    /// Ends the connection with a reset: the peer sees an error, and may lose bytes on their way.
    public func abort() {
        guard let reactor = reactorIfOnThread("abort()") else { return }
        guard lifecycle.phase != .idle else { return }
        makeExtras().closingManner = .reset
        disconnect(because: nil, reactor)
    }

    /// Ends the connection, with `didDisconnect` or without.
    ///
    /// - Parameter notifyingDelegate: If `false`, the socket is idle when the call returns, may
    ///   connect again, and hears nothing of the old connection any more.
    public func disconnect(notifyingDelegate: Bool) {
        guard !notifyingDelegate else {
            disconnect()
            return
        }
        guard let reactor = reactorIfOnThread("disconnect(notifyingDelegate:)") else { return }
        guard lifecycle.phase != .idle else { return }
        let wasClosing = lifecycle.phase == .disconnecting
        endAttempts(reactor)
        let id = socketID
        if reactor.current == id { reactor.gather.removeAll() }
        if !wasClosing, obstacles.contains(.isSecured) { sayFarewellSecurely(reactor) }
        removeTimer(reactor)
        leaveSplice(reactor)
        // First: the table may be the only one that holds it.
        reactor.bury(self)
        let remnant = Remnant(extras?.mannerOfClosing ?? .end)
        reactor.table.replaceOwner(of: id, with: remnant, kind: .remnant)
        if !wasClosing { reactor.work.add(id, to: .close) }
        if reactor.current == id { reactor.current = .none }
        becomeIdle()
        leaveOrigin(reactor)
        forgetAddresses()
        letGoOfHandler(reactor)
    }

    /// Ends as a drain wants it: what is written is sent, and nothing sent is lost.
    func finishForDrain() {
        guard reactorIfOnThread("socketShouldFinish(_:)") != nil, lifecycle.isOpen else { return }
        setReason(.reactorStopped)
        disconnect(.afterWrites)
    }

    /// Waits no longer for the peer's end.
    func endLinger(_ reactor: Reactor) {
        perform(lifecycle.close(), reactor)
    }

    // MARK: Carrying out

    /// Ends the connection for a reason; the first one stands.
    ///
    /// `nil` is a deliberate end.
    func disconnect(because reason: SocketError?, _ reactor: Reactor) {
        guard lifecycle.phase != .idle, lifecycle.phase != .disconnecting else { return }
        setReason(reason)
        perform(lifecycle.close(), reactor)
    }

    /// Ends the connection for a reason that the peer has been told, and is to hear of.
    func disconnectBehindLastWord(because reason: SocketError, _ reactor: Reactor) {
        setReason(reason)
        // It may not be sent yet, and our end is to come behind it.
        if let security = extras?.security { sendReplies(of: security, reactor) }
        perform(lifecycle.closeBehindLastWord(), reactor)
    }

    /// Ends the connection because a callback threw.
    @inline(never)
    func disconnect(afterThrowing error: any Error, _ reactor: Reactor) {
        switch error as? SocketError {
        case .reactorStopped:
            // A call that a stopping reactor has refused is no fault of the callback's.
            disconnect(because: .reactorStopped, reactor)
        case .disconnectPending where lifecycle.isDisconnectPending:
            // It ends already, when its queues are empty: what waits there must not be lost.
            break
        case .readClosed where lifecycle.peerHasEnded && !lifecycle.staysOpen:
            // Likewise, when the last write is with the kernel.
            break
        default:
            disconnect(because: .handler(error), reactor)
        }
    }

    func setReason(_ reason: SocketError?) {
        guard !hasReason else { return }
        self.reason = reason
        hasReason = true
    }

    /// Carries out what the lifecycle has decided.
    func perform(_ action: Lifecycle.Action, _ reactor: Reactor) {
        switch action {
        case .none:
            break
        case .close:
            // Only now: while writes were awaited behind the peer's end, one might have failed.
            if lifecycle.endsByPeer { setReason(.closedByPeer) }
            obstacles.insert(.isNotOpen)
            if reactor.current == socketID { reactor.gather.removeAll() }
            if obstacles.contains(.isSecured) { sayFarewellSecurely(reactor) }
            endAttempts(reactor)
            reactor.work.add(socketID, to: .close)
        case .finish:
            obstacles.insert(.isNotOpen)
            // From here on only the peer's farewell is awaited; nothing is an error any more.
            setReason(nil)
            // Reads and writes are over, and so are their deadlines. Nothing of this socket is
            // gathered here, since no write is left; what is gathered may be another one's, whose
            // callback runs.
            extras?.timeouts.clear(.read)
            extras?.timeouts.clear(.write)
            extras?.timeouts.clear(.handshake)
            sendEnd(reactor)
            setDeadline(.finish, after: lingerLimit, reactor)
            obstacles.insert(.isPaused)
            resume(reactor)
            // The peer's may have come already, behind bytes that nobody has asked for.
            applyEnd(reactor)
        case .awaitWrites:
            obstacles.insert(.isNotOpen)
            extras?.timeouts.clear(.read)
            setDeadline(.finish, after: finishLimit, reactor)
        case .closeReading:
            list(for: .serveAgain, reactor)
        case .sendEnd:
            sendEnd(reactor)
        }
    }

    /// The descriptor is gone: the terminal callback, on a socket that is idle already.
    func sayFarewell(_ reactor: Reactor) {
        let relay = relayReference?.takeUnretainedValue()
        // Nobody would look at it where the callback is known to do nothing.
        let isSkipped = relay?.skipped.contains(.didDisconnect) ?? true
        let report = isSkipped ? nil : makeReport(reactor)
        removeTimer(reactor)
        if let owner = reactor.table.remove(socketID) { reactor.bury(owner) }
        reactor.counters.closed &+= 1
        let wasConnected = extras?.phase ?? .connected == .connected
        reactor.counters.endings.count(reason, wasConnected: wasConnected)
        becomeIdle()
        leaveOrigin(reactor)
        if let relay, let report, reactor.pin(relay) { relay.didDisconnect(self, report) }
        // A kept handler is let go of now, unless the callback has started the socket again.
        if let relay, relay.kept != nil, lifecycle.phase == .idle,
            relayReference?.takeUnretainedValue() === relay
        {
            setRelay(nil, reactor)
        }
        if lifecycle.phase == .idle { forgetAddresses() }
        reactor.noteFreeDescriptor()
        reactor.drain?.noteSocketEnd()
    }

    /// Asks for the local address while there is a descriptor to ask, if the farewell may.
    ///
    /// Only the kernel knows it of a socket that a listener on every interface has accepted; asked
    /// at the accept, it would cost each connection a call.
    func rememberLocalAddress(_ reactor: Reactor) {
        guard extras?.localAddress == nil, extras?.phase != .connecting,
            let relay = relayReference?.takeUnretainedValue(),
            !relay.skipped.contains(.didDisconnect),
            let address = reactor.backend.localAddress(of: socketID)
        else { return }
        makeExtras().localAddress = address
    }

    /// Tells the splice that the socket belongs to, if any, that it does so no longer.
    @inline(never)
    func leaveSplice(_ reactor: Reactor) {
        guard let splice = relayReference?.takeUnretainedValue().kept as? Splice else { return }
        let report = DisconnectReport(
            error: nil,
            phase: .connected,
            remoteAddress: peer,
            elapsed: reactor.recentTime.since(started),
            receivedByteCount: receivedCount,
            sentByteCount: writes.finishedEnd,
            details: .none
        )
        splice.noteLoss(of: self, report, reactor)
        setRelay(nil, reactor)
    }

    /// Holds a kept handler weakly from here on: no farewell comes that would let go of it, and it
    /// may hold the socket.
    func letGoOfHandler(_ reactor: Reactor) {
        guard let handler = relayReference?.takeUnretainedValue(), handler.kept != nil,
            let delegate = handler.delegate()
        else { return }
        setRelay(DelegateRelay.make(delegate), reactor)
    }

    private func makeReport(_ reactor: Reactor) -> DisconnectReport {
        DisconnectReport(
            error: reason,
            phase: extras?.phase ?? .connected,
            remoteAddress: peer,
            elapsed: reactor.recentTime.since(started),
            receivedByteCount: receivedCount,
            sentByteCount: writes.finishedEnd,
            details: makeReportDetails()
        )
    }

    /// What only some reports have.
    private func makeReportDetails() -> DisconnectReport.Details {
        let hasPlace = extras?.requestedHost != nil || extras?.requestedPlace != nil
        let hasAttempts = extras.map { !$0.attempts.isEmpty } ?? false
        let isIntoBuffer = currentTarget != nil
        guard
            kept != nil || reads.count > 1 || !writes.isEmpty || hasAttempts || hasPlace
                || isIntoBuffer
        else {
            return reads.current.map { .oneRead(tag: $0.tag) } ?? .none
        }
        return .several(
            DisconnectReport.Lists(
                unreadBytes: (currentTarget?.collected ?? []) + (kept?.waitingBytes ?? []),
                incompleteReads: reads.tags,
                incompleteWrites: writes.incomplete,
                attempts: extras?.attempts ?? [],
                buffers: extras.flatMap {
                    $0.targets.isEmpty ? nil : ReturnedReadBuffers(Array($0.targets.all))
                },
                requestedHost: extras?.requestedHost,
                requestedPlace: extras?.requestedPlace
            )
        )
    }

    /// Forgets everything that belongs to one connection.
    func becomeIdle() {
        lifecycle.closed()
        obstacles = .isNotOpen
        listed = []
        reads.removeAll()
        writes.reset()
        kept = nil
        receivedCount = 0
        inputEnd = nil
        reason = nil
        hasReason = false
        extras?.reset()
        leaveTable()
    }

    /// What the terminal callback may still ask for.
    func forgetAddresses() {
        peer = nil
        extras?.localAddress = nil
        extras?.formerSecurity = nil
        extras?.requestedHost = nil
        extras?.requestedPlace = nil
    }

    /// The reactor has ended or goes away with the socket open: idle, without a callback.
    func detach() {
        becomeIdle()
        origin = .none
        var handler: DelegateRelay?
        // A kept handler may hold the socket in turn.
        if relayReference?.takeUnretainedValue().kept != nil {
            handler = relayReference?.takeRetainedValue()
            relayReference = nil
        }
        forgetAddresses()
        loseReactor()
        handler?.queueOwner?.wasReplaced()
    }
}

/// Sits in the slot of a connection that its socket has left, until the descriptor is gone.
final class Remnant {
    let manner: ClosingManner

    init(_ manner: ClosingManner = .end) {
        self.manner = manner
    }
}

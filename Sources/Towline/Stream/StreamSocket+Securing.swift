internal import TowlineBytes

/// From `startTLS` to `socketDidSecure`: the handshake's place in the queues, and its end.
extension StreamSocket {
    /// Secures the connection behind all reads and writes that were asked for so far; those asked
    /// for from now on are protected.
    ///
    /// - Parameters:
    ///   - layer: What secures it.
    ///   - timeout: From when the handshake is at the head of both queues; `nil`, no limit.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/alreadySecured``, ``SocketError/notConnected``,
    ///   ``SocketError/disconnectPending``, ``SocketError/readClosed``,
    ///   ``SocketError/writeClosed``, ``SocketError/invalidArgument(_:)``,
    ///   ``SocketError/wrongThread``, ``SocketError/reactorStopped``. Nothing is changed then.
    package func secure(
        with layer: any SecurityLayer,
        within timeout: Duration?,
        file: StaticString,
        line: UInt
    ) throws(SocketError) {
        let reactor = try reactorForCall("startTLS(_:)")
        _ = try Self.nanoseconds(of: timeout, "startTLS", file, line)
        try checkOpen()
        guard extras?.security == nil else { throw .alreadySecured }
        if lifecycle.peerHasEnded || inputEnd != nil { throw .readClosed }
        if lifecycle.isWritingOver { throw .writeClosed }
        if let failure = extras?.sendFailure { throw failure }
        let barrier = reactor.takeOperationID()
        let gate = origin == .none ? nil : reactor.securityWorkspace.gate
        makeExtras().security = SecuredStream(
            layer,
            barrier: barrier,
            timeout: timeout,
            gate: gate
        )
        if gate?.isFull == true { reactor.perform(.noteManyHandshakes, for: origin) }
        obstacles.formUnion([.isSecured, .isSecuring])
        if let tag = reads.openEndedTag {
            let fields = ["socket": "\(socketID)", "tag": "\(tag)"]
            reactor.note(.warning, "startTLS waits for a read that takes whatever comes", fields)
        }
        // Within the socket's own callbacks, `settle` does what follows, behind them.
        if reactor.current != socketID, lifecycle.phase == .connected {
            list(for: .flush, reactor)
        }
    }

    /// What secures the connection; also while its farewell is said.
    package var securityLayer: (any SecurityLayer)? {
        extras?.security?.layer ?? extras?.formerSecurity
    }

    /// Whether the handshake is complete, and the connection goes on.
    package var isSecured: Bool {
        extras?.security?.phase == .secured && lifecycle.phase == .connected
    }

    /// Whether a listener has accepted the connection.
    package var wasAccepted: Bool { origin != .none }

    /// What a layer has to know of the connection before it is given to the socket.
    package var securityFacts: SecurityFacts {
        SecurityFacts(
            host: extras?.requestedHost,
            remoteAddress: peer,
            isAccepted: origin != .none,
            wake: {},
            note: { _, _, _ in }
        )
    }

    /// Has the layer make bytes for the peer outside of a read, a write or the end.
    package func answer(_ body: (SecurityOutput) -> Void) {
        guard let reactor = reactorIfOnThread("rekey()"), let security = extras?.security,
            isSecured, !security.outputIsOver
        else { return }
        if reactor.current == socketID { flushGathered(reactor) }
        claimOutput(reactor)._withUnsafeGuaranteedRef { body($0) }
        sendReplies(of: security, reactor)
    }

    // MARK: The handshake's place

    // Each is asked for every connection, so that those in the clear pay for a look at a bit only.

    /// Whether the first read of the queue may be completed: it is not behind a handshake.
    @inline(__always)
    var mayRead: Bool { !obstacles.contains(.isSecured) || mayReadSecured }

    /// Whether the first write that is not handed over may be: it is not behind a handshake.
    @inline(__always)
    var mayHandOver: Bool { !obstacles.contains(.isSecured) || mayHandOverSecured }

    /// Whether bytes of the peer are to be received.
    @inline(__always)
    var wantsBytes: Bool {
        guard obstacles.isDisjoint(with: [.isSecured, .readsArePaused]) else {
            return obstacles.contains(.isSecured) && wantsSecuredBytes
        }
        return !reads.isEmpty
    }

    /// Whether a handshake is still to come, or not over.
    @inline(__always)
    var isSecuring: Bool { obstacles.contains(.isSecuring) }

    /// Whether bytes of the peer wait to be decrypted.
    @inline(__always)
    var hasLeftovers: Bool { obstacles.contains(.isSecured) && hasLeftoversNow }

    /// Whether something of the peer may still be worth waiting for.
    ///
    /// Behind a failed send, an alert says why.
    var awaitsInput: Bool {
        guard obstacles.contains(.isSecured), let security = extras?.security else {
            return !reads.isEmpty
        }
        return !reads.isEmpty || !security.inputIsOver && wantsBytes
    }

    private var mayReadSecured: Bool {
        guard let security = extras?.security else { return true }
        switch security.phase {
        case .queued: return reads.current.map { $0.id < security.barrier } ?? true
        case .handshaking, .waiting: return false
        case .secured: return true
        }
    }

    private var mayHandOverSecured: Bool {
        guard let security = extras?.security else { return true }
        switch security.phase {
        case .queued: return writes.nextID < security.barrier
        case .handshaking, .waiting: return false
        case .secured: return true
        }
    }

    private var wantsSecuredBytes: Bool {
        guard let security = extras?.security else { return false }
        let isPausing = obstacles.contains(.readsArePaused)
        switch security.phase {
        case .queued:
            return !reads.isEmpty && !isPausing && mayRead
        case .handshaking:
            return true
        case .waiting:
            return security.input?.count ?? 0 < SecuredStream.window
        case .secured:
            guard !isPausing, !security.inputIsOver,
                security.ledger.waitingReplies < SecuredStream.window
            else { return false }
            // Also without a read: alerts, tickets and the peer's farewell come among the data.
            return !reads.isEmpty || kept?.count ?? 0 < SecuredStream.window
        }
    }

    private var hasLeftoversNow: Bool {
        guard let security = extras?.security else { return false }
        return security.phase != .waiting && security.hasLeftovers
    }

    /// Begins the handshake when it is at the head of both queues, and goes on with what the layer
    /// has not taken when it may.
    func followSecurity(_ reactor: Reactor) {
        guard let security = extras?.security else { return }
        switch security.phase {
        case .queued:
            if let read = reads.current, read.id < security.barrier { return }
            if let write = writes.current, write.id < security.barrier { return }
            beginHandshake(security, reactor)
        case .waiting:
            break
        case .handshaking, .secured:
            if security.hasLeftovers, wantsBytes { list(for: .serveAgain, reactor) }
        }
    }

    private func beginHandshake(_ security: SecuredStream, _ reactor: Reactor) {
        security.phase = .handshaking
        makeExtras().phase = .securing
        if let timeout = security.timeout { setDeadline(.handshake, after: timeout, reactor) }
        if let kept, !kept.isEmpty {
            if let refusal = security.layer.refusal(ofEarlyBytes: kept.count) {
                disconnect(because: .security(refusal), reactor)
                return
            }
            // They came behind the last bytes in the clear, so they are the layer's.
            receivedCount -= kept.count
            security.input = kept
        }
        dropKept()
        let id = socketID
        let token = security.barrier
        let facts = SecurityFacts(
            host: extras?.requestedHost,
            remoteAddress: peer,
            isAccepted: origin != .none,
            wake: { [handle = reactor.handle] in
                handle.execute { $0.streamSocket(id)?.resumeHandshake(token, $0) }
            },
            note: { [link = reactor.link] level, text, fields in
                link.reactor?.note(level, text, fields)
            }
        )
        let step = claimOutput(reactor)._withUnsafeGuaranteedRef {
            security.layer.begin(facts, into: $0)
        }
        sendReplies(of: security, reactor)
        guard follow(step, of: security, reactor) else { return }
        if security.input != nil { list(for: .serveAgain, reactor) }
        resume(reactor)
    }

    /// What the layer has waited for is there.
    private func resumeHandshake(_ token: OperationID, _ reactor: Reactor) {
        guard let security = extras?.security, security.barrier == token,
            security.phase == .waiting, lifecycle.phase == .connected
        else { return }
        security.phase = .handshaking
        security.isAsking = false
        // Also without a byte: it goes on from where it stopped.
        security.hasMore = true
        list(for: .serveAgain, reactor)
    }

    /// Does what a step of the layer asks for.
    ///
    /// - Returns: Whether the layer may go on at once.
    func follow(
        _ step: SecurityStep,
        of security: SecuredStream,
        _ reactor: Reactor
    ) -> Bool {
        switch step {
        case .needsInput, .hasMore:
            return true
        case .secured:
            return noteSecured(security, reactor)
        case .waits:
            security.phase = .waiting
        case .asks:
            security.phase = .waiting
            security.isAsking = true
            askProgram(security, reactor)
        case .ended:
            endInput(of: security)
            // Nothing that follows is looked at any more.
            pause(reactor)
            noteEnd(.ended, reactor)
        case .failed(let error):
            security.outputIsOver = true
            endInput(of: security)
            if error.isOfHandshake { makeExtras().phase = .securing }
            noteEnd(.failed(.security(error)), reactor)
        }
        return false
    }

    private func endInput(of security: SecuredStream) {
        security.inputIsOver = true
        security.input = nil
        security.hasMore = false
    }

    private func askProgram(_ security: SecuredStream, _ reactor: Reactor) {
        callBack(reactor) { relay in
            guard let delegate = relay.delegate() else {
                disconnect(because: .delegateGone, reactor)
                return
            }
            do {
                try security.layer.ask(self, delegate)
            } catch SocketError.security(let refusal) {
                // The layer's own word, not the delegate's: it cannot be asked.
                disconnect(because: .security(refusal), reactor)
            }
        }
    }

    private func noteSecured(_ security: SecuredStream, _ reactor: Reactor) -> Bool {
        security.phase = .secured
        obstacles.remove(.isSecuring)
        security.recordSize = RecordSize(small: security.layer.initialRecordSize)
        security.leaveGate()
        endHandshakeDeadline(reactor)
        callBack(reactor) { try $0.didSecure(self) }
        flushGathered(reactor)
        guard lifecycle.phase == .connected, extras?.security === security else { return false }
        flushQueued(reactor)
        followCurrentOperations(reactor)
        return lifecycle.phase == .connected && extras?.security === security
    }

    /// Mostly the only deadline that there was: the connection has nothing in its way then.
    private func endHandshakeDeadline(_ reactor: Reactor) {
        guard let extras else { return }
        extras.phase = .connected
        extras.timeouts.clear(.handshake)
        guard extras.timeouts.isEmpty else { return }
        obstacles.remove(.hasDeadline)
        if idleClock.limits == nil { removeTimer(reactor) }
    }

    /// The handshake has taken too long.
    func endHandshake(_ reactor: Reactor) {
        guard let security = extras?.security, security.isSecuring else { return }
        security.outputIsOver = true
        disconnect(because: .security(security.layer.timeoutError), reactor)
    }
}

extension OperationID {
    /// Whether it was asked for before the other.
    static func < (left: OperationID, right: OperationID) -> Bool {
        left.rawValue < right.rawValue
    }
}

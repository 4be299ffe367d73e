internal import Glibc

extension StreamListener {
    func handle(_ event: SocketEvent, of id: SocketID, _ reactor: Reactor) {
        switch event {
        case .accepted(let descriptor, let peer):
            accept(descriptor, from: peer, reactor)
        case .failed(.accepting, let error):
            noteAcceptFailure(error, reactor)
        case .closed:
            noteClosed(id, reactor)
        case .failed(_, let error):
            stop(because: .system(error), reactor)
        case .hungUp, .reachedEnd:
            break
        case .connected, .received, .sent:
            preconditionFailure("a listener neither connects, receives nor sends")
        }
    }

    func perform(_ work: OwnerWork, for id: SocketID, _ reactor: Reactor) {
        switch work {
        case .close:
            reactor.backend.close(id, .end)
        case .end(let reason):
            stop(because: reason, reactor)
        case .finish:
            leave(reactor)
        case .serveAgain:
            goOnLeaving(reactor)
        case .noteFreeDescriptor:
            endExhaustion(reactor)
            updateAccepting()
        case .noteManyHandshakes:
            waitForHandshakes(reactor)
        case .noteFreeHandshake:
            waitsForHandshakes = false
            updateAccepting()
        case .noteConnectionEnd:
            openConnections -= 1
            if openConnections &+ 1 == connectionLimit { updateAccepting() }
        case .connect, .flush, .reportWrites, .noteTime, .expire:
            break
        }
    }

    // MARK: Whether to accept

    /// Whether a connection would be taken now.
    var wantsConnections: Bool {
        guard isListening, !isPausedByUser, !exhaustion.isActive, !waitsForHandshakes else {
            return false
        }
        guard let connectionLimit else { return true }
        return openConnections < connectionLimit
    }

    /// Has the backend accept, or not, as is wanted now.
    func updateAccepting() {
        guard isListening, let reactor = reference.reactor else { return }
        let isWanted = wantsConnections
        for place in places {
            if isWanted {
                reactor.backend.resumeReceiving(place.id)
            } else {
                reactor.backend.pauseReceiving(place.id)
            }
        }
    }

    // MARK: Connections

    private func accept(_ descriptor: CInt, from peer: SocketAddress, _ reactor: Reactor) {
        guard isListening, let delegate = delegateReference else {
            if isListening { noteRefusal(of: peer, "the listener's delegate has gone", reactor) }
            reactor.backend.discard(descriptor)
            return
        }
        let socket: StreamSocket
        do {
            socket = try StreamSocket(accepting: descriptor, from: peer, on: reactor)
        } catch {
            // It concerns this one connection; the next may be accepted.
            noteRefusal(of: peer, "\(error)", reactor)
            reactor.backend.discard(descriptor)
            return
        }
        exhaustion.pause = Exhaustion.pauses.first
        reactor.counters.accepted &+= 1
        socket.origin = places[0].id
        openConnections += 1
        // Before anybody else is accepted, and before the callback, which may look.
        if openConnections == connectionLimit { updateAccepting() }
        socket.inherit(inheritedOptions, halfClosePolicy)
        reactor.beginCallbacks(of: socket.id)
        do {
            if let secureAccepted { try secureAccepted(socket) }
            try delegate.listener(self, didAccept: socket)
        } catch {
            socket.disconnect(afterThrowing: error, reactor)
        }
        reactor.endCallbacks()
        // One that is idle has gone on to another reactor, or has ended as it was told to.
        if socket.relayReference == nil, socket.lifecycle.phase != .idle {
            // Nobody else will hear why.
            let reason = socket.reason ?? .noDelegate
            noteRefusal(of: peer, "\(reason)", reactor)
            socket.disconnect(because: .noDelegate, reactor)
        }
        socket.settle(reactor)
    }

    /// Accepts nobody for as long as too many handshakes are under way.
    private func waitForHandshakes(_ reactor: Reactor) {
        let gate = reactor.securityWorkspace.gate
        guard !waitsForHandshakes, isListening, let first = places.first else { return }
        waitsForHandshakes = true
        gate.tell(first.id)
        updateAccepting()
        reactor.counters.acceptPauses &+= 1
        let fields = ["address": "\(first.address)", "handshakes": "\(gate.count)"]
        reactor.note(.debug, "accept paused", fields)
    }

    private func noteRefusal(of peer: SocketAddress, _ reason: String, _ reactor: Reactor) {
        reactor.note(.warning, "accepted connection closed", ["peer": "\(peer)", "error": reason])
    }

    // MARK: Out of descriptors

    private func noteAcceptFailure(_ error: SystemCallError, _ reactor: Reactor) {
        guard isListening, let first = places.first else { return }
        guard AcceptFailure(errno: error.errno) == .ofResources else {
            stop(because: .system(error), reactor)
            return
        }
        let isShedding = shedWaiting(because: error, reactor)
        let delay = exhaustion.pause
        // Those who are shed should not wait for it longer and longer.
        if !isShedding {
            exhaustion.pause = min(exhaustion.pause * 2, Exhaustion.pauses.longest)
        }
        // Level-triggered readiness would be told again and again meanwhile.
        exhaustion.isActive = true
        updateAccepting()
        reactor.counters.acceptPauses &+= 1
        reactor.listenersInNeed.removeAll { $0 == first.id }
        reactor.listenersInNeed.append(first.id)
        exhaustion.resumption?.cancel()
        exhaustion.resumption = reactor.schedule(after: delay) { [link = reactor.link] in
            link.reactor?.perform(.noteFreeDescriptor, for: first.id)
        }
        tell(error, retryAfter: delay, reactor)
    }

    /// Resets who waits, if that is the policy and a descriptor would help.
    private func shedWaiting(because error: SystemCallError, _ reactor: Reactor) -> Bool {
        guard exhaustion.policy == .shed, error.errno == EMFILE || error.errno == ENFILE else {
            return false
        }
        let limit = reactor.configuration.budget.acceptsPerListener
        for place in places {
            let count = reactor.backend.shedConnections(of: place.id, atMost: limit)
            reactor.counters.shed &+= count
        }
        return true
    }

    private func tell(_ error: SystemCallError, retryAfter delay: Duration, _ reactor: Reactor) {
        let now = reactor.backend.now()
        if let last = exhaustion.lastNotice, now.since(last) < .seconds(1) { return }
        exhaustion.lastNotice = now
        guard let place = places.first else { return }
        let notice = AcceptPause(
            address: place.address,
            cause: error,
            descriptorLimit: error.errno == EMFILE ? reactor.backend.descriptorLimit : nil,
            retryAfter: delay
        )
        reactor.note(
            .warning,
            "accept paused",
            [
                "address": "\(place.address)", "error": error.reason,
                "retry_ms": "\(notice.retryMilliseconds)",
            ]
        )
        delegateReference?.listener(self, didFailToAccept: .acceptPaused(notice))
    }

    /// Descriptors may be had again, or it is no matter any more.
    func endExhaustion(_ reactor: Reactor) {
        guard exhaustion.isActive else { return }
        exhaustion.isActive = false
        exhaustion.resumption?.cancel()
        exhaustion.resumption = nil
        if let first = places.first { reactor.listenersInNeed.removeAll { $0 == first.id } }
    }
}

/// Options that are not the usual; apart, so that looking for some costs an accept next to nothing.
final class InheritedOptions {
    let value: SocketOptions

    init(_ value: SocketOptions) {
        self.value = value
    }
}

extension StreamSocket {
    /// What an accepted socket begins with; nothing is stored where it is the usual.
    fileprivate func inherit(_ options: InheritedOptions?, _ policy: HalfClosePolicy) {
        if let options { self.options = options.value }
        if policy != .finishWrites { halfClosePolicy = policy }
    }

    /// Its listener's connection has ended, or gone elsewhere.
    func leaveOrigin(_ reactor: Reactor) {
        guard origin != .none else { return }
        let listener = origin
        origin = .none
        reactor.perform(.noteConnectionEnd, for: listener)
    }
}

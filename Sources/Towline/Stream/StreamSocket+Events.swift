internal import Glibc
internal import TowlineBytes

extension StreamSocket {
    // MARK: From the backend

    /// One switch over everything that a backend tells.
    @inline(__always)
    func handle<Source: Backend>(
        _ event: SocketEvent,
        _ reactor: Reactor,
        from backend: Source
    ) {
        switch event {
        case .received(let bytes):
            receive(bytes, reactor, from: backend)
        case .sent(let byteCount):
            noteSent(byteCount, reactor)
        case .reachedEnd:
            noteReceivedEnd(.ended, reactor)
        case .failed(.receiving, let error):
            reactor.noteIfBug(error, socketID)
            noteReceivedEnd(.failed(.system(error)), reactor)
        case .failed(.sending, let error):
            reactor.noteIfBug(error, socketID)
            noteSendFailure(.system(error), reactor)
        case .failed(.connecting, let error):
            noteConnectFailure(error, reactor)
        case .connected(let local):
            noteConnected(local, reactor)
        case .hungUp:
            noteHungUp(reactor)
        case .closed:
            sayFarewell(reactor)
        case .accepted, .failed(.accepting, _):
            preconditionFailure("a stream socket accepts nobody")
        }
    }

    /// Bytes for the first read of the queue, straight from where they were received.
    @inline(__always)
    private func receive<Source: Backend>(
        _ bytes: RawSpan,
        _ reactor: Reactor,
        from backend: Source
    ) {
        receivedCount &+= bytes.byteCount
        idleClock.lastReceived = reactor.waitReturned
        guard obstacles.isEmpty, reads.isPlain, let relay = relayReference else {
            if obstacles == .isSecured {
                receiveSecurely(bytes, reactor, from: backend)
            } else {
                receiveInGeneral(bytes, reactor)
            }
            return
        }
        let isThere = relay._withUnsafeGuaranteedRef { relay -> Bool in
            guard reactor.pin(relay) else { return false }
            let tag = reads.takePlain()
            reactor.beginCallbacks(of: socketID, lending: bytes)
            do {
                try relay.didRead(self, bytes, tag)
            } catch {
                disconnect(afterThrowing: error, reactor)
            }
            reactor.endCallbacks()
            return true
        }
        guard isThere else {
            disconnect(because: .delegateGone, reactor)
            return
        }
        let count = reactor.gather.count
        if count > 0 {
            let sent = backend.send(socketID, reactor.gather.start, count: count)
            reactor.gather.removeAll()
            // Asked anew: the callback may have set another delegate.
            if sent == count, writes.count == 1, obstacles.isEmpty, isSkipping(.allOfWrites) {
                writes.acknowledge(sent)
                writes.removeOnlyRequest()
                idleClock.lastSent = idleClock.lastReceived
            } else {
                acknowledge(sent, reactor)
            }
        }
        // A read that is not plain may have a deadline, which begins now.
        if _slowPath(!obstacles.isEmpty || !reads.isPlain) { settle(reactor) }
    }

    @inline(__always)
    func isSkipping(_ callbacks: SkippedCallbacks) -> Bool {
        guard let relay = relayReference else { return true }
        return relay._withUnsafeGuaranteedRef { $0.skipped.contains(callbacks) }
    }

    @inline(never)
    func receiveInGeneral(_ bytes: RawSpan, _ reactor: Reactor) {
        switch lifecycle.phase {
        case .connected:
            if obstacles.contains(.isSecured) {
                receiveSecured(bytes, reactor)
            } else {
                serve(bytes, reactor)
            }
            settle(reactor)
        case .finishing:
            // Nobody reads any more; what still comes only has to leave the kernel, and is no data
            // where it is encrypted.
            if obstacles.contains(.isSecured) { receivedCount -= bytes.byteCount }
        case .idle, .connecting, .disconnecting:
            break
        }
    }

    // MARK: Ends

    private func noteReceivedEnd(_ end: InputEnd, _ reactor: Reactor) {
        guard obstacles.contains(.isSecured), lifecycle.phase == .connected,
            let security = extras?.security
        else {
            noteEnd(end, reactor)
            return
        }
        noteTransportEnd(end, security, reactor)
    }

    /// The peer's end or a failure came.
    ///
    /// It takes effect behind the last byte in front of it.
    func noteEnd(_ end: InputEnd, _ reactor: Reactor) {
        obstacles.insert(.inputHasEnded)
        inputEnd = end
        settleBehindEnd(reactor)
    }

    /// Settles; first tells of an end that waits behind bytes, since nothing else does.
    private func settleBehindEnd(_ reactor: Reactor) {
        if endHasToWait { noteHangUp(reactor) } else { settle(reactor) }
    }

    /// Whether the end is behind bytes, or a read, that only the user lets go on.
    private var endHasToWait: Bool {
        // Mostly neither: then nothing of the end need be looked at.
        guard !obstacles.isDisjoint(with: [.hasKeptBytes, .readsArePaused]), inputEnd != nil,
            lifecycle.phase == .connected
        else { return false }
        if kept != nil { return reads.isEmpty || obstacles.contains(.readsArePaused) }
        guard case .ended = inputEnd else { return false }
        return reads.currentKind == .end
    }

    /// The peer has gone, or sent its end, behind bytes that no read has taken.
    func noteHangUp(_ reactor: Reactor) {
        if lifecycle.phase == .connected, !obstacles.contains(.toldHangUp) {
            obstacles.insert(.toldHangUp)
            callBack(reactor) { try $0.peerDidHangUp(self) }
        }
        settle(reactor)
    }

    /// Lets the end take effect, if no read can still be served with kept bytes.
    func applyEnd(_ reactor: Reactor) {
        guard let end = inputEnd else { return }
        if lifecycle.phase == .connected {
            // Bytes that nobody has asked for stay for whoever will; the peer's end is behind them.
            guard !endHasToWait else { return }
            if reads.currentKind == .end, case .ended = end {
                list(for: .serveAgain, reactor)
                return
            }
            guard kept == nil || !listed.contains(.serveAgain) else { return }
        }
        inputEnd = nil
        switch end {
        case .failed(let error):
            // An alert says why nothing more could be sent.
            let isAlert = if case .security = error { true } else { false }
            let reason = isAlert ? error : extras?.sendFailure ?? error
            if isAlert, extras?.sendFailure == nil, extras?.security?.owesLastWord == true {
                disconnectBehindLastWord(because: reason, reactor)
            } else {
                disconnect(because: reason, reactor)
            }
        case .ended, .endedAndRead:
            if let failure = extras?.sendFailure {
                disconnect(because: failure, reactor)
                return
            }
            perform(lifecycle.peerEnded(halfClosePolicy, queues), reactor)
        }
    }

    /// Nothing can be sent any more.
    ///
    /// What the peer has sent is still there, and is read first.
    func noteSendFailure(_ error: SocketError, _ reactor: Reactor) {
        let extras = makeExtras()
        let isFirst = extras.sendFailure == nil
        if isFirst { extras.sendFailure = error }
        guard lifecycle.phase == .connected, awaitsInput, inputEnd == nil,
            !lifecycle.peerHasEnded
        else {
            disconnect(because: error, reactor)
            return
        }
        guard isFirst else { return }
        obstacles.insert(.isNotOpen)
        setDeadline(.finish, after: lingerLimit, reactor)
    }

    // MARK: From the turn

    /// Does one kind of work for a step of the turn.
    func perform(_ work: OwnerWork, _ reactor: Reactor) {
        switch work {
        case .flush:
            listed.remove(.flush)
            if obstacles.contains(.isSecured) { encryptMore(reactor) }
            flushQueued(reactor)
            settle(reactor)
        case .connect:
            beginConnecting(reactor)
        case .serveAgain:
            listed.remove(.serveAgain)
            if lifecycle.isClosingReading {
                closeReading(reactor)
            } else {
                serve(RawSpan(), reactor)
                if obstacles.contains(.isSecured) { decryptLeftovers(reactor) }
            }
            // The end may have come while reads waited for kept bytes, and they have left some.
            settleBehindEnd(reactor)
        case .reportWrites:
            listed.remove(.reportWrites)
            reportWrites(reactor)
            settle(reactor)
        case .close:
            // Asked before the callbacks: one may leave this connection for another.
            let id = socketID
            reportFinishedWrites(reactor)
            if _fastPath(socketID == id) {
                rememberLocalAddress(reactor)
                reactor.backend.close(id, extras?.mannerOfClosing ?? .end)
            } else {
                // Its slot has another owner, who knows how to close.
                reactor.perform(.close, for: id)
            }
        case .noteTime(let now):
            noteTime(now, reactor)
        case .expire:
            expire(reactor)
        case .noteFreeDescriptor, .noteManyHandshakes, .noteFreeHandshake, .noteConnectionEnd:
            break
        case .finish:
            guard lifecycle.isOpen else { return }
            callBack(reactor) { $0.shouldFinish(self) }
            settle(reactor)
        case .end(let reason):
            disconnect(because: reason, reactor)
        }
    }

    /// Closes the socket if its delegate has gone: nothing tells when a weak reference ends.
    @inline(__always)
    func lookForDelegate(_ reactor: Reactor) {
        // One that only waits for its peer's end needs nobody.
        guard lifecycle.isOpen else { return }
        if let relay = relayReference {
            // A pinned one is there, which is cheaper to see than that a weak reference has ended.
            let isThere = relay._withUnsafeGuaranteedRef {
                reactor.hasPinned($0) || $0.target != nil
            }
            guard !isThere else { return }
        }
        disconnect(because: .delegateGone, reactor)
    }

    private func noteSent(_ byteCount: Int, _ reactor: Reactor) {
        acknowledge(finished(bySending: byteCount, reactor), reactor)
        flushQueued(reactor)
        settle(reactor)
    }

    /// Tells of the progress and the completion of writes, in their order.
    private func reportWrites(_ reactor: Reactor) {
        var callbackCount = 0
        reactor.beginCallbacks(of: socketID)
        while lifecycle.phase == .connected, let write = writes.current {
            if let progress = writes.takeProgress(), !isSkipping(.didProgressWrite) {
                call(reactor) { try $0.didProgressWrite(self, write.tag, progress) }
                guard lifecycle.phase == .connected else { break }
            }
            guard writes.finished != nil else { break }
            guard callbackCount < reactor.configuration.budget.callbacksPerSocket else {
                list(for: .reportWrites, reactor)
                break
            }
            callbackCount += 1
            writes.removeFirst()
            if !isSkipping(.didWrite) { call(reactor) { try $0.didWrite(self, write.tag) } }
        }
        if obstacles.contains(.isAboveHighWaterMark), lifecycle.phase == .connected,
            writes.pendingBytes < writeLowWaterMark
        {
            obstacles.remove(.isAboveHighWaterMark)
            call(reactor) { try $0.didBecomeWritable(self) }
        }
        reactor.endCallbacks()
    }

    /// Tells of writes that were complete before the connection ended; a reset of ours has given
    /// them up.
    private func reportFinishedWrites(_ reactor: Reactor) {
        guard writes.finished != nil else { return }
        reactor.beginCallbacks(of: socketID)
        while let write = writes.finished, lifecycle.phase == .disconnecting,
            extras?.closingManner ?? .end != .reset
        {
            if let progress = writes.takeProgress(), !isSkipping(.didProgressWrite) {
                call(reactor) { try $0.didProgressWrite(self, write.tag, progress) }
                guard lifecycle.phase == .disconnecting else { break }
            }
            writes.removeFirst()
            if !isSkipping(.didWrite) { call(reactor) { try $0.didWrite(self, write.tag) } }
        }
        reactor.endCallbacks()
    }

    // MARK: Callbacks

    /// Calls the delegate back once, with what belongs around it.
    func callBack(_ reactor: Reactor, _ body: (DelegateRelay) throws -> Void) {
        reactor.beginCallbacks(of: socketID)
        call(reactor, body)
        reactor.endCallbacks()
    }

    /// Calls the delegate back, within a run of callbacks.
    func call(
        _ reactor: Reactor,
        _ body: (DelegateRelay) throws -> Void
    ) {
        guard let relay = relayReference?.takeUnretainedValue(), reactor.pin(relay) else {
            disconnect(because: .delegateGone, reactor)
            return
        }
        do {
            try body(relay)
        } catch {
            disconnect(afterThrowing: error, reactor)
        }
    }

    /// Behind a run of callbacks: sends what they wrote, and does what follows from it all.
    func settle(_ reactor: Reactor) {
        flushGathered(reactor)
        guard lifecycle.phase == .connected else {
            if lifecycle.phase == .finishing { applyEnd(reactor) }
            return
        }
        if obstacles.contains(.isSecured) {
            followSecurity(reactor)
            guard lifecycle.phase == .connected else { return }
        }
        if writes.hasQueued, !writes.isSending { flushQueued(reactor) }
        followCurrentOperations(reactor)
        // A read that a callback of another kind has asked for; an end waits for it, too.
        let isPausing = obstacles.contains(.readsArePaused)
        if kept != nil, reads.isUnmatched, !isPausing { list(for: .serveAgain, reactor) }
        applyEnd(reactor)
        if endHasToWait, !obstacles.contains(.toldHangUp) {
            // The read that the end waited behind was cancelled, or has left some of its bytes.
            list(for: .serveAgain, reactor)
        }
        if let failure = extras?.sendFailure, !awaitsInput {
            disconnect(because: failure, reactor)
        }
        perform(lifecycle.queuesChanged(queues), reactor)
        guard lifecycle.phase == .connected else { return }
        // While kept bytes wait for their turn, no more are let in: a fast peer would fill memory.
        if !wantsBytes || listed.contains(.serveAgain) && (kept != nil || hasLeftovers) {
            pause(reactor)
        } else {
            resume(reactor)
        }
    }

    /// What the lifecycle decides by.
    @inline(__always)
    var queues: Lifecycle.Queues {
        let isSecuring = isSecuring
        return Lifecycle.Queues(
            hasReads: !reads.isEmpty || isSecuring,
            // One that is finished and not told of yet counts: its callback comes first.
            hasWrites: !writes.isEmpty || isSecuring,
            hasWritten: writes.acceptedEnd > 0 || obstacles.contains(.isSecured)
        )
    }
}

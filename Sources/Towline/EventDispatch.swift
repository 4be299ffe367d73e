extension Reactor: EventSink {
    package func waitEnded(at now: MonotonicInstant) {
        jobs.endSleep(at: now)
        waitReturned = now
    }

    /// Step 6: looks the owner up, and has it handle the event.
    ///
    /// Nobody is home if a callback earlier in this turn has closed the socket. While it handles an
    /// event, an owner may close any socket, its own included: whoever leaves the table is kept
    /// until the end of the turn.
    @inline(__always)
    package func handle<Source: Backend>(
        _ event: SocketEvent,
        of id: SocketID,
        from backend: Source
    ) {
        counters.events &+= 1
        guard let slot = table.slot(of: id) else {
            counters.staleEvents &+= 1
            return
        }
        if _fastPath(slot.pointee.kind == .stream) {
            slot.pointee.owner(as: StreamSocket.self)._withUnsafeGuaranteedRef {
                $0.handle(event, self, from: backend)
            }
        } else {
            handleRare(event, of: id, slot.pointee)
        }
    }

    private func handleRare(_ event: SocketEvent, of id: SocketID, _ slot: SocketTable.Slot) {
        switch slot.kind {
        case .listener:
            slot.owner(as: StreamListener.self).takeUnretainedValue().handle(event, of: id, self)
        case .plain:
            slot.owner(as: PlainSource.self).takeUnretainedValue().handle(event, self)
        case .attempt:
            handleAttempt(event, of: id, slot)
        case .remnant:
            if case .closed = event, let remnant = table.remove(id) {
                bury(remnant)
                drain?.noteSocketEnd()
            }
        case .stream, .free:
            preconditionFailure("streams are handled before, and a free slot has no ID")
        }
        if case .closed = event { noteFreeDescriptor() }
    }

    /// What one attempt among several has come to is its socket's affair, until its slot is free.
    private func handleAttempt(_ event: SocketEvent, of id: SocketID, _ slot: SocketTable.Slot) {
        let attempt = slot.owner(as: ConnectingAttempt.self).takeUnretainedValue()
        if case .closed = event {
            if let owner = table.remove(id) { bury(owner) }
            return
        }
        guard let slot = table.slot(of: attempt.socket)?.pointee, slot.kind == .stream else {
            return
        }
        slot.owner(as: StreamSocket.self).takeUnretainedValue()
            .noteAttempt(event, attempt, id, self)
    }

    /// Has an owner do its part of a step of the turn.
    func perform(_ work: OwnerWork, for id: SocketID) {
        guard _slowPath(watch != nil) else {
            performUnwatched(work, for: id)
            return
        }
        watching(caller(of: id), id) { performUnwatched(work, for: id) }
    }

    private func performUnwatched(_ work: OwnerWork, for id: SocketID) {
        guard let slot = table.slot(of: id)?.pointee else { return }
        switch slot.kind {
        case .stream:
            slot.owner(as: StreamSocket.self).takeUnretainedValue().perform(work, self)
        case .listener:
            slot.owner(as: StreamListener.self).takeUnretainedValue()
                .perform(work, for: id, self)
        case .plain:
            slot.owner(as: PlainSource.self).takeUnretainedValue().perform(work, self)
        case .attempt:
            if case .close = work { backend.close(id, .end) }
        case .remnant:
            let manner = slot.owner(as: Remnant.self).takeUnretainedValue().manner
            if case .close = work { backend.close(id, manner) }
        case .free:
            preconditionFailure("a free slot has no ID")
        }
    }

    /// So many slots are looked at in one turn of so many.
    private static let sweptSlots = 16

    /// Step 10: closes sockets whose delegate has gone, which nothing tells; a few slots at a time.
    @inline(__always)
    func sweepDelegates() {
        if counters.turns % Self.sweptSlots == 0 { sweepSomeDelegates() }
    }

    @inline(never)
    private func sweepSomeDelegates() {
        let used = table.usedSlots
        var slot = sweepSlot
        for _ in 0..<min(Self.sweptSlots, used) {
            if slot >= used { slot = 1 }
            // In bounds: every slot below `usedSlots` is initialised.
            let entry = table.slots + slot
            if slot < used, entry.pointee.kind == .stream {
                entry.pointee.owner(as: StreamSocket.self)._withUnsafeGuaranteedRef {
                    $0.lookForDelegate(self)
                }
            }
            slot &+= 1
        }
        sweepSlot = slot
    }

    /// Lets go of an owner that cannot end in order, without a callback.
    func detach(_ id: SocketID) {
        let kind = table.slot(of: id)?.pointee.kind
        guard let owner = table.remove(id) else { return }
        switch kind {
        case .stream: unsafeDowncast(owner, to: StreamSocket.self).detach()
        case .listener: unsafeDowncast(owner, to: StreamListener.self).detach()
        case .plain: unsafeDowncast(owner, to: PlainSource.self).detach()
        case .attempt, .remnant, .free, nil: break
        }
    }

    /// A descriptor of this reactor was closed: listeners that ran out of them may go on.
    func noteFreeDescriptor() {
        guard !listenersInNeed.isEmpty else { return }
        let waiting = listenersInNeed
        listenersInNeed = []
        for id in waiting { perform(.noteFreeDescriptor, for: id) }
    }

    /// What is open just now, and what waits to be sent.
    func takeCensus() -> Census {
        var census = Census()
        for number in 1..<table.usedSlots {
            // In bounds: every slot below `usedSlots` is initialised.
            let slot = table.slots[number]
            switch slot.kind {
            case .listener:
                census.listeners += 1
            case .stream:
                let id = SocketID(slot: number, generation: slot.generation)
                slot.owner(as: StreamSocket.self).takeUnretainedValue().count(in: &census, id)
            case .plain, .attempt, .remnant:
                census.others += 1
            case .free:
                break
            }
        }
        return census
    }

    /// What each listener and connection is, in words.
    func openPlaces() -> [String] {
        let listeners = table.ids(of: .listener).map { id in
            let owner = table.slot(of: id)?.pointee.owner(as: StreamListener.self)
            let place = owner?.takeUnretainedValue().places.first { $0.id == id }
            return "listener on \(place.map { "\($0.address)" } ?? "nothing")"
        }
        let connections = table.ids(of: .stream).map { id in
            let owner = table.slot(of: id)?.pointee.owner(as: StreamSocket.self)
            return
                "connection with \(owner?.takeUnretainedValue().peer.map { "\($0)" } ?? "nobody")"
        }
        return listeners + connections
    }

    /// The socket that `id` names; `nil` once that connection has ended.
    public func streamSocket(_ id: SocketID) -> StreamSocket? {
        guard isOnThread || life == .fresh else {
            refuse("streamSocket(_:)")
            return nil
        }
        guard let slot = table.slot(of: id)?.pointee, slot.kind == .stream else { return nil }
        return slot.owner(as: StreamSocket.self).takeUnretainedValue()
    }
}

extension StreamSocket {
    fileprivate func count(in census: inout Census, _ id: SocketID) {
        switch lifecycle.phase {
        case .connecting: census.connecting += 1
        case .connected: census.connected += 1
        case .finishing, .disconnecting, .idle: census.ending += 1
        }
        let waiting = writes.pendingBytes
        census.queuedBytes += waiting
        guard waiting > census.mostQueuedBytes else { return }
        census.mostQueuedBytes = waiting
        census.slowestSocket = id
    }
}

internal import TowlineBytes

extension StreamSocket {
    /// The current read and write may be others: their clocks start when they become current.
    @inline(__always)
    func followCurrentOperations(_ reactor: Reactor) {
        // Without extras no deadline has ever run, and without a timeout none is to.
        if extras != nil || reads.currentTimeout != .max { followCurrentRead(reactor) }
        if extras != nil || !writes.isEmpty { followCurrentWrite(reactor) }
    }

    /// The current read may be another one.
    func followCurrentRead(_ reactor: Reactor) {
        // While reads are paused, no clock runs.
        let read = obstacles.contains(.readsArePaused) || !mayRead ? nil : reads.current
        guard read?.timeout ?? .max != .max || extras?.timeouts.readOperation != nil else { return }
        let hasChanged = makeExtras().timeouts.follow(read: read, now: reactor.backend.now)
        if hasChanged { armTimer(reactor) }
    }

    /// The current write may be another one.
    func followCurrentWrite(_ reactor: Reactor) {
        let request = writes.unfinishedIndex.flatMap { index in
            // Behind a handshake, its time has not begun.
            index >= writes.handedCount && !mayHandOver ? nil : writes[index]
        }
        guard request?.timeout ?? .max != .max || extras?.timeouts.writeOperation != nil else {
            return
        }
        let hasChanged = makeExtras().timeouts.follow(write: request, now: reactor.backend.now)
        if hasChanged { armTimer(reactor) }
    }

    /// Sets one of the socket's own deadlines.
    func setDeadline(_ kind: OperationTimeouts.Kind, after delay: Duration, _ reactor: Reactor) {
        makeExtras().timeouts[kind] = reactor.backend.now().advanced(by: delay)
        armTimer(reactor)
    }

    /// Makes sure that the socket's one timer fires no later than its earliest deadline.
    ///
    /// Only pulling it forward touches the heap; one that fires too early is set anew then.
    func armTimer(_ reactor: Reactor) {
        var earliest = MonotonicInstant.distantFuture
        if let extras {
            earliest = extras.timeouts.earliest
            obstacles.formUnion(earliest == .distantFuture ? [] : .hasDeadline)
        }
        if idleClock.limits != nil, lifecycle.phase == .connected {
            earliest = min(earliest, idleClock.nextDeadline)
        }
        guard earliest < timerDeadline else { return }
        timerDeadline = earliest
        if reactor.timers.contains(timer) {
            reactor.timers.move(timer, to: earliest)
        } else {
            timer = reactor.timers.insert(.socket(socketID), at: earliest)
        }
    }

    /// Forgets every deadline, and takes the timer out of the heap.
    func dropTimer(_ reactor: Reactor) {
        removeTimer(reactor)
        extras?.timeouts = OperationTimeouts()
        obstacles.remove(.hasDeadline)
    }

    /// Takes the timer out of the heap.
    @inline(__always)
    func removeTimer(_ reactor: Reactor) {
        // Set for never, there is none.
        guard timerDeadline != .distantFuture else { return }
        reactor.timers.remove(timer)
        forgetTimer()
    }

    private func forgetTimer() {
        timer = TimerQueue<TimerWork>.noKey
        timerDeadline = .distantFuture
    }

    /// The socket's timer has fired, and is gone from the heap.
    func noteTime(_ now: MonotonicInstant, _ reactor: Reactor) {
        forgetTimer()
        if let extras { noteOwnDeadlines(extras, now, reactor) }
        if isOperationLate(at: now) || isIdleTooLong(at: now) {
            // What the kernel has already is looked at first: a loop that was late must not take
            // that for a peer that was.
            reactor.work.add(socketID, to: .expire)
        } else {
            rearm(reactor)
        }
    }

    /// Deadlines that are no operation's.
    private func noteOwnDeadlines(
        _ extras: StreamExtras,
        _ now: MonotonicInstant,
        _ reactor: Reactor
    ) {
        if extras.timeouts.isDue(.retry, at: now) {
            extras.timeouts.clear(.retry)
            continueConnecting(reactor)
        }
        if extras.timeouts.isDue(.finish, at: now) {
            extras.timeouts.clear(.finish)
            if let failure = extras.sendFailure { setReason(failure) }
            perform(lifecycle.close(), reactor)
        }
    }

    private func isOperationLate(at now: MonotonicInstant) -> Bool {
        guard let extras else { return false }
        return [.connect, .read, .write, .handshake].contains { extras.timeouts.isDue($0, at: now) }
    }

    /// The wait is over, and the deadlines of the operations may still have passed.
    func expire(_ reactor: Reactor) {
        let now = reactor.backend.now()
        if lifecycle.phase == .connecting, let extras, extras.timeouts.isDue(.connect, at: now) {
            extras.timeouts.clear(.connect)
            noteUnansweredAttempts()
            disconnect(because: .connectTimedOut, reactor)
        }
        guard lifecycle.phase == .connected else {
            rearm(reactor)
            return
        }
        if let extras, extras.timeouts.isDue(.handshake, at: now) {
            extras.timeouts.clear(.handshake)
            endHandshake(reactor)
        }
        reactor.beginCallbacks(of: socketID)
        if let extras, lifecycle.phase == .connected { askAboutOperations(now, extras, reactor) }
        tellIdle(now, reactor)
        reactor.endCallbacks()
        settle(reactor)
        rearm(reactor)
    }

    private func askAboutOperations(
        _ now: MonotonicInstant,
        _ extras: StreamExtras,
        _ reactor: Reactor
    ) {
        // Kept bytes that wait for their turn may complete the read, so it is not late yet.
        if extras.timeouts.isDue(.read, at: now), !listed.contains(.serveAgain) {
            askAboutRead(now, extras, reactor)
        }
        if lifecycle.phase == .connected, extras.timeouts.isDue(.write, at: now) {
            askAboutWrite(now, extras, reactor)
        }
    }

    private func rearm(_ reactor: Reactor) {
        obstacles.remove(.hasDeadline)
        armTimer(reactor)
    }

    private func askAboutRead(
        _ now: MonotonicInstant,
        _ extras: StreamExtras,
        _ reactor: Reactor
    ) {
        guard let read = reads.current, read.id == extras.timeouts.readOperation else { return }
        let elapsed = Duration.nanoseconds(extras.timeouts.readElapsed)
        let byteCount = collectedCount
        guard let relay = relayReference?.takeUnretainedValue(), reactor.pin(relay) else {
            disconnect(because: .delegateGone, reactor)
            return
        }
        let decision = relay.shouldTimeOutRead(self, read.tag, elapsed, byteCount)
        // The answer is for the read that was asked about, if the delegate has left it there.
        guard lifecycle.phase == .connected, reads.current?.id == read.id else { return }
        switch decision {
        case .extend(let duration) where duration > .zero:
            extras.timeouts.extendRead(by: duration.saturatedNanoseconds, from: now)
        case .disconnect, .extend:
            disconnect(because: .readTimedOut(tag: read.tag), reactor)
        case .cancelOperation:
            cancelCurrentRead(read, reactor)
        }
    }

    /// Ends the current read alone, with the bytes that it has.
    func cancelCurrentRead(_ read: ReadRequest, _ reactor: Reactor) {
        if let target = currentTarget {
            _ = extras?.targets.removeFirst()
            reads.removeFirst()
            extras?.readProgress = 0
            call(reactor) { try $0.didCancelRead(self, target, read.tag) }
            return
        }
        reads.removeFirst()
        let bytes = kept
        kept = nil
        obstacles.remove(.hasKeptBytes)
        extras?.readProgress = 0
        call(reactor) { relay in
            if let bytes {
                try bytes.withBytes { try relay.didCancelRead(self, read.tag, $0) }
            } else {
                try relay.didCancelRead(self, read.tag, RawSpan())
            }
        }
    }

    private func askAboutWrite(
        _ now: MonotonicInstant,
        _ extras: StreamExtras,
        _ reactor: Reactor
    ) {
        guard let index = writes.unfinishedIndex else { return }
        let write = writes[index]
        guard write.id == extras.timeouts.writeOperation else { return }
        let elapsed = Duration.nanoseconds(extras.timeouts.writeElapsed)
        let missing = min(write.count, write.end - writes.finishedEnd)
        guard let relay = relayReference?.takeUnretainedValue(), reactor.pin(relay) else {
            disconnect(because: .delegateGone, reactor)
            return
        }
        let decision = relay.shouldTimeOutWrite(self, write.tag, elapsed, write.count - missing)
        guard lifecycle.phase == .connected, let index = writes.unfinishedIndex,
            writes[index].id == write.id
        else { return }
        switch decision {
        case .extend(let duration) where duration > .zero:
            extras.timeouts.extendWrite(by: duration.saturatedNanoseconds, from: now)
        case .cancelOperation:
            if cancelWrite(write.id, reactor) { return }
            disconnect(because: .writeTimedOut(tag: write.tag), reactor)
        case .disconnect, .extend:
            disconnect(because: .writeTimedOut(tag: write.tag), reactor)
        }
    }
}

internal import CLinux

/// What the turn asks of one owner.
enum OwnerWork {
    /// Hand queued writes to the backend.
    case flush
    /// Look at kept bytes again.
    case serveAgain
    /// Tell of finished writes.
    case reportWrites
    /// Close, as was decided.
    case close
    /// A deadline may have passed.
    case noteTime(MonotonicInstant)
    /// A deadline has passed, and the wait after it brought nothing that changes that.
    case expire
    /// A descriptor came free.
    case noteFreeDescriptor
    /// End after the current exchange.
    case finish
    /// End now, for the reason.
    case end(SocketError)
}

extension Reactor {
    /// How often steps 7 and 8 are repeated while callbacks of `didWrite` write.
    private static let reportRounds = 4

    /// Makes a turn, and ends the reactor if that was asked for within it.
    func makeTurn(waitingAtMost limit: Duration?) throws(ReactorError) {
        try beginTurn()
        do {
            switch selected {
            case .epoll(let backend): try makeTurn(on: backend, waitingAtMost: limit)
            case .other(let backend): try makeTurn(on: backend, waitingAtMost: limit)
            }
        } catch {
            life = .idle
            throw .system(error)
        }
        if life == .stopping {
            end()
        } else {
            life = .idle
        }
    }

    /// The turn. Callbacks never nest: each step calls them one after the other.
    private func makeTurn<Source: Backend>(
        on backend: Source,
        waitingAtMost limit: Duration?
    ) throws(SystemCallError) {
        // 1. Clock.
        let start = backend.now()
        noteBusyTime(until: start)
        // 2. Jobs. 3. Timers. Then what the turn before has left over.
        let hasRunJobs = runJobs()
        let hasFired = fireTimers(at: start)
        let hasServed = againList.serve { perform(.serveAgain, for: $0) }
        // 4. Flush what they wrote.
        let hasFlushed = flushList.serve { perform(.flush, for: $0) }
        // 5. Choose the wait. Where nothing has run, the clock still says what it said.
        let isLater = hasRunJobs || hasFired || hasServed || hasFlushed
        let now = isLater ? backend.now() : start
        counters.busyBeforeWait = now.nanoseconds &- start.nanoseconds
        let wait = chooseWait(atMost: limit, from: now, hasResults: backend.hasResults)
        // 6. Wait, and hand out what happened.
        try backend.wait(atMost: wait, into: self)
        _ = expireList.serve { perform(.expire, for: $0) }
        // 7. Flush the rest. 8. Results of sends, which may write more.
        for _ in 0..<Self.reportRounds {
            _ = flushList.serve { perform(.flush, for: $0) }
            if backend.hasResults { backend.deliverResults(into: self) }
            guard reportList.serve({ perform(.reportWrites, for: $0) }) else { break }
        }
        // 9. Close what is to be closed, and say farewell.
        closeWhatIsToBeClosed(on: backend)
        // 10. Let go.
        sweepDelegates()
        releaseGraveyard()
        counters.turns &+= 1
    }

    // MARK: Beginning and ending

    func beginTurn() throws(ReactorError) {
        switch life {
        case .turning, .stopping:
            guard isOnThread else { throw .wrongThread }
            throw .nestedTurn
        case .ended:
            throw .reactorStopped
        case .fresh:
            thread = towline_thread()
        case .idle:
            guard isOnThread else { throw .wrongThread }
        }
        life = .turning
    }

    func report(eventCount: Int) -> TurnReport {
        let deadline = nextDeadline
        return TurnReport(
            eventCount: eventCount,
            hasWorkLeft: life != .ended && hasWorkLeft,
            untilNextDeadline: deadline.map { $0.since(backend.now()) }
        )
    }

    /// Ends every owner with its terminal callback, then the backend.
    func end() {
        for kind in [OwnerKind.listener, .stream, .plain] {
            for id in table.ids(of: kind) { perform(.end(.reactorStopped), for: id) }
        }
        // A backend may have to hear from the kernel before it can say that all is over: 100 times
        // 10 ms at most.
        for _ in 0..<100 {
            guard table.count > 0 else { break }
            closeWhatIsToBeClosed(on: backend)
            guard table.count > 0 else { break }
            guard closeList.isEmpty else { continue }
            do {
                try backend.wait(atMost: 10_000_000, into: self)
            } catch {
                note(.critical, "wait failed while ending", ["error": "\(error)"])
                break
            }
        }
        let droppedTimers = timers.removeAll()
        let droppedJobs = jobs.close()
        life = .ended
        detachOwners()
        lastRelay = nil
        log = nil
        whenSocketEnds = nil
        releaseGraveyard()
        backend.shutDown()
        // Their closures are let go of here: outside any lock, on the reactor's thread.
        withExtendedLifetime((droppedTimers, droppedJobs)) {}
    }

    /// Lets go of owners that could not end in order; each is idle afterwards, without a callback.
    func detachOwners() {
        for kind in [OwnerKind.listener, .stream, .plain] {
            for id in table.ids(of: kind) { detach(id) }
        }
    }

    // MARK: Steps

    private func runJobs() -> Bool {
        guard !jobs.isEmpty else { return false }
        for job in jobs.take(atMost: configuration.budget.jobs) {
            counters.jobsRun &+= 1
            job(self)
        }
        return true
    }

    /// The wait in nanoseconds: none if something is left over, else until the next deadline.
    private func chooseWait(
        atMost limit: Duration?,
        from now: MonotonicInstant,
        hasResults: Bool
    ) -> Int64? {
        var wait = limit?.saturatedNanoseconds
        if let deadline = nextDeadline {
            let rest = max(0, deadline.nanoseconds &- now.nanoseconds)
            wait = min(wait ?? rest, rest)
        }
        guard wait != 0, !hasResults, !hasListedWork, life == .turning else { return 0 }
        return jobs.beginSleep() ? wait : 0
    }

    /// Whether a turn should follow at once.
    var hasWorkLeft: Bool { hasListedWork || !jobs.isEmpty || backend.hasResults }

    private var hasListedWork: Bool {
        !(againList.isEmpty && flushList.isEmpty && reportList.isEmpty && closeList.isEmpty
            && expireList.isEmpty)
    }

    private func closeWhatIsToBeClosed<Source: Backend>(on backend: Source) {
        let limit = configuration.budget.closings
        let hasClosed = closeList.serve(atMost: limit) { perform(.close, for: $0) }
        if hasClosed || backend.hasResults { backend.deliverResults(into: self) }
    }

    private func releaseGraveyard() {
        pinnedRelay = nil
        pinnedObject = nil
        guard !graveyard.isEmpty else { return }
        // Taken out first: a deinit may let go of more.
        let dead = graveyard
        graveyard = []
        withExtendedLifetime(dead) {}
    }

    /// Notes how long the loop was busy since its last wait, with clock values it has anyway.
    private func noteBusyTime(until start: MonotonicInstant) {
        guard let waitReturned else { return }
        let busy = start.nanoseconds &- waitReturned.nanoseconds &+ counters.busyBeforeWait
        counters.turnTime.add(busy)
    }
}

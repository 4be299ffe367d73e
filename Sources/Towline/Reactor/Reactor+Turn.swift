internal import CLinux

/// What the turn asks of one owner.
enum OwnerWork {
    /// Begin to connect, as a call has asked.
    case connect
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
    /// No more handshakes may begin than are under way.
    case noteManyHandshakes
    /// There is room for the handshakes of others.
    case noteFreeHandshake
    /// A connection that the listener has accepted has ended.
    case noteConnectionEnd
    /// End after the current exchange.
    case finish
    /// End now, for the reason.
    case end(SocketError)
}

extension Reactor {
    /// How often steps 7 and 8 are repeated while callbacks of `didWrite` write.
    private static let reportRounds = 4

    /// Turns until the reactor is told to stop, then ends it.
    ///
    /// A turn in which jobs or timers have run waits as well, which saves a second one.
    ///
    /// - Throws: As ``run()``.
    func run<Source: Backend>(on backend: Source) throws(ReactorError) {
        try beginTurn()
        do {
            repeat {
                try makeSteps(on: backend, waitingAtMost: nil, evenAfterWork: true)
            } while life == .turning
        } catch {
            abandonTurn()
            throw .system(error)
        }
        end()
    }

    /// Makes one turn, and ends the reactor if that was asked for within it.
    ///
    /// Where jobs or timers have run it does not wait: who turns by hand looks at what they did.
    ///
    /// - Throws: As ``run()``.
    func makeTurn<Source: Backend>(
        on backend: Source,
        waitingAtMost limit: Duration?
    ) throws(ReactorError) {
        try beginTurn()
        do {
            try makeSteps(on: backend, waitingAtMost: limit, evenAfterWork: false)
        } catch {
            abandonTurn()
            throw .system(error)
        }
        if life == .stopping {
            end()
        } else {
            endTurn()
        }
    }

    /// The turn, watched or not.
    @inline(__always)
    private func makeSteps<Source: Backend>(
        on backend: Source,
        waitingAtMost limit: Duration?,
        evenAfterWork waits: Bool
    ) throws(SystemCallError) {
        guard _slowPath(!watched.isEmpty) else {
            try makeSteps(on: backend, telling: self, waitingAtMost: limit, evenAfterWork: waits)
            return
        }
        let watch = TurnWatch(self)
        self.watch = watch
        defer { self.watch = nil }
        try makeSteps(on: backend, telling: watch, waitingAtMost: limit, evenAfterWork: waits)
        watch.endTurn()
    }

    /// The turn.
    ///
    /// Callbacks never nest: each step calls them one after the other.
    @inline(__always)
    private func makeSteps<Source: Backend, Sink: EventSink>(
        on backend: Source,
        telling sink: Sink,
        waitingAtMost limit: Duration?,
        evenAfterWork waits: Bool
    ) throws(SystemCallError) {
        // 1. Clock.
        let start = backend.now()
        noteBusyTime(until: start)
        // 2. to 4. Jobs, timers, what was left over, and what they wrote.
        let hasWorked = hasWork(at: start)
        let now = hasWorked ? doWork(at: start, on: backend) : start
        counters.busyBeforeWait = now.nanoseconds &- start.nanoseconds
        // 5. Choose the wait.
        let isLook = hasWorked && !waits || backend.hasResults
        let wait = isLook ? 0 : chooseWait(atMost: limit, from: now)
        // 6. Wait, and hand out what happened.
        try backend.wait(atMost: wait, into: sink)
        noteEnd(of: .events)
        // 7. to 9. What the events left to do.
        if !work.pending.isEmpty || backend.hasResults { finishWork(on: backend) }
        noteEnd(of: .flush)
        // 10. Let go.
        sweepDelegates()
        releaseGraveyard()
        counters.turns &+= 1
    }

    // MARK: Steps

    /// Whether steps 2 to 4 have anything to do.
    @inline(__always)
    private func hasWork(at now: MonotonicInstant) -> Bool {
        if !work.pending.isEmpty || !jobs.isEmpty || !takenJobs.isEmpty { return true }
        guard timers.count > 0, let deadline = timers.nextDeadline else { return false }
        return deadline <= now
    }

    /// Steps 2 to 4; what the clock says then.
    private func doWork<Source: Backend>(
        at start: MonotonicInstant,
        on backend: Source
    ) -> MonotonicInstant {
        // 2. Jobs.
        runJobs()
        noteEnd(of: .jobs)
        // 3. Timers, then sockets that the turn before has cut short.
        fireTimers(at: start)
        noteEnd(of: .timers)
        _ = work.serve(.serveAgain) { perform(.serveAgain, for: $0) }
        noteEnd(of: .events)
        // Connects that were asked for, by them or in the turn before.
        _ = work.serve(.connect) { perform(.connect, for: $0) }
        // 4. Flush what they all wrote.
        _ = work.serve(.flush) { perform(.flush, for: $0) }
        noteEnd(of: .flush)
        return backend.now()
    }

    /// Steps 7 to 9.
    private func finishWork<Source: Backend>(on backend: Source) {
        // Deadlines that have passed although the kernel was looked at in between.
        _ = work.serve(.expire) { perform(.expire, for: $0) }
        for _ in 0..<Self.reportRounds {
            // 7. Flush the rest.
            _ = work.serve(.flush) { perform(.flush, for: $0) }
            // 8. Results of verbs, then those of sends: `didWrite`, which may write more.
            if backend.hasResults { backend.deliverResults(into: self) }
            guard work.serve(.reportWrites, { perform(.reportWrites, for: $0) }) else { break }
        }
        // 9. Close what is to be closed, and say farewell.
        closeWhatIsToBeClosed(on: backend)
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
        isDormant = false
        jobs.beginTurn()
    }

    /// A turn, or a run of them, is over, and the reactor goes on.
    private func endTurn() {
        life = configuration.hosting == .serialQueue ? .fresh : .idle
        jobs.endTurn()
        if isHosted { awaitHost() }
    }

    func report(eventCount: Int, timing: TurnTiming? = nil) -> TurnReport {
        let deadline = nextDeadline
        return TurnReport(
            eventCount: eventCount,
            hasWorkLeft: life != .ended && hasWorkLeft,
            untilNextDeadline: deadline.map { $0.since(backend.now()) },
            hasEnded: life == .ended,
            timing: timing
        )
    }

    /// The wait was refused: what the turn has let go of goes, and a stop within it counts.
    private func abandonTurn() {
        if life == .stopping {
            end()
        } else {
            releaseGraveyard()
            endTurn()
        }
    }

    /// Ends a reactor whose wait was refused.
    func endAfterFailure() {
        guard life == .idle || life == .fresh else { return }
        life = .stopping
        jobs.beginTurn()
        end()
    }

    /// Ends every owner with its terminal callback, then the backend.
    func end() {
        drain?.noteReactorStop()
        for kind in [OwnerKind.listener, .stream, .plain] {
            for id in table.ids(of: kind) { perform(.end(.reactorStopped), for: id) }
        }
        finishClosings()
        drain?.noteReactorEnd()
        let droppedTimers = timers.removeAll()
        // What was accepted is run; what is posted from now on is refused.
        takenJobs += jobs.close()
        runTakenJobs(atMost: takenJobs.count)
        finishTasks()
        life = .ended
        detachOwners()
        closeResolver()
        lastRelay = nil
        log = nil
        onTurn = nil
        slowTurnThreshold = nil
        drain = nil
        releaseGraveyard()
        backend.shutDown()
        // Their closures are let go of here, on the reactor's thread.
        withExtendedLifetime(droppedTimers) {}
        jobs.end()
    }

    /// Lets tasks whose calls were refused, or whose connections ended, go on here for as long as
    /// they do so in a few pieces; those that do not end go on without the reactor.
    private func finishTasks() {
        for _ in 0..<100 {
            takenJobs = jobs.takePiecesOfTasks()
            guard !takenJobs.isEmpty else { return }
            runTakenJobs(atMost: takenJobs.count)
        }
    }

    /// Closes until nobody is left.
    ///
    /// A backend may have to hear from the kernel before it can say that all is over: 100 times 10
    /// ms at most.
    private func finishClosings() {
        var waitCount = 0
        while table.count > 0, waitCount < 100 {
            closeWhatIsToBeClosed(on: backend)
            guard table.count > 0, !work.pending.contains(.close), !backend.hasResults else {
                continue
            }
            waitCount += 1
            do {
                try backend.wait(atMost: 10_000_000, into: self)
            } catch {
                note(.critical, "wait failed while ending", ["error": "\(error)"])
                return
            }
        }
    }

    /// Lets go of owners that could not end in order; each is idle afterwards, without a callback.
    func detachOwners() {
        for kind in [OwnerKind.listener, .stream, .attempt, .plain] {
            for id in table.ids(of: kind) { detach(id) }
        }
    }

    // MARK: Single steps

    private func runJobs() {
        if !jobs.isEmpty {
            // Each turn, so that what this thread posts in a turn stays behind what it has posted
            // before it.
            if takenJobs.isEmpty {
                takenJobs = jobs.takeAll()
            } else {
                if nextJob > takenJobs.count / 2 {
                    takenJobs.removeFirst(nextJob)
                    nextJob = 0
                }
                takenJobs += jobs.takeAll()
            }
        }
        runTakenJobs(atMost: configuration.budget.jobs)
    }

    private func runTakenJobs(atMost limit: Int) {
        let end = min(takenJobs.count, nextJob + limit)
        while nextJob < end {
            // Taken out, so that a closure is let go of as soon as it has run.
            let job = takenJobs[nextJob].take()
            nextJob += 1
            counters.jobsRun &+= 1
            if _slowPath(watch != nil) {
                watching(.job, nil) { job?.run(with: self) }
            } else {
                job?.run(with: self)
            }
        }
        if nextJob == takenJobs.count {
            takenJobs = []
            nextJob = 0
        }
    }

    /// The wait in nanoseconds: none if something is left over, else until the next deadline.
    @inline(__always)
    private func chooseWait(atMost limit: Duration?, from now: MonotonicInstant) -> Int64? {
        var wait = limit.map(\.saturatedNanoseconds)
        if timers.count > 0, let deadline = nextDeadline {
            let rest = max(0, deadline.nanoseconds &- now.nanoseconds)
            wait = min(wait ?? rest, rest)
        }
        guard wait != 0, work.pending.isEmpty, takenJobs.isEmpty, life == .turning else { return 0 }
        return jobs.beginSleep() ? wait : 0
    }

    /// Whether a turn should follow at once.
    var hasWorkLeft: Bool {
        !work.pending.isEmpty || !jobs.isEmpty || !takenJobs.isEmpty || backend.hasResults
    }

    private func closeWhatIsToBeClosed<Source: Backend>(on backend: Source) {
        let limit = configuration.budget.closings
        let hasClosed = work.serve(.close, atMost: limit) { perform(.close, for: $0) }
        if hasClosed || backend.hasResults { backend.deliverResults(into: self) }
    }

    @inline(__always)
    private func releaseGraveyard() {
        pinnedRelay = nil
        pinnedObject = nil
        if !graveyard.isEmpty { releaseDead() }
    }

    private func releaseDead() {
        // Exchanged first: a deinit may let go of more.
        swap(&graveyard, &emptiedGraveyard)
        emptiedGraveyard.removeAll(keepingCapacity: true)
    }

    /// Notes how long the loop was busy since its last wait, with clock values it has anyway.
    private func noteBusyTime(until start: MonotonicInstant) {
        guard waitReturned.nanoseconds != 0 else { return }
        let busy = start.nanoseconds &- waitReturned.nanoseconds &+ counters.busyBeforeWait
        counters.turnTime.add(busy)
    }
}

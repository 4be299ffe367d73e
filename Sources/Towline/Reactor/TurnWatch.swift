/// What is looked at beside the turn.
struct WatchedTurns: OptionSet {
    let rawValue: UInt8

    /// Somebody wants a report of each turn.
    static let reports = WatchedTurns(rawValue: 1 << 0)
    /// Somebody wants to know where the time of slow ones goes.
    static let timing = WatchedTurns(rawValue: 1 << 1)
}

/// Watches one turn: stands between the backend and the reactor, and reads the clock around
/// everything that calls back.
///
/// A turn that nobody watches goes past it, so that it costs one comparison, and an event nothing.
final class TurnWatch: EventSink {
    enum Step {
        case jobs
        case timers
        case events
        case flush
    }

    private let reactor: Reactor
    private let eventsBefore: Int
    private let isTiming: Bool
    private var timing = TurnTiming()
    /// When the step that runs began.
    private var stepBegan: MonotonicInstant

    init(_ reactor: Reactor) {
        self.reactor = reactor
        eventsBefore = reactor.counters.events
        isTiming = reactor.watched.contains(.timing)
        stepBegan = isTiming ? reactor.backend.now() : .distantFuture
    }

    func waitEnded(at now: MonotonicInstant) {
        reactor.waitEnded(at: now)
        stepBegan = now
    }

    func handle<Source: Backend>(
        _ event: SocketEvent,
        of id: SocketID,
        from backend: Source
    ) {
        guard isTiming else {
            reactor.handle(event, of: id, from: backend)
            return
        }
        let caller = reactor.caller(of: id)
        let start = backend.now()
        reactor.handle(event, of: id, from: backend)
        note(backend.now().since(start), caller, id)
    }

    /// What `work` took was one caller's.
    func measure(_ caller: TurnTiming.Caller, _ id: SocketID?, _ work: () -> Void) {
        guard isTiming else {
            work()
            return
        }
        let start = reactor.backend.now()
        work()
        note(reactor.backend.now().since(start), caller, id)
    }

    private func note(_ duration: Duration, _ caller: TurnTiming.Caller, _ id: SocketID?) {
        guard duration > timing.longestCallback || timing.longestCaller == nil else { return }
        timing.longestCallback = duration
        timing.longestCaller = caller
        timing.longestSocket = id
    }

    func noteEnd(of step: Step) {
        guard isTiming else { return }
        let now = reactor.backend.now()
        let duration = now.since(stepBegan)
        stepBegan = now
        switch step {
        case .jobs: timing.jobs += duration
        case .timers: timing.timers += duration
        case .events: timing.events += duration
        case .flush: timing.flush += duration
        }
    }

    /// Tells of the turn whoever wants to know.
    func endTurn() {
        let threshold = reactor.slowTurnThreshold
        let isSlow = threshold.map { timing.total >= $0 } ?? false
        if isSlow { reactor.note(.warning, "slow turn", timing.fields) }
        reactor.lastTiming = isSlow ? timing : nil
        guard let onTurn = reactor.onTurn else { return }
        let eventCount = reactor.counters.events &- eventsBefore
        onTurn(reactor.report(eventCount: eventCount, timing: reactor.lastTiming))
    }
}

extension TurnTiming {
    fileprivate var fields: [String: String] {
        var fields = [
            "busy": "\(total)", "jobs": "\(jobs)", "timers": "\(timers)", "events": "\(events)",
            "flush": "\(flush)",
        ]
        guard let longestCaller else { return fields }
        fields["longest"] = "\(longestCallback)"
        fields["caller"] = longestCaller.rawValue
        if let longestSocket { fields["socket"] = "\(longestSocket)" }
        return fields
    }
}

extension Reactor {
    func watchTurns(_ what: WatchedTurns, _ isWanted: Bool) {
        if isWanted { watched.insert(what) } else { watched.remove(what) }
        if !watched.contains(.timing) { lastTiming = nil }
    }

    /// A step of a watched turn is over.
    @inline(__always)
    func noteEnd(of step: TurnWatch.Step) {
        if _slowPath(!watched.isEmpty) { watch?.noteEnd(of: step) }
    }

    /// Does `work` for one caller of a watched turn.
    @inline(never)
    func watching(_ caller: TurnTiming.Caller, _ id: SocketID?, _ work: () -> Void) {
        guard let watch else {
            work()
            return
        }
        watch.measure(caller, id, work)
    }

    func caller(of id: SocketID) -> TurnTiming.Caller {
        switch table.slot(of: id)?.pointee.kind {
        case .listener: .listener
        case .plain: .descriptor
        case .stream, .attempt, .remnant, .free, nil: .stream
        }
    }
}

extension Reactor {
    /// A timer that was set; names it for cancelling and moving.
    ///
    /// A value: copies name the same timer. It does not keep the reactor alive, and after the
    /// reactor has ended every call does nothing.
    public struct Timer {
        fileprivate let link: ReactorLink?
        fileprivate let key: TimerQueue<TimerWork>.Key
        fileprivate var tolerance = Duration.zero

        /// Whether the timer will fire.
        public var isPending: Bool {
            guard let reactor = link?.reactor, reactor.isOnThread || reactor.life == .fresh,
                reactor.timers.contains(key)
            else { return false }
            // A running one-shot timer waits far away for its callback to return.
            return reactor.runningTimer != key
                || reactor.timers.deadline(of: key) != .distantFuture
        }

        /// Takes the timer out: after this call it does not fire.
        ///
        /// From any callback, the timer's own included; nothing happens if it has fired already.
        public func cancel() {
            guard let reactor = link?.reactor else { return }
            guard reactor.isOnThread || reactor.life == .fresh else {
                reactor.refuse("Timer.cancel()")
                return
            }
            guard case .call(let call)? = reactor.timers.remove(key) else { return }
            // Its closure may hold the last reference to whoever runs just now.
            reactor.graveyard.append(call)
        }

        /// Moves the timer to `delay` from now, with the tolerance that it was set with; a periodic
        /// one goes on from there.
        ///
        /// From any callback, the timer's own included; nothing happens to a timer that was
        /// cancelled, or has fired and returned.
        ///
        /// - Parameter delay: Negative counts as zero, more than 292 years as never.
        public func reschedule(after delay: Duration) {
            guard let reactor = link?.reactor else { return }
            guard reactor.isOnThread || reactor.life == .fresh else {
                reactor.refuse("Timer.reschedule(after:)")
                return
            }
            let deadline = reactor.backend.now().advanced(by: delay)
            reactor.timers.move(key, to: deadline.shared(within: tolerance))
            reactor.noteCall()
        }
    }

    /// Reaches the reactor for as long as it lives, for what may outlive it on its thread.
    ///
    /// Not a weak reference: the first one of an object makes every retain and release of it cost
    /// three times as much, from then on.
    final class ReactorLink {
        /// The reactor clears it before it goes away.
        fileprivate(set) var reference: Unmanaged<Reactor>?

        init() {}

        var reactor: Reactor? { reference?.takeUnretainedValue() }

        func connect(_ reactor: Reactor) {
            reference = .passUnretained(reactor)
        }

        func disconnect() {
            reference = nil
        }
    }

    /// Calls `work` once, from a turn, when `delay` has passed; never earlier.
    ///
    /// - Parameters:
    ///   - delay: The time from this call; negative counts as zero, more than 292 years as never.
    ///   - tolerance: How much later it may fire, so that timers of about the same time share a
    ///     wake-up; zero is exact.
    ///   - work: What to do. It is let go of after it has run, when the timer is cancelled, or when
    ///     the reactor ends.
    /// - Returns: The timer, for cancelling and moving it. On the wrong thread, or after the end,
    ///   one that is not pending.
    @discardableResult
    public func schedule(
        after delay: Duration,
        tolerance: Duration = .zero,
        _ work: @escaping () -> Void
    ) -> Timer {
        schedule(ScheduledCall(work), after: delay, tolerance)
    }

    /// Calls `work` again and again, `period` after the deadline before.
    ///
    /// Periods that have passed already when the timer fires are skipped and counted, not made up
    /// for.
    ///
    /// - Parameters:
    ///   - period: The time between deadlines, 1 ns or more; less counts as 1 ns.
    ///   - delay: The time until the first; `nil`, one period.
    ///   - work: What to do.
    /// - Returns: The timer, as for ``schedule(after:tolerance:_:)``.
    @discardableResult
    public func schedule(
        every period: Duration,
        startingAfter delay: Duration? = nil,
        _ work: @escaping () -> Void
    ) -> Timer {
        let nanoseconds = max(1, period.saturatedNanoseconds)
        let call = ScheduledCall(every: nanoseconds, work)
        return schedule(call, after: delay ?? period, .zero)
    }

    private func schedule(
        _ call: ScheduledCall,
        after delay: Duration,
        _ tolerance: Duration
    ) -> Timer {
        guard isOnThread || life == .fresh else {
            refuse("schedule")
            return Timer(link: nil, key: TimerQueue.noKey)
        }
        guard isAcceptingCalls else { return Timer(link: nil, key: TimerQueue.noKey) }
        noteCall()
        let deadline = backend.now().advanced(by: delay).shared(within: tolerance)
        return Timer(
            link: link,
            key: timers.insert(.call(call), at: deadline),
            tolerance: tolerance
        )
    }

    // MARK: Step 3 of the turn

    /// Fires what is due, in the order of deadlines and then of creation.
    func fireTimers(at now: MonotonicInstant) {
        let end = timers.nextSequence
        var firedCount = 0
        while firedCount < configuration.budget.timers,
            let timer = timers.firstDue(at: now, setBefore: end)
        {
            firedCount += 1
            counters.timersFired &+= 1
            counters.timerLateness.add(now.nanoseconds &- timer.deadline.nanoseconds)
            if _slowPath(watch != nil) {
                watching(.timer, nil) {
                    fire(timer.key, timer.payload, due: timer.deadline, at: now)
                }
            } else {
                fire(timer.key, timer.payload, due: timer.deadline, at: now)
            }
        }
    }

    private func fire(
        _ key: TimerQueue<TimerWork>.Key,
        _ work: TimerWork,
        due deadline: MonotonicInstant,
        at now: MonotonicInstant
    ) {
        switch work {
        case .socket(let id):
            timers.remove(key)
            perform(.noteTime(now), for: id)
        case .call(let call) where call.period == 0:
            // Kept, far away, until the callback has returned: it may be rescheduled from within.
            timers.move(key, to: .distantFuture)
            runningTimer = key
            call.work()
            runningTimer = nil
            if timers.deadline(of: key) == .distantFuture { timers.remove(key) }
        case .call(let call):
            let next = deadline.advanced(byNanoseconds: call.period)
            let late = now.nanoseconds - next.nanoseconds
            let missedCount = next > now ? 0 : late / call.period + 1
            counters.periodsSkipped &+= Int(missedCount)
            timers.move(key, to: next.advanced(byNanoseconds: missedCount * call.period))
            call.work()
        }
    }
}

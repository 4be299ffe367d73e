import TestSupport
import Testing

@testable import Towline

@Suite("Timers of a reactor") struct ReactorTimersTests {
    private let backend = ManualBackend()
    private let reactor: Reactor
    private let fired = Fired()

    /// The names of timers in the order in which they fired.
    private final class Fired {
        var names: [String] = []
    }

    init() throws {
        reactor = try Reactor(.init(), backend: backend)
    }

    /// Ends the reactor, which holds what timers capture until then.
    private func end() {
        reactor.stop()
        guard reactor.life != .ended else { return }
        do {
            try reactor.turn(waitingAtMost: .zero)
        } catch {
            Issue.record("the reactor did not end: \(error)")
        }
    }

    @Test("A timer fires once, in a turn, when its time has come, and not before (TM3)")
    func once() throws {
        defer { end() }
        let timer = reactor.schedule(after: .milliseconds(5)) { note("a") }
        #expect(timer.isPending)
        backend.pass(.nanoseconds(4_999_999))
        try turn()
        #expect(fired.names == [], "a nanosecond too early")
        backend.pass(.nanoseconds(1))
        #expect(fired.names == [], "no turn was made")
        try turn()
        #expect(fired.names == ["a"])
        #expect(!timer.isPending)
        backend.pass(.seconds(1))
        try turn()
        #expect(fired.names == ["a"])
    }

    @Test("Timers with a tolerance meet at one wake-up, none early, none later than that (TM3)")
    func tolerance() throws {
        defer { end() }
        var firings: [Duration] = []
        let start = backend.time
        for delay in 100..<110 {
            reactor.schedule(after: .milliseconds(delay), tolerance: .milliseconds(60)) {
                firings.append(backend.time.since(start) - .milliseconds(delay))
            }
        }
        reactor.schedule(after: .milliseconds(105)) { note("exact") }
        var wakeUps = 0
        while let deadline = reactor.nextDeadline {
            backend.time = deadline
            try turn()
            wakeUps += 1
            if wakeUps == 1 { #expect(fired.names == ["exact"], "it waits for nobody") }
        }
        #expect(firings.count == 10)
        #expect(firings.allSatisfy { $0 >= .zero && $0 <= .milliseconds(60) }, "\(firings)")
        #expect(wakeUps <= 3)
    }

    @Test("A timer that is moved keeps its tolerance (TM3)")
    func movedTolerance() throws {
        defer { end() }
        let exact = reactor.schedule(after: .seconds(1)) {}
        let tolerant = reactor.schedule(after: .seconds(1), tolerance: .seconds(1)) {}
        let wanted = backend.time.advanced(by: .milliseconds(1_234))
        exact.reschedule(after: .milliseconds(1_234))
        tolerant.cancel()
        #expect(reactor.nextDeadline == wanted)
        exact.cancel()
        let other = reactor.schedule(after: .seconds(9), tolerance: .seconds(1)) {}
        other.reschedule(after: .milliseconds(1_234))
        let deadline = try #require(reactor.nextDeadline)
        #expect(deadline > wanted && deadline <= wanted.advanced(by: .seconds(1)))
    }

    @Test("Due timers fire in the order of deadlines, then of creation")
    func order() throws {
        defer { end() }
        for (name, delay) in [("c", 3), ("a", 1), ("b1", 2), ("b2", 2)] {
            reactor.schedule(after: .milliseconds(delay)) { note(name) }
        }
        backend.pass(.milliseconds(3))
        try turn()
        #expect(fired.names == ["a", "b1", "b2", "c"])
    }

    @Test("A negative delay is due at once, and even then not inside the call (TM6, LP5)")
    func negativeDelay() throws {
        defer { end() }
        reactor.schedule(after: .seconds(-5)) { note("a") }
        #expect(fired.names == [])
        try turn()
        #expect(fired.names == ["a"])
    }

    @Test("A huge delay is never, and no deadline to wait for (TM6)")
    func hugeDelay() throws {
        defer { end() }
        let timer = reactor.schedule(after: .seconds(Int64.max)) { note("a") }
        #expect(timer.isPending)
        #expect(reactor.nextDeadline == nil)
        backend.pass(.seconds(1_000_000_000))
        try turn()
        #expect(fired.names == [])
        #expect(timer.isPending)
        timer.cancel()
        #expect(!timer.isPending)
    }

    @Test(
        "A cancelled timer does not fire; cancelling again, or one that fired, does nothing (TM4)"
    )
    func cancelling() throws {
        defer { end() }
        let first = reactor.schedule(after: .milliseconds(1)) { note("a") }
        let second = reactor.schedule(after: .milliseconds(1)) { note("b") }
        first.cancel()
        first.cancel()
        #expect(!first.isPending)
        backend.pass(.milliseconds(1))
        try turn()
        #expect(fired.names == ["b"])
        second.cancel()
        second.reschedule(after: .zero)
        let third = reactor.schedule(after: .zero) { note("c") }
        second.cancel()
        #expect(third.isPending, "the stale timer does not name who came after it")
        try turn()
        #expect(fired.names == ["b", "c"])
    }

    @Test("A moved timer fires at its new time only (TM4)")
    func rescheduling() throws {
        defer { end() }
        let timer = reactor.schedule(after: .milliseconds(1)) { note("a") }
        timer.reschedule(after: .milliseconds(5))
        backend.pass(.milliseconds(4))
        try turn()
        #expect(fired.names == [])
        #expect(timer.isPending)
        timer.reschedule(after: .zero)
        try turn()
        #expect(fired.names == ["a"])
    }

    // MARK: From within a timer's callback

    @Test("A timer that cancels itself while it runs has fired, and that is all (TM4)")
    func cancellingItself() throws {
        defer { end() }
        var timer: Reactor.Timer?
        timer = reactor.schedule(after: .zero) {
            note("a")
            #expect(timer?.isPending == false, "a running timer will not fire")
            timer?.cancel()
        }
        try turn(3)
        #expect(fired.names == ["a"])
        #expect(reactor.figures.timers == 0)
    }

    @Test("A timer that moves itself while it runs fires again, in a later turn (TM4, LP1)")
    func reschedulingItself() throws {
        defer { end() }
        var timer: Reactor.Timer?
        timer = reactor.schedule(after: .zero) {
            note("a")
            guard fired.names.count < 3 else { return }
            timer?.reschedule(after: .zero)
            #expect(timer?.isPending == true)
        }
        try turn()
        #expect(fired.names == ["a"])
        try turn()
        #expect(fired.names == ["a", "a"])
        try turn(2)
        #expect(fired.names == ["a", "a", "a"])
        #expect(timer?.isPending == false)
    }

    @Test("A timer that moves and then cancels itself, or the reverse, does not fire again (TM4)")
    func bothOnItself() throws {
        defer { end() }
        for cancelsFirst in [true, false] {
            var timer: Reactor.Timer?
            timer = reactor.schedule(after: .zero) {
                note("a")
                if cancelsFirst { timer?.cancel() }
                timer?.reschedule(after: .zero)
                if !cancelsFirst { timer?.cancel() }
            }
            try turn(3)
        }
        #expect(fired.names == ["a", "a"])
        #expect(reactor.figures.timers == 0)
    }

    @Test("A timer of the same batch that is cancelled before its time does not fire (TM4)")
    func cancellingOneOfTheBatch() throws {
        defer { end() }
        var second: Reactor.Timer?
        reactor.schedule(after: .zero) {
            note("a")
            second?.cancel()
        }
        second = reactor.schedule(after: .zero) { note("b") }
        reactor.schedule(after: .zero) { note("c") }
        try turn(2)
        #expect(fired.names == ["a", "c"])
    }

    @Test("A timer of the same batch that is moved fires at its new time, once (TM4, LP1)")
    func reschedulingOneOfTheBatch() throws {
        defer { end() }
        var second: Reactor.Timer?
        reactor.schedule(after: .zero) {
            note("a")
            second?.reschedule(after: .zero)
        }
        second = reactor.schedule(after: .zero) { note("b") }
        reactor.schedule(after: .zero) { note("c") }
        try turn()
        #expect(fired.names == ["a", "c"], "moved to now is still the next turn")
        try turn(2)
        #expect(fired.names == ["a", "c", "b"])
    }

    @Test("A timer that fired earlier in the batch can be cancelled and moved without effect (TM4)")
    func touchingOneThatFired() throws {
        defer { end() }
        var first: Reactor.Timer?
        first = reactor.schedule(after: .zero) { note("a") }
        reactor.schedule(after: .zero) {
            first?.cancel()
            first?.reschedule(after: .zero)
            #expect(first?.isPending == false)
            note("b")
        }
        try turn(3)
        #expect(fired.names == ["a", "b"])
    }

    @Test("A later timer is cancelled, or moved to now, from within a callback (TM4)")
    func touchingALaterOne() throws {
        defer { end() }
        let later = reactor.schedule(after: .seconds(1)) { note("later") }
        let latest = reactor.schedule(after: .seconds(2)) { note("latest") }
        reactor.schedule(after: .zero) {
            note("a")
            later.cancel()
            latest.reschedule(after: .zero)
        }
        try turn()
        #expect(fired.names == ["a"])
        try turn()
        #expect(fired.names == ["a", "latest"])
        backend.pass(.seconds(5))
        try turn()
        #expect(fired.names == ["a", "latest"])
    }

    @Test("A timer set for now from within a callback fires in the next turn (LP1)")
    func creatingForNow() throws {
        defer { end() }
        func chain(_ number: Int) {
            note("\(number)")
            reactor.schedule(after: .zero) { chain(number + 1) }
        }
        reactor.schedule(after: .zero) { chain(0) }
        for count in 1...5 {
            let report = try turn()
            #expect(fired.names.count == count)
            #expect(report.untilNextDeadline == .zero)
        }
    }

    @Test("A timer set for later from within a callback waits for its time")
    func creatingForLater() throws {
        defer { end() }
        reactor.schedule(after: .zero) {
            reactor.schedule(after: .milliseconds(1)) { note("b") }
            note("a")
        }
        try turn(2)
        #expect(fired.names == ["a"])
        backend.pass(.milliseconds(1))
        try turn()
        #expect(fired.names == ["a", "b"])
    }

    // MARK: Periodic timers

    @Test("A periodic timer fires once a period, counted from deadline to deadline (TM5)")
    func periods() throws {
        defer { end() }
        reactor.schedule(every: .milliseconds(10)) { note("a") }
        backend.pass(.milliseconds(9))
        try turn()
        #expect(fired.names.count == 0, "the first is a period away")
        backend.pass(.milliseconds(4))
        try turn(2)
        #expect(fired.names.count == 1)
        backend.pass(.milliseconds(7))
        try turn(2)
        #expect(fired.names.count == 2, "20 ms after the start, although the first was 3 ms late")
    }

    @Test("The first of a periodic timer may come at another time than the others (TM5)")
    func firstPeriod() throws {
        defer { end() }
        reactor.schedule(every: .milliseconds(10), startingAfter: .zero) { note("a") }
        try turn(2)
        #expect(fired.names.count == 1)
        backend.pass(.milliseconds(10))
        try turn(2)
        #expect(fired.names.count == 2)
    }

    @Test("Periods that have passed are skipped and counted, not made up for (TM5)")
    func missedPeriods() throws {
        defer { end() }
        reactor.schedule(every: .milliseconds(10)) { note("a") }
        backend.pass(.milliseconds(95))
        try turn(5)
        #expect(fired.names.count == 1)
        #expect(reactor.figures.periodsSkipped == 8)
        backend.pass(.milliseconds(5))
        try turn(2)
        #expect(fired.names.count == 2, "the grid stays that of the start")
        #expect(reactor.figures.periodsSkipped == 8)
    }

    @Test("A periodic timer is pending while it runs, and can end itself (TM5)")
    func cancellingAPeriodicTimer() throws {
        defer { end() }
        var timer: Reactor.Timer?
        timer = reactor.schedule(every: .milliseconds(1)) {
            note("a")
            #expect(timer?.isPending == true)
            if fired.names.count == 2 { timer?.cancel() }
        }
        for _ in 0..<5 {
            backend.pass(.milliseconds(1))
            try turn()
        }
        #expect(fired.names.count == 2)
        #expect(timer?.isPending == false)
        #expect(reactor.figures.timers == 0)
    }

    @Test("A periodic timer that moves itself goes on from there (TM5)")
    func reschedulingAPeriodicTimer() throws {
        defer { end() }
        var timer: Reactor.Timer?
        timer = reactor.schedule(every: .milliseconds(10)) {
            note("a")
            if fired.names.count == 1 { timer?.reschedule(after: .milliseconds(3)) }
        }
        backend.pass(.milliseconds(10))
        try turn()
        backend.pass(.milliseconds(3))
        try turn()
        #expect(fired.names.count == 2)
        backend.pass(.milliseconds(9))
        try turn()
        #expect(fired.names.count == 2)
        backend.pass(.milliseconds(1))
        try turn()
        #expect(fired.names.count == 3)
    }

    @Test("A period of nothing, or less, is a nanosecond, and fires once a turn (TM5, LP1)")
    func emptyPeriods() throws {
        defer { end() }
        for period in [Duration.zero, .seconds(-1)] {
            let timer = reactor.schedule(every: period, startingAfter: .zero) { note("a") }
            for _ in 0..<3 {
                try turn()
                backend.pass(.nanoseconds(1))
            }
            timer.cancel()
        }
        #expect(fired.names.count == 6)
    }

    // MARK: The turn

    @Test("The wait lasts until the earliest deadline, never longer than was allowed (LP2)")
    func waits() throws {
        defer { end() }
        try turn(limit: .seconds(9))
        reactor.schedule(after: .milliseconds(7)) {}
        try turn(limit: nil)
        try turn(limit: .milliseconds(3))
        backend.pass(.milliseconds(6))
        try turn(limit: .seconds(9))
        #expect(backend.waits == [9_000_000_000, 7_000_000, 3_000_000, 1_000_000])
    }

    @Test("With nothing to wait for the wait has no bound (LP8)")
    func unboundedWait() throws {
        defer { end() }
        try turn(limit: nil)
        #expect(backend.waits == [nil])
    }

    @Test("No more timers fire in a turn than its budget, the others in the next (LP3, T7, TM7)")
    func timerBudget() throws {
        defer { end() }
        var count = 0
        for _ in 0..<10_000 { reactor.schedule(after: .zero) { count += 1 } }
        try turn(limit: nil)
        #expect(count == 1_024)
        #expect(backend.waits == [0], "the rest is not waited for")
        var turns = 1
        while count < 10_000, turns < 20 {
            try turn(limit: nil)
            turns += 1
            #expect(count <= turns * 1_024)
        }
        #expect(count == 10_000)
        #expect(turns == 10)
        #expect(backend.waits.count == 10, "and each turn has looked for events")
    }

    @Test("A closure is let go of when its timer has fired, was cancelled, or the reactor ended")
    func releasedClosures() throws {
        defer { end() }
        final class Held {}
        final class Witness {
            weak var held: Held?
        }
        func scheduled(_ use: (Reactor.Timer) -> Void) -> Witness {
            let held = Held()
            let witness = Witness()
            witness.held = held
            use(reactor.schedule(after: .zero) { withExtendedLifetime(held) {} })
            return witness
        }
        let fired = scheduled { _ in }
        #expect(fired.held != nil)
        try turn()
        #expect(fired.held == nil)
        let cancelled = scheduled { $0.cancel() }
        try turn()
        #expect(cancelled.held == nil)
        let dropped = scheduled { $0.reschedule(after: .seconds(1)) }
        reactor.stop()
        try turn()
        #expect(dropped.held == nil)
    }

    @Test("After the end nothing is scheduled, and old timers do nothing (SD1)")
    func afterTheEnd() throws {
        defer { end() }
        let old = reactor.schedule(after: .seconds(1)) { note("a") }
        reactor.stop()
        try turn()
        #expect(!old.isPending)
        old.reschedule(after: .zero)
        old.cancel()
        let new = reactor.schedule(after: .zero) { note("b") }
        #expect(!new.isPending)
        #expect(throws: ReactorError.reactorStopped) { try reactor.turn(waitingAtMost: .zero) }
        #expect(fired.names == [])
    }

    // MARK: Helpers

    private func note(_ name: String) {
        fired.names.append(name)
    }

    @discardableResult
    private func turn(_ count: Int = 1, limit: Duration? = .zero) throws -> TurnReport {
        var report = try reactor.turn(waitingAtMost: limit)
        for _ in 1..<count { report = try reactor.turn(waitingAtMost: limit) }
        return report
    }

    @Test("Before the first turn any one thread may move and cancel a timer (WK3)")
    func otherThreadBeforeTheFirstTurn() throws {
        // Handed over whole: this thread waits meanwhile.
        nonisolated(unsafe) let reactor = reactor
        nonisolated(unsafe) let timer = reactor.schedule(after: .seconds(5)) {}
        let wasPending = try BackgroundWork {
            timer.reschedule(after: .seconds(1))
            let wasPending = timer.isPending
            timer.cancel()
            return wasPending && !timer.isPending
        }.value()
        #expect(wasPending)
        #expect(reactor.figures.timers == 0)
    }
}

/// What a callback may do to timers, in every combination.
@Suite("Timers that change timers") struct TimerChangeTests {
    private enum Target: CaseIterable {
        /// The timer whose callback does it.
        case itself
        /// One that is due in the same batch.
        case sameBatch
        /// One that is due later.
        case later
    }

    private enum Change: CaseIterable {
        case cancel
        case moveToNow
        case moveOn
        case create
    }

    private typealias Step = (change: Change, target: Target)

    private static var steps: [Step] {
        Change.allCases.flatMap { change in Target.allCases.map { (change, $0) } }
    }

    /// How often each timer is to fire.
    private struct Counts: Equatable {
        var fired = [0, 0, 0]
        var created = 0
    }

    /// What the steps must lead to.
    private struct Expectation {
        var counts = Counts(fired: [1, 1, 1])
        private var isCancelled = [false, false, false]

        mutating func note(_ step: Step) {
            let index = Target.allCases.firstIndex(of: step.target)!
            switch step.change {
            case .cancel:
                // The running one has fired already.
                counts.fired[index] = index == 0 ? 1 : 0
                isCancelled[index] = true
            case .moveToNow, .moveOn:
                if index == 0, !isCancelled[0] { counts.fired[0] = 2 }
            case .create:
                counts.created += 1
            }
        }
    }

    @Test(
        "Trap 12: any two changes of any two timers from within a callback do what they say (TM4)"
    )
    func changes() throws {
        for first in Self.steps {
            for second in Self.steps {
                var expected = Expectation()
                expected.note(first)
                expected.note(second)
                let seen = try run([first, second])
                #expect(seen == expected.counts, "\(first), then \(second)")
            }
        }
    }

    private func run(_ steps: [Step]) throws -> Counts {
        let backend = ManualBackend()
        let reactor = try Reactor(.init(), backend: backend)
        var seen = Counts()
        var timers: [Reactor.Timer] = []
        timers.append(
            reactor.schedule(after: .milliseconds(1)) {
                seen.fired[0] += 1
                guard seen.fired[0] == 1 else { return }
                for step in steps {
                    let timer = timers[Target.allCases.firstIndex(of: step.target)!]
                    switch step.change {
                    case .cancel: timer.cancel()
                    case .moveToNow: timer.reschedule(after: .zero)
                    case .moveOn: timer.reschedule(after: .milliseconds(3))
                    case .create:
                        let delay = step.target == .later ? Duration.milliseconds(2) : .zero
                        reactor.schedule(after: delay) { seen.created += 1 }
                    }
                }
            }
        )
        timers.append(reactor.schedule(after: .milliseconds(1)) { seen.fired[1] += 1 })
        timers.append(reactor.schedule(after: .milliseconds(5)) { seen.fired[2] += 1 })
        for _ in 0..<20 {
            backend.pass(.milliseconds(1))
            try reactor.turn(waitingAtMost: .zero)
        }
        #expect(reactor.figures.timers == 0, "no timer is left behind \(steps)")
        reactor.stop()
        try reactor.turn()
        return seen
    }
}

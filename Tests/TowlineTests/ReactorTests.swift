import Testing

@testable import Towline

@Suite("Reactor turns") struct ReactorTests {
    private let backend = ManualBackend()
    private let reactor: Reactor
    private let seen = Seen()

    /// What happened, in its order.
    private final class Seen {
        var names: [String] = []
    }

    init() throws {
        reactor = try Reactor(.init(), backend: backend)
    }

    /// Ends the reactor, which holds what timers capture until then.
    private func end() {
        backend.whileWaiting = nil
        reactor.stop()
        guard reactor.life != .ended else { return }
        do {
            try reactor.turn(waitingAtMost: .zero)
        } catch {
            Issue.record("the reactor did not end: \(error)")
        }
    }

    @Test("A turn inside a turn is refused, from jobs and timers alike, and changes nothing (LP5)")
    func nestedTurns() throws {
        defer { end() }
        func tryNesting(_ reactor: Reactor) {
            #expect(throws: ReactorError.nestedTurn) { try reactor.turn(waitingAtMost: .zero) }
            #expect(throws: ReactorError.nestedTurn) { try reactor.run() }
        }
        reactor.handle.execute { reactor in
            #expect(throws: ReactorError.nestedTurn) { try reactor.turn(waitingAtMost: .zero) }
            #expect(throws: ReactorError.nestedTurn) { try reactor.run() }
        }
        reactor.schedule(after: .zero) {
            tryNesting(reactor)
            seen.names.append("timer")
        }
        reactor.schedule(after: .zero) { seen.names.append("next timer") }
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.names == ["timer", "next timer"])
        #expect(backend.waits.count == 1)
        #expect(reactor.figures.turns == 1)
        try reactor.turn(waitingAtMost: .zero)
    }

    @Test("Jobs run before timers, and both before the wait")
    func order() throws {
        defer { end() }
        backend.whileWaiting = { seen.names.append("wait") }
        reactor.schedule(after: .zero) { seen.names.append("timer") }
        reactor.handle.execute { [seen = Unchecked(seen)] _ in seen.value.names.append("job") }
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.names == ["job", "timer", "wait"])
    }

    @Test("A job that a job posts runs in the next turn (LP1)")
    func jobChain() throws {
        defer { end() }
        @Sendable func chain(_ reactor: Reactor, _ seen: Unchecked<Seen>) {
            seen.value.names.append("job")
            reactor.handle.execute { chain($0, seen) }
        }
        chain(reactor, Unchecked(seen))
        for count in 2...6 {
            let report = try reactor.turn(waitingAtMost: .zero)
            #expect(seen.names.count == count)
            #expect(report.hasWorkLeft)
        }
    }

    @Test("No more jobs run in a turn than its budget, and the rest is not waited for (LP2, LP3)")
    func jobBudget() throws {
        defer { end() }
        for _ in 0..<2_500 { reactor.handle.execute { _ in } }
        var counts: [Int] = []
        for _ in 0..<3 {
            let report = try reactor.turn()
            counts.append(reactor.figures.jobsRun)
            #expect(report.hasWorkLeft == (counts.count < 3))
        }
        #expect(counts == [1_024, 2_048, 2_500])
        #expect(backend.waits == [0, 0, 0], "who turns by hand looks at what the jobs did")
    }

    @Test("A job that is posted within the wait leaves work for the next turn (LP1)")
    func jobWithinWait() throws {
        defer { end() }
        backend.whileWaiting = { reactor.handle.execute { _ in } }
        let report = try reactor.turn()
        #expect(backend.waits == [nil])
        #expect(report.hasWorkLeft)
        #expect(reactor.figures.jobsRun == 0)
        try reactor.turn()
        #expect(reactor.figures.jobsRun == 1)
    }

    @Test("A handle's wake is a turn's work, and wakes a loop that sleeps (WK1)")
    func waking() throws {
        defer { end() }
        reactor.handle.wake()
        let report = try reactor.turn()
        #expect(backend.waits == [0])
        #expect(!report.hasWorkLeft)
    }

    @Test("A report tells of the events and of the time until the next deadline (EM6)")
    func reports() throws {
        defer { end() }
        let empty = try reactor.turn(waitingAtMost: .zero)
        #expect(empty == TurnReport(eventCount: 0, hasWorkLeft: false, untilNextDeadline: nil))
        reactor.schedule(after: .milliseconds(7)) {}
        backend.tell(SocketID(slot: 5, generation: 5), .reachedEnd)
        let report = try reactor.turn(waitingAtMost: .zero)
        #expect(report.eventCount == 1)
        #expect(report.untilNextDeadline == .milliseconds(7))
    }

    @Test("Late news of nobody is dropped and counted (ID2)")
    func staleEvents() throws {
        defer { end() }
        for slot in [0, 1, 100, SocketID.slotLimit - 1] {
            backend.tell(SocketID(slot: slot, generation: 1), .reachedEnd)
        }
        try reactor.turn(waitingAtMost: .zero)
        #expect(reactor.figures.staleEvents == 4)
    }

    @Test("Stopping ends the reactor behind the turn, once, and jobs are refused then (SD1, WK2)")
    func stopping() throws {
        defer { end() }
        let handle = reactor.handle
        handle.execute { reactor in
            reactor.stop()
            reactor.stop()
        }
        #expect(handle.execute { _ in })
        try reactor.run()
        #expect(reactor.figures.jobsRun == 2, "what was found runs still")
        #expect(!handle.execute { _ in })
        handle.wake()
        handle.stop()
        reactor.stop()
        #expect(throws: ReactorError.reactorStopped) { try reactor.run() }
    }

    @Test("A reactor with nothing open ends at once (SD1)")
    func endingEmpty() throws {
        defer { end() }
        reactor.stop()
        try reactor.run()
        #expect(backend.waits == [0], "the one wait of the turn")
    }

    @Test("A turn whose wait is refused lets go of what its callbacks let go of (ID4)")
    func refusedWait() throws {
        final class Held {}
        var held: Held? = Held()
        weak let witness = held
        let timer = reactor.schedule(after: .seconds(1)) { [held] in
            withExtendedLifetime(held) {}
        }
        held = nil
        reactor.schedule(after: .zero) { timer.cancel() }
        let refusal = SystemCallError(call: "wait", errno: 12)
        backend.failure = refusal
        #expect(throws: ReactorError.system(refusal)) { try reactor.turn() }
        #expect(witness == nil)
        try reactor.turn(waitingAtMost: .zero)
    }

    @Test("A stop counts, though the wait behind it is refused (SD1)")
    func stopBeforeRefusedWait() throws {
        for runs in [false, true] {
            let backend = ManualBackend()
            let reactor = try Reactor(.init(), backend: backend)
            reactor.schedule(after: .zero) { reactor.stop() }
            let refusal = SystemCallError(call: "wait", errno: 12)
            backend.failure = refusal
            #expect(throws: ReactorError.system(refusal)) {
                if runs { try reactor.run() } else { try reactor.turn() }
            }
            #expect(throws: ReactorError.reactorStopped) { try reactor.turn() }
        }
    }

    @Test("A reactor that was never run lets its jobs go (SD4)")
    func neverRun() throws {
        defer { end() }
        final class Held: Sendable {}
        var held: Held? = Held()
        weak let witness = held
        var reactor: Reactor? = try Reactor(.init(), backend: ManualBackend())
        let handle = try #require(reactor?.handle)
        handle.execute { [held] _ in withExtendedLifetime(held) {} }
        held = nil
        #expect(witness != nil)
        reactor = nil
        #expect(witness == nil)
        #expect(!handle.execute { _ in })
    }
}

/// Something of the test's thread that a job carries there.
///
/// The job runs on the thread that made it, since that thread makes the turn; no lock is needed.
private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

import Synchronization
import TestSupport
import Testing

@testable import Towline

@Suite("Reactor handle") struct ReactorHandleTests {
    @Test("A million jobs of two threads all run, each thread's in its order (WK1, WK2)")
    func twoThreads() throws {
        let reactor = try Reactor()
        let handle = reactor.handle
        let numbers = Numbers()
        let perThread = 500_000
        let workers = [0, 1].map { thread in
            Worker {
                for number in 0..<perThread {
                    handle.execute { _ in numbers.note(number, of: thread) }
                }
            }
        }
        // A turn without jobs waits, so a wake that is lost makes the test last.
        while numbers.count < 2 * perThread {
            try reactor.turn(waitingAtMost: .seconds(10))
        }
        for worker in workers { worker.join() }
        #expect(numbers.count == 2 * perThread)
        #expect(numbers.isOrdered)
        #expect(reactor.figures.jobsRun == 2 * perThread)
        let figures = reactor.figures
        #expect(figures.wakesWritten + figures.wakesSaved == 2 * perThread)
        #expect(figures.wakesWritten <= figures.waits, "one a sleep at most")
    }

    @Test("A stop and the last jobs race: none runs twice, and none that was refused (WK2)")
    func stopRace() throws {
        for round in 0..<200 {
            let reactor = try Reactor(.init(), backend: ManualBackend())
            let handle = reactor.handle
            let ran = Numbers()
            let accepted = Numbers()
            let worker = Worker {
                var number = 0
                while number < 10_000, handle.execute({ _ in ran.note(1, of: 0) }) {
                    accepted.note(1, of: 0)
                    number += 1
                }
            }
            for _ in 0..<round % 7 { try reactor.turn(waitingAtMost: .zero) }
            reactor.stop()
            try reactor.run()
            worker.join()
            // What the end found waiting was dropped, and does not run any more.
            #expect(ran.count <= accepted.count)
            #expect(!handle.execute { _ in ran.note(1, of: 0) })
        }
    }

    /// Numbers noted by jobs, of which each thread's must rise by one.
    private final class Numbers: Sendable {
        private let total = Atomic(0)
        private let next = Mutex([0, 0])
        private let isBroken = Atomic(false)

        var count: Int { total.load(ordering: .relaxed) }
        var isOrdered: Bool { !isBroken.load(ordering: .relaxed) }

        func note(_ number: Int, of thread: Int) {
            total.add(1, ordering: .relaxed)
            next.withLock { next in
                if next[thread] != number { isBroken.store(true, ordering: .relaxed) }
                next[thread] = number + 1
            }
        }
    }
}

import Glibc
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

    @Test("Ten thousand stops race with the last job: run or refused, never both or neither (WK2)")
    func manyStopRaces() throws {
        let current = Locked<ReactorHandle?>(nil)
        let accepted = Atomic(0)
        let ran = Atomic(0)
        let rounds = 10_000
        let poster = Worker {
            for _ in 0..<rounds {
                var taken: ReactorHandle?
                while taken == nil {
                    taken = current.withLock { $0.take() }
                    if taken == nil { sched_yield() }
                }
                for _ in 0..<4 {
                    let job = { @Sendable (_: Reactor) in _ = ran.add(1, ordering: .relaxed) }
                    if taken?.execute(job) == true { accepted.add(1, ordering: .relaxed) }
                }
            }
        }
        for round in 0..<rounds {
            let reactor = try Reactor(.init(), backend: ManualBackend())
            current.withLock { $0 = reactor.handle }
            // Stops before, while and behind the other thread begins.
            if round % 3 > 0 {
                while current.withLock({ $0 != nil }) { sched_yield() }
            }
            if round % 3 == 1 { try reactor.turn(waitingAtMost: .zero) }
            reactor.stop()
            try reactor.run()
            while current.withLock({ $0 != nil }) { sched_yield() }
        }
        poster.join()
        #expect(ran.load(ordering: .relaxed) == accepted.load(ordering: .relaxed))
    }

    @Test("A loop that waits is not stuck, one that does not come back for a job is (OB3)")
    func lastTurnAge() throws {
        let backend = ManualBackend()
        let reactor = try Reactor(.init(), backend: backend)
        let handle = reactor.handle
        backend.time = .readClock()
        try reactor.turn(waitingAtMost: .zero)
        var first = Duration.zero
        var second = Duration.zero
        reactor.handle.execute { _ in }
        first = handle.lastTurnAge
        while handle.lastTurnAge == first {}
        second = handle.lastTurnAge
        #expect(second > first, "it grows while nobody turns")
        backend.whileWaiting = {
            first = handle.lastTurnAge
            second = first
        }
        try reactor.turn(waitingAtMost: .zero)
        try reactor.turn(waitingAtMost: .seconds(1))
        #expect(first == .zero && second == .zero, "it waits")
        reactor.stop()
        try reactor.run()
    }

    @Test("A job that refers to a reactor that goes away unturned is answered all the same (WK2)")
    func droppedReactor() async throws {
        let handle = try { try Reactor().handle }()
        await #expect(throws: ReactorError.reactorStopped) { try await handle.submit { _ in 1 } }
        var reactor: Reactor? = try Reactor()
        let other = try #require(reactor?.handle)
        let answer = Mutex<Bool?>(nil)
        _ = other.jobs.append(.answer { reactor in answer.withLock { $0 = reactor != nil } })
        reactor = nil
        #expect(answer.withLock { $0 } == false)
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

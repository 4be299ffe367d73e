import Synchronization
import TestSupport
import Testing

@testable import Towline

@Suite("Job queue") struct JobQueueTests {
    @Test("Jobs are taken in the order they were appended, and once (WK2)")
    func order() {
        let queue = JobQueue(wake: {})
        let numbers = Mutex<[Int]>([])
        for number in 0..<10 {
            #expect(queue.append { _ in numbers.withLock { $0.append(number) } })
        }
        #expect(!queue.isEmpty)
        run(queue.takeAll())
        #expect(numbers.withLock { $0 } == Array(0..<10))
        #expect(queue.isEmpty)
        #expect(queue.takeAll().isEmpty)
    }

    @Test("A loop that runs is not woken (WK1)")
    func awakeLoop() {
        withQueue { queue, wakes in
            for _ in 0..<10 { _ = queue.append { _ in } }
            #expect(wakes.value == 0)
            #expect(queue.wakesWritten == 0)
            #expect(queue.wakesSaved == 10)
        }
    }

    @Test("A loop that sleeps is woken once for a burst of jobs (WK1)")
    func burst() {
        withQueue { queue, wakes in
            #expect(queue.beginSleep())
            for _ in 0..<10 { _ = queue.append { _ in } }
            #expect(wakes.value == 1)
            #expect(queue.wakesWritten == 1)
            #expect(queue.wakesSaved == 9)
            queue.endSleep(at: MonotonicInstant(nanoseconds: 1))
            _ = queue.append { _ in }
            #expect(wakes.value == 1, "it is up already")
            _ = queue.takeAll()
            #expect(queue.beginSleep())
            _ = queue.append { _ in }
            #expect(wakes.value == 2, "the next sleep has its own wake")
        }
    }

    @Test("A loop that has jobs does not fall asleep, and is not woken either (WK1)")
    func sleepWithJobs() {
        withQueue { queue, wakes in
            _ = queue.append { _ in }
            #expect(!queue.beginSleep())
            _ = queue.append { _ in }
            #expect(wakes.value == 0)
        }
    }

    @Test(
        "What the turning thread posts needs no wake, and comes before what others post (WK1, AX2)"
    )
    func ownJobs() {
        withQueue { queue, wakes in
            let numbers = Mutex<[Int]>([])
            @Sendable func note(_ number: Int) { numbers.withLock { $0.append(number) } }
            queue.beginTurn()
            #expect(queue.isTurningHere)
            _ = queue.append { _ in note(1) }
            #expect(!queue.isEmpty)
            #expect(!queue.beginSleep(), "there is work")
            #expect(queue.wakesSaved == 0, "nobody was asked to wake")
            let other = Worker {
                #expect(!queue.isTurningHere)
                _ = queue.append { _ in note(2) }
            }
            other.join()
            queue.endTurn()
            _ = queue.append { _ in note(3) }
            run(queue.takeAll())
            #expect(numbers.withLock { $0 } == [1, 2, 3])
            #expect(wakes.value == 0)
        }
    }

    @Test("A closed queue refuses jobs, and gives back those that were not taken (WK2)")
    func closing() {
        withQueue { queue, wakes in
            _ = queue.append { _ in }
            _ = queue.append { _ in }
            #expect(queue.close().count == 2)
            _ = queue.beginSleep()
            #expect(!queue.append { _ in })
            #expect(wakes.value == 0, "nobody is woken for a refused job")
            #expect(queue.isEmpty)
            #expect(queue.takeAll().isEmpty)
            #expect(queue.close().isEmpty)
        }
    }

    @Test("A job that is appended while the queue closes is either kept or refused (WK2)")
    func closeRace() {
        let queues = (0..<10_000).map { _ in JobQueue(wake: {}) }
        let accepted = queues.map { _ in Count() }
        let pace = Pace()
        let appender = Worker {
            for (round, queue) in queues.enumerated() {
                pace.begin(round, as: .worker)
                for _ in 0..<4 where queue.append({ _ in }) { accepted[round].add() }
            }
        }
        let keptCounts = queues.indices.map { round in
            pace.begin(round, as: .test)
            let taken = round % 3 == 0 ? [] : queues[round].takeAll()
            return taken.count + queues[round].close().count
        }
        appender.join()
        #expect(keptCounts == accepted.map(\.value))
    }

    @Test("A sleep that races with an append is woken, or does not begin (WK1)")
    func sleepRace() {
        let wakes = (0..<10_000).map { _ in Count() }
        let queues = wakes.map { wakes in JobQueue(wake: { wakes.add() }) }
        let pace = Pace()
        let appender = Worker {
            for (round, queue) in queues.enumerated() {
                pace.begin(round, as: .worker)
                _ = queue.append { _ in }
            }
        }
        let sleeps = queues.indices.map { round in
            pace.begin(round, as: .test)
            return queues[round].beginSleep()
        }
        appender.join()
        #expect(wakes.map(\.value) == sleeps.map { $0 ? 1 : 0 })
    }

    // MARK: Helpers

    private func withQueue(_ body: (JobQueue, Count) -> Void) {
        let wakes = Count()
        body(JobQueue(wake: { wakes.add() }), wakes)
    }

    private func run(_ jobs: [Job?]) {
        guard let reactor = try? Reactor(.init(), backend: ManualBackend()) else { return }
        for job in jobs { job?.run(with: reactor) }
    }
}

/// A number that any thread may count up.
private final class Count: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .sequentiallyConsistent) }

    func add() {
        number.add(1, ordering: .sequentiallyConsistent)
    }
}

/// Keeps two threads at the same round of a race, as far as the machine lets both run.
private final class Pace: Sendable {
    enum Side {
        case test
        case worker
    }

    private let test = Atomic(-1)
    private let worker = Atomic(-1)

    /// Looks a while for the other side to reach the round, but never waits for good.
    func begin(_ round: Int, as side: Side) {
        switch side {
        case .test:
            test.store(round, ordering: .sequentiallyConsistent)
            for _ in 0..<100 where worker.load(ordering: .sequentiallyConsistent) < round {}
        case .worker:
            worker.store(round, ordering: .sequentiallyConsistent)
            for _ in 0..<100 where test.load(ordering: .sequentiallyConsistent) < round {}
        }
    }
}

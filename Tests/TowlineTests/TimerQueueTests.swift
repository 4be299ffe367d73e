import TestSupport
import Testing

@testable import Towline

@Suite("Timer queue") struct TimerQueueTests {
    @Test("Timers come in the order of their deadlines, whatever order they were set in (TM1)")
    func order() {
        var queue = TimerQueue<Int>()
        for deadline in [5, 1, 4, 2, 3, 9, 8, 7, 6] { _ = queue.insert(deadline, at: at(deadline)) }
        #expect(queue.nextDeadline == at(1))
        let due = queue.takeDue(at: at(9))
        #expect(due == [1, 2, 3, 4, 5, 6, 7, 8, 9])
        #expect(queue.count == 0)
        #expect(queue.nextDeadline == nil)
    }

    @Test("Timers of one deadline come in the order they were set")
    func equalDeadlines() {
        var queue = TimerQueue<Int>()
        for number in 0..<100 { _ = queue.insert(number, at: at(1)) }
        let due = queue.takeDue(at: at(1))
        #expect(due == Array(0..<100))
    }

    @Test("Their order survives the numbering's wrapping (ID6)")
    func wrappingSequence() {
        var queue = TimerQueue<Int>(firstSequence: .max - 49)
        for number in 0..<100 { _ = queue.insert(number, at: at(1)) }
        #expect(queue.nextSequence == 50, "the numbering has wrapped")
        let due = queue.takeDue(at: at(1))
        #expect(due == Array(0..<100))
    }

    @Test("A timer is due at its deadline, and not a nanosecond before (TM3)")
    func dueness() {
        var queue = TimerQueue<Int>()
        _ = queue.insert(7, at: at(100))
        let early = queue.takeDue(at: at(99))
        #expect(early == [])
        #expect(queue.count == 1)
        let due = queue.takeDue(at: at(100))
        #expect(due == [7])
    }

    @Test("What is set, or moved, behind the batch's beginning is not of the batch (LP1)")
    func batches() {
        for firstSequence in [0, UInt64.max] {
            var queue = TimerQueue<Int>(firstSequence: firstSequence)
            let old = queue.insert(1, at: at(1))
            let end = queue.nextSequence
            _ = queue.insert(2, at: at(1))
            #expect(queue.firstDue(at: at(1), setBefore: end)?.payload == 1)
            queue.remove(old)
            #expect(queue.firstDue(at: at(1), setBefore: end) == nil)
            #expect(queue.firstDue(at: at(1), setBefore: queue.nextSequence)?.payload == 2)
        }
        var queue = TimerQueue<Int>()
        let key = queue.insert(1, at: at(1))
        let end = queue.nextSequence
        queue.move(key, to: at(1))
        #expect(queue.firstDue(at: at(1), setBefore: end) == nil)
    }

    @Test("A removed timer does not come, and its key is stale ever after (TM4)")
    func removal() {
        var queue = TimerQueue<Int>()
        let first = queue.insert(1, at: at(1))
        let second = queue.insert(2, at: at(2))
        let removed = queue.remove(first)
        #expect(removed == 1)
        #expect(!queue.contains(first))
        #expect(queue.deadline(of: first) == nil)
        let again = queue.remove(first)
        #expect(again == nil)
        let third = queue.insert(3, at: at(3))
        queue.move(first, to: at(9))
        queue.remove(first)
        #expect(queue.contains(third), "the stale key does not name who came into the slot")
        #expect(queue.deadline(of: second) == at(2))
        let due = queue.takeDue(at: at(9))
        #expect(due == [2, 3])
    }

    @Test("A moved timer comes at its new place, behind those of the same deadline (TM4)")
    func moving() {
        var queue = TimerQueue<Int>()
        let first = queue.insert(1, at: at(1))
        let second = queue.insert(2, at: at(2))
        _ = queue.insert(3, at: at(3))
        queue.move(first, to: at(3))
        #expect(queue.deadline(of: first) == at(3))
        queue.move(second, to: at(9))
        queue.move(second, to: at(0))
        #expect(queue.nextDeadline == at(0))
        let due = queue.takeDue(at: at(9))
        #expect(due == [2, 3, 1])
    }

    @Test("A key of nobody's names nobody")
    func nobodysKey() {
        var queue = TimerQueue<Int>()
        _ = queue.insert(1, at: at(1))
        #expect(!queue.contains(TimerQueue<Int>.noKey))
        let removed = queue.remove(TimerQueue<Int>.noKey)
        #expect(removed == nil)
        #expect(queue.count == 1)
    }

    @Test("Everything that is taken out is given, and leaves only stale keys")
    func removingAll() {
        var queue = TimerQueue<Int>()
        let keys = (0..<10).map { queue.insert($0, at: at($0)) }
        queue.remove(keys[3])
        let payloads = queue.removeAll()
        #expect(payloads.sorted() == [0, 1, 2, 4, 5, 6, 7, 8, 9])
        #expect(queue.count == 0)
        #expect(keys.allSatisfy { !queue.contains($0) })
        let new = queue.insert(11, at: at(1))
        #expect(!keys.contains(new))
        let due = queue.takeDue(at: at(1))
        #expect(due == [11])
    }

    @Test("Whatever is set, moved and removed, the queue keeps what a sorted array keeps (TM1)")
    func randomOperations() {
        var numbers = SeededNumbers()
        for _ in 0..<20 {
            var queue = TimerQueue<Int>(firstSequence: .max - 100)
            var model = SortedTimers()
            var keys: [Int: TimerQueue<Int>.Key] = [:]
            for step in 0..<300 {
                let deadline = at(numbers.number(in: 0..<20))
                let someone = keys.keys.sorted().randomElement(using: &numbers)
                switch (numbers.number(in: 0..<6), someone) {
                case (0...2, _), (_, nil):
                    keys[step] = queue.insert(step, at: deadline)
                    model.set(step, deadline)
                case (3, let number?):
                    keys[number].map { queue.move($0, to: deadline) }
                    if model.contains(number) { model.set(number, deadline) }
                case (4, let number?):
                    let removed = keys[number].flatMap { queue.remove($0) }
                    #expect(removed == (model.contains(number) ? number : nil))
                    model.remove(number)
                case (_, _?):
                    let due = queue.takeDue(at: deadline)
                    let expected = model.takeDue(at: deadline)
                    #expect(due == expected, "seed \(numbers.seed)")
                }
                #expect(queue.count == model.timers.count)
                #expect(queue.nextDeadline == model.timers.first?.deadline)
            }
            let end = at(20)
            let due = queue.takeDue(at: end)
            let expected = model.takeDue(at: end)
            #expect(due == expected, "seed \(numbers.seed)")
        }
    }

    @Test("A hundred thousand timers are set, moved, cancelled and come in order (TM1, TM7)")
    func manyTimers() {
        var numbers = SeededNumbers()
        var queue = TimerQueue<Int>()
        var keys: [TimerQueue<Int>.Key] = []
        for number in 0..<100_000 {
            keys.append(queue.insert(number, at: at(numbers.number(in: 0..<1_000_000))))
        }
        for index in stride(from: 0, to: keys.count, by: 4) {
            queue.move(keys[index], to: at(numbers.number(in: 0..<1_000_000)))
        }
        for index in stride(from: 1, to: keys.count, by: 2) { queue.remove(keys[index]) }
        #expect(queue.count == 50_000)
        var last = at(0)
        var count = 0
        var isOrdered = true
        let end = queue.nextSequence
        while let timer = queue.firstDue(at: at(1_000_000), setBefore: end) {
            isOrdered = isOrdered && timer.deadline >= last && timer.payload.isMultiple(of: 2)
            last = timer.deadline
            count += 1
            queue.remove(timer.key)
        }
        #expect(isOrdered, "seed \(numbers.seed)")
        #expect(count == 50_000)
    }

    /// What the queue promises, in the plainest form.
    private struct SortedTimers {
        var timers: [(number: Int, deadline: MonotonicInstant)] = []

        func contains(_ number: Int) -> Bool { timers.contains { $0.number == number } }

        mutating func set(_ number: Int, _ deadline: MonotonicInstant) {
            remove(number)
            let place = timers.firstIndex { $0.deadline > deadline } ?? timers.count
            timers.insert((number, deadline), at: place)
        }

        mutating func remove(_ number: Int) {
            timers.removeAll { $0.number == number }
        }

        mutating func takeDue(at now: MonotonicInstant) -> [Int] {
            let due = timers.prefix { $0.deadline <= now }
            timers.removeFirst(due.count)
            return due.map(\.number)
        }
    }
}

private func at(_ nanoseconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64(nanoseconds))
}

extension TimerQueue {
    /// Takes out everything that is due, in its order.
    fileprivate mutating func takeDue(at now: MonotonicInstant) -> [Payload] {
        var payloads: [Payload] = []
        while let timer = firstDue(at: now, setBefore: nextSequence) {
            payloads.append(timer.payload)
            remove(timer.key)
        }
        return payloads
    }
}

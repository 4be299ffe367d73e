import Testing

@testable import Towline

@Suite("Turn work") struct TurnWorkTests {
    private let work = TurnWork()

    @Test("What is listed is handed out in its order, once")
    func order() {
        for slot in 1...3 { work.add(id(slot), to: .flush) }
        #expect(work.pending == .flush)
        #expect(serve(.flush) == [1, 2, 3])
        #expect(work.pending.isEmpty)
        #expect(serve(.flush) == nil)
    }

    @Test("Each step has its own list")
    func steps() {
        let steps: [TurnSteps] = [.serveAgain, .flush, .expire, .reportWrites, .close]
        for (slot, step) in steps.enumerated() { work.add(id(slot), to: step) }
        #expect(work.pending == TurnSteps(steps))
        for (slot, step) in steps.enumerated() {
            #expect(serve(step) == [slot])
            #expect(!work.pending.contains(step))
        }
    }

    @Test("What is added meanwhile waits for the next time (LP1)")
    func addingMeanwhile() {
        work.add(id(1), to: .serveAgain)
        var served: [Int] = []
        let wasListed = work.serve(.serveAgain) { name in
            served.append(name.slot)
            work.add(id(name.slot + 1), to: .serveAgain)
        }
        #expect(wasListed)
        #expect(served == [1])
        #expect(work.pending == .serveAgain)
        #expect(serve(.serveAgain) == [2])
    }

    @Test("Beyond the limit they stay first, before those added meanwhile (LP3)")
    func limit() {
        for slot in 1...5 { work.add(id(slot), to: .close) }
        var served: [Int] = []
        _ = work.serve(.close, atMost: 2) { name in
            served.append(name.slot)
            work.add(id(name.slot + 10), to: .close)
        }
        #expect(served == [1, 2])
        #expect(work.pending == .close)
        #expect(serve(.close, atMost: 3) == [3, 4, 5])
        #expect(serve(.close) == [11, 12])
        #expect(work.pending.isEmpty)
    }

    private func id(_ slot: Int) -> SocketID { SocketID(slot: slot, generation: 1) }

    private func serve(_ step: TurnSteps, atMost limit: Int = .max) -> [Int]? {
        var slots: [Int] = []
        return work.serve(step, atMost: limit) { slots.append($0.slot) } ? slots : nil
    }
}

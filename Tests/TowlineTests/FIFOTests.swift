import TestSupport
import Testing

@testable import Towline

@Suite("First in, first out") struct FIFOTests {
    @Test("The first in is the first out")
    func order() {
        var queue = FIFO<Int>()
        #expect(queue.isEmpty)
        #expect(queue.first == nil)
        for number in 0..<3 { queue.append(number) }
        #expect(queue.count == 3)
        #expect(queue.first == 0)
        #expect(Array(queue.all) == [0, 1, 2])
        #expect(queue[2] == 2)
        let taken = [queue.removeFirst(), queue.remove(at: queue.count - 1), queue.removeFirst()]
        #expect(taken == [0, 2, 1])
        #expect(queue.isEmpty)
    }

    @Test("Whatever comes and goes, it holds what an array holds (R8)")
    func randomOperations() {
        var numbers = SeededNumbers()
        var queue = FIFO<Int>()
        var expected: [Int] = []
        for step in 0..<5_000 {
            switch numbers.number(in: 0..<20) {
            case 0..<(step < 2_500 ? 12 : 8):
                queue.append(step)
                expected.append(step)
            case 12..<14 where !expected.isEmpty:
                let last = queue.remove(at: queue.count - 1)
                #expect(last == expected.removeLast())
            case 18 where expected.count >= 3:
                queue.removeLast(3)
                expected.removeLast(3)
            case 19 where !expected.isEmpty:
                let place = numbers.number(in: 0..<expected.count)
                queue[place] = -step
                expected[place] = -step
            default:
                guard !expected.isEmpty else { continue }
                let first = queue.removeFirst()
                #expect(first == expected.removeFirst(), "seed \(numbers.seed)")
            }
            #expect(queue.count == expected.count)
            #expect(queue.first == expected.first)
        }
        #expect(Array(queue.all) == expected)
        queue.removeAll()
        #expect(queue.isEmpty)
    }
}

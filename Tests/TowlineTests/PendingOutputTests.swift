import Glibc
import TestSupport
import Testing

@testable import Towline

@Suite("Pending output") struct PendingOutputTests {
    @Test("Small pieces are copied together and shown as one")
    func copying() {
        let output = PendingOutput()
        #expect(output.isEmpty)
        output.append(copying: [1, 2])
        output.append(copying: [3])
        #expect(!output.isEmpty)
        var shown: [UInt8] = []
        #expect(output.send(atMost: 100, into: &shown))
        #expect(shown == [1, 2, 3])
        #expect(output.isEmpty)
    }

    @Test("A held piece is shown from its offset, and where it lies (BK1)")
    func holding() {
        let output = PendingOutput()
        let bytes: [UInt8] = [1, 2, 3, 4]
        output.append(holding: bytes, from: 1)
        let place = bytes.withUnsafeBytes { UnsafeRawPointer($0.baseAddress) }
        let answer = output.sendFirst { start, count in
            #expect(start == place.map { $0 + 1 }, "not a copy")
            #expect(count == 3)
            return SystemCallResult(value: 3, errno: 0)
        }
        #expect(answer.isWhole)
        #expect(output.isEmpty)
    }

    @Test("After a short send the next byte is shown first, and nothing is whole (BK4)")
    func shortSends() {
        for isHeld in [false, true] {
            let output = PendingOutput()
            if isHeld {
                output.append(holding: [1, 2, 3], from: 0)
            } else {
                output.append(copying: [1, 2, 3])
            }
            var shown: [UInt8] = []
            #expect(!output.send(atMost: 1, into: &shown))
            #expect(!output.send(atMost: 1, into: &shown))
            #expect(output.send(atMost: 1, into: &shown))
            #expect(shown == [1, 2, 3])
            #expect(output.isEmpty)
        }
    }

    @Test("A refused send finishes nothing")
    func refusal() {
        let output = PendingOutput()
        output.append(copying: [1])
        output.append(holding: [2], from: 0)
        for _ in 0..<2 {
            let answer = output.sendFirst { _, _ in SystemCallResult(value: -1, errno: EAGAIN) }
            #expect(answer.result.wouldBlock)
            #expect(!answer.isWhole)
        }
        var shown: [UInt8] = []
        while !output.isEmpty { _ = output.send(atMost: 9, into: &shown) }
        #expect(shown == [1, 2])
    }

    @Test("More than waits cannot be taken out, and then nothing is (W9)")
    func removingTooMuch() {
        let output = PendingOutput()
        #expect(!output.remove(0..<1))
        output.append(copying: [1, 2])
        output.append(holding: [3, 4, 5], from: 1)
        #expect(!output.remove(2..<5))
        #expect(output.remove(1..<3))
        var shown: [UInt8] = []
        while !output.isEmpty { _ = output.send(atMost: 9, into: &shown) }
        #expect(shown == [1, 5])
    }

    @Test("Pieces of both kinds leave in the order they came, whatever is taken out (BK1, W9)")
    func order() {
        var numbers = SeededNumbers()
        for _ in 0..<50 {
            let output = PendingOutput()
            var expected: [UInt8] = []
            var shown: [UInt8] = []
            for _ in 0..<200 {
                let bytes = numbers.bytes(numbers.number(in: 1..<20))
                switch numbers.number(in: 0..<4) {
                case 0:
                    output.append(copying: bytes)
                    expected += bytes
                case 1:
                    let offset = numbers.number(in: 0..<bytes.count)
                    output.append(holding: bytes, from: offset)
                    expected += bytes[offset...]
                case 2 where expected.count > shown.count:
                    let waiting = expected.count - shown.count
                    let start = numbers.number(in: 0..<waiting)
                    let end = numbers.number(in: start..<waiting) + 1
                    #expect(output.remove(start..<end))
                    expected.removeSubrange(shown.count + start..<shown.count + end)
                default:
                    guard !output.isEmpty else { continue }
                    _ = output.send(atMost: numbers.number(in: 1..<30), into: &shown)
                }
            }
            while !output.isEmpty { _ = output.send(atMost: 7, into: &shown) }
            #expect(shown == expected, "seed \(numbers.seed)")
        }
    }
}

extension PendingOutput {
    fileprivate func append(copying bytes: [UInt8]) { append(copying: bytes.span.bytes) }

    /// Takes at most `limit` bytes of what is shown; whether that was all of it.
    fileprivate func send(atMost limit: Int, into taken: inout [UInt8]) -> Bool {
        sendFirst { start, count in
            let accepted = min(limit, count)
            taken += UnsafeRawBufferPointer(start: start, count: accepted)
            return SystemCallResult(value: accepted, errno: 0)
        }.isWhole
    }
}

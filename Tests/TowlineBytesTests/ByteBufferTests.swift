import TestSupport
import Testing

@testable import TowlineBytes

@Suite("Byte buffer") struct ByteBufferTests {
    @Test(
        "What is put in front during a loan comes behind the lent bytes, and before the rest (R9)"
    )
    func loans() {
        for count in 0...5 {
            let buffer = ByteBuffer()
            [UInt8](1...5).withUnsafeBytes { buffer.append(RawSpan(_unsafeBytes: $0)) }
            buffer.lendFirst(count) { lent in
                #expect(buffer.waitingCount == 5 - count)
                #expect(buffer.isContiguous)
                for round in 0..<40 {
                    let front = [UInt8](repeating: UInt8(100 + round), count: 10)
                    front.withUnsafeBytes { buffer.prepend(RawSpan(_unsafeBytes: $0)) }
                }
                let isWhole = lent.withUnsafeBytes {
                    [UInt8]($0) == Array([UInt8](1...5).prefix(count))
                }
                #expect(isWhole, "nothing was moved")
                #expect(!buffer.isContiguous)
                #expect(buffer.waitingCount == 405 - count)
                #expect(buffer.waitingBytes.first == 139)
                buffer.lendWaiting { rest in
                    let bytes = rest.withUnsafeBytes { Array($0) }
                    #expect(bytes == Array([UInt8](1...5).dropFirst(count)))
                }
            }
            #expect(buffer.count == 405 - count)
            let bytes = buffer.withBytes { $0.withUnsafeBytes { Array($0) } }
            #expect(bytes.prefix(10) == [UInt8](repeating: 139, count: 10)[...])
            #expect(bytes.suffix(5 - count) == [UInt8](1...5).suffix(5 - count))
            #expect(buffer.waitingBytes == bytes)
        }
    }

    @Test("A new buffer is empty, owns no memory, and lends nothing")
    func emptyBuffer() {
        let buffer = ByteBuffer()
        #expect(buffer.isEmpty)
        #expect(buffer.count == 0)
        #expect(buffer.ownedCapacity == 0)
        #expect(buffer.contents == [])
    }

    @Test("What is appended is lent in the order it came")
    func appending() {
        let buffer = ByteBuffer()
        buffer.append([1, 2])
        buffer.append([3])
        #expect(buffer.contents == [1, 2, 3])
        #expect(buffer.count == 3)
        #expect(!buffer.isEmpty)
    }

    @Test("Lending changes nothing, and may be done again")
    func lendingTwice() {
        let buffer = ByteBuffer()
        buffer.append([1, 2, 3])
        #expect(buffer.contents == [1, 2, 3])
        #expect(buffer.contents == [1, 2, 3])
        #expect(buffer.count == 3)
    }

    @Test("Nothing appended or put in front makes no memory")
    func nothingAdded() {
        let buffer = ByteBuffer()
        buffer.append([])
        buffer.prepend([])
        #expect(buffer.ownedCapacity == 0)
        #expect(buffer.isEmpty)
    }

    @Test("What is put in front is lent first, before and behind consumed bytes alike")
    func prepending() {
        let buffer = ByteBuffer()
        buffer.prepend([5, 6])
        #expect(buffer.contents == [5, 6])
        buffer.prepend([3, 4])
        #expect(buffer.contents == [3, 4, 5, 6])
        buffer.consume(3)
        buffer.prepend([9])
        #expect(buffer.contents == [9, 6])
        buffer.prepend(Array(repeating: 7, count: 200))
        #expect(buffer.contents == Array(repeating: 7, count: 200) + [9, 6])
    }

    @Test("Consuming drops the first bytes and no others")
    func consuming() {
        let buffer = ByteBuffer()
        buffer.append([1, 2, 3, 4])
        buffer.consume(0)
        #expect(buffer.contents == [1, 2, 3, 4])
        buffer.consume(3)
        #expect(buffer.contents == [4])
        buffer.append([5])
        #expect(buffer.contents == [4, 5])
    }

    @Test("An emptied buffer gives its memory back")
    func givingBack() {
        let buffer = ByteBuffer()
        buffer.append(Array(repeating: 1, count: 100_000))
        #expect(buffer.ownedCapacity >= 100_000)
        buffer.consume(99_999)
        #expect(buffer.ownedCapacity >= 100_000, "one byte is still there")
        buffer.consume(1)
        #expect(buffer.ownedCapacity == 0)
        buffer.append([7])
        #expect(buffer.contents == [7], "and can be filled again")
    }

    @Test("An emptied buffer keeps a store of at most the size it may keep")
    func keepingMemory() {
        let buffer = ByteBuffer(keptCapacity: 4_096)
        buffer.append(Array(repeating: 1, count: 1_000))
        let owned = buffer.ownedCapacity
        buffer.consume(1_000)
        #expect(buffer.ownedCapacity == owned, "below the size")
        buffer.append(Array(repeating: 1, count: 4_097))
        buffer.consume(4_097)
        #expect(buffer.ownedCapacity == 0, "above the size")
    }

    @Test("Removing everything gives back even what may be kept")
    func removingAll() {
        let buffer = ByteBuffer(keptCapacity: 4_096)
        buffer.append([1, 2, 3])
        buffer.removeAll()
        #expect(buffer.isEmpty)
        #expect(buffer.ownedCapacity == 0)
        buffer.append([4])
        #expect(buffer.contents == [4])
    }

    @Test("A store of which half is consumed is moved within, not grown (P2)")
    func movingInsteadOfGrowing() {
        let buffer = ByteBuffer()
        buffer.append(Array(repeating: 1, count: 1_024))
        let owned = buffer.ownedCapacity
        for _ in 0..<1_000 {
            buffer.consume(owned / 2)
            buffer.append(Array(repeating: 2, count: owned / 2))
            #expect(buffer.ownedCapacity == owned)
        }
    }

    @Test("What flows through at a steady level needs at most four times its room (P2)")
    func boundedMemory() {
        let buffer = ByteBuffer()
        buffer.append(Array(repeating: 1, count: 700))
        for _ in 0..<10_000 {
            buffer.append([1, 2, 3])
            buffer.consume(3)
        }
        #expect(buffer.count == 700)
        #expect(buffer.ownedCapacity <= 4 * 703)
    }

    @Test("Appending a byte a time makes a store no more often than it doubles")
    func linearCost() {
        let buffer = ByteBuffer()
        var stores = 0
        var owned = 0
        for _ in 0..<100_000 {
            buffer.append([1])
            guard buffer.ownedCapacity != owned else { continue }
            #expect(buffer.ownedCapacity >= 2 * owned, "each store is twice the one before")
            owned = buffer.ownedCapacity
            stores += 1
        }
        #expect(stores <= 12, "64 bytes, doubled until 100,000 fit")
        #expect(owned < 200_000 + 64)
    }

    @Test("Whatever is done in whatever order, the buffer holds what an array holds")
    func randomOperations() {
        var numbers = SeededNumbers()
        for _ in 0..<20 {
            let buffer = ByteBuffer(keptCapacity: numbers.number(in: 0..<2) * 256)
            var expected: [UInt8] = []
            for _ in 0..<200 {
                switch numbers.number(in: 0..<8) {
                case 0...2:
                    let bytes = numbers.bytes(numbers.number(in: 0..<300))
                    buffer.append(bytes)
                    expected += bytes
                case 3:
                    let bytes = numbers.bytes(numbers.number(in: 0..<100))
                    buffer.prepend(bytes)
                    expected = bytes + expected
                case 4...6:
                    let count = numbers.number(in: 0..<expected.count + 1)
                    buffer.consume(count)
                    expected.removeFirst(count)
                default:
                    guard numbers.number(in: 0..<10) == 0 else { continue }
                    buffer.removeAll()
                    expected = []
                }
                #expect(buffer.contents == expected, "seed \(numbers.seed)")
                #expect(buffer.count == expected.count)
                #expect(buffer.isEmpty == expected.isEmpty)
            }
        }
    }
}

extension ByteBuffer {
    /// A copy of everything that is there.
    fileprivate var contents: [UInt8] {
        withBytes { bytes in bytes.withUnsafeBytes { [UInt8]($0) } }
    }

    fileprivate func append(_ bytes: [UInt8]) { append(bytes.span.bytes) }
    fileprivate func prepend(_ bytes: [UInt8]) { prepend(bytes.span.bytes) }
}

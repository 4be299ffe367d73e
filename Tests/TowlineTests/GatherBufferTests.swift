import Testing

@testable import Towline

@Suite("Gather buffer") struct GatherBufferTests {
    @Test("Bytes are gathered in the order they came (W5)")
    func order() {
        let buffer = Gather(capacity: 16)
        #expect(buffer.count == 0)
        #expect(buffer.append([1, 2]))
        #expect(buffer.append([3]))
        #expect(buffer.contents == [1, 2, 3])
        buffer.removeAll()
        #expect(buffer.count == 0)
        #expect(buffer.append([4]))
        #expect(buffer.contents == [4], "nothing of what was there before")
    }

    @Test("Copied bytes do not change with where they came from")
    func copies() {
        let buffer = Gather(capacity: 16)
        var bytes: [UInt8] = [1, 2]
        #expect(buffer.append(bytes))
        bytes[0] = 9
        #expect(buffer.contents == [1, 2])
    }

    @Test("What does not fit changes nothing, and what fits exactly does fit")
    func fullBuffer() {
        let buffer = Gather(capacity: 4)
        #expect(buffer.append([1, 2, 3]))
        #expect(!buffer.append([4, 5]))
        #expect(buffer.contents == [1, 2, 3])
        #expect(buffer.append([4]))
        #expect(buffer.contents == [1, 2, 3, 4])
        #expect(!buffer.append([5]))
        #expect(buffer.contents == [1, 2, 3, 4])
        buffer.removeAll()
        #expect(!buffer.append([1, 2, 3, 4, 5]))
        #expect(buffer.count == 0)
    }

    @Test("Lent bytes are not copied, even more of them than the buffer holds")
    func lentBytes() {
        withLentBytes(capacity: 4, count: 8) { buffer, lent in
            #expect(buffer.append(lent + 1, count: 7))
            #expect(buffer.start == lent + 1)
            #expect(buffer.contents == [1, 2, 3, 4, 5, 6, 7])
        }
    }

    @Test("Lent pieces that lie one behind the other are one piece")
    func contiguousLentBytes() {
        withLentBytes(capacity: 4, count: 9) { buffer, lent in
            for offset in [0, 3, 6] {
                #expect(buffer.append(lent + offset, count: 3))
                #expect(buffer.start == lent)
                #expect(buffer.count == offset + 3)
            }
        }
    }

    @Test("Lent pieces with a gap between, or out of order, are copied together")
    func scatteredLentBytes() {
        for (first, second) in [(0, 4), (4, 0), (0, 0), (2, 3)] {
            withLentBytes(capacity: 16, count: 8) { buffer, lent in
                let areAdded =
                    buffer.append(lent + first, count: 2)
                    && buffer.append(lent + second, count: 2)
                #expect(areAdded)
                let expected = [first, first + 1, second, second + 1].map(UInt8.init)
                #expect(buffer.contents == expected)
                #expect(buffer.start != lent + first)
            }
        }
    }

    @Test("Lent bytes, then others, then lent ones again keep their order")
    func mixedBytes() {
        withLentBytes(capacity: 16, count: 8) { buffer, lent in
            let areAdded =
                buffer.append(lent, count: 2) && buffer.append([99])
                && buffer.append(lent + 2, count: 2)
            #expect(areAdded)
            #expect(buffer.contents == [0, 1, 99, 2, 3])
        }
        withLentBytes(capacity: 16, count: 8) { buffer, lent in
            let areAdded =
                buffer.append([99]) && buffer.append(lent, count: 2)
                && buffer.append(lent + 2, count: 1)
            #expect(areAdded)
            #expect(buffer.contents == [99, 0, 1, 2])
        }
    }

    @Test("What does not fit behind lent bytes leaves them where they are")
    func fullBehindLentBytes() {
        withLentBytes(capacity: 4, count: 8) { buffer, lent in
            #expect(buffer.append(lent, count: 4))
            #expect(!buffer.append([99]))
            #expect(buffer.start == lent)
            #expect(buffer.contents == [0, 1, 2, 3])
            #expect(buffer.append(lent + 4, count: 4), "which takes no room")
            #expect(buffer.count == 8)
        }
    }

    @Test("Bytes that are no longer lent are copied")
    func endedLending() {
        withLentBytes(capacity: 16, count: 8) { buffer, lent in
            buffer.endLending()
            #expect(buffer.append(lent, count: 2))
            #expect(buffer.start != lent)
            #expect(buffer.contents == [0, 1])
        }
    }

    @Test("Gathered bytes can be taken out again, and lent ones stay as they are (W9)")
    func removing() {
        for range in [0..<2, 1..<3, 2..<4, 0..<4, 2..<2] {
            let expected = [UInt8](0..<4).enumerated()
                .filter { !range.contains($0.offset) }.map(\.element)
            let buffer = Gather(capacity: 16)
            #expect(buffer.append([0, 1, 2, 3]))
            #expect(buffer.remove(range))
            #expect(buffer.contents == expected)
            withLentBytes(capacity: 16, count: 4) { buffer, lent in
                #expect(buffer.append(lent, count: 4))
                #expect(buffer.remove(range))
                #expect(buffer.contents == expected)
                #expect(buffer.append([9]))
                #expect(buffer.contents == expected + [9])
                let original = UnsafeRawBufferPointer(start: lent, count: 4)
                #expect([UInt8](original) == [0, 1, 2, 3])
            }
        }
        withLentBytes(capacity: 4, count: 8) { buffer, lent in
            #expect(buffer.append(lent, count: 8))
            #expect(!buffer.remove(1..<2), "what is left has no room")
            #expect(buffer.count == 8)
            #expect(buffer.remove(6..<8))
            #expect(buffer.remove(1..<3))
            #expect(buffer.contents == [0, 3, 4, 5])
        }
    }

    @Test("The byte behind the lent ones is not lent")
    func behindLentBytes() {
        let bytes = [UInt8](0..<8)
        bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress else { return }
            let buffer = Gather(capacity: 16)
            buffer.beginLending(RawSpan(_unsafeBytes: raw).extracting(0..<4))
            #expect(buffer.append(base + 4, count: 2))
            #expect(buffer.start != base + 4)
            #expect(buffer.contents == [4, 5])
        }
    }

    /// A buffer, and bytes counted from 0 that are lent to it.
    private func withLentBytes(
        capacity: Int,
        count: UInt8,
        _ body: (Gather, UnsafeRawPointer) -> Void
    ) {
        let bytes = [UInt8](0..<count)
        bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress else { return }
            let buffer = Gather(capacity: capacity)
            buffer.beginLending(RawSpan(_unsafeBytes: raw))
            body(buffer, base)
        }
    }
}

/// A buffer that an expectation may change, and that is given back with the test.
private final class Gather {
    private var buffer: GatherBuffer

    init(capacity: Int) {
        buffer = GatherBuffer(capacity: capacity)
    }

    deinit {
        buffer.deallocate()
    }

    var start: UnsafeRawPointer { buffer.start }
    var count: Int { buffer.count }
    var contents: [UInt8] { [UInt8](UnsafeRawBufferPointer(start: start, count: count)) }

    func beginLending(_ bytes: RawSpan) { buffer.beginLending(bytes) }
    func endLending() { buffer.endLending() }
    func removeAll() { buffer.removeAll() }

    func append(_ bytes: UnsafeRawPointer, count: Int) -> Bool {
        buffer.append(bytes, count: count)
    }

    func append(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress else { return false }
            return buffer.append(base, count: raw.count)
        }
    }

    func remove(_ range: Range<Int>) -> Bool { buffer.remove(range) }
}

import Glibc
import TestSupport
import Testing

@testable import TowlineBytes

@Suite("Byte pattern") struct ByteSearchTests {
    @Test("Patterns are equal, and hashed alike, exactly if their bytes are")
    func equality() {
        let pattern = BytePattern([13, 10])
        #expect(pattern.bytes == [13, 10])
        #expect(pattern == BytePattern([13, 10]))
        #expect(pattern.hashValue == BytePattern([13, 10]).hashValue)
        #expect(pattern != BytePattern([10, 13]))
        #expect(pattern != BytePattern([13]))
    }

    @Test("The end is the offset behind the first occurrence's last byte (R4)")
    func firstEnd() {
        #expect(end(of: "\r\n", in: ["a\r\nb\r\n"]) == Place(piece: 0, offset: 3))
        #expect(end(of: "b", in: ["b"]) == Place(piece: 0, offset: 1))
        #expect(end(of: "\r\n", in: ["ab\r\r\nc"]) == Place(piece: 0, offset: 5))
    }

    @Test("What is not there is not found, nor what is there only in part (R4)")
    func absence() {
        #expect(end(of: "\r\n", in: [""]) == nil)
        #expect(end(of: "\r\n", in: ["\r"]) == nil)
        #expect(end(of: "\r\n", in: ["\n\r", "a", "\r"]) == nil)
        #expect(end(of: "abc", in: ["ab", "", "ab", "a"]) == nil)
    }

    @Test("A false start hides no occurrence: `aab` is found in `aaab` (R4)")
    func falseStart() {
        #expect(end(of: "aab", in: ["aaab"]) == Place(piece: 0, offset: 4))
        #expect(end(of: "aab", in: ["a", "a", "a", "b"]) == Place(piece: 3, offset: 1))
        #expect(end(of: "abac", in: ["ababac"]) == Place(piece: 0, offset: 6))
        #expect(end(of: "aabaaac", in: ["aabaabaaac"]) == Place(piece: 0, offset: 10))
    }

    @Test("Bytes in front of the start are not looked at")
    func start() {
        let text = Array("ab ab".utf8)
        var matched = 0
        let end = BytePattern(Array("ab".utf8))
            .firstEnd(in: text.span.bytes, from: 1, matched: &matched)
        #expect(end == 5)
        let nothing = BytePattern([1]).firstEnd(in: text.span.bytes, from: 5, matched: &matched)
        #expect(nothing == nil, "a start at the very end")
        #expect(matched == 0)
    }

    @Test("After an occurrence nothing counts as matched, after a part of one that part does")
    func matchedCount() {
        let pattern = BytePattern(Array("aab".utf8))
        var matched = 0
        #expect(find(pattern, "xaa", &matched) == nil)
        #expect(matched == 2)
        #expect(find(pattern, "a", &matched) == nil)
        #expect(matched == 2, "the text ends with `aa` still")
        #expect(find(pattern, "bb", &matched) == 1)
        #expect(matched == 0)
        #expect(find(pattern, "aax", &matched) == nil)
        #expect(matched == 0)
    }

    @Test("Occurrences one behind the other are found one by one, sharing no byte")
    func successiveOccurrences() {
        let text = Array("aaaa".utf8)
        let pattern = BytePattern(Array("aa".utf8))
        var matched = 0
        let first = pattern.firstEnd(in: text.span.bytes, from: 0, matched: &matched)
        #expect(first == 2)
        let second = pattern.firstEnd(in: text.span.bytes, from: 2, matched: &matched)
        #expect(second == 4)
    }

    @Test("Wherever a text is cut once or twice, the same occurrence is found (R4)")
    func everyPairOfCuts() {
        let cases = [("aab", "aaab"), ("\r\n.\r\n", "a\r\r\n.\r\r\n.\r\nrest"), ("aa", "ba")]
        for (pattern, text) in cases {
            let bytes = Array(text.utf8)
            let expected = naiveEnd(of: Array(pattern.utf8), in: bytes)
            for first in 0...bytes.count {
                for second in first...bytes.count {
                    let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
                    let found = end(of: Array(pattern.utf8), in: pieces.map(Array.init))
                    #expect(found.map { $0.total(in: pieces.map(\.count)) } == expected)
                }
            }
        }
    }

    @Test("A byte at a time finds what the whole text finds (R4)")
    func byteByByte() {
        for text in ["aaab", "", "aabaab", "abaabb", "aaaaaa"] {
            let found = end(of: Array("aab".utf8), in: text.utf8.map { [$0] })
            let expected = naiveEnd(of: Array("aab".utf8), in: Array(text.utf8))
            #expect(found.map { $0.piece + 1 } == expected)
        }
    }

    @Test("Random patterns of two letters are found where a naive search finds them (R4)")
    func randomPatterns() {
        var numbers = SeededNumbers()
        for _ in 0..<500 {
            let pattern = numbers.bytes(numbers.number(in: 1..<8), of: 97...98)
            let text = numbers.bytes(numbers.number(in: 0..<24), of: 97...98)
            let expected = naiveEnd(of: pattern, in: text)
            for cut in 0...text.count {
                let pieces = [Array(text[..<cut]), Array(text[cut...])]
                let found = end(of: pattern, in: pieces).map { $0.total(in: pieces.map(\.count)) }
                guard found != expected else { continue }
                Issue.record(
                    """
                    \(pattern) in \(text) cut at \(cut), seed \(numbers.seed): \
                    \(String(describing: found)) instead of \(String(describing: expected))
                    """
                )
            }
        }
    }

    @Test("A text that comes byte by byte is gone through once, however long it is (R4)")
    func linearCost() {
        // Were the text so far looked at again for each byte, 1 MiB would take hours.
        let text = Array(repeating: UInt8(ascii: "a"), count: 1 << 20) + [UInt8(ascii: "b")]
        for pattern in ["b", "ab", "aaaaaaab"] {
            let pattern = BytePattern(Array(pattern.utf8))
            var matched = 0
            var found: Int?
            for index in text.indices {
                // One byte is lent and nothing else, so there is no earlier byte to go back to.
                let piece = text.span.bytes.extracting(index..<index + 1)
                if pattern.firstEnd(in: piece, from: 0, matched: &matched) != nil { found = index }
                guard matched < pattern.bytes.count else { break }
            }
            #expect(found == 1 << 20)
        }
    }

    @Test("The worst pattern for a naive search takes time in proportion to the text (R4)")
    func boundedFallbacks() {
        // `aaa…ab` in `aaa…a`: each byte falls back once and matches once. Doubling both may double
        // the time, and must not quadruple it; the bound lies far from either.
        func time(_ count: Int) -> Duration {
            let pattern = BytePattern(Array(repeating: 97, count: count) + [98])
            let text = Array(repeating: UInt8(97), count: count * 64)
            return (0..<5).map { _ in
                let start = ThreadTime.now()
                var matched = 0
                _ = pattern.firstEnd(in: text.span.bytes, from: 0, matched: &matched)
                return ThreadTime.now() - start
            }.min() ?? .zero
        }
        let small = time(256)
        let large = time(2_048)
        #expect(large < small * 32, "eight times the text, not sixty-four times the work")
    }
}

/// Where an occurrence ends: in which piece, and at which offset of it.
private struct Place: Equatable {
    var piece: Int
    var offset: Int

    /// The offset in the whole text.
    func total(in counts: [Int]) -> Int { counts[..<piece].reduce(0, +) + offset }
}

private func end(of pattern: [UInt8], in pieces: [[UInt8]]) -> Place? {
    let pattern = BytePattern(pattern)
    var matched = 0
    for (number, piece) in pieces.enumerated() {
        let offset = pattern.firstEnd(in: piece.span.bytes, from: 0, matched: &matched)
        if let offset { return Place(piece: number, offset: offset) }
    }
    return nil
}

private func end(of pattern: String, in pieces: [String]) -> Place? {
    end(of: Array(pattern.utf8), in: pieces.map { Array($0.utf8) })
}

private func find(_ pattern: BytePattern, _ text: String, _ matched: inout Int) -> Int? {
    let bytes = Array(text.utf8)
    return pattern.firstEnd(in: bytes.span.bytes, from: 0, matched: &matched)
}

/// The end of the first occurrence, by trying every place.
private func naiveEnd(of pattern: [UInt8], in text: [UInt8]) -> Int? {
    guard text.count >= pattern.count else { return nil }
    return (0...text.count - pattern.count)
        .first { Array(text[$0..<$0 + pattern.count]) == pattern }
        .map { $0 + pattern.count }
}

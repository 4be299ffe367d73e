import Testing

@testable import Towline

@Suite("Raw span helpers") struct RawSpanBytesTests {
    private let abc: [UInt8] = [97, 98, 99]
    private let none: [UInt8] = []

    @Test("An array of a span is a copy of its bytes")
    func arrays() {
        let copy = [UInt8](abc.span.bytes)
        #expect(copy == abc)
        let nothing = [UInt8](none.span.bytes)
        #expect(nothing == [])
        let noSpan = [UInt8](RawSpan())
        #expect(noSpan == [])
    }

    @Test("A decoded string has U+FFFD in place of what is no UTF-8, a validated one is none")
    func strings() {
        let decoded = String(decoding: abc.span.bytes)
        #expect(decoded == "abc")
        let validated = String(validating: abc.span.bytes)
        #expect(validated == "abc")
        let broken: [UInt8] = [97, 0xFF, 98]
        let mended = String(decoding: broken.span.bytes)
        #expect(mended == "a\u{FFFD}b")
        let refused = String(validating: broken.span.bytes)
        #expect(refused == nil)
        let empty = String(decoding: none.span.bytes)
        #expect(empty == "")
        let emptyValidated = String(validating: RawSpan())
        #expect(emptyValidated == "")
    }

    @Test("A span equals a text, an array or a span exactly if all the bytes do")
    func equality() {
        let text = abc.span.bytes == "abc"
        #expect(text)
        let shorterText = abc.span.bytes == "ab"
        #expect(!shorterText)
        let longerText = abc.span.bytes == "abcd"
        #expect(!longerText)
        let array = abc.span.bytes == abc
        #expect(array)
        let otherArray = abc.span.bytes == [97, 98, 100] as [UInt8]
        #expect(!otherArray)
        let span = abc.span.bytes == abc.span.bytes
        #expect(span)
        let otherSpan = abc.span.bytes == none.span.bytes
        #expect(!otherSpan)
        let empty = none.span.bytes == ""
        #expect(empty)
        let emptySpans = RawSpan() == none.span.bytes
        #expect(emptySpans)
    }

    @Test("A span starts with its own prefixes, the empty one included, and no other text")
    func prefixes() {
        for text in ["", "a", "ab", "abc"] {
            let starts = abc.span.bytes.starts(with: text)
            #expect(starts)
        }
        for text in ["b", "abcd", "A"] {
            let starts = abc.span.bytes.starts(with: text)
            #expect(!starts)
        }
        let emptyStarts = RawSpan().starts(with: "")
        #expect(emptyStarts)
        let emptyStartsWithText = RawSpan().starts(with: "a")
        #expect(!emptyStartsWithText)
    }

    @Test("The first index is counted from the span's beginning, and lies at or behind the start")
    func firstIndex() {
        let bytes: [UInt8] = [1, 2, 1, 2]
        let expected: [Int?] = [1, 1, 3, 3, nil]
        for start in 0...4 {
            let found = bytes.span.bytes.firstIndex(of: 2, from: start)
            #expect(found == expected[start])
        }
        let absent = bytes.span.bytes.firstIndex(of: 9)
        #expect(absent == nil)
        let inNothing = RawSpan().firstIndex(of: 0)
        #expect(inNothing == nil)
        let inEmpty = none.span.bytes.firstIndex(of: 0, from: 0)
        #expect(inEmpty == nil)
    }

    @Test(
        "Pieces are what lies between separators, empty ones included",
        arguments: [
            ("", [""]), ("a", ["a"]), (",", ["", ""]), ("a,b", ["a", "b"]),
            ("a,,b", ["a", "", "b"]),
            (",a", ["", "a"]), ("a,", ["a", ""]),
        ]
    )
    func pieces(_ text: String, _ expected: [String]) {
        let bytes = Array(text.utf8)
        var pieces: [String] = []
        bytes.span.bytes.split(by: 44) { pieces.append(String(decoding: $0)) }
        #expect(pieces == expected)
    }

    @Test("An error thrown for one piece ends the splitting")
    func throwingPieces() {
        struct Stop: Error {}
        let bytes = Array("a,b,c".utf8)
        var count = 0
        #expect(throws: Stop.self) {
            try bytes.span.bytes.split(by: 44) { _ in
                count += 1
                if count == 2 { throw Stop() }
            }
        }
        #expect(count == 2)
    }

    @Test("Integers are read in both orders, at any offset, whatever the alignment")
    func integers() {
        let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 0xFF]
        let big: UInt16? = bytes.span.bytes.bigEndian(at: 1)
        #expect(big == 0x0102)
        let little: UInt16? = bytes.span.bytes.littleEndian(at: 1)
        #expect(little == 0x0201)
        let odd = bytes.span.bytes.bigEndian(at: 3, as: UInt32.self)
        #expect(odd == 0x0304_0506)
        let whole = bytes.span.bytes.littleEndian(at: 0, as: UInt64.self)
        #expect(whole == 0x0706_0504_0302_0100)
        let last = bytes.span.bytes.bigEndian(at: 8, as: Int8.self)
        #expect(last == -1)
        let byte = bytes.span.bytes.littleEndian(at: 8, as: UInt8.self)
        #expect(byte == 0xFF)
    }

    @Test(
        "An integer that would pass an end is none, for whatever offset",
        arguments: [Int.min, -1, 1, 2, 3, 4, 5, Int.max - 3, Int.max]
    )
    func integersOutside(_ offset: Int) {
        let bytes: [UInt8] = [1, 2, 3, 4]
        let big = bytes.span.bytes.bigEndian(at: offset, as: UInt32.self)
        #expect(big == nil)
        let little = bytes.span.bytes.littleEndian(at: offset, as: UInt32.self)
        #expect(little == nil)
    }

    @Test("An empty span has no integer, and one as long as the integer has one")
    func tightSpans() {
        let inNothing = RawSpan().bigEndian(at: 0, as: UInt8.self)
        #expect(inNothing == nil)
        let inEmpty = none.span.bytes.littleEndian(at: 0, as: UInt64.self)
        #expect(inEmpty == nil)
        let bytes: [UInt8] = [1, 2, 3, 4]
        let tight = bytes.span.bytes.bigEndian(at: 0, as: UInt32.self)
        #expect(tight == 0x0102_0304)
        let larger = bytes.span.bytes.bigEndian(at: 0, as: UInt64.self)
        #expect(larger == nil)
    }
}

import CZlib
import TestSupport
import Testing

@testable import TowlineCoding

@Suite("gzip and deflate") struct InflateStageTests {
    private let content = Coded.text(byteCount: 900)

    @Test("gzip is undone however its bytes come")
    func gzip() {
        for level: CInt in [0, 1, 9] {
            expect(Coded.gzip(content, level: level), [.gzip], decodeTo: content)
        }
        expect(Coded.gzip([]), [.gzip], decodeTo: [])
        expect(Coded.gzip([65]), [.gzip], decodeTo: [65])
    }

    @Test("deflate is undone with its wrapping, for each window, and without")
    func deflate() {
        for windowBits: CInt in 9...15 {
            expect(Coded.deflate(content, windowBits: windowBits), [.deflate], decodeTo: content)
        }
        for level: CInt in 0...9 {
            #expect(
                outcome([Coded.deflate(content, level: level)], [.deflate]) == .success(content)
            )
            #expect(outcome([Coded.bare(content, level: level)], [.deflate]) == .success(content))
        }
        expect(Coded.bare(content), [.deflate], decodeTo: content)
        expect(Coded.bare(content, level: 0), [.deflate], decodeTo: content)
        expect(Coded.bare([]), [.deflate], decodeTo: [])
        expect(Coded.deflate([]), [.deflate], decodeTo: [])
        for strategy in [Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED] {
            let coded = Coded.deflate(content, strategy: strategy)
            #expect(outcome([coded], [.deflate]) == .success(content))
            let bare = Coded.deflate(content, windowBits: -15, strategy: strategy)
            #expect(outcome([bare], [.deflate]) == .success(content))
        }
    }

    @Test("Members of gzip are undone one after the other, with all that their heads may hold")
    func members() {
        let head = Array(content.prefix(100))
        let coded =
            Coded.adornedMember(head) + Coded.gzip([]) + Coded.gzip([66])
            + Coded.adornedMember(head)
        expect(coded, [.gzip], decodeTo: head + [66] + head)
    }

    @Test("A head whose own checksum does not match is refused")
    func headChecksum() {
        var coded = Coded.adornedMember([1, 2, 3])
        coded[4] ^= 1
        expect(coded, [.gzip]) {
            if case .damaged(.gzip, _, let words) = $0 { words.contains("header") } else { false }
        }
    }

    @Test("Zeros behind the end are ignored, and anything else there is refused")
    func trailing() {
        let zeros = [UInt8](repeating: 0, count: 30)
        expect(Coded.gzip([1]) + zeros, [.gzip], decodeTo: [1])
        expect(Coded.gzip([1]) + zeros + Coded.gzip([2]) + zeros, [.gzip], decodeTo: [1, 2])
        expect(Coded.deflate([1]) + zeros, [.deflate], decodeTo: [1])
        expect(Coded.bare([1]) + zeros, [.deflate], decodeTo: [1])
        for coding in [ContentCoding.gzip, .deflate] {
            let coded = coding == .gzip ? Coded.gzip([1]) : Coded.deflate([1])
            expect(coded + [0, 0, 7], [coding]) {
                $0 == .trailingBytes(coding, offset: coded.count + 2)
            }
            expect(coded + [10], [coding]) { $0 == .trailingBytes(coding, offset: coded.count) }
        }
        expect(Coded.deflate([1]) + Coded.deflate([2]), [.deflate]) {
            if case .trailingBytes(.deflate, _) = $0 { true } else { false }
        }
    }

    @Test("A stream that is cut at any place is refused, but not one that is cut to nothing")
    func cut() {
        let ways: [(ContentCoding, [UInt8])] = [
            (.gzip, Coded.adornedMember(content)), (.deflate, Coded.deflate(content)),
            (.deflate, Coded.bare(content)),
        ]
        for (coding, coded) in ways {
            for count in 1..<coded.count {
                let result = outcome([Array(coded[..<count])], [coding])
                #expect(result == .failure(.cutShort(coding, offset: count)))
            }
            expect([], [coding], decodeTo: [])
        }
        let two = Coded.gzip([1]) + [0x1F]
        expect(two, [.gzip]) { $0 == .cutShort(.gzip, offset: two.count) }
    }

    @Test("A wrong checksum or length is refused, when all in front of it was lent")
    func checksum() throws {
        for (coding, place) in [(ContentCoding.gzip, 1), (.gzip, 5), (.deflate, 1)] {
            var coded = coding == .gzip ? Coded.gzip(content) : Coded.deflate(content)
            coded[coded.count - place] ^= 0x10
            let decoder = try ContentDecoder([coding], stepByteCount: 64)
            var decoded: [UInt8] = []
            var offset = 0
            let error = #expect(throws: CodingError.self) {
                while try decoder.step(coded.span.bytes, from: &offset) {
                    decoder.withDecoded { $0.withUnsafeBytes { decoded += $0 } }
                }
            }
            guard let error, case .damaged(coding, _, let words) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(words.contains("check"))
            #expect(decoded == content)
            #expect(throws: error) { try decoder.finish() }
            #expect(throws: error) { try decoder.step(RawSpan(), from: &offset) }
        }
    }

    @Test("What is no coded content is refused")
    func garbage() {
        let inputs: [[UInt8]] = [
            Array("<!DOCTYPE html>".utf8), [0x1F, 0x8C, 8, 0], [0x1F, 0x8B, 7, 0, 0, 0],
            [0x1F, 0x8B, 8, 0xE0, 0, 0, 0, 0, 0, 0], [0x1F], [0],
        ]
        for input in inputs {
            expect(input, [.gzip]) {
                switch $0 {
                case .damaged(.gzip, _, _): input.count > 1
                case .cutShort(.gzip, _): input.count == 1
                default: false
                }
            }
        }
        // A wrapping that asks for a dictionary.
        expect([0x78, 0xBB, 1, 2, 3, 4, 5], [.deflate]) {
            if case .damaged(.deflate, _, let words) = $0 {
                words.contains("dictionary")
            } else {
                false
            }
        }
    }

    @Test("Each damaged bit is an error, or makes no difference")
    func damage() {
        let short = Array(content.prefix(150))
        let twice = Coded.adornedMember(short) + Coded.gzip(Array(short.prefix(20)))
        expectDamageIsSeen(in: twice, [.gzip], content: short + short.prefix(20))
    }

    @Test("Damage to what has no checksum ends, too")
    func unseenDamage() {
        let coded = Coded.bare(content)
        for index in coded.indices {
            for bit in 0..<8 {
                var damaged = coded
                damaged[index] ^= 1 << bit
                let whole = outcome([damaged], [.deflate])
                let halves = outcome(
                    [Array(damaged[..<index]), Array(damaged[index...])],
                    [.deflate]
                )
                #expect((try? whole.get()) == (try? halves.get()))
            }
        }
    }
}

import CZlib
import Glibc
import TestSupport
import Testing

@testable import TowlineCoding

@Suite("Content decoder") struct ContentDecoderTests {
    private let content = Coded.text(byteCount: 500)

    @Test("A chain is undone from its last coding, however its bytes come")
    func chain() {
        let twice = Coded.gzip(Coded.deflate(content))
        expect(twice, [.deflate, .gzip], decodeTo: content)
        expect(twice, [.gzip, .deflate]) { _ in true }
        let five = Coded.gzip(Coded.bare(Coded.gzip(Coded.deflate(Coded.gzip(content)))))
        expect(five, [.gzip, .deflate, .gzip, .deflate, .gzip], decodeTo: content)
    }

    @Test("Five codings are undone and six refused, whatever they are")
    func limit() throws {
        let five = [ContentCoding](repeating: .identity, count: 5)
        #expect(try decode([content], five) == content)
        #expect(throws: CodingError.tooManyCodings(count: 6)) {
            try ContentDecoder(five + [.gzip])
        }
    }

    @Test("Without a coding the bytes are as they were")
    func identity() throws {
        expect(content, [], decodeTo: content)
        expect(content, [.identity], decodeTo: content)
        expect(Coded.gzip(content), [.identity, .gzip, .identity], decodeTo: content)
    }

    @Test("No bytes decode to nothing, in each chain")
    func nothing() {
        expect([], [.gzip, .deflate], decodeTo: [])
        expect(Coded.gzip([]), [.deflate, .gzip], decodeTo: [])
        // What is inside is cut, although the outer coding is whole.
        let inner = Coded.gzip(content)
        let half = Array(inner.prefix(inner.count / 2))
        expect(Coded.gzip(half), [.gzip, .gzip]) { $0 == .cutShort(.gzip, offset: half.count) }
    }

    @Test("A caller may stop behind each step and go on later with what is left")
    func pauses() throws {
        let content = Coded.text(byteCount: 300_000)
        let coded = Coded.deflate(Coded.gzip(content, level: 1))
        let decoder = try ContentDecoder([.gzip, .deflate], stepByteCount: 1000)
        var decoded: [UInt8] = []
        var rest = coded
        var isGoingOn = true
        while isGoingOn {
            // Each call sees another copy of what is left, and a part of it only.
            let seen = Array(rest.prefix(777))
            var offset = 0
            isGoingOn = try decoder.step(seen.span.bytes, from: &offset)
            rest.removeFirst(offset)
            isGoingOn = isGoingOn || !rest.isEmpty
            decoder.withDecoded { bytes in
                #expect(bytes.byteCount <= 1000)
                bytes.withUnsafeBytes { decoded += $0 }
            }
            // What was lent is not lent again.
            #expect(decoder.decodedByteCount == decoded.count)
        }
        try decoder.finish()
        #expect(decoded == content)
        var offset = 0
        #expect(try !decoder.step(RawSpan(), from: &offset))
    }

    @Test("The decoder may be let go of while it lends")
    func release() throws {
        let coded = Coded.gzip(content)
        var decoder: ContentDecoder? = try ContentDecoder([.gzip])
        var offset = 0
        #expect(try decoder?.step(coded.span.bytes, from: &offset) == true)
        decoder?.withDecoded { bytes in
            decoder = nil
            #expect(bytes.withUnsafeBytes { Array($0) } == content)
        }
    }

    @Test(
        "A gibibyte of zeros takes no more memory than the buffers of a chain",
        .enabled(if: getenv("TOWLINE_SLOWDOWN") == nil, "a sanitizer keeps memory to itself")
    )
    func bomb() async {
        await #expect(processExitsWith: .success) {
            let member = Coded.gzip([UInt8](repeating: 0, count: 1 << 24))
            var once: [UInt8] = []
            for _ in 0..<64 { once += member }
            let thrice = Coded.gzip(Coded.gzip(once))
            #expect(thrice.count < 10_000)
            let chain = [ContentCoding](repeating: .gzip, count: 3)
            let grown = try growth(decoding: thrice, chain, to: 1 << 30)
            #expect(grown < 4 << 20)
        }
    }

    @Test("A chain in which much comes to nothing ends its steps, and is counted")
    func hollow() throws {
        var nothing = Coded.gzip([])
        while nothing.count < 8 << 20 { nothing += nothing }
        let coded = Coded.gzip(nothing)
        #expect(coded.count < nothing.count / 100)
        let decoder = try ContentDecoder([.gzip, .gzip])
        var offset = 0
        var stepCount = 0
        var last = 0
        while try decoder.step(coded.span.bytes, from: &offset) {
            decoder.withDecoded { #expect($0.byteCount == 0) }
            #expect(decoder.expandedByteCount - last <= 16 * ContentDecoder.stepByteCount)
            last = decoder.expandedByteCount
            stepCount += 1
        }
        try decoder.finish()
        #expect(stepCount >= nothing.count / (16 * ContentDecoder.stepByteCount))
        #expect(decoder.expandedByteCount == nothing.count)
        #expect(decoder.decodedByteCount == 0)
    }

    @Test("Damage within a chain is seen by the coding that it reaches")
    func damage() {
        let inner = Coded.gzip(content)
        for index in stride(from: 0, to: inner.count, by: 7) {
            var damaged = inner
            damaged[index] ^= 0x20
            switch outcome([Coded.bare(damaged)], [.gzip, .deflate]) {
            case .success(let decoded): #expect(decoded == content)
            case .failure(.damaged(.gzip, _, _)), .failure(.cutShort(.gzip, _)): break
            case .failure(let error): Issue.record("\(error)")
            }
        }
    }

    @Test("Errors say in one line what is wrong and where")
    func errors() {
        let errors: [(CodingError, String)] = [
            (.tooManyCodings(count: 9), "9 times"), (.notBuiltIn(.brotli), "trait"),
            (.damaged(.gzip, offset: 12, "incorrect data check"), "12: incorrect data check"),
            (.cutShort(.zstd, offset: 3), "cut short at byte 3"),
            (.trailingBytes(.deflate, offset: 4), "byte 4"),
            (.windowTooLarge(.zstd, offset: 6), "too much memory"),
            (.outOfMemory(.brotli), "br"),
        ]
        for (error, words) in errors {
            #expect("\(error)".contains(words))
            #expect(!"\(error)".contains("\n"))
        }
    }
}

/// Decodes `coded` without looking at what comes.
///
/// - Returns: How much the process's memory grew meanwhile at most, in bytes.
func growth(decoding coded: [UInt8], _ codings: [ContentCoding], to byteCount: Int) throws -> Int {
    let decoder = try ContentDecoder(codings)
    let before = try residentMemory()
    var most = before
    var offset = 0
    var stepCount = 0
    while try decoder.step(coded.span.bytes, from: &offset) {
        stepCount += 1
        if stepCount.isMultiple(of: 256) { most = max(most, try residentMemory()) }
    }
    most = max(most, try residentMemory())
    try decoder.finish()
    #expect(decoder.decodedByteCount == byteCount)
    return most - before
}

/// What the process has in memory, in bytes.
private func residentMemory() throws -> Int {
    let text = String(decoding: try FileContents.read("/proc/self/statm"), as: UTF8.self)
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return try #require(pages) * Int(getpagesize())
}

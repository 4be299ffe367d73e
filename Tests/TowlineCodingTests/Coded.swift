import CZlib
import TestSupport
import Testing
import TowlineCoding

/// Contents, coded by zlib.
enum Coded {
    /// A text of words that come back again and again, as pages are.
    static func text(byteCount: Int) -> [UInt8] {
        var numbers = SeededNumbers(seed: 7)
        var text: [UInt8] = []
        while text.count < byteCount {
            text += Array("<li class=\"row\">\(numbers.number(in: 0..<3000))</li>\n".utf8)
        }
        return Array(text.prefix(byteCount))
    }

    static func gzip(_ bytes: [UInt8], level: CInt = 6) -> [UInt8] {
        deflate(bytes, windowBits: 31, level: level)
    }

    /// Deflate without its wrapping.
    static func bare(_ bytes: [UInt8], level: CInt = 6) -> [UInt8] {
        deflate(bytes, windowBits: -15, level: level)
    }

    static func deflate(
        _ bytes: [UInt8],
        windowBits: CInt = 15,
        level: CInt = 6,
        strategy: CInt = Z_DEFAULT_STRATEGY
    ) -> [UInt8] {
        var stream = z_stream()
        #expect(towline_deflateInit2(&stream, level, windowBits, 8, strategy) == Z_OK)
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: bytes.count + bytes.count / 100 + 1024)
        input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                #expect(CZlib.deflate(&stream, Z_FINISH) == Z_STREAM_END)
            }
        }
        return Array(output.prefix(Int(stream.total_out)))
    }

    /// A member of gzip with everything that its head may hold.
    static func adornedMember(_ bytes: [UInt8]) -> [UInt8] {
        // Flags: a checksum of the head, an extra field, a name, a comment.
        var member: [UInt8] = [0x1F, 0x8B, 8, 0b1_1110, 1, 2, 3, 4, 0, 3]
        member += [5, 0] + Array("a\0b\0c".utf8)
        member += Array("name.txt\0".utf8) + Array("a comment\0".utf8)
        let headSum = crc32(0, member, UInt32(member.count))
        member += [UInt8(truncatingIfNeeded: headSum), UInt8(truncatingIfNeeded: headSum >> 8)]
        member += bare(bytes)
        let sum = crc32(0, bytes, UInt32(bytes.count))
        for number in [UInt32(truncatingIfNeeded: sum), UInt32(bytes.count)] {
            member += (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        return member
    }
}

/// What the pieces decode to, step by step.
func decode(
    _ pieces: [[UInt8]],
    _ codings: [ContentCoding],
    stepByteCount: Int = ContentDecoder.stepByteCount
) throws(CodingError) -> [UInt8] {
    let decoder = try ContentDecoder(codings, stepByteCount: stepByteCount)
    var decoded: [UInt8] = []
    for piece in pieces {
        var offset = 0
        while try decoder.step(piece.span.bytes, from: &offset) {
            decoder.withDecoded { bytes in
                #expect(bytes.byteCount <= stepByteCount)
                bytes.withUnsafeBytes { decoded += $0 }
            }
        }
        #expect(offset == piece.count, "all is taken before more is asked for")
        decoder.withDecoded { #expect($0.byteCount == 0, "nothing is left to be lent") }
    }
    try decoder.finish()
    #expect(decoder.decodedByteCount == decoded.count)
    return decoded
}

/// The same, or why not.
func outcome(_ pieces: [[UInt8]], _ codings: [ContentCoding]) -> Result<[UInt8], CodingError> {
    do throws(CodingError) {
        return .success(try decode(pieces, codings))
    } catch {
        return .failure(error)
    }
}

/// The ways in which bytes may come: whole, one at a time, and in two pieces split at each place.
func arrivals(_ bytes: [UInt8]) -> [[[UInt8]]] {
    [[bytes], bytes.map { [$0] }, [[], bytes, []]]
        + bytes.indices.map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
}

/// Expects the same in each way in which the bytes may come, and with steps of other lengths.
func expect(
    _ bytes: [UInt8],
    _ codings: [ContentCoding],
    decodeTo expected: [UInt8],
    at location: SourceLocation = #_sourceLocation
) {
    for pieces in arrivals(bytes) {
        let result = outcome(pieces, codings)
        #expect(result == .success(expected), sourceLocation: location)
    }
    for stepByteCount in [1, 7, 4096] {
        #expect(throws: Never.self, sourceLocation: location) {
            let result = try decode([bytes], codings, stepByteCount: stepByteCount)
            #expect(result == expected, sourceLocation: location)
        }
    }
}

/// Expects a failure that `matches`, in each way in which the bytes may come.
func expect(
    _ bytes: [UInt8],
    _ codings: [ContentCoding],
    failsWith matches: (CodingError) -> Bool,
    at location: SourceLocation = #_sourceLocation
) {
    for pieces in arrivals(bytes) {
        switch outcome(pieces, codings) {
        case .success: Issue.record("it is decoded", sourceLocation: location)
        case .failure(let error): #expect(matches(error), "\(error)", sourceLocation: location)
        }
    }
}

/// Changes each bit of `bytes` in turn, and expects an error or the same content as ever.
func expectDamageIsSeen(in bytes: [UInt8], _ codings: [ContentCoding], content: [UInt8]) {
    var unharmedCount = 0
    for index in bytes.indices {
        for bit in 0..<8 {
            var damaged = bytes
            damaged[index] ^= 1 << bit
            let whole = outcome([damaged], codings)
            if case .success(let decoded) = whole {
                #expect(decoded == content, "bit \(bit) of byte \(index)")
                unharmedCount += 1
            }
            let halves = [Array(damaged[..<index]), Array(damaged[index...])]
            #expect((try? outcome(halves, codings).get()) == (try? whole.get()))
        }
    }
    // A time stamp, a name, a byte for the system: some of it means nothing to the content.
    #expect(unharmedCount < bytes.count * 4)
}

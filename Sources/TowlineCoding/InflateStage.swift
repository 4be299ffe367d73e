internal import CZlib

/// gzip, and deflate with or without its wrapping.
///
///     start ──▶ (first byte of deflate) ──▶ within ──▶ behind
///                                             ▲          │ a further member of gzip
///                                             └──────────┘
///
/// Zeros behind the end are ignored, as gzip(1) ignores them: tapes and files were filled up with
/// them. Anything else there is an error. Browsers let it pass; but then a further member whose
/// first byte is damaged is no error either, and a part of the content is lost in silence.
///
/// Source: RFC 1950, RFC 1951, RFC 1952; zlib.h.
final class InflateStage: CodingStage {
    enum Format {
        case gzip
        case deflate
    }

    private enum State: Equatable {
        case start
        /// One byte does not yet say whether deflate is wrapped.
        case startOfDeflate(UInt8)
        case within
        case behind
    }

    private let format: Format
    /// Has a place of its own, since zlib remembers where it lies.
    private let stream: UnsafeMutablePointer<z_stream>
    private var state = State.start

    /// A window of the largest kind, 32 KiB, and what is added to it for gzip.
    private static let windowBits: CInt = 15
    private static let gzipBits: CInt = 16

    init(_ format: Format) throws(StageFailure) {
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let bits = format == .gzip ? Self.windowBits + Self.gzipBits : Self.windowBits
        // If this fails, nothing is left for `inflateEnd` to free, which knows that.
        guard towline_inflateInit2(stream, bits) == Z_OK else { throw .outOfMemory }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    var isComplete: Bool { state == .start || state == .behind }

    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        _ step: inout CodingStep
    ) throws(StageFailure) {
        while true {
            switch state {
            case .start:
                guard step.takenCount < input.count else { return }
                begin(with: input[step.takenCount], &step)
            case .startOfDeflate(let first):
                guard step.takenCount < input.count else { return }
                try beginDeflate(with: first, input[step.takenCount])
            case .within:
                guard try inflate(input, into: output, &step) else { return }
                state = .behind
            case .behind:
                step.takenCount += input[step.takenCount...].prefix { $0 == 0 }.count
                guard step.takenCount < input.count else { return }
                try beginMember(with: input[step.takenCount])
            }
        }
    }

    private func begin(with first: UInt8, _ step: inout CodingStep) {
        switch format {
        case .gzip:
            state = .within
        case .deflate:
            state = .startOfDeflate(first)
            step.takenCount += 1
        }
    }

    /// Tells deflate with its wrapping from deflate without.
    ///
    /// The wrapping begins with its method, 8, in the low half of the first byte, the logarithm of
    /// its window, at most 7, in the high one, and both bytes together are a multiple of 31.
    /// Without it the content could begin like this only by a stored block with filling that is not
    /// zero, which nobody writes.
    private func beginDeflate(with first: UInt8, _ second: UInt8) throws(StageFailure) {
        let isWrapped =
            first & 0x0F == 8 && first >> 4 <= 7
            && (UInt16(first) << 8 | UInt16(second)).isMultiple(of: 31)
        if !isWrapped { inflateReset2(stream, -Self.windowBits) }
        state = .within
        var first = first
        var room: UInt8 = 0
        // Nothing can be made from one byte.
        _ = try hasEnded(towline_inflate(stream, &first, 1, &room, 1))
    }

    /// A further member of gzip, if it is one: zlib looks at all but its first byte.
    private func beginMember(with first: UInt8) throws(StageFailure) {
        guard format == .gzip, first == 0x1F else { throw .trailingBytes }
        inflateReset(stream)
        state = .within
    }

    /// - Returns: Whether the end was reached; if not, the input is taken or the output full.
    private func inflate(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        _ step: inout CodingStep
    ) throws(StageFailure) -> Bool {
        let source = UnsafeRawBufferPointer(rebasing: input[step.takenCount...])
        let target = UnsafeMutableRawBufferPointer(rebasing: output[step.madeCount...])
        // zlib counts in 32 bits; the caller comes back with what is left.
        let offered = UInt32(clamping: source.count)
        let room = UInt32(clamping: target.count)
        let result = towline_inflate(
            stream,
            source.baseAddress?.assumingMemoryBound(to: UInt8.self),
            offered,
            target.baseAddress?.assumingMemoryBound(to: UInt8.self),
            room
        )
        step.takenCount += Int(offered - stream.pointee.avail_in)
        step.madeCount += Int(room - stream.pointee.avail_out)
        return try hasEnded(result)
    }

    private func hasEnded(_ result: CInt) throws(StageFailure) -> Bool {
        switch result {
        case Z_OK, Z_BUF_ERROR:
            return false
        case Z_STREAM_END:
            return true
        case Z_MEM_ERROR:
            throw .outOfMemory
        case Z_NEED_DICT:
            throw .damaged("it asks for a dictionary")
        default:
            let words = stream.pointee.msg.map { String(cString: $0) }
            throw .damaged(words ?? "error \(result)")
        }
    }
}

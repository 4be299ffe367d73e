internal import Glibc
internal import TowlineBytes

/// Bytes of one stream that the kernel would not take yet, in order.
final class PendingOutput {
    private enum Segment {
        /// Small pieces, copied together.
        case copied(ByteBuffer)
        /// A large piece as it was handed over, and which of its bytes wait.
        case held([UInt8], Range<Int>)
        /// Bytes of a file, and which of them wait.
        case file(OpenFile, Range<Int>)

        var count: Int {
            switch self {
            case .copied(let buffer): buffer.count
            case .held(_, let range), .file(_, let range): range.count
            }
        }

        /// What is left of it without a range of its bytes.
        func removing(_ removed: Range<Int>) -> [Segment] {
            switch self {
            case .copied(let buffer):
                let rest = ByteBuffer()
                buffer.withBytes {
                    rest.append($0.extracting(0..<removed.lowerBound))
                    rest.append($0.extracting(removed.upperBound..<$0.byteCount))
                }
                return rest.isEmpty ? [] : [.copied(rest)]
            case .held(let bytes, let range):
                return Self.pieces(of: range, without: removed).map { .held(bytes, $0) }
            case .file(let file, let range):
                return Self.pieces(of: range, without: removed).map { .file(file, $0) }
            }
        }

        private static func pieces(of range: Range<Int>, without removed: Range<Int>)
            -> [Range<Int>]
        {
            let front = range.lowerBound..<range.lowerBound + removed.lowerBound
            let back = range.lowerBound + removed.upperBound..<range.upperBound
            return [front, back].filter { !$0.isEmpty }
        }
    }

    private var segments: [Segment] = []
    private var first = 0

    var isEmpty: Bool { first == segments.count }

    /// Copies bytes behind what waits.
    func append(copying bytes: RawSpan) {
        if !isEmpty, case .copied(let buffer) = segments[segments.count - 1] {
            buffer.append(bytes)
            return
        }
        let buffer = ByteBuffer()
        buffer.append(bytes)
        segments.append(.copied(buffer))
    }

    /// Holds bytes behind what waits.
    func append(holding bytes: [UInt8], from offset: Int) {
        segments.append(.held(bytes, offset..<bytes.count))
    }

    /// Holds a file open behind what waits.
    func append(_ file: OpenFile, _ range: Range<Int>) {
        segments.append(.file(file, range))
    }

    /// Whether what comes first is a file's.
    var beginsWithFile: Bool {
        guard !isEmpty, case .file = segments[first] else { return false }
        return true
    }

    /// Takes bytes out again.
    ///
    /// - Parameter removed: Which, counted from the first that waits.
    /// - Returns: `false`, and nothing has changed, if so many do not wait.
    func remove(_ removed: Range<Int>) -> Bool {
        var place = 0
        var rest: [Segment] = []
        for segment in segments[first...] {
            let range = place..<place + segment.count
            place = range.upperBound
            let cut = removed.clamped(to: range)
            if cut.isEmpty {
                rest.append(segment)
            } else {
                let start = range.lowerBound
                rest += segment.removing(cut.lowerBound - start..<cut.upperBound - start)
            }
        }
        guard removed.upperBound <= place else { return false }
        segments = rest
        first = 0
        return true
    }

    /// Shows the first bytes to `send`, or, if they are a file's, that to `sendFile`; either
    /// answers how many of them are finished.
    ///
    /// - Returns: The answer, and whether everything that was shown is finished.
    func sendFirst(
        sendFile: (OpenFile, Range<Int>) -> SystemCallResult = { _, _ in OpenFile.ended },
        _ send: (UnsafeRawPointer, Int) -> SystemCallResult
    ) -> (result: SystemCallResult, isWhole: Bool) {
        switch segments[first] {
        case .copied(let buffer):
            let count = buffer.count
            let result = buffer.withBytes { bytes in
                bytes.withUnsafeBytes { send($0.baseAddress.unsafelyUnwrapped, $0.count) }
            }
            if result.isSuccess { buffer.consume(result.value) }
            return (result, finish(result, of: count))
        case .held(let bytes, let range):
            let result = bytes.withUnsafeBytes {
                // In bounds, and not empty: a segment of which nothing is left is dropped.
                send($0.baseAddress.unsafelyUnwrapped + range.lowerBound, range.count)
            }
            if result.isSuccess {
                segments[first] = .held(bytes, range.lowerBound + result.value..<range.upperBound)
            }
            return (result, finish(result, of: range.count))
        case .file(let file, let range):
            let result = sendFile(file, range)
            if result.isSuccess {
                segments[first] = .file(file, range.lowerBound + result.value..<range.upperBound)
            }
            return (result, finish(result, of: range.count))
        }
    }

    private func finish(_ result: SystemCallResult, of count: Int) -> Bool {
        guard result.isSuccess, result.value == count else { return false }
        first += 1
        if isEmpty || first == 32 {
            segments.removeFirst(first)
            first = 0
        }
        return true
    }
}

internal import Glibc
internal import TowlineBytes

/// Bytes of one stream that the kernel would not take yet, in order.
final class PendingOutput {
    private enum Segment {
        /// Small pieces, copied together.
        case copied(ByteBuffer)
        /// A large piece as it was handed over, and how much of it is finished.
        case held([UInt8], from: Int)
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
        segments.append(.held(bytes, from: offset))
    }

    /// Shows the first bytes to `send`, which answers how many of them are finished.
    ///
    /// - Returns: The answer, and whether everything that was shown is finished.
    func sendFirst(
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
        case .held(let bytes, let offset):
            let count = bytes.count - offset
            let result = bytes.withUnsafeBytes {
                // `offset` is less than `count`: a segment of which nothing is left is dropped.
                send($0.baseAddress.unsafelyUnwrapped + offset, count)
            }
            if result.isSuccess { segments[first] = .held(bytes, from: offset + result.value) }
            return (result, finish(result, of: count))
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

internal import Glibc

/// The bytes that the socket whose callbacks run has written so far, to be sent in one call when
/// they have returned.
///
/// One buffer serves a whole reactor, so no connection owns output memory in the normal case. Bytes
/// that lie in what was just received, as an echo's do, are not even copied: they stay where they
/// are until the callbacks have returned, and the next receive comes later.
struct GatherBuffer {
    private let base: UnsafeMutableRawPointer
    private let capacity: Int

    /// Where the gathered bytes begin: at `base`, or within the lent bytes.
    private(set) var start: UnsafeRawPointer
    private(set) var count = 0

    /// The bytes that are lent to the callbacks just now, if any.
    private var lentStart: UInt = 0
    private var lentEnd: UInt = 0

    init(capacity: Int) {
        self.capacity = capacity
        base = .allocate(byteCount: capacity, alignment: 64)
        start = UnsafeRawPointer(base)
    }

    func deallocate() {
        base.deallocate()
    }

    /// Says which bytes stay where they are until the callbacks have returned.
    @inline(__always)
    mutating func beginLending(_ bytes: RawSpan) {
        bytes.withUnsafeBytes {
            lentStart = UInt(bitPattern: $0.baseAddress)
            lentEnd = lentStart &+ UInt(bitPattern: $0.count)
        }
    }

    @inline(__always)
    mutating func endLending() {
        lentEnd = 0
    }

    /// Adds bytes behind the gathered ones; `false`, and nothing changed, if they do not fit.
    @inline(__always)
    mutating func append(_ bytes: UnsafeRawPointer, count added: Int) -> Bool {
        if count == 0, isLent(bytes) {
            start = bytes
            count = added
            return true
        }
        return appendBehind(bytes, count: added)
    }

    private mutating func appendBehind(_ bytes: UnsafeRawPointer, count added: Int) -> Bool {
        if count > 0, start != UnsafeRawPointer(base) {
            if bytes == start + count, isLent(bytes) {
                count += added
                return true
            }
            guard count + added <= capacity else { return false }
            base.copyMemory(from: start, byteCount: count)
        }
        guard count + added <= capacity else { return false }
        // Within the buffer by the line above.
        (base + count).copyMemory(from: bytes, byteCount: added)
        start = UnsafeRawPointer(base)
        count += added
        return true
    }

    /// Takes gathered bytes out again.
    ///
    /// - Parameter range: Which of them, counted from the first.
    /// - Returns: `false`, and nothing has changed, if what is left has no room.
    mutating func remove(_ range: Range<Int>) -> Bool {
        let rest = count - range.upperBound
        if rest > 0, start != UnsafeRawPointer(base) {
            // Lent bytes are somebody's to read, so they move to the buffer.
            guard count - range.count <= capacity else { return false }
            base.copyMemory(from: start, byteCount: range.lowerBound)
            (base + range.lowerBound).copyMemory(from: start + range.upperBound, byteCount: rest)
            start = UnsafeRawPointer(base)
        } else if rest > 0 {
            // Both within the buffer, in which they may overlap.
            memmove(base + range.lowerBound, base + range.upperBound, rest)
        }
        count -= range.count
        return true
    }

    /// Empties the buffer; the bytes stay readable until the next append.
    @inline(__always)
    mutating func removeAll() {
        count = 0
    }

    @inline(__always)
    private func isLent(_ bytes: UnsafeRawPointer) -> Bool {
        let address = UInt(bitPattern: bytes)
        return address >= lentStart && address < lentEnd
    }
}

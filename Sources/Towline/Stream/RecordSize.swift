/// How much plaintext the next record takes; told the time.
///
/// A record can be read only when all of it is there, which behind a silence may take several round
/// trips: the kernel sends little at first. So small records begin, and large ones follow, which
/// cost less.
struct RecordSize {
    /// The most plaintext of one record.
    ///
    /// Source: RFC 8446, section 5.1.
    static let largest = 16 * 1024

    /// So much behind a silence goes in small records.
    static let smallByteCount = 64 * 1024

    /// In nanoseconds.
    static let silence = 1_000_000_000

    private let small: Int
    private var byteCount = 0
    private var last = MonotonicInstant(nanoseconds: 0)

    init(small: Int = largest) {
        self.small = small
    }

    /// The most that the next record may take.
    var limit: Int { byteCount < Self.smallByteCount ? small : Self.largest }

    /// Something is to be sent now.
    mutating func begin(at now: MonotonicInstant) {
        if now.nanoseconds &- last.nanoseconds >= Self.silence { byteCount = 0 }
        last = now
    }

    /// Takes note of so much that is to be sent now, if it fits into one record.
    @inline(__always)
    mutating func takes(_ count: Int, at now: MonotonicInstant) -> Bool {
        begin(at: now)
        guard count <= limit else { return false }
        note(count)
        return true
    }

    /// A record was made.
    mutating func note(_ count: Int) {
        // Beyond that it makes no difference.
        if byteCount < Self.smallByteCount { byteCount += count }
    }
}

/// Looks at what a peer sends first, before the library does: whether it is TLS at all, and on
/// servers, whether the whole first record is there.
///
/// A session of the library's takes 71 KiB as soon as it has been fed a byte; those who send half a
/// hello and wait do not get one.
///
/// Source: RFC 8446, section 5.1.
struct FirstRecord {
    /// What is known of the bytes so far.
    enum Verdict: Equatable {
        /// TLS so far, and not all of it.
        case incomplete

        /// A record of TLS, as far as it had to come.
        case complete

        /// Something else.
        case notTLS
    }

    /// What has come, for as long as it is incomplete.
    private(set) var bytes: [UInt8] = []

    private let needsWhole: Bool

    private static let headerByteCount = 5
    /// The library's: 2^14 and what encryption may add.
    private static let largestRecord = 16_384 + 256

    /// - Parameter needsWhole: Whether the record has to be there up to its end, rather than its
    ///   header alone.
    init(needsWhole: Bool) {
        self.needsWhole = needsWhole
    }

    /// Judges what has come behind what is kept already.
    func verdict(with input: UnsafeRawBufferPointer) -> Verdict {
        func byte(_ offset: Int) -> UInt8? {
            if offset < bytes.count { return bytes[offset] }
            let place = offset - bytes.count
            return place < input.count ? input[place] : nil
        }
        guard let type = byte(0) else { return .incomplete }
        // An alert is an answer, too: a server may refuse at once.
        guard type == 22 || type == 21 else { return .notTLS }
        guard let major = byte(1) else { return .incomplete }
        guard major == 3 else { return .notTLS }
        guard let high = byte(3), let low = byte(4) else { return .incomplete }
        let length = Int(high) << 8 | Int(low)
        guard (1...Self.largestRecord).contains(length) else { return .notTLS }
        let wanted = Self.headerByteCount + (needsWhole ? length : 0)
        return bytes.count + input.count >= wanted ? .complete : .incomplete
    }

    /// Keeps all of the input.
    mutating func keep(_ input: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: input)
    }

    /// The first bytes, as an error shows them.
    func firstBytes(with input: UnsafeRawBufferPointer) -> [UInt8] {
        Array((bytes + input.prefix(64)).prefix(64))
    }

    /// Gives away what is kept.
    mutating func takeBytes() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}

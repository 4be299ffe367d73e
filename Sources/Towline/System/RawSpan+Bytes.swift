internal import Glibc

// What people reach for on lent bytes. A span cannot leave the call it was lent to; everything here
// either copies what it keeps or only looks.

extension Array where Element == UInt8 {
    /// Copies lent bytes.
    public init(_ bytes: RawSpan) {
        self = bytes.withUnsafeBytes { [UInt8]($0) }
    }
}

extension String {
    /// Copies lent bytes as UTF-8, with U+FFFD in place of each ill-formed sequence.
    public init(decoding bytes: RawSpan) {
        self = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Copies lent bytes if they are well-formed UTF-8; else `nil`.
    public init?(validating bytes: RawSpan) {
        let text = bytes.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text else { return nil }
        self = text
    }
}

extension RawSpan {
    /// Whether the bytes are the UTF-8 of `text`, nothing before and nothing behind.
    public static func == (bytes: RawSpan, text: String) -> Bool {
        bytes.withUnsafeBytes { $0.elementsEqual(text.utf8) }
    }

    /// Whether the bytes are those of `other`.
    public static func == (bytes: RawSpan, other: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { $0.elementsEqual(other) }
    }

    /// Whether the two spans hold the same bytes.
    public static func == (bytes: RawSpan, other: RawSpan) -> Bool {
        bytes.withUnsafeBytes { left in other.withUnsafeBytes { left.elementsEqual($0) } }
    }

    /// Whether the bytes begin with the UTF-8 of `text`.
    public func starts(with text: String) -> Bool {
        withUnsafeBytes { $0.starts(with: text.utf8) }
    }

    /// The offset of the first byte of this value at or behind `start`; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - byte: The value to look for.
    ///   - start: 0 through `byteCount`; where to begin.
    /// - Returns: The offset from the beginning of the span.
    ///
    /// Source: memchr(3).
    public func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        precondition(start >= 0 && start <= byteCount, "a start within the span")
        return withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress else { return nil }
            // `start` is at most `count`, so the range looked at lies within the span.
            guard let found = memchr(base + start, CInt(byte), buffer.count - start) else {
                return nil
            }
            return UnsafeRawPointer(found) - base
        }
    }

    /// Hands out the pieces between bytes of this value, each lent for the length of the call.
    ///
    /// An empty span is one empty piece, and two separators in a row have an empty piece between.
    public func split(by separator: UInt8, _ body: (RawSpan) throws -> Void) rethrows {
        var start = 0
        while let end = firstIndex(of: separator, from: start) {
            try body(extracting(start..<end))
            start = end + 1
        }
        try body(extracting(start..<byteCount))
    }

    /// The big-endian integer at `offset`, the network's order; `nil` if it would pass the end.
    public func bigEndian<Integer: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        as type: Integer.Type = Integer.self
    ) -> Integer? {
        integer(at: offset, as: type).map { Integer(bigEndian: $0) }
    }

    /// The little-endian integer at `offset`; `nil` if it would pass the end.
    public func littleEndian<Integer: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        as type: Integer.Type = Integer.self
    ) -> Integer? {
        integer(at: offset, as: type).map { Integer(littleEndian: $0) }
    }

    private func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        as type: Integer.Type
    ) -> Integer? {
        // Subtracting instead of adding: no offset, however large, can wrap around.
        guard offset >= 0, offset <= byteCount - MemoryLayout<Integer>.size else { return nil }
        return unsafeLoadUnaligned(fromByteOffset: offset, as: type)
    }
}

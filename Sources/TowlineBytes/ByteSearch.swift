internal import Glibc

/// A pattern of bytes that can be searched for piece by piece.
///
/// The search is Knuth, Morris and Pratt's: it never looks at a byte of the text twice and needs no
/// byte of an earlier piece again, wherever the pieces were cut. Between partial matches it skips
/// with memchr(3).
///
/// Source: Knuth, Morris, Pratt, "Fast Pattern Matching in Strings", SIAM J. Comput. 6 (1977).
package struct BytePattern: Sendable, Hashable {
    package let bytes: [UInt8]

    /// For each number of matched bytes, how many remain matched when the next one differs.
    private let fallback: [Int]

    /// A pattern of at least one byte.
    package init(_ bytes: [UInt8]) {
        precondition(!bytes.isEmpty, "an empty pattern is found nowhere")
        self.bytes = bytes
        var fallback = [Int](repeating: 0, count: bytes.count + 1)
        var matched = 0
        for index in bytes.indices.dropFirst() {
            while matched > 0, bytes[index] != bytes[matched] { matched = fallback[matched] }
            if bytes[index] == bytes[matched] { matched += 1 }
            fallback[index + 1] = matched
        }
        self.fallback = fallback
    }

    package static func == (left: BytePattern, right: BytePattern) -> Bool {
        left.bytes == right.bytes
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
    }

    /// Looks for the end of the first occurrence.
    ///
    /// - Parameters:
    ///   - text: The next piece of the text.
    ///   - start: 0 through the piece's count; where in it to begin.
    ///   - matched: How many bytes of the pattern the text so far ends with; 0 at first. Left as
    ///     the same for the text with this piece, or 0 after an occurrence.
    /// - Returns: The offset in `text` behind the occurrence's last byte; `nil` if the piece ends
    ///   before an occurrence does.
    package func firstEnd(in text: RawSpan, from start: Int, matched: inout Int) -> Int? {
        precondition(start >= 0 && start <= text.byteCount, "a start within the text")
        return text.withUnsafeBytes { text in
            guard let base = text.baseAddress else { return nil }
            var index = start
            while index < text.count {
                if matched == 0 {
                    // `index` is less than `count`, so memchr looks only within the text.
                    let found = memchr(base + index, CInt(bytes[0]), text.count - index)
                    guard let found else { return nil }
                    index = UnsafeRawPointer(found) - base
                }
                let byte = text[index]
                while matched > 0, byte != bytes[matched] { matched = fallback[matched] }
                if byte == bytes[matched] { matched += 1 }
                index += 1
                if matched == bytes.count {
                    matched = 0
                    return index
                }
            }
            return nil
        }
    }
}

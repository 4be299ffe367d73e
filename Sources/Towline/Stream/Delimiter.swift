internal import TowlineBytes

/// Bytes that end a read; the result of the read includes them.
public struct Delimiter: Sendable, Hashable, CustomStringConvertible {
    /// One reference, so that a queued read is small.
    private final class Storage: Sendable {
        let pattern: BytePattern

        init(_ pattern: BytePattern) {
            self.pattern = pattern
        }
    }

    private let storage: Storage?

    /// Carriage return and line feed, as most line protocols of the Internet end their lines.
    public static let crlf = Delimiter([13, 10])

    /// Carriage return.
    public static let cr = Delimiter([13])

    /// Line feed.
    public static let lf = Delimiter([10])

    /// A zero byte.
    public static let zero = Delimiter([0])

    /// A delimiter of these bytes.
    ///
    /// An empty one is refused by the read that is given it.
    public init(_ bytes: some Collection<UInt8>) {
        storage = bytes.isEmpty ? nil : Storage(BytePattern(Array(bytes)))
    }

    /// A delimiter of the UTF-8 of `text`.
    public init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// The bytes.
    public var bytes: [UInt8] { storage?.pattern.bytes ?? [] }

    /// The pattern to search for; `nil` for an empty delimiter.
    var pattern: BytePattern? { storage?.pattern }

    /// The bytes in hexadecimal, such as `0d 0a`.
    public var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }

    /// Whether the two are the same bytes.
    public static func == (left: Delimiter, right: Delimiter) -> Bool { left.bytes == right.bytes }

    /// Feeds the bytes to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
    }
}

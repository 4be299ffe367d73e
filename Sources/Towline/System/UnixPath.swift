/// A place in the Unix domain: a path, an abstract name, or none.
///
/// Source: unix(7).
public struct UnixPath: Sendable, Hashable, CustomStringConvertible {
    /// The most bytes of a path; the kernel's field has 108, the last of them for the terminator.
    public static let pathByteLimit = 107

    /// What the kernel has behind the family: a path with its terminator, a zero and an abstract
    /// name, or nothing.
    let kernelBytes: [UInt8]

    /// The place of a peer that is bound to none.
    public static let unnamed = UnixPath(kernelBytes: [])

    /// A path in the file system, or with a leading `@` an abstract name.
    ///
    /// `nil` if it is empty, holds a zero byte, or has more bytes than ``pathByteLimit``.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty, bytes.count <= Self.pathByteLimit, !bytes.contains(0) else {
            return nil
        }
        kernelBytes = bytes[0] == UInt8(ascii: "@") ? [0] + bytes.dropFirst() : bytes + [0]
    }

    init(kernelBytes bytes: some Collection<UInt8>) {
        if let first = bytes.first, first != 0 {
            // Some callers of bind(2) count the terminator and what follows, some do not.
            kernelBytes = bytes.prefix { $0 != 0 } + [0]
        } else {
            kernelBytes = Array(bytes)
        }
    }

    private init(kernelBytes: [UInt8]) {
        self.kernelBytes = kernelBytes
    }

    /// Whether the place is an abstract name, which no file stands for.
    public var isAbstract: Bool { kernelBytes.first == 0 }

    /// The path in the file system, or `nil` for an abstract name and for none.
    public var path: String? {
        guard let first = kernelBytes.first, first != 0 else { return nil }
        return String(decoding: kernelBytes.dropLast(), as: UTF8.self)
    }

    /// The path, `@` and the abstract name, or `unnamed Unix socket`.
    public var description: String {
        if let path { return path }
        guard isAbstract else { return "unnamed Unix socket" }
        return "@" + String(decoding: kernelBytes.dropFirst(), as: UTF8.self)
    }
}

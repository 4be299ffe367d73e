internal import CLinux
internal import Glibc

/// A call that the kernel refused: which call, why, and what it was made for.
///
/// Prints as a sentence, for example
/// `listen on 0.0.0.0:8080 failed: address already in use (EADDRINUSE)`.
///
/// Source: errno(3).
public struct SystemCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the call as in its manual page, such as `bind`.
    public let call: String

    /// The number that the call left in `errno`, 1 or more.
    public let errno: CInt

    /// What the call was made for, such as `listen on 0.0.0.0:8080`; `nil` where the call says it.
    public let purpose: String?

    /// What a table without a free slot answers, as a process without a free descriptor would.
    static var tableIsFull: CInt { ENFILE }

    /// Whether, on a socket that is open, it can only mean a descriptor mixed up by us or by the
    /// program.
    var tellsOfMixUp: Bool {
        [EBADF, EINVAL, EFAULT, ENOENT, ENOTSOCK].contains(errno)
    }

    /// Describes a refused call.
    ///
    /// - Parameters:
    ///   - call: The name of the call as in its manual page.
    ///   - errno: The number that it left in `errno`, 1 or more.
    ///   - purpose: What the call was made for, if a reader would not know.
    public init(call: String, errno: CInt, purpose: String? = nil) {
        self.call = call
        self.errno = errno
        self.purpose = purpose
    }

    /// The symbolic name of the number, such as `ECONNREFUSED`, or `errno 4095` if it has none.
    public var name: String {
        guard let name = towline_errno_name(errno) else { return "errno \(errno)" }
        return String(cString: name)
    }

    /// What and why, in words and by name: `connection refused (ECONNREFUSED)`.
    package var reason: String {
        guard let words = towline_errno_words(errno) else { return name }
        let text = String(cString: words)
        // "RFS specific error" keeps its capitals, "Connection refused" begins like any clause.
        let second = text.dropFirst().first
        let isAcronym = second.map { $0.isUppercase } ?? false
        let clause = isAcronym ? text : text.prefix(1).lowercased() + text.dropFirst()
        return "\(clause) (\(name))"
    }

    /// The error as one line.
    public var description: String {
        "\(purpose ?? call) failed: \(reason)"
    }

    /// The same error, said to have been met for `purpose`.
    package func during(_ purpose: String) -> SystemCallError {
        SystemCallError(call: call, errno: errno, purpose: purpose)
    }
}

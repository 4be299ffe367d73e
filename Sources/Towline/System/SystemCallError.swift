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

    /// A connect that we gave up; the kernel would have said the same, later.
    static var connectTimedOut: SystemCallError {
        SystemCallError(call: "connect", errno: ETIMEDOUT)
    }

    /// Whether the call can only have failed by a bug of the program or of the framework.
    var isBug: Bool { [EBADF, EFAULT, EINVAL, ENOENT, ENOTSOCK].contains(errno) }

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
    public var reason: String {
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

    /// The error of several attempts that says most, the first among equals.
    ///
    /// In this order: what the program can mend, such as too few descriptors or a missing right; an
    /// answer of the peer's, such as a refusal; anything else; silence; and last that there is no
    /// way to the address, which is so for each address of a family that the host does not have.
    static func mostInformative(of errors: [SystemCallError]) -> SystemCallError? {
        errors.min { $0.rankAsReason < $1.rankAsReason }
    }

    /// How much the error says of why a connect failed, 0 most.
    private var rankAsReason: Int {
        switch errno {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM, EACCES, EPERM, EADDRINUSE: 0
        case ECONNREFUSED, ECONNRESET: 1
        case ETIMEDOUT: 3
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT: 4
        default: 2
        }
    }
}

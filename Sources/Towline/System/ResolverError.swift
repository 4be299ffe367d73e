internal import CLinux
internal import Glibc

/// Why the lookup of a name brought no address.
///
/// Prints as one line, for example `no such host (EAI_NONAME)`.
///
/// Source: getaddrinfo(3), gai_strerror(3).
@nonexhaustive
public enum ResolverError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Nobody has the name.
    case noSuchHost

    /// The name is known and has no address.
    case noAddress

    /// The name has addresses, and none of a family that is enabled and that the chosen interface
    /// has.
    case noUsableAddress

    /// No server answered, or one asked to be asked again later.
    case temporaryFailure

    /// A server refused to answer.
    case permanentFailure

    /// The lookup took longer than it may.
    case timedOut

    /// More lookups wait than are let wait.
    case tooManyLookups

    /// A call of the system's failed.
    case system(SystemCallError)

    /// Anything else, in words; resolvers of a program's own may say so, too.
    case other(String)

    /// What getaddrinfo(3) answered, and the errno behind `EAI_SYSTEM`.
    init(code: CInt, errno number: CInt) {
        switch code {
        case EAI_NONAME: self = .noSuchHost
        case towline_eai_nodata: self = .noAddress
        case EAI_AGAIN: self = .temporaryFailure
        case EAI_FAIL: self = .permanentFailure
        case EAI_SYSTEM: self = .system(SystemCallError(call: "getaddrinfo", errno: number))
        case EAI_MEMORY: self = .other("out of memory (EAI_MEMORY)")
        case EAI_FAMILY: self = .other("address family not supported (EAI_FAMILY)")
        default:
            let words = gai_strerror(code).map { String(cString: $0) } ?? "name lookup failed"
            self = .other("\(words.prefix(1).lowercased() + words.dropFirst()) (code \(code))")
        }
    }

    /// The error as one line.
    public var description: String {
        switch self {
        case .noSuchHost: "no such host (EAI_NONAME)"
        case .noAddress: "the host has no address (EAI_NODATA)"
        case .noUsableAddress:
            "the host has no address of a family that is enabled and that the interface has"
        case .temporaryFailure: "temporary failure in name lookup, try again (EAI_AGAIN)"
        case .permanentFailure: "the name server refused to answer (EAI_FAIL)"
        case .timedOut: "name lookup timed out"
        case .tooManyLookups: "too many name lookups wait already"
        case .system(let error): error.description
        case .other(let words): words
        }
    }
}

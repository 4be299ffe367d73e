/// A version of TLS that can be asked for.
///
/// Source: RFC 5246; RFC 8446.
@nonexhaustive
public enum TLSVersion: UInt16, Sendable, Hashable, Comparable, CaseIterable,
    CustomStringConvertible
{
    /// TLS 1.2, the lowest there is.
    case tls12 = 0x0303

    /// TLS 1.3.
    case tls13 = 0x0304

    /// Whether one version is older than another.
    public static func < (one: TLSVersion, other: TLSVersion) -> Bool {
        one.rawValue < other.rawValue
    }

    /// The name, such as `TLS 1.3`.
    public var description: String {
        switch self {
        case .tls12: "TLS 1.2"
        case .tls13: "TLS 1.3"
        }
    }
}

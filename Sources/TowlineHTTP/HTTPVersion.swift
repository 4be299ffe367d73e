/// A version of the protocol, as a message names it.
///
/// Source: RFC 9112 section 2.3.
public struct HTTPVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The digit in front of the point.
    public let major: UInt8
    /// The digit behind the point.
    public let minor: UInt8

    /// A version of two digits, each 0 through 9.
    public init(major: UInt8, minor: UInt8) {
        precondition(major <= 9 && minor <= 9, "a version has one digit on each side")
        self.major = major
        self.minor = minor
    }

    /// A response without a head: nothing but a body.
    public static let http09 = HTTPVersion(major: 0, minor: 9)
    /// One exchange a connection, unless both sides say otherwise.
    public static let http10 = HTTPVersion(major: 1, minor: 0)
    /// Connections that last.
    public static let http11 = HTTPVersion(major: 1, minor: 1)

    /// By the major number, then by the minor.
    public static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    /// Such as `HTTP/1.1`.
    public var description: String { "HTTP/\(major).\(minor)" }
}

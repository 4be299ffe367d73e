internal import Glibc

/// An IPv4 address.
///
/// Source: RFC 791, section 3.2; inet_pton(3).
public struct IPv4Address: Sendable, Hashable, CustomStringConvertible {
    /// The address in host byte order: 127.0.0.1 is `0x7F00_0001`.
    public let rawValue: UInt32

    /// The address with this value in host byte order.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Reads four decimal numbers with dots between them, such as `127.0.0.1`; else `nil`.
    public init?(_ text: String) {
        var address = in_addr()
        // C would take a zero byte for the end, and not see what follows.
        guard !text.utf8.contains(0) else { return nil }
        guard inet_pton(AF_INET, text, &address) == 1 else { return nil }
        rawValue = UInt32(bigEndian: address.s_addr)
    }

    /// Every interface of the host, `0.0.0.0`.
    public static let any = IPv4Address(rawValue: 0)

    /// The host itself, `127.0.0.1`.
    public static let loopback = IPv4Address(rawValue: 0x7F00_0001)

    /// The four numbers with dots between them.
    public var description: String {
        "\(rawValue >> 24).\(rawValue >> 16 & 255).\(rawValue >> 8 & 255).\(rawValue & 255)"
    }
}

/// An IPv6 address, without a scope.
///
/// Source: RFC 4291; RFC 5952 for its text; inet_pton(3).
public struct IPv6Address: Sendable, Hashable, CustomStringConvertible {
    /// The first and the last eight bytes, each in host byte order.
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads an address such as `2001:db8::1`, without brackets and without a scope; else `nil`.
    public init?(_ text: String) {
        var address = in6_addr()
        guard !text.utf8.contains(0) else { return nil }
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        self.init(address)
    }

    /// Every interface of the host, `::`.
    public static let any = IPv6Address(high: 0, low: 0)

    /// The host itself, `::1`.
    public static let loopback = IPv6Address(high: 0, low: 1)

    /// The shortest text of the address, as RFC 5952 has it.
    public var description: String {
        var address = cValue
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
            // The buffer has the size that inet_ntop(3) asks for, so the call cannot fail.
            guard
                let text = inet_ntop(AF_INET6, &address, $0.baseAddress, socklen_t($0.count))
            else { preconditionFailure("an IPv6 address has a text") }
            return String(cString: text)
        }
    }

    init(_ address: in6_addr) {
        var copy = address
        self = withUnsafeBytes(of: &copy) {
            IPv6Address(
                high: UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                low: UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// The address of sixteen bytes as they go over the network.
    package init(networkBytes bytes: [UInt8]) {
        precondition(bytes.count == 16, "an address has sixteen bytes")
        self.init(
            high: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) },
            low: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
        )
    }

    /// The sixteen bytes as they go over the network.
    package var networkBytes: [UInt8] {
        [high, low].flatMap { half in
            (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) }
        }
    }

    var cValue: in6_addr {
        var address = in6_addr()
        withUnsafeMutableBytes(of: &address) {
            $0.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
            $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return address
    }
}

/// An address of either family.
public enum IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 address.
    case ipv4(IPv4Address)

    /// An IPv6 address.
    case ipv6(IPv6Address)

    /// Reads an address of either family, without brackets and without a scope; else `nil`.
    public init?(_ text: String) {
        if let address = IPv4Address(text) {
            self = .ipv4(address)
        } else if let address = IPv6Address(text) {
            self = .ipv6(address)
        } else {
            return nil
        }
    }

    /// The text of the address, without brackets.
    public var description: String {
        switch self {
        case .ipv4(let address): address.description
        case .ipv6(let address): address.description
        }
    }
}

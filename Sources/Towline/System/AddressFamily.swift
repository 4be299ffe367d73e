/// A family of addresses that a host may have.
public enum AddressFamily: String, Sendable, Hashable, CaseIterable {
    /// IPv4.
    case ipv4
    /// IPv6.
    case ipv6
}

/// Which family is tried first where a host has addresses of both.
public enum FamilyPreference: String, Sendable, Hashable, CaseIterable {
    /// As the resolver orders them, which is as the system wants it (RFC 6724).
    case system
    /// IPv4 first.
    case ipv4
    /// IPv6 first.
    case ipv6
}

extension SocketAddress {
    /// The family; `nil` in the Unix domain.
    public var addressFamily: AddressFamily? {
        switch self {
        case .ipv4: .ipv4
        case .ipv6: .ipv6
        case .unix: nil
        }
    }

    /// Reads what may stand for a host without being a name: `127.0.0.1`, `::1`, `[::1]`,
    /// `fe80::1%eth0`; `nil` for anything else.
    package init?(literalHost host: String, port: UInt16) {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let text = host.contains(":") && !isBracketed ? "[\(host)]" : host
        // A path is none, and neither is a name with a port.
        guard !text.hasPrefix("/"), !text.hasPrefix("@") else { return nil }
        self.init("\(text):\(port)")
    }

    /// Whether the address means nothing without an interface, and has none.
    var lacksScope: Bool {
        guard case .ipv6(let address, _, 0) = self else { return false }
        return address.high >> 54 == 0xFE80 >> 6
    }

    /// The same address on the interface that `other` belongs to.
    func scoped(like other: SocketAddress?) -> SocketAddress {
        guard lacksScope, case .ipv6(_, _, let scopeID)? = other,
            case .ipv6(let address, let port, _) = self
        else { return self }
        return .ipv6(address, port: port, scopeID: scopeID)
    }
}

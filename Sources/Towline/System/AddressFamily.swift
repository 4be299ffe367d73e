/// A family of addresses that a host may have.
public enum AddressFamily: String, Sendable, Hashable, CaseIterable {
    /// IPv4.
    case ipv4
    /// IPv6.
    case ipv6
}

internal import CLinux
internal import Glibc

/// Where a socket is or goes to: an address and a port, or a place in the Unix domain.
///
/// Its text can be read back: `127.0.0.1:80`, `[::1]:80`, `[fe80::1%eth0]:80`, `/run/app.sock`,
/// `@name` for an abstract name.
public enum SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 address and a port.
    case ipv4(IPv4Address, port: UInt16)

    /// An IPv6 address, a port, and the interface that a link-local address belongs to (0: none).
    case ipv6(IPv6Address, port: UInt16, scopeID: UInt32 = 0)

    /// A place in the Unix domain.
    case unix(UnixPath)

    /// The address of either family with `port`.
    public init(_ address: IPAddress, port: UInt16) {
        switch address {
        case .ipv4(let address): self = .ipv4(address, port: port)
        case .ipv6(let address): self = .ipv6(address, port: port)
        }
    }

    /// Reads what ``description`` writes, of paths those that begin with `/`; `nil` for anything
    /// else, names of hosts included.
    public init?(_ text: String) {
        if text.hasPrefix("/") || text.hasPrefix("@") {
            guard let path = UnixPath(text) else { return nil }
            self = .unix(path)
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = Self.number(text[text.index(after: colon)...], as: UInt16.self)
        else { return nil }
        let host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            self.init(scopedIPv6: host.dropFirst().dropLast(), port: port)
        } else {
            guard let address = IPv4Address(String(host)) else { return nil }
            self = .ipv4(address, port: port)
        }
    }

    private init?(scopedIPv6 text: Substring, port: UInt16) {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPv6Address(String(parts[0])) else { return nil }
        guard parts.count == 2 else {
            self = .ipv6(address, port: port)
            return
        }
        // A zero byte would end the name for the kernel, and hide what follows.
        guard !parts[1].utf8.contains(0) else { return nil }
        let scopeID = Self.number(parts[1], as: UInt32.self) ?? if_nametoindex(String(parts[1]))
        guard scopeID != 0 else { return nil }
        self = .ipv6(address, port: port, scopeID: scopeID)
    }

    /// Digits as a number; unlike an integer's own initialiser it takes no sign.
    private static func number<Number: FixedWidthInteger>(
        _ text: Substring,
        as type: Number.Type
    ) -> Number? {
        text.utf8.first == UInt8(ascii: "+") ? nil : Number(text)
    }

    /// The port, or `nil` in the Unix domain.
    public var port: UInt16? {
        switch self {
        case .ipv4(_, let port): port
        case .ipv6(_, let port, _): port
        case .unix: nil
        }
    }

    /// The address without its port, or `nil` in the Unix domain.
    public var ipAddress: IPAddress? {
        switch self {
        case .ipv4(let address, _): .ipv4(address)
        case .ipv6(let address, _, _): .ipv6(address)
        case .unix: nil
        }
    }

    /// The same address with another port; in the Unix domain the same.
    public func withPort(_ port: UInt16) -> SocketAddress {
        switch self {
        case .ipv4(let address, _): .ipv4(address, port: port)
        case .ipv6(let address, _, let scopeID): .ipv6(address, port: port, scopeID: scopeID)
        case .unix: self
        }
    }

    /// The address as text, IPv6 in brackets and with its scope.
    public var description: String {
        switch self {
        case .ipv4(let address, let port):
            return "\(address):\(port)"
        case .ipv6(let address, let port, let scopeID):
            guard scopeID != 0 else { return "[\(address)]:\(port)" }
            return "[\(address)%\(Self.interfaceName(scopeID))]:\(port)"
        case .unix(let path):
            return path.description
        }
    }

    private static func interfaceName(_ index: UInt32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) {
            guard let name = if_indextoname(index, $0.baseAddress) else { return "\(index)" }
            return String(cString: name)
        }
    }
}

// MARK: The kernel's form

extension SocketAddress {
    /// The `AF_…` constant of its family.
    package var family: CInt {
        switch self {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// Lends the address in the kernel's form for the length of the call.
    func withSocketAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        switch self {
        case .ipv4(let address, let port):
            var value = sockaddr_in()
            value.sin_family = sa_family_t(AF_INET)
            value.sin_port = port.bigEndian
            value.sin_addr.s_addr = address.rawValue.bigEndian
            return Self.lend(&value, length: MemoryLayout<sockaddr_in>.size, body)
        case .ipv6(let address, let port, let scopeID):
            var value = sockaddr_in6()
            value.sin6_family = sa_family_t(AF_INET6)
            value.sin6_port = port.bigEndian
            value.sin6_addr = address.cValue
            value.sin6_scope_id = scopeID
            return Self.lend(&value, length: MemoryLayout<sockaddr_in6>.size, body)
        case .unix(let path):
            var value = sockaddr_un()
            value.sun_family = sa_family_t(AF_UNIX)
            // A path that the kernel told may fill the field, and then has no terminator.
            let bytes = path.kernelBytes.prefix(MemoryLayout.size(ofValue: value.sun_path))
            withUnsafeMutableBytes(of: &value.sun_path) { $0.copyBytes(from: bytes) }
            let length = MemoryLayout<sa_family_t>.size + bytes.count
            return Self.lend(&value, length: length, body)
        }
    }

    private static func lend<Value, Result>(
        _ value: inout Value,
        length: Int,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: &value) {
            // Every sockaddr type begins like `sockaddr`, and `length` is at most its own size.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }

    /// Reads what the kernel filled in; `nil` for a family that is none of the three.
    init?(_ storage: inout sockaddr_storage, length: socklen_t) {
        let family = CInt(storage.ss_family)
        let address: SocketAddress? = withUnsafeBytes(of: &storage) { bytes in
            // `sockaddr_storage` is large and aligned enough for each of the three.
            switch family {
            case AF_INET:
                let value = bytes.loadUnaligned(as: sockaddr_in.self)
                let address = IPv4Address(rawValue: UInt32(bigEndian: value.sin_addr.s_addr))
                return .ipv4(address, port: UInt16(bigEndian: value.sin_port))
            case AF_INET6:
                let value = bytes.loadUnaligned(as: sockaddr_in6.self)
                return .ipv6(
                    IPv6Address(value.sin6_addr),
                    port: UInt16(bigEndian: value.sin6_port),
                    scopeID: value.sin6_scope_id
                )
            case AF_UNIX:
                let start = MemoryLayout<sa_family_t>.size
                let end = min(max(Int(length), start), MemoryLayout<sockaddr_un>.size)
                return .unix(UnixPath(kernelBytes: bytes[start..<end]))
            default:
                return nil
            }
        }
        guard let address else { return nil }
        self = address
    }
}

internal import CLinux
internal import Glibc

/// Which interface of the host a connection leaves by, or a listener is reached at.
///
/// It selects the address that is bound to, the *source address* of a connection; it does not bind
/// to the device, so the routes of the host still decide by which wire packets go.
///
/// Source: bind(2), getifaddrs(3).
public enum InterfaceSpecifier: Sendable, Hashable, CustomStringConvertible {
    /// Whichever the host chooses; a listener is reached at every interface.
    case any

    /// The host itself, 127.0.0.1 and ::1.
    case loopback

    /// The interface with this name, such as `eth0`: its first IPv4 and its first IPv6 address.
    case named(String)

    /// One address of an interface of the host.
    case address(IPAddress)

    /// The name or the address.
    public var description: String {
        switch self {
        case .any: "any"
        case .loopback: "loopback"
        case .named(let name): name
        case .address(let address): address.description
        }
    }

    /// What to bind to, in each family the interface has; ports are 0.
    struct SourceAddresses: Equatable {
        var ipv4: SocketAddress?
        var ipv6: SocketAddress?

        /// Whether the interface is not known, or has no address of either family.
        var isEmpty: Bool { ipv4 == nil && ipv6 == nil }
    }

    /// Finds out what to bind to; empty for an interface that the host does not have.
    ///
    /// - Throws: ``SystemCallError`` from `getifaddrs`.
    func sourceAddresses() throws(SystemCallError) -> SourceAddresses {
        switch self {
        case .any, .loopback: sourceAddresses(among: [])
        case .named, .address: sourceAddresses(among: try InterfaceAddress.all())
        }
    }

    /// The same, told what the host has.
    func sourceAddresses(among known: [InterfaceAddress]) -> SourceAddresses {
        switch self {
        case .any:
            return SourceAddresses(ipv4: .ipv4(.any, port: 0), ipv6: .ipv6(.any, port: 0))
        case .loopback:
            return SourceAddresses(
                ipv4: .ipv4(.loopback, port: 0),
                ipv6: .ipv6(.loopback, port: 0)
            )
        case .named(let name):
            return Self.first(of: known.filter { $0.name == name })
        case .address(.ipv4(let address)) where address.rawValue >> 24 == 127:
            // The whole network is the host's own, though the interface lists one address of it.
            return SourceAddresses(ipv4: .ipv4(address, port: 0))
        case .address(let address):
            return Self.first(of: known.filter { $0.address.ipAddress == address })
        }
    }

    private static func first(of known: [InterfaceAddress]) -> SourceAddresses {
        SourceAddresses(
            ipv4: known.first { $0.address.family == AF_INET }?.address,
            ipv6: known.first { $0.address.family == AF_INET6 }?.address
        )
    }
}

/// An address that an interface of the host has.
struct InterfaceAddress: Equatable {
    let name: String
    /// With port 0, and with the scope of a link-local one.
    let address: SocketAddress

    /// All of them, in the kernel's order.
    ///
    /// An interface has entries without an address, and some of families that no socket of ours
    /// has; they are skipped.
    ///
    /// - Throws: ``SystemCallError`` from `getifaddrs`.
    static func all() throws(SystemCallError) -> [InterfaceAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else {
            throw SystemCallError(call: "getifaddrs", errno: errno)
        }
        defer { freeifaddrs(first) }
        var found: [InterfaceAddress] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let raw = entry.ifa_addr, let name = entry.ifa_name,
                let address = SocketAddress(reading: raw)
            else { continue }
            found.append(InterfaceAddress(name: String(cString: name), address: address))
        }
        return found
    }
}

extension SocketAddress {
    /// Reads an address of the IPv4 or IPv6 family where the system has put it; else `nil`.
    init?(reading raw: UnsafePointer<sockaddr>) {
        let length: Int
        switch CInt(raw.pointee.sa_family) {
        case AF_INET: length = MemoryLayout<sockaddr_in>.size
        case AF_INET6: length = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) {
            // The family says how many bytes lie there, and each kind fits into the storage.
            $0.copyMemory(from: UnsafeRawBufferPointer(start: raw, count: length))
        }
        self.init(&storage, length: socklen_t(length))
    }
}

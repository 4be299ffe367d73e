internal import Glibc
internal import Towline

extension IPAddress {
    /// Its four or sixteen bytes, as they go over the network.
    var networkBytes: [UInt8] {
        switch self {
        case .ipv4(let address):
            return withUnsafeBytes(of: address.rawValue.bigEndian) { Array($0) }
        case .ipv6(let address):
            var bytes = in6_addr()
            // The text of an address is one that it takes.
            _ = inet_pton(AF_INET6, address.description, &bytes)
            return withUnsafeBytes(of: bytes) { Array($0) }
        }
    }
}

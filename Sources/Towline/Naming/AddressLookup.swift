internal import CLinux
internal import Glibc

/// Looks one name up and blocks until it is done; called on a thread of its own.
package typealias AddressLookup = @Sendable (String) -> Result<[SocketAddress], ResolverError>

/// The system's resolver.
///
/// Source: getaddrinfo(3); its order is that of RFC 6724.
enum SystemLookup {
    /// The addresses in the system's order, each once, with their scopes and with port 0.
    static func addresses(of host: String) -> Result<[SocketAddress], ResolverError> {
        // C would take a zero byte for the end of the name.
        guard !host.utf8.contains(0) else { return .failure(.noSuchHost) }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        // Else each address comes once for every type of socket.
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &first)
        let number = errno
        guard code == 0 else { return .failure(ResolverError(code: code, errno: number)) }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var seen: Set<SocketAddress> = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let raw = entry.ai_addr, let address = SocketAddress(reading: raw),
                seen.insert(address).inserted
            else { continue }
            found.append(address)
        }
        return found.isEmpty ? .failure(.noAddress) : .success(found)
    }
}

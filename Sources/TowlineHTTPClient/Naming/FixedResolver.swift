public import Towline

/// Knows the addresses of the names in a table, and of no others.
///
///     configuration.makeResolver = { _ in FixedResolver(["box.test": [.ipv4(.loopback)]]) }
public final class FixedResolver: Resolver, Sendable {
    private let table: [String: [IPAddress]]

    /// A table.
    ///
    /// - Parameter table: Addresses by name, in the order in which they are tried. Case makes no
    ///   difference, nor does a dot at a name's end.
    public init(_ table: [String: [IPAddress]]) {
        self.table = Dictionary(
            table.map { (LookupName.canonical($0.key), $0.value) },
            uniquingKeysWith: { $0 + $1 }
        )
    }

    /// Answers at once; a name that is not in the table, with `ResolverError.noSuchHost`.
    public func resolve(
        _ host: String,
        port: UInt16,
        reply: @escaping @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
    ) {
        guard let addresses = table[LookupName.canonical(host)] else {
            return reply(.failure(.noSuchHost))
        }
        let answer = addresses.map { SocketAddress($0, port: port) }
        reply(.success(ResolvedAddresses(addresses: answer)))
    }
}

/// Names as lookups tell them apart.
enum LookupName {
    /// In lower case, without the dot that may stand at the end.
    static func canonical(_ name: String) -> String {
        let lower = name.lowercased()
        return lower.count > 1 && lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}

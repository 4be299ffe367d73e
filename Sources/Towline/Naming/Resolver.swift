/// Finds the addresses of a host; bring one of your own with
/// ``Reactor/Configuration/makeResolver``.
///
/// It lives on one reactor, whose thread calls it. It may reply at once, late, twice, from any
/// thread, or never: a socket takes the first answer that comes while it waits for one, and its
/// connect timeout bounds the wait.
public protocol Resolver: AnyObject {
    /// Looks a host up.
    ///
    /// - Parameters:
    ///   - host: A name; no address, and not `localhost`, which need no lookup.
    ///   - port: The port that is asked for. Ports in the answer are not trusted: the socket writes
    ///     this one into each address.
    ///   - reply: Called with what was found, in the order in which it should be tried, or with why
    ///     nothing was.
    func resolve(
        _ host: String,
        port: UInt16,
        reply: @escaping @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
    )
}

/// What a lookup found.
public struct ResolvedAddresses: Sendable, Hashable {
    /// The addresses, in the order in which they should be tried.
    public var addresses: [SocketAddress]

    /// How long the answer may be kept; `nil` if that is not known.
    public var timeToLive: Duration?

    /// The addresses in their order.
    public init(addresses: [SocketAddress], timeToLive: Duration? = nil) {
        self.addresses = addresses
        self.timeToLive = timeToLive
    }
}

/// How the reactor's own resolver looks names up.
public struct LookupOptions: Sendable, Hashable {
    /// How long one lookup may take, waiting for a thread included, before it fails with
    /// ``ResolverError/timedOut``; 15 s.
    public var deadline = Duration.seconds(15)

    /// How long an answer is kept for the next who ask; `nil`, not at all.
    ///
    /// The system's resolver does not say how long an answer holds, so this is a bound of yours.
    /// Failures are kept for 1 s at most.
    public var cachedAnswerAge: Duration?

    /// How many answers are kept at most, 1 or more; 1,024.
    public var cachedAnswerLimit = 1_024

    /// The usual options.
    public init() {}
}

/// Hosts whose addresses are known without asking anybody.
package enum KnownHost {
    /// The addresses of a literal, or of the host itself by one of its names; else `nil`.
    ///
    /// Source: RFC 6761, section 6.3.
    package static func addresses(of host: String, port: UInt16) -> [SocketAddress]? {
        if let address = SocketAddress(literalHost: host, port: port) { return [address] }
        switch host.lowercased() {
        case "localhost", "localhost.", "loopback":
            return [.ipv6(.loopback, port: port), .ipv4(.loopback, port: port)]
        default:
            return nil
        }
    }
}

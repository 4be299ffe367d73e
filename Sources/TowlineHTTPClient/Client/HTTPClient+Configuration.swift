public import Towline
public import TowlineHTTP
public import TowlineTLS

extension HTTPClient {
    /// What holds for all requests of a client, where they do not say otherwise.
    ///
    /// A value, which may be made anywhere; its closures are called on the client's reactor.
    public struct Configuration: Sendable {
        /// How connections are secured, and whom to trust; the name is the URL's host.
        public var tls = TLSConfiguration.client

        /// The name to send and to verify instead of the URL's host, on every connection.
        public var tlsServerName: String?

        /// Decides whether to trust a server where the trust policy leaves that to the delegate;
        /// without it such servers are refused.
        ///
        /// Given what there is to know of the server and the name that it was asked for as; replies
        /// at once or later, from any thread.
        public var evaluate:
            (@Sendable (TLSTrust, String, @escaping @Sendable (Bool) -> Void) -> Void)?

        /// Certificates to show, each to its origin and to no other.
        public var identities: [HTTPURL.Origin: Identity] = [:]

        /// Makes what looks names up; `nil`, the reactor's own resolver.
        public var makeResolver: (@Sendable (Reactor) -> any Resolver)?

        /// Addresses of hosts that are not looked up, tried in this order.
        public var addresses: [HTTPHostPort: [SocketAddress]] = [:]

        /// Which proxy is asked for which URL.
        public var proxy = HTTPProxyRules.direct

        /// Other places to connect to instead of these; names, credentials and verification stay
        /// those of the URL.
        ///
        /// On either side an empty host stands for any, as it is, and port 0 for any.
        public var detours: [HTTPHostPort: HTTPHostPort] = [:]

        /// A Unix socket to connect to instead of any host.
        public var unixPath: String?

        /// Families that are connected to; both.
        public var addressFamilies: Set<AddressFamily> = [.ipv4, .ipv6]

        /// How long an attempt to connect has before the next address is tried beside it; 250 ms.
        ///
        /// Source: RFC 8305 section 5.
        public var connectionAttemptDelay = Duration.milliseconds(250)

        /// The interface or local address that connections begin at.
        public var interface: InterfaceSpecifier?

        /// What the kernel is asked for.
        public var socketOptions = SocketOptions()

        /// How long each part of an exchange may take.
        public var timeouts = HTTPTimeouts()

        /// How redirects are met.
        public var redirects = HTTPRedirectPolicy.follow

        /// Where cookies are kept; `nil`, none are kept, and none are told.
        public var cookieJar: SharedCookieJar?

        /// What is sent as `User-Agent`; `nil`, nothing.
        public var userAgent: String? = "Towline"

        /// Whether coded content is asked for and decoded.
        public var decodesContent = true

        /// How many bytes of decoded content an exchange may bring; `nil`, any number.
        public var maxDecodedBytes: UInt64?

        /// How strictly responses are read.
        public var profile = HTTPProfile.standard

        /// What heads, lines and framing may have at most.
        public var limits = HTTP1Limits()

        /// Whether a response without a head is taken, on a connection that nobody used before.
        public var allowsHTTP09 = false

        /// Whether the connection may end without the peer having said so under TLS, where that end
        /// is the end of the body.
        public var toleratesMissingCloseNotify = false

        /// How many connections there may be to one place, 1 or more; 6.
        public var connectionsPerKey = 6

        /// How many idle connections are kept in all, 0 or more; 128, and the oldest goes.
        public var idleConnectionLimit = 128

        /// How long an idle connection is kept; 60 s, or a second less than the peer says if that
        /// is shorter.
        public var idleTime = Duration.seconds(60)

        /// How much of a body is read only to keep the connection, in bytes; 64 KiB.
        public var drainLimit = 64 * 1024

        /// How large a body may be that is collected, in bytes; 16 MiB.
        public var collectLimit = 16 * 1024 * 1024

        /// The usual ones.
        public init() {}
    }
}

/// A host, by name or address, and a port of it.
public struct HTTPHostPort: Sendable, Hashable, CustomStringConvertible {
    /// The host, in lower case; an IPv6 address without brackets.
    public let host: String
    /// The port; 0 stands for any, where that makes sense.
    public let port: UInt16

    /// A port of a host.
    public init(_ host: String, _ port: UInt16) {
        self.host = host.lowercased()
        self.port = port
    }

    /// Such as `box.test:80` and `[::1]:80`.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

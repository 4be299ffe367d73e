public import TowlineHTTP
public import TowlineTLS

/// What is asked of a server, and how.
///
/// A value: it may be kept, changed and sent again. What is wrong with it is told when it is
/// started, by the exchange's end.
///
/// Source: RFC 9110 section 9; RFC 9112 section 3.
public struct HTTPRequest: Sendable {
    /// What to do.
    public var method: HTTPMethod

    /// Where to, as it was written: an absolute URL of http or https.
    public var url: String

    /// Fields to send; those named here replace the ones that would be sent by themselves.
    ///
    /// `Host` goes first on the wire, one that stands here instead of the URL's own.
    public var headers: HTTPHeaders

    /// The fields that would be sent by themselves and shall not be, by name.
    public var omittedHeaders: Set<String> = []

    /// Further fields that are dropped where a redirect leaves the origin, besides those that
    /// always are.
    public var sensitiveHeaders: Set<String> = []

    /// What is sent behind the head.
    public var body: HTTPBody

    /// The version to speak, 1.1 or 1.0.
    public var version = HTTPVersion.http11

    /// Who asks, for the URL's origin alone; overrides the URL's own user and password.
    public var credential: HTTPCredential?

    /// Which proxy is asked for which URL, on redirects too; `nil`, as the configuration says.
    public var proxy: HTTPProxyRules?

    /// Who asks, for the proxy; overrides what the proxy's own value says.
    public var proxyCredential: HTTPCredential?

    /// The certificate to show to the URL's origin, and to no other.
    public var identity: Identity?

    /// What is sent instead of the URL's path and query; `*` with OPTIONS.
    public var target: String?

    /// Whether asking twice does what asking once does, although the method does not say so.
    public var isIdempotent = false

    /// The protocols to change to, as they stand in `Upgrade`; empty, none.
    public var upgrade: [String] = []

    /// Whether bodies wait for the server's consent.
    public var expectsContinue = ExpectContinue.fromSize(1024 * 1024)

    /// How long each part of the exchange may take; `nil`, as the client's configuration says.
    public var timeouts: HTTPTimeouts?

    /// How redirects are met; `nil`, as the client's configuration says.
    public var redirects: HTTPRedirectPolicy?

    /// Whether coded content is decoded; `nil`, as the client's configuration says.
    ///
    /// Setting `Accept-Encoding` or `Range` among the headers means no, unless this says yes.
    public var decodesContent: Bool?

    /// Whether a body that comes in chunks is shown as it came, with what stands around them and
    /// behind the last one, and is not decoded.
    public var keepsFraming = false

    /// How many bytes of decoded content there may be; `nil`, as the configuration says.
    public var maxDecodedBytes: UInt64?

    /// Requests with different names here never share a connection.
    public var partition = ""

    /// A Unix socket to connect to instead of the URL's host; dropped by a redirect to another.
    public var unixPath: String?

    /// A request.
    ///
    /// - Parameters:
    ///   - method: What to do.
    ///   - url: Where to.
    ///   - headers: Fields to send.
    ///   - body: What is sent behind them.
    public init(
        _ method: HTTPMethod = .get,
        _ url: String,
        headers: HTTPHeaders = [:],
        body: HTTPBody = .none
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// When a body waits for a `100 Continue`, for a second at most.
    ///
    /// Source: RFC 9110 section 10.1.1.
    public enum ExpectContinue: Sendable, Hashable {
        /// Whenever there is a body.
        case always
        /// When the body has that many bytes, or nobody knows how many.
        case fromSize(UInt64)
        /// Never.
        case never
    }
}

/// Who asks.
public enum HTTPCredential: Sendable, Hashable {
    /// A user by name and password, sent at once and readable (RFC 7617).
    case basic(user: String, password: String)
    /// A token, sent at once (RFC 6750).
    case bearer(String)
    /// A user by name and password, which is proved when the server asks (RFC 7616).
    case digest(user: String, password: String)
    /// A user by name and password, in the safest way that the server offers; nothing is sent
    /// before it asks.
    case anyOffered(user: String, password: String)
}

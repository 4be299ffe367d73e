public import TowlineHTTP
public import TowlineTLS

/// What is asked of a server, and how.
///
/// A value: it may be kept, changed and sent again. What is wrong with it is told when it is
/// started, by the exchange's end.
///
/// Source: RFC 9110 section 9; RFC 9112 section 3.
public struct HTTPRequest: Sendable {
    /// Held in one place, so that passing a request on counts one reference and copies nothing.
    private var storage: Storage

    /// What to do.
    public var method: HTTPMethod {
        get { storage.parts.method }
        set { own().parts.method = newValue }
    }

    /// Where to, as it was written: an absolute URL of http or https.
    public var url: String {
        get { storage.parts.url }
        set { own().parts.url = newValue }
    }

    /// Fields to send; those named here replace the ones that would be sent by themselves.
    ///
    /// `Host` goes first on the wire, one that stands here instead of the URL's own.
    public var headers: HTTPHeaders {
        get { storage.parts.headers }
        set { own().parts.headers = newValue }
    }

    /// The fields that would be sent by themselves and shall not be, by name.
    public var omittedHeaders: Set<String> {
        get { storage.parts.omittedHeaders }
        set { changed().parts.omittedHeaders = newValue }
    }

    /// Further fields that are dropped where a redirect leaves the origin, besides those that
    /// always are.
    public var sensitiveHeaders: Set<String> {
        get { storage.parts.sensitiveHeaders }
        set { changed().parts.sensitiveHeaders = newValue }
    }

    /// What is sent behind the head.
    public var body: HTTPBody {
        get { storage.parts.body }
        set { own().parts.body = newValue }
    }

    /// The version to speak, 1.1 or 1.0.
    public var version: HTTPVersion {
        get { storage.parts.version }
        set { changed().parts.version = newValue }
    }

    /// Who asks, for the URL's origin alone; overrides the URL's own user and password.
    public var credential: HTTPCredential? {
        get { storage.parts.credential }
        set { changed().parts.credential = newValue }
    }

    /// Which proxy is asked for which URL, on redirects too; `nil`, as the configuration says.
    public var proxy: HTTPProxyRules? {
        get { storage.parts.proxy }
        set { changed().parts.proxy = newValue }
    }

    /// Who asks, for the proxy; overrides what the proxy's own value says.
    public var proxyCredential: HTTPCredential? {
        get { storage.parts.proxyCredential }
        set { changed().parts.proxyCredential = newValue }
    }

    /// The certificate to show to the URL's origin, and to no other.
    public var identity: Identity? {
        get { storage.parts.identity }
        set { changed().parts.identity = newValue }
    }

    /// What is sent instead of the URL's path and query; `*` with OPTIONS.
    public var target: String? {
        get { storage.parts.target }
        set { changed().parts.target = newValue }
    }

    /// Whether asking twice does what asking once does, although the method does not say so.
    public var isIdempotent: Bool {
        get { storage.parts.isIdempotent }
        set { changed().parts.isIdempotent = newValue }
    }

    /// The protocols to change to, as they stand in `Upgrade`; empty, none.
    public var upgrade: [String] {
        get { storage.parts.upgrade }
        set { changed().parts.upgrade = newValue }
    }

    /// Whether bodies wait for the server's consent.
    public var expectsContinue: ExpectContinue {
        get { storage.parts.expectsContinue }
        set { changed().parts.expectsContinue = newValue }
    }

    /// How long each part of the exchange may take; `nil`, as the client's configuration says.
    public var timeouts: HTTPTimeouts? {
        get { storage.parts.timeouts }
        set { changed().parts.timeouts = newValue }
    }

    /// How redirects are met; `nil`, as the client's configuration says.
    public var redirects: HTTPRedirectPolicy? {
        get { storage.parts.redirects }
        set { changed().parts.redirects = newValue }
    }

    /// Whether coded content is decoded; `nil`, as the client's configuration says.
    ///
    /// Setting `Accept-Encoding` or `Range` among the headers means no, unless this says yes.
    public var decodesContent: Bool? {
        get { storage.parts.decodesContent }
        set { changed().parts.decodesContent = newValue }
    }

    /// Whether a body that comes in chunks is shown as it came, with what stands around them and
    /// behind the last one, and is not decoded.
    public var keepsFraming: Bool {
        get { storage.parts.keepsFraming }
        set { changed().parts.keepsFraming = newValue }
    }

    /// How many bytes of decoded content there may be; `nil`, as the configuration says.
    public var maxDecodedBytes: UInt64? {
        get { storage.parts.maxDecodedBytes }
        set { changed().parts.maxDecodedBytes = newValue }
    }

    /// Requests with different names here never share a connection.
    public var partition: String {
        get { storage.parts.partition }
        set { changed().parts.partition = newValue }
    }

    /// A Unix socket to connect to instead of the URL's host; dropped by a redirect to another.
    public var unixPath: String? {
        get { storage.parts.unixPath }
        set { changed().parts.unixPath = newValue }
    }

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
        storage = Storage(Parts(method: method, url: url, headers: headers, body: body))
    }

    /// Whether it says no more than its method, URL, fields and body, as most requests do.
    var isUsual: Bool { storage.isUsual }

    /// What is to be changed: a copy, unless nobody else holds it.
    private mutating func own() -> Storage {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage) }
        return storage
    }

    /// The same, for what most requests leave as it is.
    private mutating func changed() -> Storage {
        let own = own()
        own.isUsual = false
        return own
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

extension HTTPRequest {
    /// All that a request says.
    fileprivate struct Parts {
        var method: HTTPMethod
        var url: String
        var headers: HTTPHeaders
        var omittedHeaders: Set<String> = []
        var sensitiveHeaders: Set<String> = []
        var body: HTTPBody
        var version: HTTPVersion = .http11
        var credential: HTTPCredential?
        var proxy: HTTPProxyRules?
        var proxyCredential: HTTPCredential?
        var identity: Identity?
        var target: String?
        var isIdempotent: Bool = false
        var upgrade: [String] = []
        var expectsContinue: ExpectContinue = .fromSize(1024 * 1024)
        var timeouts: HTTPTimeouts?
        var redirects: HTTPRedirectPolicy?
        var decodesContent: Bool?
        var keepsFraming: Bool = false
        var maxDecodedBytes: UInt64?
        var partition: String = ""
        var unixPath: String?
    }

    /// Holds them; changed only by a request that holds it alone.
    fileprivate final class Storage: @unchecked Sendable {
        // No access to them calls anything else.
        @exclusivity(unchecked) var parts: Parts
        @exclusivity(unchecked) var isUsual = true

        init(_ parts: Parts) {
            self.parts = parts
        }

        init(_ other: Storage) {
            parts = other.parts
            isUsual = other.isUsual
        }
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

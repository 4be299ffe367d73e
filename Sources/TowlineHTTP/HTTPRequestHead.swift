/// What a request says before its body.
///
/// Source: RFC 9112 sections 3 and 5.
public struct HTTPRequestHead: Sendable, Equatable {
    /// What is asked for.
    public var method: HTTPMethod

    /// What it is asked of: ``HTTPURL/requestTarget`` of a server, ``HTTPURL/absoluteTarget`` of a
    /// proxy, ``HTTPURL/tunnelTarget`` for a tunnel, or `*`.
    public var target: String

    /// The version of the protocol, 1.0 or 1.1.
    public var version: HTTPVersion

    /// The fields.
    public var headers: HTTPHeaders

    /// A head of these parts, which are checked when it is written.
    public init(
        method: HTTPMethod = .get,
        target: String,
        version: HTTPVersion = .http11,
        headers: HTTPHeaders = [:]
    ) {
        self.method = method
        self.target = target
        self.version = version
        self.headers = headers
    }
}

/// How many bytes of body follow a head.
public enum HTTPBodyLength: Sendable, Hashable {
    /// There is no body.
    case none
    /// As many bytes.
    case known(UInt64)
    /// As many as come: sent in chunks.
    case unknown
}

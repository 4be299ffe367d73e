/// What a response says before its body.
///
/// Source: RFC 9112 sections 4 and 5.
public struct HTTPResponseHead: Sendable, Equatable {
    /// The version that the peer names; minor versions above 1 are treated as 1.1.
    public var version: HTTPVersion

    /// The status code, 100 through 999; 600 and above count as failures of the server.
    public var status: Int

    /// The words behind the status code, which mean nothing; read as UTF-8.
    public var reason: String

    /// The fields.
    public var headers: HTTPHeaders

    /// A head of these parts.
    public init(
        version: HTTPVersion = .http11,
        status: Int,
        reason: String = "",
        headers: HTTPHeaders = [:]
    ) {
        self.version = version
        self.status = status
        self.reason = reason
        self.headers = headers
    }
}

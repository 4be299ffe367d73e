public import TowlineHTTP

/// The head of a final response, and where it came from.
public struct HTTPResponse: Sendable {
    /// The URL that answered, redirects followed.
    public let url: HTTPURL

    /// What the server said; the fields as they came.
    public let head: HTTPResponseHead

    /// Whether the content that follows is decoded, so that `Content-Encoding` and
    /// `Content-Length` speak of other bytes.
    public let isDecoded: Bool

    /// How many bytes of content will come; `nil` where nobody knows, or where they are decoded.
    public let contentLength: UInt64?

    /// The status code, 200 through 999.
    public var status: Int { head.status }

    /// The fields as they came.
    public var headers: HTTPHeaders { head.headers }

    /// The version that the server speaks.
    public var version: HTTPVersion { head.version }

    /// Whether the status is 200 through 299.
    public var isSuccess: Bool { (200..<300).contains(head.status) }
}

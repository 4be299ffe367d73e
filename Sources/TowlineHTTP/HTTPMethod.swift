/// What a request asks for.
///
/// The name is a token and its case counts: `get` is another method than `GET`.
///
/// Source: RFC 9110 section 9.
public struct HTTPMethod: Sendable, Hashable, RawRepresentable, CustomStringConvertible {
    /// The name as it is sent.
    public let rawValue: String

    /// A method by its name, which is checked when a request is written.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Asks for a representation.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Asks for what a GET would answer, without the body.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Hands over a body for the resource to process.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces a representation by the body.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Removes a representation.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Changes a representation as the body says (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Asks what may be asked for.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// Asks for an echo of the request.
    public static let trace = HTTPMethod(rawValue: "TRACE")
    /// Asks a proxy for a tunnel.
    public static let connect = HTTPMethod(rawValue: "CONNECT")

    /// The name as it is sent.
    public var description: String { rawValue }

    /// Whether asking twice does what asking once does.
    ///
    /// Source: RFC 9110 section 9.2.2.
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .trace, .put, .delete: true
        default: false
        }
    }
}

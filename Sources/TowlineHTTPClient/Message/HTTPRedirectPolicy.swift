/// How redirects are met.
public struct HTTPRedirectPolicy: Sendable, Hashable {
    /// How many are followed, 0 or more; 20.
    ///
    /// With 0 the first one is shown as a response.
    public var limit = 20

    /// Whether passing the limit is an error rather than a response that is shown.
    public var limitIsError = true

    /// Whether one from https to http is followed.
    public var allowsInsecure = false

    /// Whether a POST stays one at these statuses, which by custom make it a GET: any of 301, 302
    /// and 303.
    public var keepsMethodAt: Set<Int> = []

    /// Whether credentials and fields that are bound to an origin go along to others.
    public var keepsCredentials = false

    /// The usual ones.
    public init() {}

    /// Follows up to twenty.
    public static let follow = HTTPRedirectPolicy()

    /// Shows redirects as responses.
    public static let show: HTTPRedirectPolicy = {
        var policy = HTTPRedirectPolicy()
        policy.limit = 0
        policy.limitIsError = false
        return policy
    }()
}

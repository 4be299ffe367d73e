public import TowlineHTTP

/// Who is asked about an exchange of an ``AsyncHTTPClient``, and who hears of its steps.
///
/// Each closure is called on the reactor's thread, and must not block it. What one throws ends the
/// exchange with ``HTTPError/handler(_:)``.
public struct AsyncHTTPOptions: Sendable {
    /// Decides about each redirect; without it they are followed as the configuration says.
    ///
    /// Given the request as it would be sent, and the response that says so.
    public var willRedirect: (@Sendable (HTTPRequest, HTTPResponse) -> HTTPRedirectDecision)?

    /// Says who asks, where what was given does not do; `nil` shows the response.
    ///
    /// It may take its time; it is cancelled when the exchange ends.
    public var credential: (@Sendable (HTTPCredentialRequest) async -> HTTPCredential?)?

    /// Hears of each interim response.
    public var didReceiveInterim: (@Sendable (HTTPResponseHead) throws -> Void)?

    /// Hears of each connection that is ready for the exchange.
    public var didConnect: (@Sendable (HTTPConnectionFacts) throws -> Void)?

    /// Hears how many bytes of the body were handed to the kernel, of how many if that is known.
    public var didSend: (@Sendable (UInt64, UInt64?) throws -> Void)?

    /// None of them.
    public init() {}
}

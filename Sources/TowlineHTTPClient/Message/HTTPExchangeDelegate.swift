public import Towline
public import TowlineHTTP

/// What is heard of an exchange, on the reactor's thread, never from within a call.
///
/// Every exchange that was started ends with exactly one of ``exchangeDidFinish(_:metrics:)``,
/// ``exchange(_:didFail:metrics:)`` and ``exchange(_:didUpgrade:leftover:)``. A callback may start,
/// cancel, suspend or let go of anything. One that is about an event may throw, which ends the
/// exchange with ``HTTPError/handler(_:)``.
public protocol HTTPExchangeDelegate: AnyObject {
    /// A connection is ready for the exchange.
    func exchange(_ exchange: HTTPExchange, didConnect connection: HTTPConnectionFacts) throws

    /// Bytes of the body were handed to the kernel: so many by now, of so many if that is known.
    func exchange(_ exchange: HTTPExchange, didSend byteCount: UInt64, of total: UInt64?) throws

    /// An interim response came, other than a change of protocols.
    func exchange(_ exchange: HTTPExchange, didReceiveInterim head: HTTPResponseHead) throws

    /// The server sends us elsewhere.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - request: The request as it would be sent; it may be changed.
    ///   - response: The response that says so.
    /// - Returns: What to do.
    func exchange(
        _ exchange: HTTPExchange,
        willRedirectTo request: HTTPRequest,
        after response: HTTPResponse
    ) -> HTTPRedirectDecision

    /// The server, or the proxy, wants to know who asks, and what was given does not do.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - challenge: What is asked, and by whom.
    ///   - reply: Answers once, now or later, on the reactor's thread; `nil` shows the response.
    func exchange(
        _ exchange: HTTPExchange,
        needsCredentialFor challenge: HTTPCredentialRequest,
        reply: @escaping (HTTPCredential?) -> Void
    )

    /// The head of the final response is there, and valid.
    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) throws

    /// Bytes of content, decoded where the response says so; never none, lent for the call.
    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) throws

    /// Fields that came behind the content.
    func exchange(_ exchange: HTTPExchange, didReceiveTrailers trailers: HTTPHeaders) throws

    /// The connection speaks another protocol from now on, and is the caller's: set its delegate.
    ///
    /// - Parameters:
    ///   - exchange: The exchange, which has ended.
    ///   - socket: The connection; it is disconnected unless it gets a delegate.
    ///   - leftover: What the peer has sent already, lent for the call. It is not among the bytes
    ///     that reads of the socket will find.
    /// - Throws: Anything, which disconnects it.
    func exchange(
        _ exchange: HTTPExchange,
        didUpgrade socket: StreamSocket,
        leftover: RawSpan
    ) throws

    /// The response is complete; the exchange has ended.
    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics)

    /// The exchange has ended otherwise.
    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics)
}

extension HTTPExchangeDelegate {
    /// Does nothing.
    public func exchange(
        _ exchange: HTTPExchange,
        didConnect connection: HTTPConnectionFacts
    ) throws {}

    /// Does nothing.
    public func exchange(
        _ exchange: HTTPExchange,
        didSend byteCount: UInt64,
        of total: UInt64?
    ) throws {}

    /// Does nothing.
    public func exchange(
        _ exchange: HTTPExchange,
        didReceiveInterim head: HTTPResponseHead
    ) throws {}

    /// Follows.
    public func exchange(
        _ exchange: HTTPExchange,
        willRedirectTo request: HTTPRequest,
        after response: HTTPResponse
    ) -> HTTPRedirectDecision {
        .follow
    }

    /// Shows the response.
    public func exchange(
        _ exchange: HTTPExchange,
        needsCredentialFor challenge: HTTPCredentialRequest,
        reply: @escaping (HTTPCredential?) -> Void
    ) {
        reply(nil)
    }

    /// Does nothing.
    public func exchange(
        _ exchange: HTTPExchange,
        didReceiveResponse response: HTTPResponse
    ) throws {}

    /// Does nothing.
    public func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) throws {}

    /// Does nothing.
    public func exchange(
        _ exchange: HTTPExchange,
        didReceiveTrailers trailers: HTTPHeaders
    ) throws {}

    /// Leaves the connection without a delegate, and so disconnects it.
    public func exchange(
        _ exchange: HTTPExchange,
        didUpgrade socket: StreamSocket,
        leftover: RawSpan
    ) throws {}

    /// Does nothing.
    public func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {}

    /// Does nothing.
    public func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
    }
}

/// What is to become of a redirect.
@nonexhaustive
public enum HTTPRedirectDecision: Sendable {
    /// The request is sent as it was shown.
    case follow
    /// This request is sent instead.
    case send(HTTPRequest)
    /// The redirect is the response.
    case stop
}

/// Who wants to know who asks.
public struct HTTPCredentialRequest: Sendable {
    /// Whether the proxy asks, and not the server.
    public let isProxy: Bool
    /// The URL that was asked for.
    public let url: HTTPURL
    /// The response that asks, with its challenges.
    public let head: HTTPResponseHead
    /// How often this exchange has answered already.
    public let answerCount: Int
}

internal import TowlineHTTP

/// Whether a request whose connection failed is sent once more, over a new one.
///
/// Source: RFC 9110 section 9.2.2; RFC 9112 section 9.3.1.
enum RetryRules {
    /// Decides it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - wasRepeated: Whether that was done before; once is enough.
    ///   - isReused: Whether others used the connection before, so that its end may have nothing to
    ///     do with this request.
    ///   - wasUnsent: Whether not one byte of the request had left.
    ///   - hasHeard: Whether a byte of a response had come.
    /// - Returns: Whether to send it again.
    static func shouldRepeat(
        _ request: HTTPRequest,
        wasRepeated: Bool,
        isReused: Bool,
        wasUnsent: Bool,
        hasHeard: Bool
    ) -> Bool {
        guard !wasRepeated, !hasHeard, request.body.isReplayable else { return false }
        if wasUnsent { return true }
        return isReused && mayBeSentTwice(request)
    }

    /// Whether the request may have taken effect and be sent again all the same.
    static func mayBeSentTwice(_ request: HTTPRequest) -> Bool {
        request.method.isIdempotent || request.isIdempotent
            || request.headers.contains("Idempotency-Key")
    }
}

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

    /// Whether an answer speaks of the connection alone, so that another one may bring a better.
    ///
    /// That is a 421, and on a kept connection the 408 of a server that was about to close it.
    ///
    /// - Parameters:
    ///   - head: The answer.
    ///   - hop: What it answers.
    ///   - isReused: Whether others used the connection before.
    /// - Returns: Whether to send the request again.
    ///
    /// Source: RFC 9110 sections 15.5.9 and 15.5.20.
    static func shouldAskElsewhere(_ head: HTTPResponseHead, _ hop: Hop, isReused: Bool) -> Bool {
        guard !hop.wasRepeated, hop.request.body.isReplayable else { return false }
        switch head.status {
        case 421: return true
        case 408: return isReused && !ReuseRules.isKept(head) && mayBeSentTwice(hop.request)
        default: return false
        }
    }

    /// Whether the request may have taken effect and be sent again all the same.
    static func mayBeSentTwice(_ request: HTTPRequest) -> Bool {
        request.method.isIdempotent || request.isIdempotent
            || request.headers.contains("Idempotency-Key")
    }
}

public import Towline
public import TowlineCoding
public import TowlineHTTP
public import TowlineTLS

/// Why an exchange failed: one case for each thing that a program would treat differently.
@nonexhaustive
public enum HTTPError: Error, Sendable {
    /// The URL is none of http or https, or none at all.
    case invalidURL(String, reason: String)

    /// The request is one that must not be sent.
    case invalidRequest(HTTPRequestFault)

    /// A file that was to be sent cannot be read.
    case unreadableBody(SocketError)

    /// A file that a body is written to cannot be written.
    case unwritableFile(SystemCallError)

    /// The name of the host, or of the proxy, has no address.
    case resolve(host: String, ResolverError)

    /// No address took the connection; each that was tried is listed.
    case connect(host: String, SocketError, attempts: [ConnectAttempt])

    /// The proxy did not make a way; its answer, where it gave one.
    case proxy(HTTPResponseHead?, reason: String)

    /// The connection could not be secured.
    case tls(TLSError)

    /// The server's certificate is not trusted.
    case verification(TLSError)

    /// A part of the exchange took too long.
    case timeout(HTTPTimeouts.Phase)

    /// The connection ended before a single byte of a response, by what is given, or in order.
    case emptyReply(SocketError?)

    /// The connection ended within the response, by what is given, or in order.
    case truncated(received: UInt64, expected: UInt64?, SocketError?)

    /// The server sent what is no response.
    case malformedResponse(HTTP1Fault)

    /// The response is larger than allowed.
    case limit(HTTPLimit)

    /// The content is not coded as the response says.
    case decode(CodingError)

    /// The part of a content that came is not the one that was asked for: `Range` and
    /// `Content-Range`.
    case range(asked: String, answered: String?)

    /// More redirects than allowed.
    case tooManyRedirects(limit: Int)

    /// A redirect leads where it must not.
    case redirectRefused(reason: String)

    /// The request would have to be sent again, and its body can be had only once.
    case bodyNotReplayable

    /// The producer of the body brought another number of bytes than promised.
    case bodyLength(promised: UInt64, supplied: UInt64)

    /// The server changed to a protocol that nobody asked for.
    case unexpectedUpgrade

    /// A callback threw.
    case handler(any Error)

    /// The producer of the body gave up.
    case producer(any Error)

    /// It was cancelled, or the reactor ended.
    case cancelled
}

/// A limit that a response has passed.
@nonexhaustive
public enum HTTPLimit: Sendable, Hashable {
    /// One of the head's or the framing's.
    case framing(HTTP1Fault.Limit, Int)
    /// Decoded content, or content that was to be collected, in bytes.
    case content(UInt64)
    /// Codings in a row.
    case codings(Int)
}

extension HTTPError {
    /// What a connection that could not be secured means.
    init(_ error: TLSError) {
        switch error {
        case .untrusted: self = .verification(error)
        case .timedOut: self = .timeout(.tls)
        default: self = .tls(error)
        }
    }

    /// What bytes mean that are no response, or an end within one, for this reason.
    init(_ fault: HTTP1Fault, _ reason: SocketError?) {
        switch fault {
        case .emptyReply:
            self = .emptyReply(reason)
        case .truncated(let received, let expected):
            let expected = expected.map { UInt64($0) }
            self = .truncated(received: UInt64(received), expected: expected, reason)
        case .limit(let limit, let value):
            self = .limit(.framing(limit, value))
        case .unexpectedUpgrade:
            self = .unexpectedUpgrade
        default:
            self = .malformedResponse(fault)
        }
    }
}

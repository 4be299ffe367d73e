internal import Towline
internal import TowlineHTTP

extension HTTPError: CustomStringConvertible {
    /// The error as one line, without any password.
    ///
    /// Whom it was asked of, the exchange says: ``HTTPExchange/url`` is the last one behind
    /// redirects.
    public var description: String {
        switch self {
        case .invalidURL(let url, let reason): "URL refused: \(reason): \(Secrets.hidden(in: url))"
        case .invalidRequest(let fault): "request refused: \(fault)"
        case .unreadableBody(let reason): "what is to be sent cannot be read: \(reason)"
        case .unwritableFile(let reason): "the file cannot be written: \(reason)"
        case .resolve(let host, let reason): "no address for \(host): \(reason)"
        case .connect(let host, let reason, let attempts):
            "no connection to \(host): \(Self.text(of: reason, attempts))"
        case .proxy(_, let reason): "no way through \(reason)"
        case .tls(let reason): "the connection could not be secured: \(reason)"
        case .verification(let reason): "the server is not trusted: \(reason)"
        case .timeout(let phase): "timed out \(phase.text)"
        case .emptyReply(let reason): "the server closed the connection\(Self.end(reason))"
        case .truncated(let received, let expected, let reason):
            Self.text(ofEndAt: received, of: expected, reason)
        case .malformedResponse(let fault): "malformed response: \(fault)"
        case .limit(let limit): "the response is too large: \(limit)"
        case .decode(let reason): "the content cannot be decoded: \(reason)"
        case .range(let asked, let answered):
            "the server was asked for \(asked) and answers \(answered ?? "an unknown part")"
        case .tooManyRedirects(let limit): "more than \(limit) redirects"
        case .redirectRefused(let reason): "redirect refused: \(reason)"
        case .bodyNotReplayable: "the body would have to be sent again, and can be had only once"
        case .bodyLength(let promised, let supplied):
            "the body has \(supplied) bytes where \(promised) were promised"
        case .unexpectedUpgrade: "the server changed to another protocol"
        case .handler(let error): "a callback threw: \(error)"
        case .producer(let error): "the body's producer gave up: \(error)"
        case .cancelled: "cancelled"
        }
    }

    /// Each address that was tried, or else the reason alone.
    private static func text(of reason: SocketError, _ attempts: [ConnectAttempt]) -> String {
        guard !attempts.isEmpty else { return "\(reason)" }
        var named = attempts.prefix(4).map { "\($0.address) \($0.error.reason)" }
        if attempts.count > named.count { named.append("\(attempts.count - named.count) more") }
        let list = named.joined(separator: "; ")
        guard case .system = reason else { return "\(reason): \(list)" }
        let isRefused = attempts.first?.error.name == "ECONNREFUSED"
        return list + (isRefused ? ". Is the server running?" : "")
    }

    private static func end(_ reason: SocketError?) -> String {
        " without an answer" + (reason.map { ": \($0)" } ?? "")
    }

    private static func text(
        ofEndAt received: UInt64,
        of expected: UInt64?,
        _ reason: SocketError?
    ) -> String {
        let place =
            switch (received, expected) {
            case (_, let expected?): "after \(received) of \(expected) bytes of the body"
            case (0, nil): "within the head, or before its body's first byte"
            case (_, nil): "after \(received) bytes of the body, which goes on"
            }
        return "the connection ended within the response, \(place)"
            + (reason.map { ": \($0)" } ?? "")
    }
}

extension HTTPTimeouts.Phase {
    /// What was waited for.
    fileprivate var text: String {
        switch self {
        case .connect: "connecting"
        case .tls: "securing the connection"
        case .poolWait: "waiting for a connection that others have"
        case .sendStall: "sending: the server takes nothing"
        case .firstByte: "waiting for the response's head"
        case .bodyStall: "waiting for the rest of the body"
        case .total: "before the exchange was complete"
        }
    }
}

extension HTTPLimit: CustomStringConvertible {
    /// The limit as a few words.
    public var description: String {
        switch self {
        case .framing(let limit, let value): "\(HTTP1Fault.limit(limit, value))"
        case .content(let limit): "its content has more than \(limit) bytes"
        case .codings(let limit): "it has more than \(limit) codings"
        }
    }
}

extension WebSocketError: CustomStringConvertible {
    /// The error as one line.
    public var description: String {
        switch self {
        case .exchange(let error): "\(error)"
        case .refused(let head): "the server did not change the protocol: \(head.status)"
        case .handshake(let reason): "the server's handshake is wrong: \(reason)"
        case .fault(let fault): "the server broke the rules of WebSocket: \(fault)"
        case .connection(let error): "\(error)"
        case .unresponsive: "the server does not answer pings"
        case .handler(let error): "a callback threw: \(error)"
        }
    }
}

extension WebSocketClosure: CustomStringConvertible {
    /// How it ended, as one line.
    public var description: String {
        let words = reason.isEmpty ? "" : " \"\(reason)\""
        let said = code.map { "closed with \($0)\(words)" } ?? "closed"
        if let error { return "\(said): \(error)" }
        return isClean ? said : "\(said), not by both sides"
    }
}

extension HTTPCredential: CustomStringConvertible, CustomDebugStringConvertible {
    /// Who it is, without what proves it.
    public var description: String {
        switch self {
        case .basic(let user, _): "Basic \(user)"
        case .bearer: "Bearer"
        case .digest(let user, _): "Digest \(user)"
        case .anyOffered(let user, _): user
        }
    }

    /// The same.
    public var debugDescription: String { description }
}

extension HTTPProxy: CustomStringConvertible, CustomDebugStringConvertible {
    /// Such as `http://proxy.test:3128`; without the credential.
    public var description: String { text }

    /// The same.
    public var debugDescription: String { text }
}

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible {
    /// Such as `GET https://a.test/`; without its password, its fields and its body.
    public var description: String { "\(method.rawValue) \(Secrets.hidden(in: url))" }

    /// The same.
    public var debugDescription: String { description }
}

/// Texts that may hold a password.
enum Secrets {
    /// A URL, or what was to be one, with the password of its authority replaced.
    static func hidden(in url: String) -> String {
        let bytes = Array(url.utf8)
        var start = 0
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        {
            start = colon + 3
        }
        let end = bytes[start...].firstIndex { "/?#\\".utf8.contains($0) } ?? bytes.count
        // The last one: what is wrongly written may have several.
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")),
            let colon = bytes[start..<at].firstIndex(of: UInt8(ascii: ":"))
        else { return url }
        let parts = [bytes[..<colon], Array(":***".utf8)[...], bytes[at...]]
        return String(decoding: parts.joined(), as: UTF8.self)
    }
}

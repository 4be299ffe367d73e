internal import TowlineHTTP

/// How a proxy of HTTP is asked for a tunnel: bytes in; knows no socket.
///
/// Source: RFC 9110 section 9.3.6.
struct ConnectHandshake: ~Copyable {
    /// What follows from what came.
    enum Step {
        case wait
        /// The tunnel is there; what follows came through it.
        case established(HTTPResponseHead)
        /// There is none; the connection may be used to ask again, or not.
        case refused(HTTPResponseHead, isReusable: Bool)
    }

    /// What its heads may have: those of proxies are short.
    private static let limits: HTTP1Limits = {
        var limits = HTTP1Limits()
        limits.head = 64 * 1024
        limits.line = 16 * 1024
        limits.fieldCount = 200
        return limits
    }()

    /// How much of a refusal's body is read to ask again over the same connection.
    static let bodyLimit = 64 * 1024

    private let mayAskAgain: Bool
    private var parser: HTTP1Parser
    private var refusal: HTTPResponseHead?
    private var bodyRoom = ConnectHandshake.bodyLimit

    /// A handshake.
    ///
    /// - Parameters:
    ///   - profile: How strictly answers are read.
    ///   - mayAskAgain: Whether there is something to say to a proxy that asks who asks.
    init(profile: HTTPProfile, mayAskAgain: Bool) {
        self.mayAskAgain = mayAskAgain
        parser = HTTP1Parser(profile: profile, limits: Self.limits)
        parser.begin(HTTP1Parser.Expectation(method: .connect))
    }

    /// The bytes that ask for a tunnel to a place, checked.
    static func request(
        to place: HTTPHostPort,
        userAgent: String?,
        authorization: String?,
        fields: [HTTPHeaders.Field]
    ) throws(HTTPRequestFault) -> [UInt8] {
        var headers = HTTPHeaders(fields)
        if !headers.contains("Host") { headers.add("Host", place.description) }
        if let userAgent, !headers.contains("User-Agent") { headers.add("User-Agent", userAgent) }
        if let authorization, !headers.contains("Proxy-Authorization") {
            headers.add("Proxy-Authorization", authorization)
        }
        let head = HTTPRequestHead(
            method: .connect,
            target: place.description,
            headers: headers
        )
        return try HTTP1Writer.head(head, body: .none)
    }

    /// Takes bytes, and none beyond the head that says that the tunnel is there.
    mutating func receive(
        _ bytes: RawSpan,
        from offset: inout Int
    ) throws(HTTP1Fault) -> Step {
        while let event = try parser.next(in: bytes, from: &offset) {
            switch event {
            case .response(let head):
                if (200..<300).contains(head.status) { return .established(head) }
                guard mayAskAgain, head.status == 407, isShort, ReuseRules.isKept(head) else {
                    return .refused(head, isReusable: false)
                }
                refusal = head
            case .body(let range):
                bodyRoom -= range.count
                if bodyRoom < 0, let refusal { return .refused(refusal, isReusable: false) }
            case .end:
                guard let refusal else { return .wait }
                let isReusable = parser.allowsReuse && offset == bytes.byteCount
                return .refused(refusal, isReusable: isReusable)
            case .interim, .earlierBody, .trailers, .upgrade: break
            }
        }
        return .wait
    }

    private var isShort: Bool {
        switch parser.bodyLength {
        case .known(let count): count <= Self.bodyLimit
        case .chunked: true
        case .untilClose, nil: false
        }
    }

    /// Says what the end of the connection means.
    mutating func reachEnd() -> HTTP1Fault {
        do throws(HTTP1Fault) {
            _ = try parser.reachEnd(isOrderly: true)
            return .emptyReply
        } catch {
            return error
        }
    }
}

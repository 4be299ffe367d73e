/// What a parser finds in the bytes of a connection.
public enum HTTP1Event: Sendable {
    /// An interim response: any of 1xx but 101. Others follow.
    case interim(HTTPResponseHead)

    /// The head of the response; the body follows.
    case response(HTTPResponseHead)

    /// Bytes of the body, by their offsets in the span that was given.
    case body(Range<Int>)

    /// Bytes of the body from earlier spans: the first ones of an answer of HTTP/0.9, which might
    /// have become a status line until now.
    case earlierBody([UInt8])

    /// The fields behind a chunked body, if there are any, without those that must not be there.
    case trailers(HTTPHeaders)

    /// The message is complete.
    case end

    /// The connection is not HTTP any more: the answer was a 101 that was asked for, or a 2xx to
    /// CONNECT. All bytes behind it are the caller's.
    case upgrade
}

/// Finds responses of HTTP/1 in the bytes of a connection, in whatever pieces they come.
///
/// Its events are the same for every way to cut the bytes, but for where ``HTTP1Event/body(_:)`` is
/// cut. It keeps an unfinished head up to its limits and nothing of bodies, fails at the first byte
/// that shows the fault, and costs the same for each byte.
///
///     idle ──begin──▶ status line ──▶ fields ──▶ body ──▶ ended ──begin──▶ …
///                          ▲──interim───┘  └──▶ upgraded
///
/// Source: RFC 9112.
public struct HTTP1Parser: ~Copyable {
    /// What is known of a response in advance: what its request was.
    public struct Expectation: Sendable {
        /// The method of the request.
        public var method: HTTPMethod
        /// Whether the request asked for another protocol, so that 101 is an answer.
        public var isUpgrade: Bool
        /// Whether an answer without a head is taken, whose body are all bytes of the connection.
        ///
        /// Only the first message of a connection can be one.
        public var allowsHTTP09: Bool

        /// What answers a request like this.
        public init(method: HTTPMethod, isUpgrade: Bool = false, allowsHTTP09: Bool = false) {
            self.method = method
            self.isUpgrade = isUpgrade
            self.allowsHTTP09 = allowsHTTP09
        }
    }

    private enum State {
        case idle
        case statusLine
        case fields
        /// Behind the first event of an answer of HTTP/0.9.
        case headless
        case body
        case ended
        /// Behind the head of a response that changes the protocol.
        case upgrading
        case upgraded
        case failed
    }

    private let rules: HTTP1Rules
    private var state = State.idle

    /// What a failed message ended with, to be said again.
    private var fault = HTTP1Fault.unexpectedBytes

    private var expectation = Expectation(method: .get)
    private var statusLine = StatusLine()
    private var fields: SectionReader
    private var body: BodyDecoder

    /// How many bytes of the message lie in front of those that are given next.
    private var consumedCount = 0

    private var hasInterim = false

    /// How many bytes the heads of the message may still have.
    private var headRoom = 0

    /// What came of an answer that may become one of HTTP/0.9.
    private var headlessStart: [UInt8] = []

    private var hasBareLineFeed = false
    private var keepsConnection = false

    /// A parser for one connection.
    ///
    /// - Parameters:
    ///   - profile: How much it forgives.
    ///   - limits: How much it keeps.
    public init(profile: HTTPProfile = .standard, limits: HTTP1Limits = .init()) {
        rules = HTTP1Rules(profile: profile, limits: limits)
        fields = SectionReader(FieldSection(.head, origin: 0, room: 0, rules: rules))
        body = BodyDecoder(.untilClose, rules: rules)
    }

    /// Expects a response, the first one of the connection or another one.
    ///
    /// The one before must have ended, and ``allowsReuse`` be true.
    ///
    /// - Parameter expectation: What its request was.
    public mutating func begin(_ expectation: Expectation) {
        if case .idle = state {
        } else {
            precondition(allowsReuse, "the connection carries no other message")
        }
        self.expectation = expectation
        state = .statusLine
        statusLine = StatusLine()
        consumedCount = 0
        hasInterim = false
        headRoom = rules.limits.head
        headlessStart = []
        hasBareLineFeed = false
        keepsConnection = false
    }

    /// Whether the message has ended and the connection may carry another one; `false` within a
    /// message.
    ///
    /// It is `false` if the message says so, if only the end of the connection ended it, if its
    /// framing was doubtful, and if bytes came that belong to no message.
    ///
    /// Source: RFC 9112 section 9.3.
    public var allowsReuse: Bool {
        if case .ended = state { return keepsConnection && !hasBareLineFeed }
        return false
    }

    /// How long the body is, once the head of the response is there.
    public var bodyLength: HTTP1BodyLength? {
        switch state {
        case .headless, .body, .ended: body.length
        case .idle, .statusLine, .fields, .upgrading, .upgraded, .failed: nil
        }
    }

    /// Finds the next event.
    ///
    /// Call it again until it answers `nil`, ``HTTP1Event/end`` or ``HTTP1Event/upgrade``.
    ///
    /// - Parameters:
    ///   - bytes: What came.
    ///   - offset: Where in it to begin, 0 at first; moved behind what the event is made of.
    /// - Returns: `nil` if all bytes are consumed and more are needed; behind an upgrade, whose
    ///   bytes are the caller's, always.
    /// - Throws: ``HTTP1Fault``, again for each further call. Bytes in front of a message or behind
    ///   it are ``HTTP1Fault/unexpectedBytes``.
    public mutating func next(
        in bytes: RawSpan,
        from offset: inout Int
    ) throws(HTTP1Fault) -> HTTP1Event? {
        let start = offset
        do throws(HTTP1Fault) {
            let event = try advance(in: bytes, from: &offset)
            consumedCount &+= offset - start
            return event
        } catch {
            throw fail(error)
        }
    }

    private mutating func advance(
        in bytes: RawSpan,
        from offset: inout Int
    ) throws(HTTP1Fault) -> HTTP1Event? {
        switch state {
        case .body:
            let event = try body.next(
                in: bytes,
                from: &offset,
                origin: consumedCount &- offset
            )
            if case .end? = event { state = .ended }
            return event
        case .statusLine:
            return try readStatusLine(in: bytes, from: &offset)
        case .fields:
            return try readFields(in: bytes, from: &offset)
        case .headless:
            state = .body
            guard headlessStart.isEmpty else { return .earlierBody(takeHeadlessStart()) }
            return try body.next(in: bytes, from: &offset, origin: 0)
        case .idle, .ended:
            guard offset == bytes.byteCount else { throw .unexpectedBytes }
            return nil
        case .upgrading:
            state = .upgraded
            return .upgrade
        case .upgraded:
            return nil
        case .failed:
            throw fault
        }
    }
    private mutating func readStatusLine(
        in bytes: RawSpan,
        from offset: inout Int
    ) throws(HTTP1Fault) -> HTTP1Event? {
        let start = offset
        let origin = consumedCount &- offset
        do throws(HTTP1Fault) {
            let hasEnded = try statusLine.read(
                in: bytes,
                from: &offset,
                origin: origin,
                room: headRoom,
                rules: rules
            )
            guard hasEnded else {
                if mayBeHeadless {
                    let piece = bytes.extracting(start..<offset)
                    piece.withUnsafeBytes { headlessStart.append(contentsOf: $0) }
                }
                return nil
            }
        } catch {
            guard mayBeHeadless else { throw error }
            offset = start
            return beginHeadlessBody()
        }
        headRoom -= statusLine.byteCount
        if statusLine.hasBareLineFeed { hasBareLineFeed = true }
        let section = FieldSection(.head, origin: origin &+ offset, room: headRoom, rules: rules)
        fields = SectionReader(section)
        state = .fields
        return try readFields(in: bytes, from: &offset)
    }

    private var mayBeHeadless: Bool {
        expectation.allowsHTTP09 && statusLine.isUndecided && !hasInterim
    }

    private mutating func beginHeadlessBody() -> HTTP1Event {
        body = BodyDecoder(.untilClose, rules: rules)
        state = .headless
        return .response(HTTPResponseHead(version: .http09, status: 200))
    }

    private mutating func takeHeadlessStart() -> [UInt8] {
        defer { headlessStart = [] }
        body.count(earlierByteCount: headlessStart.count)
        return headlessStart
    }

    private mutating func readFields(
        in bytes: RawSpan,
        from offset: inout Int
    ) throws(HTTP1Fault) -> HTTP1Event? {
        guard let headers = try fields.read(in: bytes, from: &offset) else { return nil }
        headRoom -= fields.section.position
        if fields.section.hasBareLineFeed { hasBareLineFeed = true }
        let head = HTTPResponseHead(
            version: HTTPVersion(major: 1, minor: statusLine.minorVersion),
            status: statusLine.status,
            reason: statusLine.reason,
            headers: headers
        )
        statusLine = StatusLine()
        if head.status < 200, head.status != 101 {
            hasInterim = true
            state = .statusLine
            return .interim(head)
        }
        let framing = try BodyFraming(of: head, for: expectation, isStrict: rules.isStrict)
        keepsConnection = framing.keepsConnection
        switch framing.body {
        case .length(let length):
            body = BodyDecoder(length, rules: rules)
            state = .body
        case .upgrade:
            state = .upgrading
        }
        return .response(head)
    }

    /// Takes note that the peer has ended the connection, or that it is broken.
    ///
    /// - Parameter isOrderly: Whether the peer itself said that it has sent everything: by its end
    ///   of the TCP connection without a reset and, where the connection is secured, by a
    ///   close_notify.
    /// - Returns: ``HTTP1Event/end`` if that completes the message, as it does where nothing else
    ///   says how long it is; `nil` if no message is under way.
    /// - Throws: ``HTTP1Fault/emptyReply`` if nothing of the message came,
    ///   ``HTTP1Fault/truncated(received:expected:)`` if a part did; and what
    ///   ``next(in:from:)`` has thrown before.
    ///
    /// Source: RFC 9112 section 8.
    public mutating func reachEnd(isOrderly: Bool) throws(HTTP1Fault) -> HTTP1Event? {
        switch state {
        case .idle, .ended, .upgraded:
            return nil
        case .failed:
            throw fault
        case .statusLine where consumedCount == 0:
            throw fail(.emptyReply)
        case .statusLine, .fields:
            throw fail(.truncated(received: 0, expected: nil))
        case .upgrading:
            state = .upgraded
            return .upgrade
        case .headless:
            throw fail(.truncated(received: 0, expected: nil))
        case .body:
            return try endBody(isOrderly: isOrderly)
        }
    }

    private mutating func endBody(isOrderly: Bool) throws(HTTP1Fault) -> HTTP1Event {
        let isComplete =
            switch body.length {
            case .untilClose: isOrderly
            case .known(let byteCount): byteCount == body.byteCount
            case .chunked: false
            }
        guard isComplete else {
            var expected: Int?
            if case .known(let byteCount) = body.length { expected = byteCount }
            throw fail(.truncated(received: body.byteCount, expected: expected))
        }
        // The connection has ended, and carries nothing else.
        keepsConnection = false
        state = .ended
        return .end
    }

    private mutating func fail(_ fault: HTTP1Fault) -> HTTP1Fault {
        state = .failed
        self.fault = fault
        return fault
    }
}

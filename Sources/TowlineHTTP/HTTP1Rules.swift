/// How much a parser forgives.
public enum HTTPProfile: Sendable, Hashable {
    /// What the standards allow a user agent to accept.
    case standard
    /// Nothing that departs from the grammar.
    case strict
}

/// How much of a message may be kept or skipped; its body is never kept, and has no limit.
///
/// What passes a limit ends the message with ``HTTP1Fault/limit(_:_:)``.
public struct HTTP1Limits: Sendable, Hashable {
    /// Bytes of all heads of one exchange together, interim ones included; 256 KiB.
    public var head = 262_144
    /// Bytes of one line, its end included; 64 KiB.
    public var line = 65_536
    /// Fields of one head, or of one trailer section; 500.
    public var fieldCount = 500
    /// Bytes of a trailer section; 64 KiB.
    public var trailers = 65_536
    /// Bytes of all chunk extensions of one body; 16 KiB.
    public var chunkExtensions = 16_384

    /// The limits as they are said above.
    public init() {}
}

/// What a parser was made with.
struct HTTP1Rules: Sendable {
    var isStrict: Bool
    var limits: HTTP1Limits

    init(profile: HTTPProfile, limits: HTTP1Limits) {
        isStrict = profile == .strict
        self.limits = limits
        self.limits.head = Self.sensible(limits.head)
        self.limits.line = Self.sensible(limits.line)
        self.limits.fieldCount = Self.sensible(limits.fieldCount)
        self.limits.trailers = Self.sensible(limits.trailers)
        self.limits.chunkExtensions = Self.sensible(limits.chunkExtensions)
    }

    /// Whatever the program says: sums of a limit and an offset must not overflow.
    private static func sensible(_ limit: Int) -> Int { min(max(limit, 0), 1 << 48) }
}

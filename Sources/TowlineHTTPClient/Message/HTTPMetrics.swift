public import Towline

/// How an exchange went: what it moved, and when.
///
/// The times are measured from the start of the exchange, those of a connection are its last hop's;
/// `nil` for what did not happen.
public struct HTTPMetrics: Sendable {
    /// Redirects that were followed.
    public internal(set) var redirectCount = 0
    /// Requests that were sent, redirects, answers to challenges and repeats included.
    public internal(set) var requestCount = 0
    /// Connections that were made for it.
    public internal(set) var connectionCount = 0
    /// Whether the last request went over a connection that had been used before.
    public internal(set) var isReused = false

    /// Bytes of request heads.
    public internal(set) var requestHeadByteCount: UInt64 = 0
    /// Bytes of request content that the kernel has taken.
    public internal(set) var sentByteCount: UInt64 = 0
    /// Bytes of response heads.
    public internal(set) var responseHeadByteCount: UInt64 = 0
    /// Bytes of content as they came, of the response that was shown.
    public internal(set) var receivedByteCount: UInt64 = 0
    /// Bytes of content as they were handed out.
    public internal(set) var decodedByteCount: UInt64 = 0

    /// When the name was looked up.
    public var lookedUp: Duration? { lookedUpAt?.since(began) }
    /// When the connection was there.
    public var connected: Duration? { connectedAt?.since(began) }
    /// When it was secure.
    public var secured: Duration? { securedAt?.since(began) }
    /// When the last request began to be sent.
    public var requestBegan: Duration? { requestBeganAt?.since(began) }
    /// When its response began to arrive.
    public var responseBegan: Duration? { responseBeganAt?.since(began) }
    /// When the last hop began; the time of the redirects.
    public var lastHopBegan: Duration { lastHopBeganAt?.since(began) ?? .zero }
    /// The whole.
    public var total: Duration { endedAt?.since(began) ?? .zero }

    /// Whom the last request was sent to.
    public internal(set) var remoteAddress: SocketAddress?
    /// From where.
    public internal(set) var localAddress: SocketAddress?

    // Readings of the reactor's clock; what they are from the start on is worked out for whoever
    // asks.

    private let began: MonotonicInstant
    var lookedUpAt: MonotonicInstant?
    var connectedAt: MonotonicInstant?
    var securedAt: MonotonicInstant?
    var requestBeganAt: MonotonicInstant?
    var responseBeganAt: MonotonicInstant?
    var lastHopBeganAt: MonotonicInstant?
    var endedAt: MonotonicInstant?

    init(began: MonotonicInstant) {
        self.began = began
    }
}

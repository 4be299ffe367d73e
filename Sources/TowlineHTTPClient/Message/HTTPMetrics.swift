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
    public internal(set) var lookedUp: Duration?
    /// When the connection was there.
    public internal(set) var connected: Duration?
    /// When it was secure.
    public internal(set) var secured: Duration?
    /// When the last request began to be sent.
    public internal(set) var requestBegan: Duration?
    /// When its response began to arrive.
    public internal(set) var responseBegan: Duration?
    /// When the last hop began; the time of the redirects.
    public internal(set) var lastHopBegan: Duration = .zero
    /// The whole.
    public internal(set) var total: Duration = .zero

    /// Whom the last request was sent to.
    public internal(set) var remoteAddress: SocketAddress?
    /// From where.
    public internal(set) var localAddress: SocketAddress?

    init() {}
}

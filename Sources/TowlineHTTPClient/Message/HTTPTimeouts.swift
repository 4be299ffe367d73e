/// How long each part of an exchange may take; `nil` for as long as it likes.
public struct HTTPTimeouts: Sendable, Hashable {
    /// Lookup, all attempts, proxy and handshake together; 30 s.
    ///
    /// Also the wait for a connection that others have.
    public var connect: Duration? = .seconds(30)
    /// The handshake, within `connect`; 15 s.
    public var tls: Duration? = .seconds(15)
    /// No byte is taken by the peer while there is something to send; 60 s.
    public var sendStall: Duration? = .seconds(60)
    /// From the last byte of the request to the end of the response's head; 60 s.
    ///
    /// An interim response starts it again.
    public var firstByte: Duration? = .seconds(60)
    /// Between bytes of the body, while the caller lets it flow; 60 s.
    public var bodyStall: Duration? = .seconds(60)
    /// How long a body waits for `100 Continue` before it is sent all the same; 1 s.
    public var continueWait: Duration = .seconds(1)
    /// The whole exchange, redirects and repeats included.
    public var total: Duration?

    /// The usual ones.
    public init() {}

    /// What took too long.
    @nonexhaustive
    public enum Phase: String, Sendable, Hashable {
        /// Looking up, connecting, or asking a proxy.
        case connect
        /// The handshake.
        case tls
        /// Waiting for a connection that others have.
        case poolWait
        /// Sending.
        case sendStall
        /// Waiting for the response's head.
        case firstByte
        /// Waiting for the rest of the body.
        case bodyStall
        /// All of it.
        case total
    }
}

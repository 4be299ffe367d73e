public import Towline

/// What a delegate does that decides whom to trust.
///
/// It is asked where the policy says so: ``TrustPolicy/Decision/delegate`` and
/// ``TrustPolicy/Decision/delegateAfterLibrary``.
public protocol StreamSocketTLSDelegate: StreamSocketDelegate {
    /// Decides whether to trust the peer.
    ///
    /// The handshake waits for the answer, for as long as it may take as a whole: the peer is sent
    /// nothing meanwhile, and no byte of data goes either way.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - trust: What there is to know of the peer.
    ///   - completionHandler: Takes the answer, at once or later, from any thread. The first one
    ///     counts; one that comes when the socket is closed is without effect.
    /// - Throws: Why the connection is given up.
    func socket(
        _ socket: StreamSocket,
        didReceive trust: TLSTrust,
        completionHandler: @escaping @Sendable (Bool) -> Void
    ) throws
}

/// The certificates that a verdict rests on, each issued by the next.
public struct VerifiedChain: Sendable, Hashable {
    /// The peer's own first, the trusted one last.
    ///
    /// Where nothing was verified (``TrustPolicy/insecureAcceptAny``), what the peer sent.
    public let certificates: [Certificate]

    /// Whether a trusted certificate stands at the end; not so where nothing was verified.
    public let isVerified: Bool

    init(certificates: [Certificate], isVerified: Bool) {
        self.certificates = certificates
        self.isVerified = isVerified
    }

    /// The peer's own certificate.
    public var leaf: Certificate? { certificates.first }

    /// The trusted certificate.
    public var anchor: Certificate? { isVerified ? certificates.last : nil }
}

/// Which end of a connection a peer is, and so what its certificate has to be good for.
public enum PeerRole: Sendable, Hashable {
    /// The peer is a server.
    case server

    /// The peer is a client.
    case client
}

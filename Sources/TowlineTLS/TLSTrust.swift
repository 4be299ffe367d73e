/// What there is to know of a peer that is to be trusted, or not.
///
/// It can be kept, and read on any thread.
public final class TLSTrust: Sendable {
    /// What the peer has sent: its own certificate first, others in its order.
    public let chain: [Certificate]

    /// Whom a client wants; `nil` on servers, and where no name is checked.
    public let serverName: PeerName?

    /// What the server has stapled to its certificate; `nil` if nothing, or nothing yet: with TLS
    /// 1.2 it comes behind the question.
    public let stapledResponse: [UInt8]?

    /// What the library says by the policy that is in force.
    public let verdict: Result<VerifiedChain, TrustFailure>

    private let role: PeerRole

    init(
        chain: [Certificate],
        serverName: PeerName?,
        stapledResponse: [UInt8]?,
        verdict: Result<VerifiedChain, TrustFailure>,
        role: PeerRole
    ) {
        self.chain = chain
        self.serverName = serverName
        self.stapledResponse = stapledResponse
        self.verdict = verdict
        self.role = role
    }

    /// Judges the chain by another name and another policy.
    ///
    /// - Parameters:
    ///   - name: Whom the certificate has to be made out to.
    ///   - policy: What has to hold.
    /// - Returns: The chain up to its anchor, or what is wrong.
    public func evaluate(
        as name: PeerName,
        policy: TrustPolicy
    ) -> Result<VerifiedChain, TrustFailure> {
        policy.evaluate(chain, for: name, role: role, stapledResponse: stapledResponse)
    }

    /// What it is called when the program says no.
    var refusal: TrustFailure {
        guard let leaf = chain.first else { return TrustFailure(.rejected) }
        return TrustFailure(.rejected, about: leaf, at: 0, clock: .now)
    }
}

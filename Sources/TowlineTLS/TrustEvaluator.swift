internal import COpenSSL

/// A policy with its store of anchors, made once and used for many chains, on any thread.
final class TrustEvaluator: Sendable {
    let policy: TrustPolicy

    /// The anchors; nobody adds anything to it any more.
    let store: LibraryObject

    /// Where anchors were looked for.
    let lookedIn: [String]

    /// How many anchors there are.
    let anchorCount: Int

    /// Makes the store of the anchors; that of the system's roots alone is everybody's.
    init(_ policy: TrustPolicy) {
        self.policy = policy
        switch policy.anchors {
        case .system where policy.acceptsAny:
            // Nobody looks at it, so nothing is read for it.
            (store, lookedIn, anchorCount) = (Self.store(of: []), [], 0)
        case .system:
            let roots = SystemRoots.shared
            (store, lookedIn, anchorCount) = (roots.store, roots.lookedIn, roots.count)
        case .only(let certificates):
            store = Self.store(of: certificates)
            lookedIn = [Self.words(for: certificates)]
            anchorCount = certificates.count
        case .systemAnd(let certificates):
            let roots = SystemRoots.shared
            store = Self.store(of: certificates, and: roots)
            lookedIn = [Self.words(for: certificates)] + roots.lookedIn
            anchorCount = certificates.count + roots.count
        }
    }

    private static func words(for certificates: [Certificate]) -> String {
        switch certificates.count {
        case 0: "no anchors, as the policy says"
        case 1: "the policy's anchor \(certificates[0].subject)"
        default: "the policy's \(certificates.count) anchors"
        }
    }

    private static func store(
        of certificates: [Certificate],
        and roots: SystemRoots? = nil
    ) -> LibraryObject {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        guard let store = X509_STORE_new() else {
            preconditionFailure("there is memory for an empty store")
        }
        for certificate in certificates {
            // The store adds a reference of its own; one that it has already is no failure.
            certificate.withPointer { _ = X509_STORE_add_cert(store, $0) }
        }
        if let objects = roots.map({ X509_STORE_get0_objects($0.store.pointer) }) {
            for index in 0..<towline_sk_X509_OBJECT_num(objects) {
                let object = towline_sk_X509_OBJECT_value(objects, index)
                if let root = X509_OBJECT_get0_X509(object) { X509_STORE_add_cert(store, root) }
            }
        }
        return .store(store)
    }

    /// Says whether the policy trusts a chain.
    ///
    /// - Parameters:
    ///   - chain: The peer's own certificate first, then others in any order.
    ///   - name: Whom the certificate has to be made out to; `nil` for anybody.
    ///   - role: What the certificate has to be good for.
    ///   - staple: What is known of a stapled response; one that comes later is looked at by
    ///     ``failure(ofStaple:on:)`` then.
    /// - Returns: The chain up to the anchor, or what is wrong.
    func evaluate(
        _ chain: [Certificate],
        for name: PeerName?,
        role: PeerRole,
        staple: Staple
    ) -> Result<VerifiedChain, TrustFailure> {
        guard let leaf = chain.first else { return .failure(TrustFailure(.noCertificate)) }
        if policy.acceptsAny {
            return .success(VerifiedChain(certificates: chain, isVerified: false))
        }
        let clock = policy.clock ?? .now
        let wanted = policy.checksName ? name : nil
        let verification = ChainVerification(
            evaluator: self,
            chain: chain,
            name: wanted,
            role: role,
            clock: clock
        )
        let result = verification.run()
        guard case .success(let verified) = result else { return result }
        if let failure = pinFailure(of: verified, leaf: leaf) { return .failure(failure) }
        if case .known(let response) = staple,
            let failure = failure(ofStaple: response, on: verified)
        {
            return .failure(failure)
        }
        return result
    }

    /// Says what is wrong with what a server has stapled to a chain that is verified otherwise;
    /// `nil` if it is what the policy wants.
    func failure(ofStaple response: [UInt8]?, on chain: VerifiedChain) -> TrustFailure? {
        guard case .staple(let demand) = policy.revocation, let leaf = chain.leaf,
            chain.isVerified
        else { return nil }
        let clock = policy.clock ?? .now
        let reason: TrustFailure.Reason?
        if let response {
            let issuer = chain.certificates.dropFirst().first ?? leaf
            reason = StapledResponse(response).fault(for: leaf, issuedBy: issuer, at: clock)
        } else {
            reason =
                Self.isDemanded(demand, by: leaf)
                ? .revocationUnavailable("the server stapled no response") : nil
        }
        guard let reason else { return nil }
        var failure = TrustFailure(reason, about: leaf, at: 0, clock: clock)
        failure.isAboutStaple = true
        return failure
    }

    private static func isDemanded(_ demand: TrustPolicy.Demand, by leaf: Certificate) -> Bool {
        switch demand {
        case .ifPresent: false
        case .required: true
        case .ifDemandedByCertificate:
            // What is there and cannot be read may demand it, too.
            leaf.withPointer { towline_X509_demands($0, towline_TLSEXT_TYPE_status_request) } != 0
        }
    }

    private func pinFailure(of chain: VerifiedChain, leaf: Certificate) -> TrustFailure? {
        guard let pins = policy.pins else { return nil }
        let seen = chain.certificates.map(\.publicKeyPin)
        guard pins.isDisjoint(with: seen) else { return nil }
        return TrustFailure(
            .pinMismatch(seen: seen),
            about: leaf,
            at: 0,
            clock: policy.clock ?? .now
        )
    }

    /// What is known of a stapled response while a chain is looked at.
    enum Staple {
        /// This came, or nothing did.
        case known([UInt8]?)

        /// It comes later, if at all.
        case later
    }
}

/// Which peers to trust.
///
/// Where nothing else is said, a peer has to show a certificate that a root of the system vouches
/// for, and that is made out to the name that was asked for.
public struct TrustPolicy: Sendable, Hashable {
    /// Trusts whom the system's roots vouch for.
    public static let system = TrustPolicy()

    /// Trusts everybody, whoever it is; the only policy that verifies nothing.
    ///
    /// Whatever else is set in it, only ``decision`` has a meaning still.
    /// A connection that uses it logs a warning.
    public static let insecureAcceptAny: TrustPolicy = {
        var policy = TrustPolicy()
        policy.acceptsAny = true
        return policy
    }()

    /// Trusts whom these certificates vouch for, and nobody else.
    public static func anchors(_ certificates: [Certificate]) -> TrustPolicy {
        var policy = TrustPolicy()
        policy.anchors = .only(certificates)
        return policy
    }

    /// Trusts whom the certificates of a file vouch for, and nobody else.
    ///
    /// - Parameter path: A file of PEM, or of the bytes of one certificate.
    /// - Returns: The policy.
    /// - Throws: As ``Certificate/certificates(file:)``.
    public static func anchors(file path: String) throws(IdentityError) -> TrustPolicy {
        .anchors(try Certificate.certificates(file: path))
    }

    /// Trusts whom the system's roots vouch for, if one of these keys is in the chain.
    public static func pinned(_ pins: Set<PublicKeyPin>) -> TrustPolicy {
        var policy = TrustPolicy()
        policy.pins = pins
        return policy
    }

    /// Leaves the decision to the socket's delegate, which sees what the library says.
    public static let delegate: TrustPolicy = {
        var policy = TrustPolicy()
        policy.decision = .delegate
        return policy
    }()

    /// Whose word counts.
    public var anchors = Anchors.system

    /// Whether a server's certificate has to be made out to the name that was asked for; without,
    /// the chain is verified still.
    public var checksName = true

    /// Public keys of which at least one has to be in the verified chain; `nil` for any.
    ///
    /// An empty set trusts nobody, and is refused as a configuration: pins that were lost on the
    /// way do not switch pinning off.
    public var pins: Set<PublicKeyPin>?

    /// How revoked certificates are found out.
    public var revocation = Revocation.off

    /// Who has the last word.
    public var decision = Decision.library

    /// Whether an anchor that is itself issued by another ends a chain.
    public var allowsPartialChains = false

    /// How many certificates may stand between the peer's and the anchor.
    public var maximumDepth = 10

    /// The moment at which certificates have to be valid; `nil` for now.
    public var clock: UnixTime?

    /// Whether nothing is verified.
    private(set) var acceptsAny = false

    /// The policy of ``system``, to change.
    public init() {}

    /// Certificates that are trusted by themselves.
    public enum Anchors: Sendable, Hashable {
        /// The roots of the system, found in the usual places, or where the environment's
        /// `SSL_CERT_FILE` and `SSL_CERT_DIR` say.
        case system

        /// These and no others.
        case only([Certificate])

        /// The roots of the system, and these.
        case systemAnd([Certificate])
    }

    /// How revoked certificates are found out.
    public enum Revocation: Sendable, Hashable {
        /// Not at all.
        case off

        /// By lists. A certificate whose issuer's list is missing or out of date is refused.
        case lists([RevocationList], of: Extent)

        /// By what a server sends with its certificate. One that says nothing good is refused.
        case staple(Demand)
    }

    /// Which certificates are looked up in lists.
    public enum Extent: Sendable, Hashable {
        /// The peer's own.
        case leaf

        /// All but the anchor.
        case chain
    }

    /// Whether a server has to staple a response.
    public enum Demand: Sendable, Hashable {
        /// No; what it staples is checked.
        case ifPresent

        /// Yes.
        case required

        /// Only if its certificate says that it will.
        ///
        /// Source: RFC 7633.
        case ifDemandedByCertificate
    }

    /// Who has the last word.
    public enum Decision: Sendable, Hashable {
        /// The library.
        case library

        /// The delegate, which is asked whatever the library says.
        case delegate

        /// The delegate, which is asked only after the library said yes.
        case delegateAfterLibrary
    }
}

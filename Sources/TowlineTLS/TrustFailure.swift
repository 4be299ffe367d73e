/// Why a certificate is not trusted, with the facts that a person needs to do something about it.
///
/// Prints as one line.
public struct TrustFailure: Error, Sendable, Hashable {
    /// What is wrong.
    public let reason: Reason

    /// Which certificate it is about: 0 for the peer's own, 1 for its issuer's, and so on; `nil`
    /// where it is about none.
    public internal(set) var depth: Int?

    /// The subject of that certificate, such as `O=Test, CN=a.test`.
    public internal(set) var subject: String?

    /// What to call that certificate: its first name or address, or else its common name in quotes.
    public internal(set) var title: String?

    /// The name that was wanted, where one was.
    public internal(set) var wanted: PeerName?

    /// The names and addresses that the peer's certificate is made out to.
    public internal(set) var present: [String] = []

    /// From when on the certificate that this is about holds.
    public internal(set) var notBefore: UnixTime?

    /// Until when the certificate that this is about holds.
    public internal(set) var notAfter: UnixTime?

    /// What the clock said.
    public internal(set) var clock: UnixTime?

    /// Where roots were looked for, where none was found for this chain.
    public internal(set) var lookedIn: [String] = []

    /// The library's number (`X509_V_ERR_…`); 0 where the library had nothing to say.
    public internal(set) var libraryNumber: Int = 0

    /// The library's words for its number; empty where it had nothing to say.
    public internal(set) var libraryText: String = ""

    /// Whether it is about a stapled response, which has an alert of its own.
    var isAboutStaple = false

    init(_ reason: Reason) {
        self.reason = reason
    }

    /// With what there is to say of the certificate that it is about.
    init(_ reason: Reason, about certificate: Certificate, at depth: Int, clock: UnixTime) {
        self.reason = reason
        self.depth = depth
        self.clock = clock
        subject = certificate.subject
        title = certificate.title
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
    }

    /// What can be wrong with a certificate.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// Its time is over.
        case expired

        /// Its time has not come.
        case notYetValid

        /// It is made out to others.
        case nameMismatch

        /// The peer's own certificate is its own issuer, and is not trusted.
        case selfSigned

        /// The peer sent a root, which is not trusted.
        case untrustedRoot

        /// No certificate of this issuer is known.
        case unknownIssuer(String)

        /// What issued it may not issue certificates.
        case invalidIssuer

        /// There are more certificates between it and its root than one of them allows.
        case pathLength

        /// There are more certificates between it and its root than the policy allows.
        case chainTooLong

        /// An issuer may not issue certificates for such names.
        case nameConstraint

        /// It has an extension that must be understood, and is not.
        case unsupportedExtension

        /// It is meant for something else.
        case wrongPurpose

        /// A key is too weak.
        case weakKey

        /// A signature is made with a hash that is too weak.
        case weakSignature

        /// Its issuer has revoked it.
        case revoked(UnixTime?, RevocationReason?)

        /// Whether it is revoked cannot be told; the text says why.
        case revocationUnavailable(String)

        /// The chain holds, and none of the pins is in it; these public keys are.
        case pinMismatch(seen: [PublicKeyPin])

        /// The program said no.
        case rejected

        /// A signature in the chain does not hold.
        case badSignature

        /// A certificate cannot be read.
        case malformed

        /// The peer sent no certificate.
        case noCertificate

        /// The library has another reason, which ``TrustFailure/libraryText`` tells.
        case other
    }
}

/// Why an issuer has revoked a certificate.
///
/// Source: RFC 5280, section 5.3.1.
@nonexhaustive
public enum RevocationReason: Int, Sendable, Hashable, CustomStringConvertible {
    /// 0: no reason is given.
    case unspecified = 0

    /// 1: somebody else has the key.
    case keyCompromise = 1

    /// 2: somebody else has the issuer's key.
    case issuerCompromise = 2

    /// 3: the name or other facts have changed.
    case affiliationChanged = 3

    /// 4: there is a newer one.
    case superseded = 4

    /// 5: it is not needed any more.
    case cessationOfOperation = 5

    /// 6: it is on hold for a while.
    case hold = 6

    /// 8: a hold is over.
    case removedFromList = 8

    /// 9: its owner may not do any more what it says.
    case privilegeWithdrawn = 9

    /// 10: somebody else has the key of who attests attributes.
    case attributeAuthorityCompromise = 10

    /// The reason in words.
    public var description: String {
        switch self {
        case .unspecified: "no reason given"
        case .keyCompromise: "key compromise"
        case .issuerCompromise: "issuer compromise"
        case .affiliationChanged: "affiliation changed"
        case .superseded: "superseded"
        case .cessationOfOperation: "cessation of operation"
        case .hold: "on hold"
        case .removedFromList: "removed from the list"
        case .privilegeWithdrawn: "privilege withdrawn"
        case .attributeAuthorityCompromise: "attribute authority compromise"
        }
    }
}

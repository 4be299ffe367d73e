extension TrustFailure: CustomStringConvertible {
    /// The failure as one line.
    public var description: String {
        switch reason {
        case .expired: "\(certificate) expired on \(day(notAfter))"
        case .notYetValid: "\(certificate) is not valid before \(day(notBefore))"
        case .nameMismatch:
            "certificate is for \(names), not \(wanted?.description ?? "what was wanted")"
        case .selfSigned: "\(certificate) is self-signed\(library)\(places)"
        case .untrustedRoot: "root \(titleText) is not trusted\(library)\(places)"
        case .unknownIssuer(let issuer): "no trusted issuer for \"\(issuer)\"\(library)\(places)"
        case .invalidIssuer: "\(titleText) may not issue certificates\(library)"
        case .pathLength: "\(titleText) may not have so many issuers below it\(library)"
        case .chainTooLong: "the chain of certificates is too long\(library)"
        case .nameConstraint:
            "an issuer may not issue certificates for \(names)\(library)"
        case .unsupportedExtension:
            "\(certificate) has a critical extension that is not understood\(library)"
        case .wrongPurpose: "\(certificate) is not meant for this use\(library)"
        case .weakKey: "the key of \(titleText) is too weak\(library)"
        case .weakSignature: "the signature on \(certificate) is too weak\(library)"
        case .revoked(let date, let why): "\(certificate) was revoked\(Self.details(date, why))"
        case .revocationUnavailable(let why):
            "whether \(certificate) is revoked cannot be told: \(why)\(library)"
        case .pinMismatch(let seen):
            "none of the policy's pins is in the chain of \(titleText): \(Self.list(seen))"
        case .rejected:
            "\(certificate) was rejected\(libraryNumber == 0 ? " by the program" : library)"
        case .badSignature: "the signature on \(certificate) does not hold\(library)"
        case .malformed: "\(certificate) is malformed\(library)"
        case .noCertificate: "peer sent no certificate"
        case .other: "\(certificate) is not trusted\(library)"
        }
    }

    private var titleText: String { title ?? "the peer" }

    private var certificate: String { "certificate of \(titleText)" }

    /// The library's number and words, in brackets.
    private var library: String {
        libraryNumber == 0 ? "" : " (\(libraryNumber) \(libraryText))"
    }

    /// Where roots were looked for.
    private var places: String {
        lookedIn.isEmpty ? "" : ". Looked in: \(lookedIn.joined(separator: ", "))"
    }

    /// A date and the clock: days where those differ, else moments.
    private func day(_ moment: UnixTime?) -> String {
        guard let moment, let clock else { return "an unknown date" }
        guard moment.date == clock.date else { return "\(moment.date), clock says \(clock.date)" }
        return "\(moment), clock says \(clock)"
    }

    /// At most eight of the names that the peer's certificate has.
    private var names: String {
        guard !present.isEmpty else { return "no host name" }
        // An empty name stands in some certificates, and would not be seen.
        let shown = present.prefix(8).map { $0.isEmpty ? "\"\"" : $0 }.joined(separator: ", ")
        return present.count > 8 ? "\(shown) and \(present.count - 8) more" : shown
    }

    private static func details(_ date: UnixTime?, _ reason: RevocationReason?) -> String {
        let since = date.map { " on \($0.date)" } ?? ""
        return since + (reason.map { ": \($0)" } ?? "")
    }

    private static func list(_ pins: [PublicKeyPin]) -> String {
        pins.map { "sha256//\($0)" }.joined(separator: ", ")
    }
}

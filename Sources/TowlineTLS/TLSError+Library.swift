internal import COpenSSL

extension TLSError {
    /// What the library says about a call that has failed for no reason of the peer's.
    static func fromQueue() -> TLSError {
        let entries = LibraryErrors.take()
        return .library(entries.first)
    }

    /// Reads what the library has to say about a call on a session.
    ///
    /// - Parameters:
    ///   - kind: What SSL_get_error says.
    ///   - entries: The library's queue.
    ///   - failure: Why the peer is not trusted, if it is not.
    ///   - offered: The versions that we speak.
    ///   - isOfHandshake: Whether an alert of the peer's can only be about the handshake.
    init(
        _ kind: CInt,
        _ entries: [LibraryError],
        failure: TrustFailure?,
        offered: [TLSVersion],
        isOfHandshake: Bool = true
    ) {
        guard let entry = entries.first(where: { $0.library == ERR_LIB_SSL }) ?? entries.first
        else {
            self = kind == SSL_ERROR_SSL ? .library(nil) : .interrupted
            return
        }
        guard entry.library == ERR_LIB_SSL else {
            self = .library(entry)
            return
        }
        if let alert = UInt8(exactly: entry.reason - SSL_AD_REASON_OFFSET) {
            self = Self.answer(to: alert, offered: offered, isOfHandshake: isOfHandshake)
            return
        }
        self = Self.ownReason(entry, entries, failure: failure, offered: offered)
    }

    /// The error, an alert with what is known of a client that was asked who it is.
    func asked(_ lacksIdentity: Bool) -> TLSError {
        guard lacksIdentity, case .alert(let alert, from: .peer) = self else { return self }
        var known = alert
        known.lacksIdentity = true
        return .alert(known, from: .peer)
    }

    /// The peer has refused.
    private static func answer(
        to code: UInt8,
        offered: [TLSVersion],
        isOfHandshake: Bool
    ) -> TLSError {
        switch code {
        case TLSAlert.protocolVersion.code: .noAgreement(.version(offered))
        case TLSAlert.noApplicationProtocol.code: .noAgreement(.applicationProtocol)
        default:
            .alert(
                TLSAlert(code: code, offered: offered, isOfHandshake: isOfHandshake),
                from: .peer
            )
        }
    }

    /// The library has refused.
    private static func ownReason(
        _ entry: LibraryError,
        _ entries: [LibraryError],
        failure: TrustFailure?,
        offered: [TLSVersion]
    ) -> TLSError {
        switch entry.reason {
        case SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_INVALID_STATUS_RESPONSE:
            return .untrusted(failure ?? TrustFailure(.other))
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return .untrusted(TrustFailure(.noCertificate))
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_WRONG_SSL_VERSION, SSL_R_VERSION_TOO_LOW,
            SSL_R_VERSION_TOO_HIGH, SSL_R_NO_PROTOCOLS_AVAILABLE:
            return .noAgreement(.version(offered))
        case SSL_R_NO_SHARED_CIPHER: return .noAgreement(.cipherSuite)
        case SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SHARED_GROUPS:
            return .noAgreement(.group)
        case SSL_R_NO_APPLICATION_PROTOCOL: return .noAgreement(.applicationProtocol)
        case SSL_R_EXCESSIVE_MESSAGE_SIZE: return .limit(.messageSize)
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return .interrupted
        case CInt(ERR_R_ASN1_LIB), CInt(ERR_R_X509_LIB): return .untrusted(TrustFailure(.malformed))
        case CInt(ERR_R_INTERNAL_ERROR), CInt(ERR_R_MALLOC_FAILURE): return .library(entry)
        default: return .protocolViolation(words(of: entry, entries))
        }
    }

    /// The library's words, and those of the part of it that knew more.
    private static func words(of entry: LibraryError, _ entries: [LibraryError]) -> String {
        if !entry.words.isEmpty { return entry.words }
        return entries.map(\.words).first { !$0.isEmpty } ?? "reason \(entry.reason)"
    }

    private static func library(_ entry: LibraryError?) -> TLSError {
        guard let entry else { return .library(code: 0, reason: "no reason given") }
        let words = entry.words.isEmpty ? "reason \(entry.reason)" : entry.words
        return .library(code: entry.code, reason: words)
    }
}

internal import COpenSSL

extension TrustFailure.Reason {
    /// What the library's number means.
    ///
    /// Source: X509_STORE_CTX_get_error(3).
    init(
        _ number: CInt,
        text: String,
        issuer: String,
        revocation: (date: UnixTime?, reason: RevocationReason?)?
    ) {
        switch number {
        case X509_V_ERR_CERT_HAS_EXPIRED: self = .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: self = .notYetValid
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: self = .nameMismatch
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: self = .selfSigned
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED:
            self = .untrustedRoot
        case X509_V_ERR_CERT_REVOKED: self = .revoked(revocation?.date, revocation?.reason)
        case X509_V_ERR_CERT_CHAIN_TOO_LONG: self = .chainTooLong
        case X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_INVALID_NON_CA,
            X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE:
            self = .wrongPurpose
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL,
            X509_V_ERR_EC_KEY_EXPLICIT_PARAMS:
            self = .weakKey
        case X509_V_ERR_CA_MD_TOO_WEAK: self = .weakSignature
        case X509_V_ERR_CERT_REJECTED: self = .rejected
        default:
            self =
                Self.ofIssuer(number, issuer: issuer)
                ?? Self.ofList(number, text: text)
                ?? Self.ofForm(number)
                ?? .other
        }
    }

    /// What is wrong with who has issued a certificate.
    private static func ofIssuer(_ number: CInt, issuer: String) -> Self? {
        switch number {
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SUBJECT_ISSUER_MISMATCH,
            X509_V_ERR_AKID_SKID_MISMATCH, X509_V_ERR_AKID_ISSUER_SERIAL_MISMATCH,
            X509_V_ERR_PATH_LOOP:
            .unknownIssuer(issuer)
        case X509_V_ERR_INVALID_CA, X509_V_ERR_NO_ISSUER_PUBLIC_KEY,
            X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
            .invalidIssuer
        case X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED: .pathLength
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION,
            X509_V_ERR_SUBTREE_MINMAX, X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX, X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
            .nameConstraint
        default: nil
        }
    }

    /// What is wrong with a list of revoked certificates.
    private static func ofList(_ number: CInt, text: String) -> Self? {
        switch number {
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE,
            X509_V_ERR_CRL_SIGNATURE_FAILURE, X509_V_ERR_CRL_NOT_YET_VALID,
            X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD,
            X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER,
            X509_V_ERR_KEYUSAGE_NO_CRL_SIGN, X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION,
            X509_V_ERR_DIFFERENT_CRL_SCOPE, X509_V_ERR_CRL_PATH_VALIDATION_ERROR,
            X509_V_ERR_OCSP_VERIFY_NEEDED, X509_V_ERR_OCSP_VERIFY_FAILED,
            X509_V_ERR_OCSP_CERT_UNKNOWN:
            .revocationUnavailable(text)
        default: nil
        }
    }

    /// What is wrong with how a certificate is written.
    private static func ofForm(_ number: CInt) -> Self? {
        switch number {
        case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE,
            X509_V_ERR_UNSUPPORTED_SIGNATURE_ALGORITHM, X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH,
            X509_V_ERR_SIGNATURE_ALGORITHM_INCONSISTENCY:
            .badSignature
        case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION, X509_V_ERR_UNSUPPORTED_EXTENSION_FEATURE,
            X509_V_ERR_PROXY_CERTIFICATES_NOT_ALLOWED:
            .unsupportedExtension
        case X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD,
            X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY, X509_V_ERR_INVALID_EXTENSION,
            X509_V_ERR_INVALID_POLICY_EXTENSION, X509_V_ERR_UNNESTED_RESOURCE:
            .malformed
        default: nil
        }
    }
}

extension TrustFailure {
    /// What the peer is told.
    var alert: TLSAlert {
        switch reason {
        case .expired: .certificateExpired
        case .notYetValid, .nameMismatch, .weakKey, .weakSignature, .pinMismatch, .rejected:
            .badCertificate
        case .selfSigned, .untrustedRoot, .unknownIssuer, .invalidIssuer, .pathLength,
            .chainTooLong:
            .unknownCA
        case .nameConstraint, .unsupportedExtension, .other: .certificateUnknown
        case .wrongPurpose: .unsupportedCertificate
        case .revoked: .certificateRevoked
        case .revocationUnavailable: isAboutStaple ? .badCertificateStatusResponse : alertOfList
        case .badSignature: .decryptError
        case .malformed: .decodeError
        case .noCertificate: .certificateRequired
        }
    }

    /// What the library says of a list.
    private var alertOfList: TLSAlert {
        switch CInt(libraryNumber) {
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER: .unknownCA
        case X509_V_ERR_CRL_HAS_EXPIRED: .certificateExpired
        case X509_V_ERR_CRL_NOT_YET_VALID: .badCertificate
        case X509_V_ERR_CRL_SIGNATURE_FAILURE: .decryptError
        default: .certificateUnknown
        }
    }

    /// What a session is told to remember as its result, and to take its alert from.
    var verifyResult: CInt {
        if libraryNumber != 0 { return CInt(libraryNumber) }
        // A stapled response says so without the library.
        if case .revoked = reason { return X509_V_ERR_CERT_REVOKED }
        return X509_V_ERR_CERT_REJECTED
    }
}

internal import COpenSSL

/// What an issuer says of a certificate, as its owner hands it on.
///
/// The library looks at nothing of it: who has signed it, for which certificate it is, from when
/// until when it holds, and what it says, are checked here.
///
/// Source: RFC 6960, sections 3.2 and 4.2.2; RFC 6066, section 8.
struct StapledResponse {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// How far ahead of ours a responder's clock may be.
    private static let tolerance: Int64 = 300

    /// How long one that does not say until when it holds is taken for new.
    private static let usualAge: Int64 = 86_400

    /// What is wrong; `nil` if it says that the certificate is good.
    func fault(
        for certificate: Certificate,
        issuedBy issuer: Certificate,
        at clock: UnixTime
    ) -> TrustFailure.Reason? {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let response = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var next = buffer.baseAddress
            return d2i_OCSP_RESPONSE(nil, &next, buffer.count)
        }
        guard let response else { return .revocationUnavailable("the response is malformed") }
        defer { OCSP_RESPONSE_free(response) }
        let status = OCSP_response_status(response)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL,
            let basic = OCSP_response_get1_basic(response)
        else {
            let words = String(cString: OCSP_response_status_str(Int(status)))
            return .revocationUnavailable("the responder had no answer: \(words)")
        }
        defer { OCSP_BASICRESP_free(basic) }
        return certificate.withPointer { leaf in
            issuer.withPointer { issuer in
                Self.faultOfSignature(basic, issuer: issuer, clock: clock)
                    ?? Self.faultOfAnswer(basic, leaf: leaf, issuer: issuer, clock: clock)
            }
        }
    }

    /// It has to be signed by the issuer, or by whom the issuer has charged with it.
    private static func faultOfSignature(
        _ basic: OpaquePointer,
        issuer: OpaquePointer,
        clock: UnixTime
    ) -> TrustFailure.Reason? {
        guard let known = towline_sk_X509_new_null() else {
            preconditionFailure("there is memory for an empty list")
        }
        defer { towline_sk_X509_free(known) }
        towline_sk_X509_push(known, issuer)
        var signer: OpaquePointer?
        guard OCSP_resp_get0_signer(basic, &signer, known) == 1, let signer else {
            return .revocationUnavailable("who has signed the response is not known")
        }
        // The library checks the signature only; whether the signer may sign is checked below, by
        // the policy's clock, which a shared store cannot be told.
        guard isStrong(OCSP_resp_get0_tbs_sigalg(basic)),
            OCSP_basic_verify(basic, known, nil, UInt(OCSP_NOVERIFY)) == 1
        else { return .revocationUnavailable("the signature on the response does not hold") }
        guard X509_cmp(signer, issuer) != 0 else { return nil }
        guard isCharged(signer, by: issuer, at: clock) else {
            return .revocationUnavailable("who has signed the response may not do so")
        }
        return nil
    }

    /// Whether the issuer itself has issued the signer's certificate, for that purpose.
    private static func isCharged(
        _ signer: OpaquePointer,
        by issuer: OpaquePointer,
        at clock: UnixTime
    ) -> Bool {
        // Without the extension the library says that a key may be used for everything.
        let hasPurpose = X509_get_extension_flags(signer) & UInt32(EXFLAG_XKUSAGE) != 0
        guard hasPurpose, X509_get_extended_key_usage(signer) & UInt32(XKU_OCSP_SIGN) != 0,
            X509_check_issued(issuer, signer) == X509_V_OK,
            let issuerKey = X509_get0_pubkey(issuer), X509_verify(signer, issuerKey) == 1,
            let begin = UnixTime(X509_get0_notBefore(signer)), begin <= clock,
            let end = UnixTime(X509_get0_notAfter(signer)), clock <= end,
            let key = X509_get0_pubkey(signer)
        else { return false }
        var bits: CInt = 0
        return EVP_PKEY_get_security_bits(key) >= securityBits
            && X509_get_signature_info(signer, nil, nil, &bits, nil) == 1 && bits >= securityBits
    }

    /// Level 2 of the library's scale.
    private static let securityBits: CInt = 112

    /// Whether signatures of this kind are made with a hash of at least 224 bits.
    private static func isStrong(_ algorithm: UnsafePointer<X509_ALGOR>?) -> Bool {
        var object: OpaquePointer?
        X509_ALGOR_get0(&object, nil, nil, algorithm)
        var digest: CInt = 0
        guard OBJ_find_sigid_algs(OBJ_obj2nid(object), &digest, nil) == 1 else { return false }
        // Some, such as Ed25519, have no hash to be chosen.
        guard digest != NID_undef, let name = OBJ_nid2sn(digest) else { return true }
        guard let kind = EVP_get_digestbyname(name) else { return false }
        return EVP_MD_get_size(kind) >= 28
    }

    /// What the answer about this certificate says.
    private static func faultOfAnswer(
        _ basic: OpaquePointer,
        leaf: OpaquePointer,
        issuer: OpaquePointer,
        clock: UnixTime
    ) -> TrustFailure.Reason? {
        for index in 0..<OCSP_resp_count(basic) {
            guard let answer = OCSP_resp_get0(basic, index),
                isAbout(OCSP_SINGLERESP_get0_id(answer), leaf: leaf, issuer: issuer)
            else { continue }
            return fault(of: answer, at: clock)
        }
        return .revocationUnavailable("the response is for another certificate")
    }

    private static func isAbout(
        _ identifier: OpaquePointer?,
        leaf: OpaquePointer,
        issuer: OpaquePointer
    ) -> Bool {
        var hash: OpaquePointer?
        // It is typed as one that may change, and is only read.
        guard OCSP_id_get0_info(nil, &hash, nil, nil, identifier) == 1,
            let name = OBJ_nid2sn(OBJ_obj2nid(hash)), let digest = EVP_get_digestbyname(name),
            let ours = OCSP_cert_to_id(digest, leaf, issuer)
        else { return false }
        defer { OCSP_CERTID_free(ours) }
        return OCSP_id_cmp(identifier, ours) == 0
    }

    private static func fault(of answer: OpaquePointer, at clock: UnixTime) -> TrustFailure.Reason?
    {
        var number: CInt = -1
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var this: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var next: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = OCSP_single_get0_status(answer, &number, &revoked, &this, &next)
        guard let made = UnixTime(this), made.seconds <= clock.seconds + tolerance else {
            return .revocationUnavailable("the response is of the future")
        }
        let end = next == nil ? UnixTime(seconds: made.seconds + usualAge) : UnixTime(next)
        guard let end, clock <= end else {
            return .revocationUnavailable("the response is out of date")
        }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: return nil
        case V_OCSP_CERTSTATUS_REVOKED:
            return .revoked(UnixTime(revoked), RevocationReason(rawValue: Int(number)))
        default: return .revocationUnavailable("the responder does not know the certificate")
        }
    }
}

internal import COpenSSL
internal import Glibc

/// One run of the library's verification, in a context of its own.
///
/// Source: X509_verify_cert(3), X509_VERIFY_PARAM_set_flags(3).
struct ChainVerification {
    let evaluator: TrustEvaluator
    let chain: [Certificate]
    let name: PeerName?
    let role: PeerRole
    let clock: UnixTime

    /// What signatures have to be worth at least, on the library's scale: 112 bits.
    static let securityLevel: CInt = 2

    func run() -> Result<VerifiedChain, TrustFailure> {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        guard let context = X509_STORE_CTX_new(), let untrusted = towline_sk_X509_new_null(),
            let lists = towline_sk_X509_CRL_new_null()
        else { preconditionFailure("there is memory for an empty list") }
        defer {
            X509_STORE_CTX_free(context)
            towline_sk_X509_free(untrusted)
            towline_sk_X509_CRL_free(lists)
        }
        // The stacks and the context only refer to what the values here keep alive.
        return withExtendedLifetime((chain, evaluator)) {
            for certificate in chain.dropFirst() {
                certificate.withPointer { _ = towline_sk_X509_push(untrusted, $0) }
            }
            let store = evaluator.store.pointer
            let isReady = chain[0].withPointer { leaf in
                X509_STORE_CTX_init(context, store, leaf, untrusted) == 1
            }
            guard isReady, prepare(context, lists: lists) else {
                return .failure(failure(X509_V_ERR_UNSPECIFIED, at: 0, in: context))
            }
            let isTrusted = X509_verify_cert(context) == 1
            let error = X509_STORE_CTX_get_error(context)
            if isTrusted && error == X509_V_OK {
                return .success(VerifiedChain(certificates: built(context), isVerified: true))
            }
            let number = error == X509_V_OK ? X509_V_ERR_UNSPECIFIED : error
            let depth = Int(X509_STORE_CTX_get_error_depth(context))
            return .failure(failure(number, at: depth, in: context))
        }
    }

    /// Tells the library what to look at; false if it has no memory for that.
    private func prepare(_ context: OpaquePointer, lists: OpaquePointer) -> Bool {
        guard let parameters = X509_STORE_CTX_get0_param(context) else { return false }
        var flags: UInt = 0
        if evaluator.policy.allowsPartialChains { flags |= towline_X509_V_FLAG_PARTIAL_CHAIN }
        if case .lists(let revoked, of: let extent) = evaluator.policy.revocation {
            flags |= towline_X509_V_FLAG_CRL_CHECK
            if extent == .chain { flags |= towline_X509_V_FLAG_CRL_CHECK_ALL }
            for list in revoked {
                list.withPointer { _ = towline_sk_X509_CRL_push(lists, $0) }
            }
            X509_STORE_CTX_set0_crls(context, lists)
        }
        let (purpose, trust) =
            switch role {
            case .server: (X509_PURPOSE_SSL_SERVER, X509_TRUST_SSL_SERVER)
            case .client: (X509_PURPOSE_SSL_CLIENT, X509_TRUST_SSL_CLIENT)
            }
        X509_VERIFY_PARAM_set_time(parameters, time_t(clock.seconds))
        X509_VERIFY_PARAM_set_depth(parameters, CInt(clamping: evaluator.policy.maximumDepth))
        X509_VERIFY_PARAM_set_auth_level(parameters, Self.securityLevel)
        return X509_VERIFY_PARAM_set_flags(parameters, flags) == 1
            && X509_VERIFY_PARAM_set_purpose(parameters, purpose) == 1
            && X509_VERIFY_PARAM_set_trust(parameters, trust) == 1
            && setName(parameters)
    }

    /// A host name is looked for among the names only and an address among the addresses only.
    private func setName(_ parameters: OpaquePointer) -> Bool {
        X509_VERIFY_PARAM_set_hostflags(
            parameters,
            towline_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS
                | towline_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
        )
        switch name?.kind {
        case nil: return true
        case .host(let name):
            return X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1
        case .address(let bytes):
            return X509_VERIFY_PARAM_set1_ip(parameters, bytes, bytes.count) == 1
        }
    }

    /// The chain that the library has built.
    private func built(_ context: OpaquePointer) -> [Certificate] {
        guard let stack = X509_STORE_CTX_get0_chain(context) else { return [] }
        return (0..<towline_sk_X509_num(stack)).compactMap { index in
            towline_sk_X509_value(stack, index).flatMap { Certificate(sharing: $0) }
        }
    }

    private func failure(
        _ number: CInt,
        at depth: Int,
        in context: OpaquePointer
    ) -> TrustFailure {
        let current = X509_STORE_CTX_get_current_cert(context)
        let certificate = current.flatMap { Certificate(sharing: $0) } ?? chain[0]
        let text = String(cString: X509_verify_cert_error_string(Int(number)))
        let reason = TrustFailure.Reason(
            number,
            text: text,
            issuer: certificate.issuerTitle,
            revocation: number == X509_V_ERR_CERT_REVOKED ? revocation(of: certificate) : nil
        )
        var failure = TrustFailure(reason, about: certificate, at: depth, clock: clock)
        failure.wanted = name
        failure.present = chain[0].names
        failure.libraryNumber = Int(number)
        failure.libraryText = text
        switch reason {
        case .unknownIssuer, .selfSigned, .untrustedRoot: failure.lookedIn = evaluator.lookedIn
        default: break
        }
        return failure
    }

    /// When and why a certificate was revoked, by the first list that says so.
    ///
    /// The library has forgotten by now which one it was.
    private func revocation(
        of certificate: Certificate
    ) -> (date: UnixTime?, reason: RevocationReason?)? {
        guard case .lists(let lists, of: _) = evaluator.policy.revocation else { return nil }
        for list in lists {
            let found = list.withPointer { list in
                certificate.withPointer { certificate -> (UnixTime?, RevocationReason?)? in
                    var entry: OpaquePointer?
                    guard X509_CRL_get0_by_cert(list, &entry, certificate) == 1 else { return nil }
                    let reason = Int(towline_X509_REVOKED_reason(entry))
                    let date = UnixTime(X509_REVOKED_get0_revocationDate(entry))
                    return (date, RevocationReason(rawValue: reason))
                }
            }
            if let found { return found }
        }
        return nil
    }
}

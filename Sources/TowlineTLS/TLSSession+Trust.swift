internal import COpenSSL
internal import Towline

/// What the program is asked about a peer, and what it says.
struct TrustQuestion {
    let trust: TLSTrust
    let answer = FirstAnswer<Bool>()

    /// Whether it has been asked and has not answered, as far as the session knows.
    var isOpen = true
}

extension TLSSession {
    // MARK: From within the library

    /// Judges the certificates that the peer has sent.
    ///
    /// A client waits here for the program's word: the library goes no further, and the server has
    /// not been told who we are. A server cannot, as the library would go on and call it a yes; it
    /// is shown no more of the client's bytes instead.
    ///
    /// - Returns: 1 to go on, 0 to refuse, as the library wants it.
    func judgePeer(_ store: OpaquePointer) -> CInt {
        guard let context, let handle else { return 0 }
        if let question { return answer(question, store, handle) }
        let sent = Certificate.chain(in: X509_STORE_CTX_get0_untrusted(store))
        let isClient = !context.isServer
        // Up to 1.2 a staple comes behind the certificates.
        let isEarly = isClient && SSL_version(handle) >= CInt(TLSVersion.tls13.rawValue)
        let staple = isEarly ? Self.staple(of: handle) : nil
        let verdict = context.trust.evaluate(
            sent,
            for: peerName,
            role: isClient ? .server : .client,
            staple: isEarly || !isClient ? .known(staple) : .later
        )
        if isClient, let error = protocolFault(handle, context) {
            refusal = error
            return refuse(store, number: X509_V_ERR_APPLICATION_VERIFICATION)
        }
        let policy = context.configuration.trust
        switch (policy.decision, verdict) {
        case (.library, .success(let chain)):
            return accept(store, chain)
        case (.delegate, _), (.delegateAfterLibrary, .success):
            let trust = TLSTrust(
                chain: sent,
                serverName: peerName,
                stapledResponse: staple,
                verdict: verdict,
                role: isClient ? .server : .client
            )
            question = TrustQuestion(trust: trust)
            return pause(handle, isClient: isClient, store)
        case (.library, .failure(let failure)), (.delegateAfterLibrary, .failure(let failure)):
            trustFailure = failure
            // What is wrong with a staple has an alert of its own, for which it is early yet.
            if failure.isAboutStaple, !failure.isRevocation { return accept(store, nil) }
            return refuse(store, number: failure.verifyResult)
        }
    }

    private func pause(_ handle: OpaquePointer, isClient: Bool, _ store: OpaquePointer) -> CInt {
        if isClient {
            _ = towline_SSL_set_retry_verify(handle)
        } else {
            wire.pointee.isWithheld = true
            return accept(store, nil)
        }
        return 1
    }

    /// The second time, when the program has answered.
    private func answer(
        _ question: TrustQuestion,
        _ store: OpaquePointer,
        _ handle: OpaquePointer
    ) -> CInt {
        switch question.answer.value {
        case nil:
            return pause(handle, isClient: true, store)
        case true?:
            guard case .success(let chain) = question.trust.verdict else {
                return accept(store, nil)
            }
            return accept(store, chain)
        case false?:
            trustFailure = question.trust.refusal
            return refuse(store, number: X509_V_ERR_CERT_REJECTED)
        }
    }

    private func accept(_ store: OpaquePointer, _ chain: VerifiedChain?) -> CInt {
        X509_STORE_CTX_set_error(store, X509_V_OK)
        if let chain, chain.isVerified {
            X509_STORE_CTX_set0_verified_chain(store, Certificate.stack(of: chain.certificates))
        }
        return 1
    }

    private func refuse(_ store: OpaquePointer, number: CInt) -> CInt {
        X509_STORE_CTX_set_error(store, number)
        return 0
    }

    /// Judges what the server has stapled, when the library thinks that it is time.
    func judgeStaple(of handle: OpaquePointer) -> Bool {
        // A resumed session has none, and rests on the one that there was.
        guard let context, SSL_session_reused(handle) == 0 else { return true }
        if trustFailure != nil { return false }
        guard case .staple = context.configuration.trust.revocation,
            SSL_version(handle) < CInt(TLSVersion.tls13.rawValue)
        else { return true }
        let certificates = Certificate.chain(in: SSL_get0_verified_chain(handle))
        let chain = VerifiedChain(certificates: certificates, isVerified: !certificates.isEmpty)
        trustFailure = context.trust.failure(ofStaple: Self.staple(of: handle), on: chain)
        return trustFailure == nil
    }

    private static func staple(of handle: OpaquePointer) -> [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        let count = towline_SSL_get_tlsext_status_ocsp_resp(handle, &bytes)
        guard count > 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Staples what our identity has.
    func staple(to handle: OpaquePointer) -> CInt {
        let identity = chosenIdentity ?? context?.configuration.identity
        guard let response = identity?.stapledResponse, !response.isEmpty,
            let copy = towline_OPENSSL_malloc(response.count)
        else { return SSL_TLSEXT_ERR_NOACK }
        // As many bytes as were asked for; the session frees them.
        copy.copyMemory(from: response, byteCount: response.count)
        let bytes = copy.assumingMemoryBound(to: UInt8.self)
        _ = towline_SSL_set_tlsext_status_ocsp_resp(handle, bytes, CLong(response.count))
        return SSL_TLSEXT_ERR_OK
    }

    /// Takes a secret down.
    func note(secret line: String) {
        context?.keyLogSink?.write(line)
        guard context?.givesTicketsByHand == true else { return }
        let parts = line.split(separator: " ")
        guard parts.count == 3, parts[0] == "SERVER_TRAFFIC_SECRET_0" else { return }
        trafficSecret = Hexadecimal.bytes(of: parts[2])
    }

    // MARK: When the program has answered

    /// Goes on when the program has said whether to trust the peer.
    func goOnAfterQuestion() -> SecurityStep {
        guard let question, let answer = question.answer.value else { return .asks }
        self.question?.isOpen = false
        stage = .handshaking
        guard context?.isServer == true else { return shakeHands() }
        guard answer else { return refuseClient(question) }
        wire.pointee.isWithheld = false
        return shakeHands()
    }

    /// Ends what the library has called a success, by an alert of our own.
    private func refuseClient(_ question: TrustQuestion) -> SecurityStep {
        if let handle {
            let alert = BareAlert.make(.badCertificate, handle, secret: trafficSecret)
            alert.withUnsafeBytes { bytes in
                guard let first = bytes.baseAddress else { return }
                wire.pointee.put(first, count: bytes.count)
            }
        }
        return fail(.untrusted(question.trust.refusal))
    }

    // MARK: Sessions

    /// Gives a client its tickets, where that had to wait for the program's word.
    func giveTickets(_ handle: OpaquePointer) {
        guard let context, context.givesTicketsByHand,
            SSL_version(handle) >= CInt(TLSVersion.tls13.rawValue)
        else { return }
        if case .off = context.configuration.resumption { return }
        let wanted = max(0, context.configuration.ticketCount)
        let count = SSL_session_reused(handle) == 1 ? min(1, wanted) : wanted
        for _ in 0..<count { _ = SSL_new_session_ticket(handle) }
        _ = SSL_do_handshake(handle)
        LibraryErrors.clear()
    }

    /// Offers the server a session of an earlier connection.
    func offerSession(_ context: TLSContext) {
        guard let sessions = context.sessions, let handle else { return }
        let key = SessionCache.Key(
            context: context.number,
            checkedName: peerName,
            sentName: sentName,
            port: facts?.remoteAddress?.port ?? 0
        )
        sessionKey = key
        // It would come without a staple.
        if case .staple(.required) = context.configuration.trust.revocation { return }
        guard let kept = sessions.take(for: key) else { return }
        // A connection that breaks spoils its session, which others may still use.
        guard let own = kept.isUsedOnce ? kept : KeptSession(copying: kept.pointer) else { return }
        _ = SSL_set_session(handle, own.pointer)
    }

    /// Keeps a session for later ones, if the peer is trusted.
    func keep(_ session: OpaquePointer, of handle: OpaquePointer) {
        guard let sessions = context?.sessions, let sessionKey,
            SSL_get_verify_result(handle) == X509_V_OK
        else { return }
        if case .failed = stage { return }
        sessions.store(session, for: sessionKey)
    }
}

extension TrustFailure {
    fileprivate var isRevocation: Bool {
        if case .revoked = reason { true } else { false }
    }
}

extension Certificate {
    /// The certificates in a stack of the library's.
    static func chain(in stack: OpaquePointer?) -> [Certificate] {
        guard let stack else { return [] }
        return (0..<towline_sk_X509_num(stack)).compactMap { index in
            towline_sk_X509_value(stack, index).flatMap(Certificate.init(sharing:))
        }
    }

    /// A stack of the library's, with references of its own.
    static func stack(of chain: [Certificate]) -> OpaquePointer? {
        let stack = towline_sk_X509_new_null()
        for certificate in chain {
            certificate.withPointer { pointer in
                X509_up_ref(pointer)
                if towline_sk_X509_push(stack, pointer) == 0 { X509_free(pointer) }
            }
        }
        return stack
    }
}

/// Bytes written as pairs of digits.
enum Hexadecimal {
    static func bytes(of text: Substring) -> [UInt8] {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        return stride(from: 0, to: digits.count - 1, by: 2).map { offset in
            UInt8(digits[offset] << 4 | digits[offset + 1])
        }
    }
}

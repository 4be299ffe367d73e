internal import COpenSSL
internal import Towline

extension TLSSession {
    /// Goes on with whatever is next, as far as it goes without anybody else.
    func advance() -> SecurityStep {
        switch stage {
        case .preparing(let answer):
            guard let result = answer.value else { return .waits }
            switch result {
            case .success(let context): return startAndAdvance(context)
            case .failure(let error): return fail(error)
            }
        case .awaitingHello:
            return awaitHello()
        case .handshaking:
            return shakeHands()
        case .choosingServer(let answer):
            guard let choice = answer.value else { return .waits }
            return settle(choice)
        case .preparingChoice(let answer):
            guard let result = answer.value else { return .waits }
            switch result {
            case .success(let context): return restart(with: context)
            case .failure(let error): return fail(error)
            }
        case .choosingClient(let answer):
            guard answer.value != nil else { return .waits }
            return shakeHands()
        case .asking:
            return goOnAfterQuestion()
        case .open:
            return .needsInput
        case .ended:
            return .ended
        case .failed(let error):
            return .failed(error)
        }
    }

    /// Begins with a context, as far as that goes without the peer.
    func start(_ context: TLSContext) -> SecurityStep {
        self.context = context
        if !context.isServer, context.configuration.trust.acceptsAny, context.takeWarning() {
            facts?.note(.warning, "certificates of peers are not verified", [:])
        }
        if context.keyLogSink != nil, context.takeWarning() {
            facts?.note(.warning, "secrets of connections are written down", [:])
        }
        firstRecord = FirstRecord(needsWhole: context.isServer)
        if context.isServer {
            if let facts, !facts.isAccepted { Self.warnOfRole(facts) }
            stage = .awaitingHello
            return .needsInput
        }
        do throws(TLSError) {
            let names = try PeerNames(context.configuration, facts: facts)
            peerName = names.checked
            sentName = names.sent
            try makeHandle(context)
        } catch {
            return fail(error)
        }
        stage = .handshaking
        return shakeHands()
    }

    /// Mostly the wrong configuration: then both ends wait for the other's hello.
    private static func warnOfRole(_ facts: SecurityFacts) {
        let peer = facts.remoteAddress.map { ["peer": "\($0)"] } ?? [:]
        facts.note(.warning, "a server's configuration on a connection that was made here", peer)
    }

    private func startAndAdvance(_ context: TLSContext) -> SecurityStep {
        let step = start(context)
        guard case .needsInput = step, !wire.pointee.isEmpty else { return step }
        return advance()
    }

    /// Makes the library's handle, with all that a session says for itself.
    func makeHandle(_ context: TLSContext) throws(TLSError) {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        guard let handle = SSL_new(context.pointer), let bio = BufferBIO.make(for: wire) else {
            throw .fromQueue()
        }
        // Takes the one reference to the BIO, which it reads from and writes to.
        SSL_set_bio(handle, bio, bio)
        self.handle = handle
        _ = towline_SSL_set_app_data(handle, Unmanaged.passUnretained(self).toOpaque())
        SSL_set_verify(handle, context.verifyMode, nil)
        if context.isServer {
            SSL_set_accept_state(handle)
            return
        }
        SSL_set_connect_state(handle)
        if let sentName, towline_SSL_set_tlsext_host_name(handle, sentName) != 1 {
            throw .fromQueue()
        }
        if case .staple = context.configuration.trust.revocation {
            _ = towline_SSL_set_tlsext_status_type(handle, towline_TLSEXT_STATUSTYPE_ocsp)
        }
        offerSession(context)
    }

    /// Has a server wait for the whole first record, and a client for a header of one.
    private func awaitFirstRecord() -> SecurityStep? {
        guard var first = firstRecord else { return nil }
        let input = wire.pointee.rest
        switch first.verdict(with: input) {
        case .incomplete:
            first.keep(input)
            firstRecord = first
            wire.pointee.skipLent()
            return .needsInput
        case .notTLS:
            wire.pointee.skipLent()
            return fail(.notTLS(firstBytes: first.firstBytes(with: input)))
        case .complete:
            firstRecord = nil
            wire.pointee.keep(first.takeBytes())
            return nil
        }
    }

    private func awaitHello() -> SecurityStep {
        if let step = awaitFirstRecord() { return step }
        guard let context else { return fail(.configuration(.noIdentity)) }
        wire.pointee.isRecording = context.asksForIdentity
        do throws(TLSError) {
            try makeHandle(context)
        } catch {
            return fail(error)
        }
        stage = .handshaking
        return shakeHands()
    }

    /// Calls the library until it wants something.
    func shakeHands() -> SecurityStep {
        if firstRecord != nil, !wire.pointee.isEmpty, let step = awaitFirstRecord() { return step }
        guard let handle else { return fail(.configuration(.noIdentity)) }
        while true {
            LibraryErrors.clear()
            let result = SSL_do_handshake(handle)
            if result == 1 { return finishHandshake(handle) }
            switch SSL_get_error(handle, result) {
            case SSL_ERROR_WANT_READ:
                LibraryErrors.clear()
                return wantsInput()
            case SSL_ERROR_WANT_RETRY_VERIFY:
                LibraryErrors.clear()
                stage = .asking
                return .asks
            case SSL_ERROR_WANT_CLIENT_HELLO_CB:
                LibraryErrors.clear()
                return chooseServer(handle)
            case SSL_ERROR_WANT_X509_LOOKUP:
                LibraryErrors.clear()
                if let step = chooseClient(handle) { return step }
            case let kind:
                return failHandshake(kind)
            }
        }
    }

    private func wantsInput() -> SecurityStep {
        stage = .handshaking
        if question?.isOpen == true {
            stage = .asking
            return .asks
        }
        if let context, context.isServer, !isHelloSettled,
            wire.pointee.takenByteCount > context.configuration.limits.helloByteCount
        {
            BareAlert.plain(.illegalParameter).withUnsafeBytes { bytes in
                guard let first = bytes.baseAddress else { return }
                wire.pointee.put(first, count: bytes.count)
            }
            return fail(.limit(.messageSize))
        }
        return .needsInput
    }

    /// Everything that has to hold before a byte of data may go either way.
    private func finishHandshake(_ handle: OpaquePointer) -> SecurityStep {
        if question?.isOpen == true {
            stage = .asking
            return .asks
        }
        guard SSL_get_verify_result(handle) == X509_V_OK else {
            return fail(.untrusted(trustFailure ?? TrustFailure(.rejected)))
        }
        if let context, !context.isServer, let error = protocolFault(handle, context) {
            return fail(error)
        }
        giveTickets(handle)
        question = nil
        trustFailure = nil
        trafficSecret = []
        isHelloSettled = true
        stage = .open
        wire.pointee.takenByteCount = 0
        wire.pointee.takenByteLimit = context?.configuration.limits.uselessByteCount ?? .max
        return .secured
    }

    /// What is wrong with the protocol that the server has picked, if it has.
    func protocolFault(_ handle: OpaquePointer, _ context: TLSContext) -> TLSError? {
        guard let chosen = TLSInfo.applicationProtocol(of: handle) else {
            return context.configuration.requiresApplicationProtocol
                ? .noAgreement(.applicationProtocol) : nil
        }
        return context.configuration.applicationProtocols.contains(chosen)
            ? nil : .noAgreement(.applicationProtocol)
    }

    private func failHandshake(_ kind: CInt) -> SecurityStep {
        let entries = LibraryErrors.take()
        if let refusal { return fail(refusal) }
        if let handle, SSL_get_state(handle) == TLS_ST_CR_CERT_REQ,
            entries.contains(where: { $0.reason == CInt(ERR_R_ASN1_LIB) })
        {
            return fail(.protocolViolation("malformed list of issuers in CertificateRequest"))
        }
        return fail(
            TLSError(kind, entries, failure: trustFailure, offered: offeredVersions)
                .asked(lacksIdentity)
        )
    }

    /// The versions that we speak, the newest first.
    var offeredVersions: [TLSVersion] {
        guard let settings = context?.configuration else { return [] }
        return TLSVersion.allCases.reversed().filter {
            settings.minimumVersion <= $0 && $0 <= settings.maximumVersion
        }
    }
}

/// Whom a client wants, as its configuration and its connect say.
struct PeerNames {
    /// What the certificate is checked against; `nil` if no name is checked.
    let checked: PeerName?

    /// What is sent to the server.
    let sent: String?

    init(_ settings: TLSConfiguration, facts: SecurityFacts?) throws(TLSError) {
        let name: PeerName? =
            switch settings.serverName {
            case .name(let text): try PeerName(text)
            case .fromConnect: try Self.name(of: facts)
            }
        let isChecked = settings.trust.checksName && !settings.trust.acceptsAny
        guard name != nil || !isChecked else {
            // On an accepted connection it is the role that is wrong, most of the time.
            let isAccepted = facts?.isAccepted ?? false
            throw .configuration(isAccepted ? .notForServer : .noServerName)
        }
        checked = isChecked ? name : nil
        sent =
            switch settings.sentServerName {
            case .same: name?.indication
            case .none: nil
            case .other(let text): try PeerName(text).indication
            }
    }

    /// The host that was asked for, or else the address that was connected to.
    private static func name(of facts: SecurityFacts?) throws(TLSError) -> PeerName? {
        if let host = facts?.host {
            // As an address stands in a URL.
            let isInBrackets = host.hasPrefix("[") && host.hasSuffix("]")
            return try PeerName(isInBrackets ? String(host.dropFirst().dropLast()) : host)
        }
        guard let facts, !facts.isAccepted else { return nil }
        switch facts.remoteAddress {
        case .ipv4(let address, port: _): return try PeerName(address.description)
        case .ipv6(let address, port: _, scopeID: _): return try PeerName(address.description)
        case .unix, nil: return nil
        }
    }
}

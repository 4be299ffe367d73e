internal import COpenSSL

/// Sets a context of the library's up as a configuration says.
///
/// Everything is said explicitly: what the library does by default, and what the system's settings
/// for it make of that, is not relied on.
struct ContextSetup {
    let pointer: OpaquePointer
    let configuration: TLSConfiguration
    let level: CInt

    /// Ephemeral keys and authenticated encryption.
    private static let usualCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"

    func run(ticketScope: [UInt8], logsKeys: Bool) throws(TLSError) {
        try checkNames()
        try checkLimits()
        setOptions()
        try setVersions()
        try setCiphers()
        try setProtocols()
        setResumption(ticketScope)
        setCallbacks(logsKeys: logsKeys)
        if let identity = configuration.identity {
            try identity.install(inContext: pointer)
        } else if configuration.role == .server && configuration.chooser == nil {
            throw .configuration(.noIdentity)
        }
        setVerification()
    }

    private func checkNames() throws(TLSError) {
        if case .name(let name) = configuration.serverName { _ = try PeerName(name) }
        if case .other(let name) = configuration.sentServerName { _ = try PeerName(name) }
    }

    private func checkLimits() throws(TLSError) {
        let size = configuration.limits.initialRecordSize
        guard !(512...16_384).contains(size) else { return }
        throw .configuration(.invalidValue(field: "limits.initialRecordSize", value: "\(size)"))
    }

    /// TLS 1.2 may not be renegotiated, and nothing is compressed.
    private func setOptions() {
        SSL_CTX_clear_options(pointer, towline_SSL_OP_IGNORE_UNEXPECTED_EOF)
        SSL_CTX_set_options(
            pointer,
            towline_SSL_OP_ALL | towline_SSL_OP_NO_RENEGOTIATION | towline_SSL_OP_NO_COMPRESSION
                | towline_SSL_OP_CIPHER_SERVER_PREFERENCE | towline_SSL_OP_PRIORITIZE_CHACHA
        )
        _ = towline_SSL_CTX_set_mode(
            pointer,
            towline_SSL_MODE_ENABLE_PARTIAL_WRITE | towline_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                | towline_SSL_MODE_RELEASE_BUFFERS | towline_SSL_MODE_NO_AUTO_CHAIN
                | towline_SSL_MODE_AUTO_RETRY
        )
        _ = towline_SSL_CTX_set_read_ahead(pointer, 0)
        _ = towline_SSL_CTX_set_max_cert_list(pointer, CLong(configuration.limits.chainByteCount))
        SSL_CTX_set_max_early_data(pointer, 0)
        SSL_CTX_set_recv_max_early_data(pointer, 0)
        SSL_CTX_set_quiet_shutdown(pointer, 0)
        _ = towline_SSL_CTX_set_dh_auto(pointer, 1)
    }

    private func setVersions() throws(TLSError) {
        let lowest = configuration.minimumVersion
        let highest = configuration.maximumVersion
        guard lowest <= highest else {
            throw .configuration(.noVersion(minimum: lowest, maximum: highest))
        }
        let isSet =
            towline_SSL_CTX_set_min_proto_version(pointer, CInt(lowest.rawValue)) == 1
            && towline_SSL_CTX_set_max_proto_version(pointer, CInt(highest.rawValue)) == 1
        guard isSet else { throw .fromQueue() }
    }

    private func setCiphers() throws(TLSError) {
        SSL_CTX_set_security_level(pointer, level)
        let list = configuration.cipherList ?? Self.usualCiphers
        // What is said in the list itself counts more than the level above.
        guard SSL_CTX_set_cipher_list(pointer, list) == 1,
            SSL_CTX_get_security_level(pointer) >= min(level, 1)
        else { throw .configuration(.invalidValue(field: "cipherList", value: list)) }
        if let suites = configuration.cipherSuites?.joined(separator: ":") {
            guard SSL_CTX_set_ciphersuites(pointer, suites) == 1 else {
                throw .configuration(.invalidValue(field: "cipherSuites", value: suites))
            }
        }
        if let groups = configuration.groups?.joined(separator: ":") {
            guard towline_SSL_CTX_set1_groups_list(pointer, groups) == 1 else {
                throw .configuration(.invalidValue(field: "groups", value: groups))
            }
        }
    }

    private func setProtocols() throws(TLSError) {
        for name in configuration.applicationProtocols
        where !(1...255).contains(name.utf8.count) {
            throw .configuration(.invalidValue(field: "applicationProtocols", value: name))
        }
        let wire = ProtocolList.wire(configuration.applicationProtocols)
        guard configuration.role == .client, !wire.isEmpty else { return }
        guard SSL_CTX_set_alpn_protos(pointer, wire, CUnsignedInt(wire.count)) == 0 else {
            throw .fromQueue()
        }
    }

    private func setResumption(_ scope: [UInt8]) {
        SSL_CTX_set_session_id_context(pointer, scope, CUnsignedInt(scope.count))
        let isOff = if case .off = configuration.resumption { true } else { false }
        if configuration.role == .client {
            let keeps = !isOff && !configuration.trust.acceptsAny
            _ = towline_SSL_CTX_set_session_cache_mode(
                pointer,
                keeps
                    ? towline_SSL_SESS_CACHE_CLIENT | towline_SSL_SESS_CACHE_NO_INTERNAL
                    : towline_SSL_SESS_CACHE_OFF
            )
            if keeps { SSL_CTX_sess_set_new_cb(pointer, keepSession) }
            return
        }
        // Tickets are all there is: a server remembers nobody.
        _ = towline_SSL_CTX_set_session_cache_mode(pointer, towline_SSL_SESS_CACHE_OFF)
        if isOff { SSL_CTX_set_options(pointer, towline_SSL_OP_NO_TICKET) }
        let asks =
            configuration.clientAuthentication != .none
            && configuration.trust.decision != .library
        let count = isOff || asks ? 0 : max(0, configuration.ticketCount)
        SSL_CTX_set_num_tickets(pointer, count)
        _ = towline_SSL_CTX_set_tlsext_ticket_key_evp_cb(pointer, sealTicket)
    }

    private func setCallbacks(logsKeys: Bool) {
        SSL_CTX_set_cert_verify_callback(pointer, verifyPeer, nil)
        _ = towline_SSL_CTX_set_tlsext_status_cb(pointer, checkStaple)
        if configuration.role == .server {
            SSL_CTX_set_client_hello_cb(pointer, readHello, nil)
            SSL_CTX_set_alpn_select_cb(pointer, chooseProtocol, nil)
        } else if configuration.clientChooser != nil || configuration.identity == nil {
            SSL_CTX_set_cert_cb(pointer, chooseIdentity, nil)
        }
        let asks =
            configuration.role == .server && configuration.clientAuthentication != .none
            && configuration.trust.decision != .library
        // A refusal that comes late is encrypted by us, with a secret that is told only here.
        if logsKeys || asks { SSL_CTX_set_keylog_callback(pointer, logKey) }
    }

    private func setVerification() {
        SSL_CTX_set_verify(pointer, configuration.verifyMode, nil)
        guard configuration.role == .server, configuration.clientAuthentication != .none else {
            return
        }
        guard case .only(let anchors) = configuration.trust.anchors else { return }
        // Clients choose by it among their certificates.
        let names = towline_sk_X509_NAME_new_null()
        for anchor in anchors {
            anchor.withPointer { certificate in
                guard let name = X509_NAME_dup(X509_get_subject_name(certificate)) else { return }
                if towline_sk_X509_NAME_push(names, name) == 0 { X509_NAME_free(name) }
            }
        }
        SSL_CTX_set0_CA_list(pointer, names)
    }
}

extension TLSConfiguration {
    /// What the library has to ask of the peer.
    var verifyMode: CInt {
        switch (role, clientAuthentication) {
        case (.client, _): SSL_VERIFY_PEER
        case (.server, .none): SSL_VERIFY_NONE
        case (.server, .optional): SSL_VERIFY_PEER
        case (.server, .required): SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
        }
    }
}

/// Application protocols as they stand on the wire: each with its length in front.
///
/// Source: RFC 7301, section 3.1.
enum ProtocolList {
    static func wire(_ names: [String]) -> [UInt8] {
        names.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
    }

    /// The names in a list; what does not fit ends it.
    static func names(in wire: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        var names: [Range<Int>] = []
        var place = 0
        while place < wire.count {
            let end = place + 1 + Int(wire[place])
            guard end <= wire.count, end > place + 1 else { break }
            names.append((place + 1)..<end)
            place = end
        }
        return names
    }
}

extension Identity {
    /// Shows this by all sessions of a context.
    func install(inContext context: OpaquePointer) throws(TLSError) {
        try check(level: SSL_CTX_get_security_level(context))
        try install { SSL_CTX_use_cert_and_key(context, $0, $1, $2, 1) }
    }

    /// Shows this by one session.
    func install(inSession session: OpaquePointer) throws(TLSError) {
        try check(level: SSL_get_security_level(session))
        try install { SSL_use_cert_and_key(session, $0, $1, $2, 1) }
    }

    /// Says what is too weak for a level before the library does, which names less of it.
    private func check(level: CInt) throws(TLSError) {
        guard level > 0 else { return }
        do throws(IdentityError) {
            try checkStrength(securityLevel: Int(level))
        } catch {
            throw .identity(error)
        }
    }

    private func install(
        _ use: (OpaquePointer, OpaquePointer, OpaquePointer?) -> CInt
    ) throws(TLSError) {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let stack = towline_sk_X509_new_null()
        // The library adds references of its own to what it keeps.
        defer { towline_sk_X509_free(stack) }
        for other in intermediates {
            other.withPointer { _ = towline_sk_X509_push(stack, $0) }
        }
        let isInstalled = certificate.withPointer { leaf in
            withKey { key in use(leaf, key, stack) == 1 }
        }
        if !isInstalled { throw .identity(Self.fault(in: LibraryErrors.take())) }
    }

    /// Why the library did not take it.
    private static func fault(in entries: [LibraryError]) -> IdentityError {
        let words = entries.map(\.words).first { !$0.isEmpty } ?? "refused"
        let isMismatch = entries.contains {
            $0.library == ERR_LIB_X509
                && [X509_R_KEY_VALUES_MISMATCH, X509_R_KEY_TYPE_MISMATCH].contains($0.reason)
        }
        return isMismatch ? .keyMismatch : .tooWeak(words)
    }
}

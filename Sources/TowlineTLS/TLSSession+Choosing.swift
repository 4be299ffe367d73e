internal import COpenSSL
internal import Towline

extension TLSSession {
    /// What becomes of a client's hello.
    enum HelloVerdict {
        case goOn
        case ask
        case refuse(TLSAlert)
    }

    // MARK: Whom a server is

    /// Looks at a client's hello, from within the library.
    func judgeHello(of handle: OpaquePointer) -> HelloVerdict {
        guard let context else { return .refuse(.internalError) }
        // Some clients have to say hello twice.
        if isHelloSettled { return .goOn }
        if context.asksForIdentity, !isChoiceMade, refusal == nil {
            hello = ClientHello(of: handle)
            return .ask
        }
        isHelloSettled = true
        sentName = hello?.serverName ?? ClientHello.serverName(of: handle)
        if refusal != nil { return .refuse(.unrecognizedName) }
        if context.configuration.requiresApplicationProtocol,
            ClientHello(of: handle).applicationProtocols.isEmpty
        {
            refusal = .noAgreement(.applicationProtocol)
            return .refuse(.noApplicationProtocol)
        }
        return .goOn
    }

    /// Asks the program whom this server is for the client that has come.
    func chooseServer(_ handle: OpaquePointer) -> SecurityStep {
        guard let chooser = context?.configuration.chooser, let hello, let facts else {
            return fail(.configuration(.noIdentity))
        }
        let answer = FirstAnswer<ServerChoice>()
        chooser.choose(for: hello) { answer.give($0) }
        stage = .choosingServer(answer)
        return answer.await(facts.wake) ? .waits : advance()
    }

    /// Does what the program has chosen.
    func settle(_ choice: ServerChoice) -> SecurityStep {
        guard let handle, let facts else { return fail(.configuration(.noIdentity)) }
        stage = .handshaking
        wire.pointee.isRecording = false
        switch choice {
        case .refuse:
            refusal = .alert(.unrecognizedName, from: .us)
            return shakeHands()
        case .default:
            guard context?.configuration.identity != nil else {
                refusal = .alert(.unrecognizedName, from: .us)
                return shakeHands()
            }
            return settleAndShake()
        case .identity(let identity):
            do throws(TLSError) {
                try identity.install(inSession: handle)
            } catch {
                return fail(error)
            }
            chosenIdentity = identity
            return settleAndShake()
        case .configuration(let configuration):
            guard configuration.role == .server else {
                return fail(.configuration(.noIdentity))
            }
            if let context = configuration.box.context { return restart(with: context) }
            let answer = configuration.box.buildElsewhere(configuration)
            stage = .preparingChoice(answer)
            return answer.await(facts.wake) ? .waits : advance()
        }
    }

    private func settleAndShake() -> SecurityStep {
        if let handle { scopeTickets(handle) }
        isChoiceMade = true
        return shakeHands()
    }

    /// Begins anew with another context and what the client has sent so far: so everything is as
    /// that context says, and nothing as the other one did.
    func restart(with context: TLSContext) -> SecurityStep {
        let hello = wire.pointee.takeRecording()
        SSL_free(handle)
        handle = nil
        self.context = context
        wire.pointee.keep(hello)
        wire.pointee.takenByteCount = 0
        isChoiceMade = true
        do throws(TLSError) {
            try makeHandle(context)
        } catch {
            return fail(error)
        }
        if let handle { scopeTickets(handle) }
        stage = .handshaking
        return shakeHands()
    }

    /// A ticket that was given under one name is worth nothing under another.
    private func scopeTickets(_ handle: OpaquePointer) {
        guard let context else { return }
        let name = Array((hello?.serverName ?? "").utf8)
        let scope = Certificate.sha256(context.ticketScope + name)
        SSL_set_session_id_context(handle, scope, CUnsignedInt(scope.count))
    }

    // MARK: Who a client is

    /// Asks the program who this client is, unless it has said.
    ///
    /// - Returns: What to do until it has; `nil` to go on.
    func chooseClient(_ handle: OpaquePointer) -> SecurityStep? {
        guard let chooser = context?.configuration.clientChooser, let facts else {
            return fail(.configuration(.noIdentity))
        }
        let answer = FirstAnswer<Identity?>()
        stage = .choosingClient(answer)
        chooser.choose(issuers: Self.issuers(of: handle)) { answer.give($0) }
        return answer.await(facts.wake) ? .waits : nil
    }

    private static func issuers(of handle: OpaquePointer) -> [String] {
        guard let names = SSL_get0_peer_CA_list(handle) else { return [] }
        return (0..<towline_sk_X509_NAME_num(names)).map { index in
            Certificate.text(of: towline_sk_X509_NAME_value(names, index))
        }
    }

    /// Shows whom the program has chosen, from within the library.
    func installChosenIdentity(in handle: OpaquePointer) -> CInt {
        guard context?.configuration.clientChooser != nil else {
            lacksIdentity = true
            return 1
        }
        guard case .choosingClient(let answer) = stage else { return -1 }
        guard let choice = answer.value else { return -1 }
        guard let identity = choice else {
            lacksIdentity = true
            return 1
        }
        do throws(TLSError) {
            try identity.install(inSession: handle)
            return 1
        } catch {
            refusal = error
            return 0
        }
    }
}

internal import TowlineBytes

/// How much data a layer has made of the peer's bytes, and what is next behind it.
typealias DecryptedPiece = (byteCount: Int, step: SecurityStep)

/// The peer's bytes on their way through the security layer to the reads.
extension StreamSocket {
    /// Bytes came on a connection that is secured, or is going to be.
    func receiveSecured(_ bytes: RawSpan, _ reactor: Reactor) {
        guard let security = extras?.security, security.phase != .queued else {
            serve(bytes, reactor)
            return
        }
        // Counted as data, when they are decrypted.
        receivedCount -= bytes.byteCount
        guard !security.inputIsOver else { return }
        guard security.phase != .waiting, !security.hasLeftovers, admits(security, reactor) else {
            security.keepInput(bytes)
            if security.phase != .waiting { list(for: .serveAgain, reactor) }
            return
        }
        let taken = decrypt(bytes, security, reactor)
        security.keepInput(bytes.extracting(taken..<bytes.byteCount))
    }

    /// Goes on with what the layer has not taken yet.
    func decryptLeftovers(_ reactor: Reactor) {
        guard lifecycle.phase == .connected, let security = extras?.security,
            security.phase == .handshaking || security.phase == .secured,
            security.hasLeftovers, wantsBytes
        else { return }
        guard admits(security, reactor) else {
            list(for: .serveAgain, reactor)
            return
        }
        let id = socketID
        guard let input = security.input else {
            _ = decrypt(RawSpan(), security, reactor)
            return
        }
        // Apart, since the layer's end may forget the input.
        security.input = nil
        input.consume(input.withBytes { decrypt($0, security, reactor) })
        guard !input.isEmpty, socketID == id, !security.inputIsOver else { return }
        security.input = input
    }

    /// Whether the handshake may take a step in this turn; data always may.
    private func admits(_ security: SecuredStream, _ reactor: Reactor) -> Bool {
        guard security.phase == .handshaking else { return true }
        return reactor.securityWorkspace.admitsHandshake(
            hasBegun: &security.hasBegun,
            turn: reactor.counters.turns,
            reactor.configuration.budget
        )
    }

    /// Shows bytes of the peer to the layer, and serves the reads with what it makes of them.
    ///
    /// - Returns: How many bytes the layer has taken.
    private func decrypt(
        _ bytes: RawSpan,
        _ security: SecuredStream,
        _ reactor: Reactor
    ) -> Int {
        claimOutput(reactor)._withUnsafeGuaranteedRef {
            decrypt(bytes, answeringInto: $0, security, reactor)
        }
    }

    private func decrypt(
        _ bytes: RawSpan,
        answeringInto output: SecurityOutput,
        _ security: SecuredStream,
        _ reactor: Reactor
    ) -> Int {
        // Borrowed until this returns.
        var input = bytes.storage
        let made = show(&input, to: security, answeringInto: output, reactor)
        serve(made, &input, answeringInto: output, security, reactor)
        return bytes.byteCount - input.count
    }

    /// Shows bytes to the layer, and takes the time if they are a handshake's.
    private func show(
        _ input: inout UnsafeRawBufferPointer,
        to security: SecuredStream,
        answeringInto output: SecurityOutput,
        _ reactor: Reactor
    ) -> DecryptedPiece {
        reactor.securityWorkspaceReference._withUnsafeGuaranteedRef { workspace in
            let plaintext = workspace.plaintext
            guard security.phase == .handshaking else {
                return security.layer.receive(&input, into: plaintext, answeringInto: output)
            }
            let start = reactor.backend.now()
            let made = security.layer.receive(&input, into: plaintext, answeringInto: output)
            workspace.note(from: start, to: reactor.backend.now())
            return made
        }
    }

    /// Serves the reads with a piece of data and those that follow, as far as that goes.
    func serve(
        _ first: DecryptedPiece,
        _ input: inout UnsafeRawBufferPointer,
        answeringInto output: SecurityOutput,
        _ security: SecuredStream,
        _ reactor: Reactor
    ) {
        let id = socketID
        let plaintext = reactor.securityWorkspaceReference._withUnsafeGuaranteedRef {
            $0.plaintext
        }
        reactor.outputOwner = id
        var rest = reactor.configuration.budget.receivedBytesPerSocket
        var (count, step) = first
        while true {
            if case .failed = step, output.count > output.notedCount { security.hasLastWord = true }
            // Sent with what the callbacks write, or behind the last of them.
            noteReplies(in: output, of: security)
            security.hasMore = false
            if case .hasMore = step { security.hasMore = true }
            if count > 0 {
                receivedCount += count
                deliver(UnsafeRawBufferPointer(rebasing: plaintext[..<count]), reactor)
                guard isStill(id, security) else { break }
            }
            guard follow(step, of: security, reactor), isStill(id, security) else { break }
            if case .needsInput = step {
                endBehindInput(security, reactor)
                break
            }
            rest -= count
            guard rest > 0, wantsBytes else {
                // Told in this way, it is gone on with when that is wanted.
                if case .secured = step { security.hasMore = true }
                break
            }
            (count, step) = show(&input, to: security, answeringInto: output, reactor)
        }
        if reactor.outputOwner == id {
            reactor.outputOwner = .none
            if output.count > 0 { sendLeft(output, of: security, id, reactor) }
        }
        if isStill(id, security), security.hasLeftovers || !input.isEmpty, wantsBytes {
            list(for: .serveAgain, reactor)
        }
    }

    /// Sends what the layer has answered and no write of the callbacks has taken along.
    private func sendLeft(
        _ output: SecurityOutput,
        of security: SecuredStream,
        _ id: SocketID,
        _ reactor: Reactor
    ) {
        if socketID == id, extras?.security === security {
            sendReplies(of: security, reactor)
        } else {
            // The connection was left in silence, and is as good as closed.
            output.removeAll()
        }
    }

    /// Whether callbacks have left the connection as it was.
    private func isStill(_ id: SocketID, _ security: SecuredStream) -> Bool {
        socketID == id && extras?.security === security && lifecycle.phase == .connected
    }

    /// Serves the reads with data, and sends what their callbacks wrote while it is there.
    private func deliver(_ data: UnsafeRawBufferPointer, _ reactor: Reactor) {
        // The workspace is not written to before the next call of a layer.
        serve(RawSpan(_unsafeBytes: data), reactor)
        flushGathered(reactor)
    }

    // MARK: Ends

    /// The transport has ended, or failed.
    func noteTransportEnd(_ end: InputEnd, _ security: SecuredStream, _ reactor: Reactor) {
        guard !security.inputIsOver else {
            // The peer's farewell was told. Whoever still writes learns that nobody listens.
            if case .failed(let error) = end { noteSendFailure(error, reactor) }
            return
        }
        security.inputEnd = end
        switch security.phase {
        case .secured where security.hasLeftovers:
            noteHangUp(reactor)
        case .handshaking where security.hasLeftovers:
            // Its turn is still to come; the bytes may say why the peer ends.
            list(for: .serveAgain, reactor)
            settle(reactor)
        case .waiting where security.input != nil && !security.isAsking:
            // Likewise, as soon as we are ready.
            settle(reactor)
        default:
            endBehindInput(security, reactor)
            settle(reactor)
        }
    }

    /// The peer has gone behind bytes that nobody has received.
    func noteHungUp(_ reactor: Reactor) {
        if obstacles.contains(.isSecured), lifecycle.phase == .connected,
            let security = extras?.security, security.phase == .waiting
        {
            // Whatever the program answers, nobody is there.
            noteTransportEnd(.ended, security, reactor)
        } else {
            noteHangUp(reactor)
        }
    }

    /// Lets the transport's end take effect, when the layer has taken all in front of it.
    private func endBehindInput(_ security: SecuredStream, _ reactor: Reactor) {
        guard let end = security.inputEnd else { return }
        security.inputEnd = nil
        switch end {
        case .failed(let error):
            security.inputIsOver = true
            security.outputIsOver = true
            if security.isSecuring { makeExtras().phase = .securing }
            noteEnd(.failed(error), reactor)
        case .ended, .endedAndRead:
            _ = follow(security.layer.receiveEnd(), of: security, reactor)
        }
    }
}

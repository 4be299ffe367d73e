/// Writes on their way through the security layer to the kernel.
extension StreamSocket {
    /// Sends bytes of a write, borrowed for the call, as the connection is at the moment.
    ///
    /// - Returns: How many bytes of writes are finished at once.
    func transmit(_ bytes: UnsafeRawPointer, count: Int, _ reactor: Reactor) -> Int {
        guard let security = securityInForce else {
            return reactor.backend.send(socketID, bytes, count: count)
        }
        var finished = 0
        let all = UnsafeRawBufferPointer(start: bytes, count: count)
        // Whatever is held goes first.
        let taken = security.sources.isEmpty ? encrypt(all, security, reactor, &finished) : 0
        if taken < count {
            let rest = [UInt8](all[taken...])
            security.sources.append(.bytes(rest, from: 0))
        }
        return finished
    }

    /// Sends a write that is held, not copied.
    func transmit(holding bytes: [UInt8], _ reactor: Reactor) -> Int {
        guard let security = securityInForce else {
            return reactor.backend.send(socketID, holding: bytes, from: 0)
        }
        security.sources.append(.bytes(bytes, from: 0))
        return encryptSources(security, reactor)
    }

    /// Sends bytes of a file; encrypted, they are read into memory piece by piece.
    func transmit(_ file: OpenFile, _ range: Range<Int>, _ reactor: Reactor) -> Int {
        guard let security = securityInForce else {
            return reactor.backend.send(socketID, file: file, range: range)
        }
        security.sources.append(.file(file, range))
        return encryptSources(security, reactor)
    }

    /// What writes go through; `nil` while they go in the clear.
    private var securityInForce: SecuredStream? {
        guard obstacles.contains(.isSecured), let security = extras?.security,
            security.phase == .secured
        else { return nil }
        return security
    }

    /// Counts bytes that the kernel has taken since, and encrypts more.
    ///
    /// - Returns: How many bytes of writes are finished by that.
    func finished(bySending byteCount: Int, _ reactor: Reactor) -> Int {
        guard obstacles.contains(.isSecured), let security = extras?.security,
            security.phase != .queued
        else { return byteCount }
        let finished = security.ledger.acknowledge(byteCount)
        return finished + encryptSources(security, reactor)
    }

    /// Goes on with what is handed over and not encrypted, in its turn.
    func encryptMore(_ reactor: Reactor) {
        guard let security = securityInForce, !security.sources.isEmpty else { return }
        acknowledge(encryptSources(security, reactor), reactor)
    }

    /// Encrypts what is held for as long as little ciphertext waits, and within a turn's budget.
    private func encryptSources(_ security: SecuredStream, _ reactor: Reactor) -> Int {
        var finished = 0
        var rest = 4 * reactor.configuration.budget.fileBytesPerSocket
        while let source = security.sources.first, canEncrypt(security) {
            guard rest > 0 else {
                list(for: .flush, reactor)
                break
            }
            switch source {
            case .bytes(let bytes, let offset):
                let end = min(bytes.count, offset + rest)
                let taken = bytes.withUnsafeBytes {
                    encrypt(.init(rebasing: $0[offset..<end]), security, reactor, &finished)
                }
                rest -= taken
                security.replaceFirstSource(
                    offset + taken < bytes.count ? .bytes(bytes, from: offset + taken) : nil
                )
            case .file(let file, let range):
                let count = encrypt(file, range, security, reactor, &finished)
                guard count > 0 else { return finished }
                rest -= count
                let next = range.dropFirst(count)
                security.replaceFirstSource(next.isEmpty ? nil : .file(file, next))
            }
        }
        return finished
    }

    private func canEncrypt(_ security: SecuredStream) -> Bool {
        security.ledger.waiting < SecuredStream.window && !security.outputIsOver
            && lifecycle.phase == .connected
    }

    /// Reads the next piece of a file, and encrypts it.
    ///
    /// - Returns: Its length; 0 if the file cannot be read, which ends the connection.
    private func encrypt(
        _ file: OpenFile,
        _ range: Range<Int>,
        _ security: SecuredStream,
        _ reactor: Reactor,
        _ finished: inout Int
    ) -> Int {
        let size = min(range.count, RecordSize.largest)
        return withUnsafeTemporaryAllocation(byteCount: size, alignment: 64) { piece in
            guard let base = piece.baseAddress else { return 0 }
            let result = file.read(into: base, count: size, at: range.lowerBound)
            guard result.isSuccess else {
                let error = SystemCallError(call: "pread", errno: result.errno)
                failSecured(security, .system(error), reactor)
                return 0
            }
            let bytes = UnsafeRawBufferPointer(start: base, count: result.value)
            return encrypt(bytes, security, reactor, &finished)
        }
    }

    /// Encrypts and sends bytes until they end or much ciphertext waits.
    ///
    /// - Returns: How many; `finished` grows by those whose ciphertext the kernel has taken.
    private func encrypt(
        _ bytes: UnsafeRawBufferPointer,
        _ security: SecuredStream,
        _ reactor: Reactor,
        _ finished: inout Int
    ) -> Int {
        claimOutput(reactor)._withUnsafeGuaranteedRef {
            encrypt(bytes, into: $0, security, reactor, &finished)
        }
    }

    private func encrypt(
        _ bytes: UnsafeRawBufferPointer,
        into output: SecurityOutput,
        _ security: SecuredStream,
        _ reactor: Reactor,
        _ finished: inout Int
    ) -> Int {
        var taken = 0
        security.recordSize.begin(at: reactor.recentTime)
        while taken < bytes.count, canEncrypt(security) {
            // So many records go to the kernel in one call.
            while taken < bytes.count, output.count < SecuredStream.window {
                let end = min(bytes.count, taken + security.recordSize.limit)
                let before = output.count
                let record = UnsafeRawBufferPointer(rebasing: bytes[taken..<end])
                if let error = security.layer.encrypt(record, into: output) {
                    failSecured(security, error, reactor)
                    break
                }
                security.ledger.append(output.count - before, carrying: record.count)
                security.recordSize.note(record.count)
                output.notedCount = output.count
                taken = end
            }
            finished += send(output, of: security, reactor)
        }
        return taken
    }

    /// Nothing more can be sent on the secured connection.
    func failSecured(
        _ security: SecuredStream,
        _ error: SocketError,
        _ reactor: Reactor
    ) {
        security.outputIsOver = true
        makeExtras().closingManner = .reset
        disconnect(because: error, reactor)
    }

    /// Takes note of what the layer has made that carries no write.
    @inline(__always)
    func noteReplies(in output: SecurityOutput, of security: SecuredStream) {
        guard output.count > output.notedCount else { return }
        security.ledger.append(reply: output.count - output.notedCount)
        output.notedCount = output.count
    }

    /// Sends what the layer has made that carries no write, if anything.
    func sendReplies(of security: SecuredStream, _ reactor: Reactor) {
        let finished = claimOutput(reactor)._withUnsafeGuaranteedRef { output in
            noteReplies(in: output, of: security)
            return send(output, of: security, reactor)
        }
        // What was in front of it may be with the kernel, and not told of yet.
        if finished > 0 { acknowledge(finished, reactor) }
    }

    /// Hands the output to the backend, which copies what it cannot finish.
    ///
    /// - Returns: How many bytes of writes are finished by that.
    private func send(
        _ output: SecurityOutput,
        of security: SecuredStream,
        _ reactor: Reactor
    ) -> Int {
        guard output.count > 0 else { return 0 }
        let sent = reactor.backend.send(socketID, output.start, count: output.count)
        output.removeAll()
        return security.ledger.acknowledge(sent)
    }

    /// The output, empty but for what is this connection's: what another one has left in it while
    /// its callbacks run is sent first.
    @inline(__always)
    func claimOutput(_ reactor: Reactor) -> Unmanaged<SecurityOutput> {
        if reactor.outputOwner != .none, reactor.outputOwner != socketID {
            sendOutputOfOther(reactor)
        }
        return reactor.securityOutput
    }

    @inline(never)
    private func sendOutputOfOther(_ reactor: Reactor) {
        let owner = reactor.outputOwner
        reactor.outputOwner = .none
        if let other = reactor.streamSocket(owner), let security = other.extras?.security {
            other.sendReplies(of: security, reactor)
        }
        // One that has gone in silence gets nothing any more.
        reactor.securityWorkspace.output.removeAll()
    }

    // MARK: Ends

    /// Sends our end behind all that is written: first the layer's, then the transport's.
    func sendEnd(_ reactor: Reactor) {
        sayFarewellSecurely(reactor)
        reactor.backend.finishSending(socketID)
    }

    /// Says farewell to the peer, unless what it has got is not all that was written.
    ///
    /// Without it the peer can tell that the connection was cut.
    func sayFarewellSecurely(_ reactor: Reactor) {
        guard let security = securityInForce, !security.outputIsOver,
            security.sources.isEmpty, writes.pendingBytes == 0,
            extras?.closingManner ?? .end != .reset
        else { return }
        switch reason {
        case nil, .closedByPeer, .reactorStopped: break
        // What was to be written may not be complete.
        default: return
        }
        security.outputIsOver = true
        claimOutput(reactor)._withUnsafeGuaranteedRef { security.layer.finish(into: $0) }
        sendReplies(of: security, reactor)
    }
}

extension SecuredStream {
    /// Puts what is left of the first source in its place, if anything.
    fileprivate func replaceFirstSource(_ source: Source?) {
        if let source {
            sources[0] = source
        } else {
            _ = sources.removeFirst()
        }
    }
}

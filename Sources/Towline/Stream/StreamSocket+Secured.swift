internal import TowlineBytes

/// The usual way of a secured connection: a read takes whatever comes, and what its callback writes
/// fits into one record. What is unusual goes by the general ways, which this one leaves when it
/// meets it.
extension StreamSocket {
    /// Bytes came on a connection that is secured and has nothing else in its way.
    @inline(never)
    func receiveSecurely<Source: Backend>(
        _ bytes: RawSpan,
        _ reactor: Reactor,
        from backend: Source
    ) {
        guard reads.isPlain, let security = extras?.security, security.isQuiet else {
            receiveInGeneral(bytes, reactor)
            return
        }
        reactor.securityWorkspaceReference._withUnsafeGuaranteedRef {
            receiveSecurely(bytes, security, $0, reactor, from: backend)
        }
    }

    @inline(__always)
    private func receiveSecurely<Source: Backend>(
        _ bytes: RawSpan,
        _ security: SecuredStream,
        _ workspace: SecurityWorkspace,
        _ reactor: Reactor,
        from backend: Source
    ) {
        let output = workspace.output
        var input = bytes.storage
        let (byteCount, step) = security.layer.receive(
            &input,
            into: workspace.plaintext,
            answeringInto: output
        )
        // Counted as data.
        receivedCount &-= bytes.byteCount
        guard case .needsInput = step, byteCount > 0, output.count == 0 else {
            serve((byteCount, step), &input, answeringInto: output, security, reactor)
            let taken = bytes.byteCount - input.count
            security.keepInput(bytes.extracting(taken..<bytes.byteCount))
            settle(reactor)
            return
        }
        receivedCount &+= byteCount
        let data = UnsafeRawBufferPointer(rebasing: workspace.plaintext[..<byteCount])
        guard completePlainRead(with: data, reactor) else {
            disconnect(because: .delegateGone, reactor)
            return
        }
        let count = reactor.gather.count
        if count > 0 {
            // Without another obstacle it is the same connection still, and open.
            if obstacles == .isSecured, security.recordSize.takes(count, at: reactor.waitReturned) {
                sendRecord(of: count, into: output, security, reactor, by: backend)
            } else {
                flushGathered(reactor)
            }
        }
        if _slowPath(obstacles != .isSecured || !reads.isPlain) { settle(reactor) }
    }

    /// Calls back with data for the first read of the queue, which takes whatever comes.
    ///
    /// - Returns: Whether the delegate is there.
    @inline(__always)
    private func completePlainRead(with data: UnsafeRawBufferPointer, _ reactor: Reactor) -> Bool {
        guard let relay = relayReference else { return false }
        return relay._withUnsafeGuaranteedRef { relay -> Bool in
            guard reactor.pin(relay) else { return false }
            let tag = reads.takePlain()
            // The workspace is not written to before the next call of a layer.
            let span = RawSpan(_unsafeBytes: data)
            reactor.beginCallbacks(of: socketID, lending: span)
            do {
                try relay.didRead(self, span, tag)
            } catch {
                disconnect(afterThrowing: error, reactor)
            }
            reactor.endCallbacks()
            return true
        }
    }

    /// Sends the gathered bytes as one record, where nothing waits in front of them.
    @inline(__always)
    private func sendRecord<Source: Backend>(
        of count: Int,
        into output: SecurityOutput,
        _ security: SecuredStream,
        _ reactor: Reactor,
        by backend: Source
    ) {
        let data = UnsafeRawBufferPointer(start: reactor.gather.start, count: count)
        let failure = security.layer.encrypt(data, into: output)
        reactor.gather.removeAll()
        if let failure {
            failSecured(security, failure, reactor)
            sendReplies(of: security, reactor)
            return
        }
        let made = output.count
        // None: the peer's half of a message has to be complete first.
        let sent = made > 0 ? backend.send(socketID, output.start, count: made) : 0
        output.removeAll()
        guard _fastPath(made > 0 && sent == made) else {
            security.ledger.append(made, carrying: count)
            acknowledge(made > 0 ? security.ledger.acknowledge(sent) : 0, reactor)
            return
        }
        if writes.count == 1, obstacles == .isSecured, isSkipping(.allOfWrites) {
            writes.acknowledge(count)
            writes.removeOnlyRequest()
            idleClock.lastSent = idleClock.lastReceived
        } else {
            acknowledge(count, reactor)
        }
    }
}

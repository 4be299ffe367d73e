internal import Towline
internal import TowlineHTTP
internal import TowlineTLS

/// What the peer's end, failures and silence mean.
extension HTTPConnection {
    /// The peer sends no more; the connection is over for us as well, once what it sent is read.
    func socketDidCloseReadStream(_ socket: StreamSocket) throws {
        ended(.closedByPeer, wasOrderly: true)
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        switch phase {
        case .closed:
            return
        case .opening:
            if reopens() { return }
            forgetAddresses()
            failed(openingError(report))
        case .idle:
            _ = leave()
        case .busy where report.error == .reactorStopped:
            fail(.cancelled)
        case .busy:
            ended(report.error, wasOrderly: report.error == .closedByPeer)
        }
    }

    /// Nothing more comes.
    func ended(_ reason: SocketError?, wasOrderly: Bool) {
        switch phase {
        case .closed:
            return
        case .opening(.tunnelling):
            return failed(tunnelError(reason))
        case .opening:
            return failed(.connect(host: triedHost, reason ?? .closedByPeer, attempts: []))
        case .idle:
            close()
            return
        case .busy:
            break
        }
        guard payConnectNotice() || exchange == nil else { return }
        guard exchange?.isAsking != true else { return heldEnd = (reason, wasOrderly) }
        // A response that is complete stands, whatever becomes of what is still being sent.
        if dialogue.receiving == .ended {
            dialogue.sendingFailed()
            return completeIfOver()
        }
        do throws(HTTP1Fault) {
            switch try parser.reachEnd(isOrderly: wasOrderly) {
            case .upgrade: fail(.unexpectedUpgrade)
            default: endWithConnection()
            }
        } catch {
            lost(error, wasOrderly ? nil : reason)
        }
    }

    /// The end of the connection is the end of the response.
    private func endWithConnection() {
        dialogue.sendingFailed()
        receiveEnd()
    }

    /// The connection was lost before the response was complete.
    private func lost(_ fault: HTTP1Fault, _ reason: SocketError?) {
        guard let exchange, let hop = exchange.hop else { return close(abruptly: true) }
        let wasUnsent = socket.metrics.sentByteCount == sentAtStart
        let repeats = RetryRules.shouldRepeat(
            hop.request,
            wasRepeated: hop.wasRepeated,
            isReused: useCount > 1,
            wasUnsent: wasUnsent,
            hasHeard: dialogue.hasHeard
        )
        guard repeats else { return fail(HTTPError(fault, reason)) }
        self.exchange = nil
        exchange.isLeft(by: self)
        close(abruptly: true)
        exchange.sendAgain(hop)
    }

    // MARK: Time

    /// Something has moved, or something new begins: the time that it may take starts again.
    func progressed() {
        lastProgress = reactor.now
        let (limit, _) = currentLimit
        guard let limit else { return }
        // A deadline that moves away costs nothing: the timer looks again when it fires.
        if watch != nil, limit >= watchLimit { return }
        let deadline = lastProgress.advanced(by: limit)
        guard watch == nil || deadline < watchDeadline else { return }
        arm(deadline, limit)
    }

    private func arm(_ deadline: MonotonicInstant, _ limit: Duration) {
        (watchDeadline, watchLimit) = (deadline, limit)
        watch?.cancel()
        watch = reactor.schedule(after: deadline.since(reactor.now)) { [weak self] in
            self?.watchFired()
        }
    }

    private func watchFired() {
        watch = nil
        let (limit, phase) = currentLimit
        guard let limit else { return }
        let deadline = lastProgress.advanced(by: limit)
        guard deadline <= reactor.now else { return arm(deadline, limit) }
        guard let phase else { return close() }
        if dialogue.sending == .waitingForContinue { return sendBody() }
        fail(.timeout(phase))
    }

    /// How long nothing may move now, and what it is called when that has passed; `nil` for an
    /// idle connection.
    private var currentLimit: (Duration?, HTTPTimeouts.Phase?) {
        switch phase {
        case .opening, .closed: return (nil, nil)
        case .idle: return (idleLimit, nil)
        case .busy: break
        }
        guard let timeouts = exchange?.timeouts ?? client?.configuration.timeouts else {
            return (nil, nil)
        }
        switch (dialogue.sending, dialogue.receiving) {
        case (.waitingForContinue, _): return (timeouts.continueWait, .firstByte)
        case (.sending, _): return (timeouts.sendStall, .sendStall)
        case (.sent, .head), (.stopped, .head): return (timeouts.firstByte, .firstByte)
        case (.sent, _), (.stopped, _):
            if let exchange, exchange.isSuspended || exchange.isAsking { return (nil, nil) }
            return (timeouts.bodyStall, .bodyStall)
        }
    }
}

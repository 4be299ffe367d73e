internal import Towline
internal import TowlineCoding
internal import TowlineHTTP

/// The response's way in.
extension HTTPConnection {
    /// How many bytes are read at once, and so held at most for a caller who lets none come.
    private static let readLimit = 64 * 1024

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        switch phase {
        case .opening(.tunnelling):
            return receiveTunnel(bytes)
        case .opening, .closed:
            break
        case .idle:
            // Nobody asked for them, so they must never be taken for an answer.
            close()
        case .busy:
            progressed()
            dialogue.heard()
            if payConnectNotice() || exchange == nil { receive(bytes) }
        }
        readOn()
    }

    /// Asks for more, unless the caller lets nothing come.
    func readOn() {
        switch phase {
        case .opening, .closed: return
        case .idle: break
        case .busy: if isHeldBack { return }
        }
        guard !isReading else { return }
        do throws(SocketError) {
            try socket.read(maxLength: Self.readLimit)
        } catch {
            // It is ending; its farewell comes.
        }
    }

    private var isReading: Bool { socket.currentRead != nil }

    /// Whether the caller lets no content come, or has not said what is to become of it.
    private var isHeldBack: Bool {
        guard let exchange, dialogue.receiving == .body else { return false }
        return exchange.isSuspended || exchange.isAsking
    }

    /// Takes bytes apart, and puts back what the caller does not let come.
    private func receive(_ bytes: RawSpan) {
        guard dialogue.receiving != .ended else { return receiveStray() }
        var offset = 0
        while case .busy = phase {
            if isHeldBack { return putBack(bytes.extracting(offset..<bytes.byteCount)) }
            let start = offset
            let isHead = dialogue.receiving == .head
            let event: HTTP1Event?
            do throws(HTTP1Fault) {
                event = try parser.next(in: bytes, from: &offset)
            } catch {
                return fail(HTTPError(error, nil))
            }
            if isHead {
                exchange?.metrics.responseHeadByteCount += UInt64(offset - start)
            } else if showsFraming, offset > start {
                showFramed(bytes.extracting(start..<offset))
                guard case .busy = phase else { return }
            }
            guard let event else { return }
            switch event {
            case .interim(let head): receiveInterim(head)
            case .response(let head): receiveHead(head)
            case .body(let range): receiveBody(bytes.extracting(range))
            case .earlierBody(let earlier): receiveBody(earlier.span.bytes)
            case .trailers(let trailers): receiveTrailers(trailers)
            case .upgrade: return handOver(bytes.extracting(offset..<bytes.byteCount))
            case .end:
                hasStrayBytes = offset < bytes.byteCount
                return receiveEnd()
            }
        }
    }

    /// Bytes behind the response, while the request is still being sent: the response stands, and
    /// the connection is of no use for what follows.
    private func receiveStray() {
        hasStrayBytes = true
        dialogue.sendingFailed()
        completeIfOver()
    }

    private func putBack(_ bytes: RawSpan) {
        do throws(SocketError) {
            try socket.unread(bytes)
        } catch {
            // It is ending, and nobody can be told more than that.
        }
    }

    /// What was heard is no response: the connection is of no use, and its exchange fails.
    func fail(_ error: HTTPError) {
        let exchange = self.exchange
        self.exchange = nil
        exchange?.isLeft(by: self)
        close(abruptly: true)
        exchange?.end(error)
    }

    private func receiveInterim(_ head: HTTPResponseHead) {
        if head.status == 100 { sendBody() }
        guard let exchange else { return }
        _ = exchange.tell { try $0.exchange(exchange, didReceiveInterim: head) }
    }

    private func receiveHead(_ head: HTTPResponseHead) {
        response = head
        _ = dialogue.receivedHead(status: head.status, closes: !ReuseRules.isKept(head))
        guard let exchange else { return }
        exchange.metrics.responseBeganAt = lastProgress
        let followUp = exchange.decide(head, isReused: useCount > 1)
        // The question that it may ask may have been answered by a cancel.
        guard self.exchange === exchange else { return }
        carryOut(followUp, head, exchange)
    }

    private func carryOut(
        _ followUp: FollowUp,
        _ head: HTTPResponseHead,
        _ exchange: HTTPExchange
    ) {
        switch followUp {
        case .show: show(head, to: exchange)
        case .next(let hop): leaveForNext(hop, exchange)
        // The rest stays where it is: it is the caller's if there is no answer.
        case .wait: pool.setAside(self)
        case .fail(let error): fail(error)
        }
    }

    /// The delegate has said what is to become of a response that wants to know who asks.
    func release(_ followUp: FollowUp, _ head: HTTPResponseHead, _ exchange: HTTPExchange) {
        guard self.exchange === exchange, case .busy = phase else { return }
        pool.takeBack(self)
        progressed()
        let end = heldEnd
        heldEnd = nil
        if end != nil, case .next(let hop) = followUp {
            self.exchange = nil
            exchange.isLeft(by: self)
            close(abruptly: true)
            return exchange.go(hop)
        }
        carryOut(followUp, head, exchange)
        guard case .busy = phase else { return }
        receive([UInt8]().span.bytes)
        guard case .busy = phase else { return }
        if let end { return ended(end.reason, wasOrderly: end.wasOrderly) }
        if !isHeldBack { goOn() }
    }

    private func show(_ head: HTTPResponseHead, to exchange: HTTPExchange) {
        do throws(HTTPError) {
            if exchange.decodesContent, head.headers.contains("Content-Encoding"),
                parser.bodyLength != .known(0), !showsFraming
            {
                decoding = try ContentDecoding(head.headers, limit: exchange.maxDecodedBytes)
            }
        } catch {
            return fail(error)
        }
        guard let url = exchange.url else { return }
        let response = HTTPResponse(
            url: url,
            head: head,
            isDecoded: decoding != nil,
            contentLength: decoding == nil ? parser.bodyLength?.byteCount : nil
        )
        _ = exchange.tell { try $0.exchange(exchange, didReceiveResponse: response) }
    }

    /// The exchange goes on elsewhere, or here when the rest of this response is out of the way.
    private func leaveForNext(_ hop: Hop, _ exchange: HTTPExchange) {
        self.exchange = nil
        exchange.isLeft(by: self)
        if hop.key == key { afterDrain = { exchange.go(hop) } }
        drain()
        if hop.key != key { exchange.go(hop) }
    }

    /// Reads the rest for the connection's sake alone, if it is short.
    func drain() {
        exchange = nil
        let limit = client?.configuration.drainLimit ?? 0
        drainAllowance = limit
        let isLong = parser.bodyLength?.byteCount.map { $0 > UInt64(limit) } ?? false
        if isLong || !dialogue.sentInFull || parser.bodyLength == .untilClose { close() }
    }

    private func receiveTrailers(_ trailers: HTTPHeaders) {
        guard let exchange, !trailers.isEmpty, !showsFraming else { return }
        _ = exchange.tell { try $0.exchange(exchange, didReceiveTrailers: trailers) }
    }

    // MARK: The body

    /// Whether the body is shown with what stands around its chunks.
    private var showsFraming: Bool {
        exchange?.hop?.request.keepsFraming == true && parser.bodyLength == .chunked
    }

    private func showFramed(_ bytes: RawSpan) {
        guard let exchange else { return }
        exchange.metrics.receivedByteCount += UInt64(bytes.byteCount)
        exchange.metrics.decodedByteCount += UInt64(bytes.byteCount)
        _ = exchange.tell { try $0.exchange(exchange, didLoad: bytes) }
    }

    private func receiveBody(_ bytes: RawSpan) {
        guard !showsFraming else { return }
        guard let exchange else {
            drainAllowance -= bytes.byteCount
            if drainAllowance < 0 { close() }
            return
        }
        exchange.metrics.receivedByteCount += UInt64(bytes.byteCount)
        guard decoding != nil else {
            exchange.metrics.decodedByteCount += UInt64(bytes.byteCount)
            _ = exchange.tell { try $0.exchange(exchange, didLoad: bytes) }
            return
        }
        decode(bytes, for: exchange)
    }

    /// Decodes, and keeps what the caller does not let come.
    private func decode(_ bytes: RawSpan, for exchange: HTTPExchange) {
        guard let decoding else { return }
        do throws(HTTPError) {
            let used = try decoding.decode(bytes) { decoded in
                let goesOn = exchange.tell { try $0.exchange(exchange, didLoad: decoded) }
                return goesOn && self.exchange === exchange && !exchange.isSuspended
            }
            exchange.metrics.decodedByteCount = decoding.decodedByteCount
            guard self.exchange === exchange else { return }
            if exchange.isSuspended { heldBody = [UInt8](bytes.extracting(used..<bytes.byteCount)) }
        } catch {
            if self.exchange === exchange { fail(error) }
        }
    }

    /// The caller lets content come again.
    func resume(_ exchange: HTTPExchange) {
        progressed()
        reactor.schedule(after: .zero) {
            guard self.exchange === exchange, !exchange.isSuspended, case .busy = self.phase
            else { return }
            let held = self.heldBody
            self.heldBody = []
            // Also without bytes: a decoder may have more to give of what it has taken.
            self.decode(held.span.bytes, for: exchange)
            guard self.exchange === exchange, !exchange.isSuspended else { return }
            // The end may be the one thing that was held back, and no byte follows it.
            self.receive([UInt8]().span.bytes)
            if self.exchange === exchange, !exchange.isSuspended { self.goOn() }
        }
    }

    /// Reads on, or ends what has ended meanwhile.
    private func goOn() {
        if dialogue.receiving == .ended { return completeIfOver() }
        progressed()
        readOn()
    }

    // MARK: The end

    func receiveEnd() {
        dialogue.receivedEnd()
        if let exchange, let decoding {
            do throws(HTTPError) {
                try decoding.finish()
            } catch {
                return fail(error)
            }
            exchange.metrics.decodedByteCount = decoding.decodedByteCount
        }
        completeIfOver()
    }

    /// Ends the exchange if both directions are done with, and keeps or closes the connection.
    func completeIfOver() {
        guard case .busy = phase, dialogue.isOver else { return }
        let exchange = self.exchange
        self.exchange = nil
        exchange?.isLeft(by: self)
        if let client, mayServeAgain {
            decoding = nil
            source = nil
            // What follows this response goes first: it was asked for before anything that waits.
            let next = afterDrain
            afterDrain = nil
            pool.isReady(self, wasPending: false, client: client)
            next?()
        } else {
            close()
        }
        exchange?.finish()
    }

    private var mayServeAgain: Bool {
        dialogue.sentInFull && !hasStrayBytes && !requestCloses && parser.allowsReuse
    }

    /// The stream is the caller's from now on.
    func handOver(_ leftover: RawSpan) {
        guard let exchange else { return close(abruptly: true) }
        self.exchange = nil
        exchange.isLeft(by: self)
        guard leave() else { return }
        socket.halfClosePolicy = .disconnect
        exchange.handOver(socket, leftover: leftover)
        if socket.delegate === self { socket.disconnect() }
    }
}

extension HTTP1BodyLength {
    /// How many bytes there will be; `nil` where only the end tells.
    var byteCount: UInt64? {
        switch self {
        case .known(let count): UInt64(count)
        case .chunked, .untilClose: nil
        }
    }
}

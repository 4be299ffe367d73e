internal import Towline
internal import TowlineHTTP

/// The request's way out.
extension HTTPConnection {
    /// What a write is, in its tag; a positive one is that many bytes of the body.
    enum WriteTag {
        /// The head, or what stands around the body.
        static let framing = 0
    }

    /// How many bytes may wait to be sent before more of the body is asked for.
    private static let lowWater = 64 * 1024

    /// Bodies up to that size go out with the head.
    private static let smallBody = 64 * 1024

    /// What ends a body that is sent in chunks.
    private static let lastChunk = Array("0\r\n\r\n".utf8)

    /// Hands the head over, and the body if it is small; a larger one follows it.
    func send(_ outgoing: OutgoingRequest) {
        outstandingPieceCount = 0
        sourceHasEnded = false
        sentAtStart = socket.metrics.sentByteCount
        let hasBody: Bool
        switch outgoing.source?.length {
        case nil, .none?, .known(0)?: hasBody = false
        case .known, .unknown: hasBody = true
        }
        dialogue = HTTP1Dialogue(hasBody: hasBody, waitsForContinue: outgoing.expectsContinue)
        exchange?.metrics.requestHeadByteCount += UInt64(outgoing.head.count)
        guard hasBody, var source = outgoing.source else {
            self.source = nil
            return write { socket throws(SocketError) in
                try socket.write(outgoing.head, tag: WriteTag.framing)
            }
        }
        write { socket throws(SocketError) in
            guard !outgoing.expectsContinue else {
                try socket.write(outgoing.head, tag: WriteTag.framing)
                return
            }
            if let body = source.takeSmall(limit: Self.smallBody) {
                self.outstandingPieceCount = 1
                try socket.write(outgoing.head, tag: WriteTag.framing)
                try socket.write(body, tag: body.count)
            } else {
                try socket.write(outgoing.head, tag: WriteTag.framing)
            }
        }
        self.source = source
    }

    /// Writes; a refusal means that the connection is ending, which its farewell tells.
    private func write(_ body: (StreamSocket) throws(SocketError) -> Void) {
        do throws(SocketError) {
            try body(socket)
        } catch {
            dialogue.sendingFailed()
        }
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        guard case .busy = phase else { return }
        progressed()
        guard !owesConnectNotice || payConnectNotice() || exchange == nil else { return }
        if tag > 0 {
            outstandingPieceCount -= 1
            if let exchange {
                exchange.metrics.sentByteCount += UInt64(tag)
                let sent = exchange.metrics.sentByteCount
                let total = source?.length.byteCount
                guard exchange.tell({ try $0.exchange(exchange, didSend: sent, of: total) })
                else { return }
            }
        }
        pump()
    }

    func socket(_ socket: StreamSocket, didProgressWrite tag: Int, _ progress: IOProgress) throws {
        if case .busy = phase { progressed() }
    }

    /// The server consents to the body, or has let the time pass.
    func sendBody() {
        guard dialogue.consented() else { return }
        progressed()
        pump()
    }

    /// Hands over as much of the body as may wait, and asks for more.
    func pump() {
        guard !isPumping else { return }
        isPumping = true
        while dialogue.sending == .sending, socket.pendingWriteBytes < Self.lowWater, step() {}
        isPumping = false
    }

    /// Takes the next step of the body; whether another may follow at once.
    private func step() -> Bool {
        guard let exchange, !sourceHasEnded else { return endIfSent() }
        guard let next = source?.next() else { return false }
        switch next {
        case .send(let piece):
            send(piece)
            return true
        case .ask:
            source?.producer?(exchange)
            return self.exchange === exchange
        case .wait:
            return false
        case .end:
            sourceHasEnded = true
            guard case .unknown = source?.length else { return endIfSent() }
            write { socket throws(SocketError) in
                try socket.write(Self.lastChunk, tag: WriteTag.framing)
            }
            return false
        case .wrongLength(let supplied):
            let promised = source?.length.byteCount ?? 0
            exchange.end(.bodyLength(promised: promised, supplied: supplied))
            return false
        }
    }

    /// All was handed over; when the kernel has it, the server's turn begins.
    private func endIfSent() -> Bool {
        guard sourceHasEnded, outstandingPieceCount == 0, socket.pendingWriteBytes == 0 else {
            return false
        }
        dialogue.requestSent()
        progressed()
        completeIfOver()
        return false
    }

    private func send(_ piece: BodySource.Piece) {
        let isChunked = if case .unknown = source?.length { true } else { false }
        outstandingPieceCount += 1
        write { socket throws(SocketError) in
            switch piece {
            case .bytes(let bytes) where isChunked:
                try socket.write(
                    HTTP1Writer.chunkPrefix(byteCount: bytes.count),
                    tag: WriteTag.framing
                )
                try socket.write(bytes, tag: bytes.count)
                try socket.write(HTTP1Writer.chunkSuffix, tag: WriteTag.framing)
            case .bytes(let bytes):
                try socket.write(bytes, tag: bytes.count)
            case .file(let file, let range):
                try socket.write(file: file, range: range, tag: range.count)
            }
        }
    }

    // MARK: The producer's answers

    /// Bytes that it was asked for.
    func supply(_ bytes: [UInt8]) {
        guard source?.supply(bytes) == true else { return }
        pumpLater(bytes.isEmpty)
    }

    /// There are no more.
    func finishBody() {
        source?.finish()
        pumpLater(true)
    }

    /// Goes on at once, unless that would ask the producer from within its own answer.
    private func pumpLater(_ isEmpty: Bool) {
        guard !isPumping else { return }
        let exchange = self.exchange
        reactor.schedule(after: .zero) {
            guard self.exchange === exchange, case .busy = self.phase else { return }
            self.pump()
        }
    }
}

extension HTTPBodyLength {
    /// How many bytes there will be; `nil` where nobody knows.
    var byteCount: UInt64? {
        switch self {
        case .none: 0
        case .known(let count): count
        case .unknown: nil
        }
    }
}

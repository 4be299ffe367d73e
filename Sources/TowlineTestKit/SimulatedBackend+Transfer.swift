internal import Glibc
package import Towline

extension SimulatedBackend {
    /// What the receive buffer holds between two receives, to betray whoever kept lent bytes.
    private static let spoiledByte: UInt8 = 0xDB

    /// Lets bytes, or connections, come.
    package func resumeReceiving(_ id: SocketID) {
        entry(of: id)?.wantsInput = true
    }

    /// Lets no more come from now on, not even in this wait.
    package func pauseReceiving(_ id: SocketID) {
        entry(of: id)?.wantsInput = false
    }

    // MARK: Serving a stream

    /// Does for one stream what is due: bytes received, then bytes sent, then the ends.
    func serveStream<Sink: EventSink>(_ entry: SimulatedEntry, _ sink: Sink) {
        if entry.attempt != nil {
            finishConnecting(entry, sink)
            return
        }
        guard !entry.hasLostPeer else {
            tellLostPeer(entry, sink)
            return
        }
        let hasFailed = entry.end?.hasFailed == true
        let end = entry.wantsInput ? receive(entry, sink) : findEnd(entry)
        if !hasFailed { sendPendingOutput(entry, sink) }
        if let end, isOpen(entry), !entry.toldEnd { tell(end, entry, sink) }
        // Where the connection has failed, what the receive says comes first.
        if hasFailed { sendPendingOutput(entry, sink) }
    }

    /// What a receive without bytes means.
    private enum End {
        case reachedEnd
        case hungUp
        case failed(CInt)
    }

    private func tell<Sink: EventSink>(_ end: End, _ entry: SimulatedEntry, _ sink: Sink) {
        switch end {
        case .hungUp:
            // Resumed meanwhile, it receives the bytes, and then the end itself.
            guard !entry.wantsInput else { return }
            entry.toldHangUp = true
            sink.handle(.hungUp, of: entry.id, from: self)
        case .reachedEnd:
            entry.toldEnd = true
            entry.peerHasEnded = true
            sink.handle(.reachedEnd, of: entry.id, from: self)
        case .failed(let number):
            entry.toldEnd = true
            let error = SystemCallError(call: SimulatedCall.receive.rawValue, errno: number)
            sink.handle(.failed(.receiving, error), of: entry.id, from: self)
        }
    }

    private func tellLostPeer<Sink: EventSink>(_ entry: SimulatedEntry, _ sink: Sink) {
        entry.cannotSend = true
        let number = entry.end?.takePendingError() ?? 0
        let error = SystemCallError(
            call: SimulatedCall.send.rawValue,
            errno: number == 0 ? EPIPE : number
        )
        sink.handle(.failed(.sending, error), of: entry.id, from: self)
    }

    private func isOpen(_ entry: SimulatedEntry) -> Bool { self.entry(of: entry.id) === entry }

    /// What a paused stream is told of: an end, or a hang-up where unread bytes are in front of it.
    private func findEnd(_ entry: SimulatedEntry) -> End? {
        guard let end = entry.end, end.hasReachedEnd, !entry.toldEnd else { return nil }
        figures.disarmedEvents &+= 1
        guard !end.hasBytes else { return entry.toldHangUp ? nil : .hungUp }
        var byte: UInt8 = 0
        return switch end.receive(into: &byte, atMost: 1) {
        case .done: .reachedEnd
        case .failed(let number): .failed(number)
        }
    }

    // MARK: Receiving

    /// Receives once, and further for as long as the buffer comes back full or an end is behind the
    /// bytes, within the budget.
    ///
    /// - Returns: The end, if it was reached.
    private func receive<Sink: EventSink>(_ entry: SimulatedEntry, _ sink: Sink) -> End? {
        var byteCount = 0
        var callCount = 0
        while byteCount < budget.receivedBytesPerSocket, callCount < budget.receivesPerSocket {
            // Looked at anew each time: a callback may have closed or paused it.
            guard isOpen(entry), entry.wantsInput, !entry.toldEnd, let end = entry.end,
                end.isReadable
            else { return nil }
            let limit = min(receiveBufferSize, wire.draw(wire.conditions.bytesPerReceive))
            figures.receives &+= 1
            callCount += 1
            let outcome = wire.call(.receive) { end.receive(into: receiveBuffer, atMost: limit) }
            switch outcome {
            case .failed(let number):
                return outcome.wouldBlock ? nil : .failed(number)
            case .done(0):
                return .reachedEnd
            case .done(let count):
                byteCount += count
                deliver(count, entry, sink)
                guard count == receiveBufferSize || end.hasReachedEnd else { return nil }
            }
        }
        return nil
    }

    private func deliver<Sink: EventSink>(_ count: Int, _ entry: SimulatedEntry, _ sink: Sink) {
        figures.receivedBytes &+= count
        // A receive never answers more than the buffer's size.
        let bytes = UnsafeRawBufferPointer(start: receiveBuffer, count: count)
        sink.handle(.received(RawSpan(_unsafeBytes: bytes)), of: entry.id, from: self)
        receiveBuffer.initializeMemory(as: UInt8.self, repeating: Self.spoiledByte, count: count)
    }

    // MARK: Sending

    /// Sends bytes behind all earlier ones.
    ///
    /// - Parameters:
    ///   - id: A connected stream.
    ///   - bytes: Where they begin; borrowed for the call.
    ///   - count: 1 or more.
    /// - Returns: How many are finished at once.
    package func send(_ id: SocketID, _ bytes: UnsafeRawPointer, count: Int) -> Int {
        let copy = [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
        return send(id, SimulatedEntry.Piece(source: .bytes(copy), range: 0..<count))
    }

    /// Sends `bytes` from `offset` on behind all earlier ones.
    ///
    /// - Parameters:
    ///   - id: A connected stream.
    ///   - bytes: What to send.
    ///   - offset: 0 through one less than their count.
    /// - Returns: How many are finished at once.
    package func send(_ id: SocketID, holding bytes: [UInt8], from offset: Int) -> Int {
        send(id, SimulatedEntry.Piece(source: .bytes(bytes), range: offset..<bytes.count))
    }

    /// Sends bytes of a file behind all earlier ones, which is read for it.
    ///
    /// - Parameters:
    ///   - id: A connected stream.
    ///   - file: The file.
    ///   - range: Which of its bytes, 1 or more.
    /// - Returns: How many are finished at once.
    package func send(_ id: SocketID, file: OpenFile, range: Range<Int>) -> Int {
        send(id, SimulatedEntry.Piece(source: .file(file), range: range))
    }

    private func send(_ id: SocketID, _ waiting: SimulatedEntry.Piece) -> Int {
        guard let entry = entry(of: id), entry.end != nil, !entry.cannotSend else { return 0 }
        var piece = waiting
        entry.askedBytes += piece.count
        guard entry.output.isEmpty else {
            entry.output.append(piece)
            return 0
        }
        let outcome = callSend(piece, entry)
        switch outcome {
        case .done(let sent):
            piece.consume(sent)
            entry.finishedBytes += sent
            if piece.count > 0 { entry.output.append(piece) }
            return sent
        case .failed(let number):
            guard outcome.wouldBlock else {
                entry.cannotSend = true
                results.append(.failed(id, .sending, piece.error(number)))
                return 0
            }
            entry.output.append(piece)
            return 0
        }
    }

    private func callSend(_ piece: SimulatedEntry.Piece, _ entry: SimulatedEntry) -> CallOutcome {
        guard let end = entry.end else { return .failed(EPIPE) }
        figures.sends &+= 1
        let limit = wire.draw(wire.conditions.bytesPerSend)
        let outcome = wire.call(.send) {
            switch piece.source {
            case .bytes(let bytes):
                bytes.withUnsafeBytes {
                    end.send(UnsafeRawBufferPointer(rebasing: $0[piece.range]), atMost: limit)
                }
            case .file(let file):
                send(file, piece.range, on: end, atMost: limit)
            }
        }
        if case .done(let count) = outcome {
            figures.sentBytes &+= count
            if count == piece.count { return outcome }
        }
        figures.shortSends &+= 1
        return outcome
    }

    private func send(
        _ file: OpenFile,
        _ range: Range<Int>,
        on end: SimulatedEnd,
        atMost limit: Int
    ) -> CallOutcome {
        let count = min(range.count, limit, budget.fileBytesPerSocket)
        return withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            // 1 or more bytes, so there is a base.
            let base = buffer.baseAddress.unsafelyUnwrapped
            let result = file.read(into: base, count: count, at: range.lowerBound)
            guard result.isSuccess else { return .failed(result.errno) }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<result.value])
            return end.send(bytes, atMost: count)
        }
    }

    /// How many of the bytes that were sent have not arrived.
    ///
    /// - Parameter id: A connected stream.
    /// - Returns: The number; `nil` without a connection.
    package func unacknowledgedByteCount(of id: SocketID) -> Int? {
        guard let end = entry(of: id)?.end else { return nil }
        return end.connection.sides[1 - end.side].onTheWay
    }

    /// Sends what waits, for as long as the network takes all that it is shown.
    private func sendPendingOutput<Sink: EventSink>(_ entry: SimulatedEntry, _ sink: Sink) {
        guard isOpen(entry), !entry.output.isEmpty, entry.end?.isWritable == true else { return }
        var sent = 0
        var failure: SystemCallError?
        while let piece = entry.output.first {
            let outcome = callSend(piece, entry)
            if case .done(let count) = outcome {
                sent += count
                entry.output[0].consume(count)
                guard count == piece.count else { break }
                entry.output.removeFirst()
            } else {
                if case .failed(let number) = outcome, !outcome.wouldBlock {
                    failure = piece.error(number)
                }
                break
            }
        }
        entry.finishedBytes += sent
        if failure != nil {
            entry.cannotSend = true
            entry.output = []
        } else if entry.output.isEmpty, entry.finishesAfterOutput {
            entry.end?.finishSending()
        }
        if sent > 0 { sink.handle(.sent(sent), of: entry.id, from: self) }
        guard let failure, isOpen(entry) else { return }
        sink.handle(.failed(.sending, failure), of: entry.id, from: self)
    }

    /// Takes back bytes that wait to be sent, as if they had never been asked for.
    ///
    /// - Parameters:
    ///   - id: A stream.
    ///   - offset: How many waiting bytes stay in front of them.
    ///   - count: 1 or more.
    /// - Returns: `false`, and nothing has changed, if so many do not wait.
    package func takeBack(_ id: SocketID, behind offset: Int, count: Int) -> Bool {
        guard let entry = entry(of: id), entry.pendingBytes >= offset + count else { return false }
        var place = 0
        entry.output = entry.output.flatMap { piece in
            let range = place..<place + piece.count
            place = range.upperBound
            let cut = (offset..<offset + count).clamped(to: range)
            guard !cut.isEmpty else { return [piece] }
            return piece.removing(
                cut.lowerBound - range.lowerBound..<cut.upperBound - range.lowerBound
            )
        }
        entry.askedBytes -= count
        if entry.output.isEmpty, entry.finishesAfterOutput { entry.end?.finishSending() }
        return true
    }

    /// Sends an end behind all earlier bytes.
    package func finishSending(_ id: SocketID) {
        guard let entry = entry(of: id) else { return }
        if entry.output.isEmpty {
            entry.end?.finishSending()
        } else {
            entry.finishesAfterOutput = true
        }
    }
}

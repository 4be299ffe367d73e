internal import TowlineBytes

/// Matching the bytes that came with the reads that were asked for.
extension StreamSocket {
    /// Whether reads may be completed now.
    private var canServe: Bool {
        lifecycle.phase == .connected && !obstacles.contains(.readsArePaused) && mayRead
    }

    /// Delivers kept and fresh bytes to the reads of the queue, in place where one piece holds a
    /// whole read; keeps what no read has taken.
    ///
    /// `fresh` is what was just received, and empty when only kept bytes are looked at.
    func serve(_ fresh: RawSpan, _ reactor: Reactor) {
        let id = socketID
        var offset = 0
        var callbackCount = 0
        let limit = reactor.configuration.budget.callbacksPerSocket
        reactor.beginCallbacks(of: id, lending: fresh)
        while let read = reads.current, canServe, callbackCount < limit {
            let rest = fresh.extracting(offset..<fresh.byteCount)
            let hasDelivered: Bool
            if read.hasTarget, let target = extras?.targets.first {
                guard kept != nil || !rest.isEmpty || hasAll(of: read) else { break }
                let filled = fill(target, of: read, with: rest, reactor)
                offset += filled.taken
                hasDelivered = filled.isDelivered
            } else if let kept {
                let count = keep(rest, for: read, in: kept)
                offset += count
                reactor.untaken = rest.extracting(count..<rest.byteCount).storage
                hasDelivered = deliver(read, keptIn: kept, reactor)
            } else {
                guard !rest.isEmpty || hasAll(of: read) else { break }
                let taken = deliver(read, in: rest, reactor)
                hasDelivered = taken > 0
                offset += taken
            }
            guard hasDelivered else { break }
            callbackCount += 1
        }
        reactor.untaken = RawSpan().storage
        // A callback may have left the connection for another, whose bytes these are not.
        if socketID == id, lifecycle.phase == .connected || lifecycle.phase == .disconnecting {
            keep(fresh.extracting(offset..<fresh.byteCount))
        }
        reactor.endCallbacks()
        if callbackCount == limit, !reads.isEmpty { list(for: .serveAgain, reactor) }
    }

    /// Moves as many fresh bytes behind the kept ones as the read can need.
    private func keep(_ fresh: RawSpan, for read: ReadRequest, in kept: ByteBuffer) -> Int {
        let count: Int
        switch read.kind {
        case .any:
            count = 0
        case .length:
            count = min(fresh.byteCount, max(0, read.limit - kept.count))
        case .delimiter, .end:
            count = fresh.byteCount
        }
        kept.append(fresh.extracting(0..<count))
        return count
    }

    /// Whether the read goes up to the peer's end, and that is right behind the bytes at hand.
    func hasAll(of read: ReadRequest) -> Bool {
        guard read.kind == .end, case .ended = inputEnd else { return false }
        return true
    }

    /// Delivers the read from fresh bytes if they complete it; the number of bytes it took.
    private func deliver(_ read: ReadRequest, in bytes: RawSpan, _ reactor: Reactor) -> Int {
        reactor.untaken = bytes.storage
        switch reads.match(bytes, isAll: hasAll(of: read)) {
        case .complete(let count):
            guard finishProgress(of: read, newBytes: count, done: count, reactor) else { return 0 }
            reactor.untaken = bytes.extracting(count..<bytes.byteCount).storage
            complete(read, with: bytes.extracting(0..<count), reactor)
            return count
        case .incomplete:
            reactor.untaken = RawSpan().storage
            keep(bytes)
            reportReadProgress(read, newBytes: bytes.byteCount, done: bytes.byteCount, reactor)
            // Taken, but nothing is delivered: there is no byte left to go on with.
            return bytes.byteCount
        case .tooLong:
            giveUp(read, reactor)
            return 0
        }
    }

    /// Delivers the read from kept bytes if they complete it.
    private func deliver(_ read: ReadRequest, keptIn kept: ByteBuffer, _ reactor: Reactor) -> Bool {
        let known = extras?.readProgress ?? 0
        switch kept.withBytes({ reads.match($0, isAll: hasAll(of: read)) }) {
        case .complete(let count):
            guard finishProgress(of: read, newBytes: count - known, done: count, reactor) else {
                return false
            }
            kept.lendFirst(count) { complete(read, with: $0, reactor) }
            if kept.isEmpty, self.kept === kept { dropKept() }
            return true
        case .incomplete:
            reportReadProgress(read, newBytes: kept.count - known, done: kept.count, reactor)
            return false
        case .tooLong:
            giveUp(read, reactor)
            return false
        }
    }

    /// Tells of the last progress of a read that is about to be completed.
    ///
    /// - Returns: Whether it still is: the delegate may have cancelled it, when the next read has
    ///   its bytes; put bytes in front of them, or paused; or have disconnected, when read and
    ///   bytes stay for the report.
    func finishProgress(
        of read: ReadRequest,
        newBytes: Int,
        done: Int,
        _ reactor: Reactor
    ) -> Bool {
        guard read.kind != .any else { return true }
        reportReadProgress(read, newBytes: newBytes, done: done, reactor)
        return canServe && reads.current?.id == read.id && !reads.isUnmatched
    }

    /// Ends the current read with its bytes.
    private func complete(_ read: ReadRequest, with bytes: RawSpan, _ reactor: Reactor) {
        noteCompletion(of: read)
        call(reactor) { try $0.didRead(self, bytes, read.tag) }
    }

    /// The current read is complete; what is left is to say so.
    func noteCompletion(of read: ReadRequest) {
        extras?.readProgress = 0
        if read.kind == .end { inputEnd = .endedAndRead }
        reads.removeFirst()
        if read.hasTarget { _ = extras?.targets.removeFirst() }
    }

    func reportReadProgress(
        _ read: ReadRequest,
        newBytes: Int,
        done: Int,
        _ reactor: Reactor
    ) {
        guard read.kind != .any, newBytes > 0, !isSkipping(.didProgressRead) else { return }
        makeExtras().readProgress = done
        let progress = IOProgress(newBytes: newBytes, bytesDone: done, total: read.total)
        call(reactor) { try $0.didProgressRead(self, read.tag, progress) }
    }

    /// What would complete the read is not within its limit.
    func giveUp(_ read: ReadRequest, _ reactor: Reactor) {
        let error: SocketError =
            read.kind == .end
            ? .endNotFound(tag: read.tag, limit: read.limit)
            : .delimiterNotFound(tag: read.tag, limit: read.limit)
        disconnect(because: error, reactor)
    }

    private func keep(_ bytes: RawSpan) {
        guard !bytes.isEmpty else { return }
        makeKept().append(bytes)
    }

    /// The bytes that no read has taken, none to begin with.
    func makeKept() -> ByteBuffer {
        if let kept { return kept }
        let made = ByteBuffer()
        kept = made
        obstacles.insert(.hasKeptBytes)
        return made
    }

    func dropKept() {
        kept = nil
        obstacles.remove(.hasKeptBytes)
    }
}

extension RawSpan {
    /// Where the bytes lie; for whoever knows how long they do.
    var storage: UnsafeRawBufferPointer { withUnsafeBytes { $0 } }
}

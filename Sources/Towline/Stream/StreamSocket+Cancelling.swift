extension StreamSocket {
    /// Has a read or a write end now, without a callback.
    ///
    /// The bytes that a read has collected stay in front for the next. A write can be cancelled
    /// for as long as none of its bytes is sent: without the rest, what the peer gets would be no
    /// stream of writes any more. In the operation's own callbacks, and in those of others, it may
    /// be called as well as anywhere else.
    ///
    /// A caller's buffer is let go of; ``cancelRead(takingBufferOf:)`` gives it back.
    ///
    /// - Parameter id: What the call that asked for it has returned.
    /// - Returns: Whether it ends so; `false` if it has ended already, if it is a write that has
    ///   begun, or if it is none of this socket's.
    @discardableResult
    public func cancel(_ id: OperationID) -> Bool {
        guard let reactor = reactorIfOnThread("cancel(_:)"), lifecycle.isOpen else { return false }
        guard cancelRead(id, reactor) || cancelWrite(id, reactor) else { return false }
        tellQueueOwner()
        return true
    }

    /// Has a read into a buffer end now, without a callback, and gives the buffer back.
    ///
    /// The bytes that the read has collected stay in front for the next; their copies in the buffer
    /// mean nothing.
    ///
    /// - Parameter id: What the call that asked for it has returned.
    /// - Returns: The buffer; `nil`, and nothing is changed, if the read has ended already, or is
    ///   none of this socket's into a buffer.
    public func cancelRead(takingBufferOf id: OperationID) -> ReadBuffer? {
        guard let reactor = reactorIfOnThread("cancelRead(takingBufferOf:)"), lifecycle.isOpen,
            let target = removeTarget(of: id), cancelRead(id, reactor)
        else { return nil }
        return target.take()
    }

    /// Has all reads end now, without a callback; what they have collected stays for the next.
    public func cancelAllReads() {
        guard let reactor = reactorIfOnThread("cancelAllReads()"), lifecycle.isOpen,
            !reads.isEmpty
        else { return }
        returnCollectedBytes()
        extras?.targets.removeAll()
        reads.removeAll()
        noteCancelledRead(at: 0, reactor)
        tellQueueOwner()
    }

    /// Has all writes end now, without a callback, of which nothing is sent.
    public func cancelAllWrites() {
        guard let reactor = reactorIfOnThread("cancelAllWrites()"), lifecycle.isOpen else { return }
        // What is handed over for encryption is on its way.
        let isOnItsWay = isSecured && !hasGathered(reactor)
        let index =
            isOnItsWay ? max(writes.untouchedIndex, writes.handedCount) : writes.untouchedIndex
        guard index < writes.count else { return }
        let start = writes[index].end - writes[index].count
        if start < writes.handedEnd, !takeBack(start..<writes.handedEnd, reactor) { return }
        if let extras, !extras.heldOutput.isEmpty {
            for index in index..<writes.count { extras.heldOutput[writes[index].id] = nil }
        }
        writes.cancelAll(from: index)
        noteCancelledWrite(reactor)
        tellQueueOwner()
    }

    /// Somebody may wait for what was cancelled.
    private func tellQueueOwner() {
        relayReference?.takeUnretainedValue().queueOwner?.lookForCancelled(in: self)
    }

    private func cancelRead(_ id: OperationID, _ reactor: Reactor) -> Bool {
        _ = removeTarget(of: id)
        guard let index = reads.remove(id) else { return false }
        noteCancelledRead(at: index, reactor)
        return true
    }

    private func noteCancelledRead(at index: Int, _ reactor: Reactor) {
        if index == 0 { extras?.readProgress = 0 }
        // Within the socket's own callbacks, `settle` does what follows, behind them.
        guard reactor.current != socketID || lifecycle.phase == .connecting else { return }
        readsChanged(reactor)
        // An end may have waited for this read.
        if inputEnd != nil { list(for: .serveAgain, reactor) }
        perform(lifecycle.queuesChanged(queues), reactor)
    }

    /// Has a write end without a callback if nothing of it is sent.
    func cancelWrite(_ id: OperationID, _ reactor: Reactor) -> Bool {
        guard let index = writes.index(of: id), writes.isUntouched(at: index) else { return false }
        let write = writes[index]
        if index < writes.handedCount, write.count > 0,
            !takeBack(write.end - write.count..<write.end, reactor)
        {
            return false
        }
        if let extras, !extras.heldOutput.isEmpty { extras.heldOutput[id] = nil }
        writes.cancel(at: index)
        noteCancelledWrite(reactor)
        return true
    }

    /// Takes bytes back that are gathered, or with the backend.
    ///
    /// Both at once are never there: what is gathered has nothing in front of it.
    ///
    /// - Parameters:
    ///   - range: Where they are in the stream of all bytes ever written.
    ///   - reactor: The reactor.
    /// - Returns: Whether they are taken back; if not, nothing has changed.
    private func takeBack(_ range: Range<Int>, _ reactor: Reactor) -> Bool {
        let offset = range.lowerBound - writes.finishedEnd
        if hasGathered(reactor) {
            return reactor.gather.remove(offset..<offset + range.count)
        }
        // What the backend has is ciphertext, of which no byte can be missing.
        guard !isSecured else { return false }
        return reactor.backend.takeBack(socketID, behind: offset, count: range.count)
    }

    /// Whether what the running callbacks have written waits for their end.
    private func hasGathered(_ reactor: Reactor) -> Bool {
        reactor.current == socketID && reactor.gather.count > 0
    }

    /// What waited for the write may go on; `settle` sees to it.
    private func noteCancelledWrite(_ reactor: Reactor) {
        if !writes.isSending, !writes.hasQueued { obstacles.remove(.hasPendingWrites) }
        if lifecycle.phase == .connecting {
            perform(lifecycle.queuesChanged(queues), reactor)
        } else {
            list(for: .reportWrites, reactor)
        }
    }
}

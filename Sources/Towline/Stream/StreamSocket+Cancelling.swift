extension StreamSocket {
    /// Has a read or a write end now, without a callback.
    ///
    /// The bytes that a read has collected stay in front for the next. In the read's own callbacks,
    /// and in those of others, it may be called as well as anywhere else.
    ///
    /// - Parameter id: What the call that asked for it has returned.
    /// - Returns: Whether it ends so; `false` if it has ended already, or is none of this socket's.
    @discardableResult
    public func cancel(_ id: OperationID) -> Bool {
        guard let reactor = reactorIfOnThread("cancel(_:)"), lifecycle.isOpen else { return false }
        return cancelRead(id, reactor) || cancelWrite(id, reactor)
    }

    /// Has all reads end now, without a callback; what they have collected stays for the next.
    public func cancelAllReads() {
        guard let reactor = reactorIfOnThread("cancelAllReads()"), lifecycle.isOpen,
            !reads.isEmpty
        else { return }
        reads.removeAll()
        noteCancelledRead(at: 0, reactor)
    }

    private func cancelRead(_ id: OperationID, _ reactor: Reactor) -> Bool {
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

    private func cancelWrite(_ id: OperationID, _ reactor: Reactor) -> Bool { false }
}

internal import TowlineBytes

/// The bytes that are here and that no read has taken; holding them back, and bringing them back.
extension StreamSocket {
    /// Lends the bytes that are here and that no read has been completed with, without taking them.
    ///
    /// The next read to be completed begins with them. Nothing is received for it: while no read is
    /// outstanding, bytes wait in the kernel. What a read into a buffer has collected is not shown.
    ///
    /// - Parameter body: Called once, with no bytes if there are none; it may do anything but keep
    ///   them.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func peek<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let reactor = reactorIfOnThread("peek(_:)") else { return try body(RawSpan()) }
        // Those that the callback's read has left where they were received come behind kept ones.
        let isServed = reactor.current == socketID
        // They stay there until the callbacks have returned.
        let fresh = isServed ? reactor.untaken : UnsafeRawBufferPointer(start: nil, count: 0)
        guard let kept, kept.waitingCount > 0 else {
            return try body(RawSpan(_unsafeBytes: fresh))
        }
        guard fresh.isEmpty, kept.isContiguous else {
            let all = kept.waitingBytes + fresh
            return try body(all.span.bytes)
        }
        return try kept.lendWaiting(body)
    }

    /// Puts bytes in front of all that are still to be read; the next read begins with them.
    ///
    /// From within `didRead` for what a read has got too many of, or at any other time. A read that
    /// is under way begins anew with them. They do not count as received.
    ///
    /// - Parameters:
    ///   - bytes: The bytes, which are copied.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/notConnected``, also before the connection is there;
    ///   ``SocketError/readClosed``, ``SocketError/wrongThread``, ``SocketError/reactorStopped``.
    public func unread(
        _ bytes: RawSpan,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForCall("unread(_:)")
        guard lifecycle.phase == .connected else { throw .notConnected }
        guard !lifecycle.peerHasEnded else { throw .readClosed }
        guard !bytes.isEmpty else { return }
        returnCollectedBytes()
        makeKept().prepend(bytes)
        reads.beginMatchingAnew()
        // Within the socket's own callbacks, `settle` does what follows, behind them.
        if reactor.current != socketID { readsChanged(reactor) }
    }

    /// Puts bytes in front of all that are still to be read; the next read begins with them.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As for a `RawSpan`.
    public func unread(
        _ bytes: [UInt8],
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        try unread(bytes.span.bytes, file: file, line: line)
    }

    /// Whether reads are paused.
    public var readsArePaused: Bool {
        obstacles.contains(.readsArePaused) && isOnThread("readsArePaused")
    }

    /// Completes no read from now on, and receives nothing, until ``resumeReads()``.
    ///
    /// Reads stay queued and may be asked for; the current one's clock stands still. An end or a
    /// failure behind bytes that were not read is told by `socketPeerDidHangUp`, one behind no
    /// bytes takes effect. Lasts until the connection ends at most; on an idle socket it does
    /// nothing.
    public func pauseReads() {
        guard let reactor = reactorIfOnThread("pauseReads()"), lifecycle.isOpen else { return }
        obstacles.insert(.readsArePaused)
        guard lifecycle.phase == .connected else { return }
        pause(reactor)
        followCurrentRead(reactor)
    }

    /// Goes on with the reads; the current one's clock starts anew.
    public func resumeReads() {
        guard let reactor = reactorIfOnThread("resumeReads()"),
            obstacles.contains(.readsArePaused)
        else { return }
        obstacles.remove(.readsArePaused)
        guard lifecycle.phase == .connected else { return }
        // Bytes may have come for it that it has not been matched with.
        if kept != nil || inputEnd != nil { list(for: .serveAgain, reactor) }
        readsChanged(reactor)
    }

    /// How many reads may be queued; one more throws ``SocketError/readQueueFull(limit:)``.
    ///
    /// 1 or more; `nil`, no limit.
    public var maxQueuedReads: Int? {
        get { isOnThread("maxQueuedReads") ? extras?.maxQueuedReads : nil }
        set {
            guard reactorIfOnThread("maxQueuedReads") != nil else { return }
            makeExtras().maxQueuedReads = newValue.map { max(1, $0) }
        }
    }
}

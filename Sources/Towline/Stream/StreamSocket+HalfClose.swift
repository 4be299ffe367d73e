extension StreamSocket {
    static let defaultFinishTimeout = Duration.seconds(30)
    static let defaultLingerTimeout = Duration.seconds(2)

    /// How long writes that wait may take after the peer's end, under
    /// ``HalfClosePolicy/finishWrites``; 30 s.
    ///
    /// What is set counts from the next time on that the peer ends; less than zero is zero.
    public var finishTimeout: Duration {
        get { isOnThread("finishTimeout") ? finishLimit : Self.defaultFinishTimeout }
        set {
            guard reactorIfOnThread("finishTimeout") != nil else { return }
            makeExtras().finishTimeout = max(.zero, newValue)
        }
    }

    /// How long the peer's end is waited for after ours, and the peer's last bytes after a send
    /// that has failed; 2 s.
    ///
    /// What is set counts from the next such wait on; less than zero is zero.
    public var lingerTimeout: Duration {
        get { isOnThread("lingerTimeout") ? lingerLimit : Self.defaultLingerTimeout }
        set {
            guard reactorIfOnThread("lingerTimeout") != nil else { return }
            makeExtras().lingerTimeout = max(.zero, newValue)
        }
    }

    var finishLimit: Duration { extras?.finishTimeout ?? Self.defaultFinishTimeout }
    var lingerLimit: Duration { extras?.lingerTimeout ?? Self.defaultLingerTimeout }

    /// Ends the writing side: when the writes that are queued are with the kernel, our end is sent.
    ///
    /// Reading goes on. What is written from now on throws ``SocketError/writeClosed``; a second
    /// call does nothing. When the peer has ended, too, the connection ends with
    /// ``SocketError/closedByPeer``.
    ///
    /// - Throws: ``SocketError/notConnected``, ``SocketError/disconnectPending``,
    ///   ``SocketError/wrongThread``, ``SocketError/reactorStopped``, or why nothing can be sent
    ///   any more. Nothing is changed then.
    ///
    /// Source: shutdown(2), `SHUT_WR`.
    public func shutdownWrite() throws(SocketError) {
        let reactor = try reactorForCall("shutdownWrite()")
        try checkOpen()
        if let failure = extras?.sendFailure { throw failure }
        obstacles.insert(.hasEndedWriting)
        perform(lifecycle.endWriting(queues), reactor)
    }

    /// Ends the reads that wait behind the peer's end, and tells that nothing more comes.
    ///
    /// So many callbacks a turn as a socket may have; the others follow in the next.
    func closeReading(_ reactor: Reactor) {
        var callbackCount = 0
        reactor.beginCallbacks(of: socketID)
        while lifecycle.phase == .connected, let read = reads.current,
            callbackCount < reactor.configuration.budget.callbacksPerSocket
        {
            callbackCount += 1
            cancelCurrentRead(read, reactor)
        }
        if lifecycle.phase == .connected, reads.isEmpty {
            call(reactor) { try $0.didCloseReadStream(self) }
            perform(lifecycle.readingClosed(queues), reactor)
        } else if lifecycle.phase == .connected {
            list(for: .serveAgain, reactor)
        }
        reactor.endCallbacks()
    }
}

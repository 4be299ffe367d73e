internal import CLinux

/// How a socket or a listener holds its reactor: strongly while it is idle, and not while it is
/// started, since then the reactor holds it, and lets go of it before it ends.
///
/// So neither keeps the other alive for ever, and neither ever reaches into the void.
struct ReactorReference {
    /// `nil` after the reactor has ended.
    private(set) var unmanaged: Unmanaged<Reactor>?
    private var isHolding = false

    /// A reference that does not hold.
    init(_ reactor: Reactor) {
        unmanaged = .passUnretained(reactor)
    }

    /// The reactor, if it has not ended.
    var reactor: Reactor? { unmanaged?.takeUnretainedValue() }

    /// Whether the calling thread is the reactor's, or there is no reactor any more.
    @inline(__always)
    var isOnThread: Bool {
        guard let unmanaged else { return true }
        // Started or not, the owner does not outlive what it refers to.
        return unmanaged._withUnsafeGuaranteedRef { $0.thread == towline_thread() }
    }

    /// Holds: the owner is idle.
    mutating func hold() {
        guard !isHolding, let unmanaged else { return }
        _ = unmanaged.retain()
        isHolding = true
    }

    /// Does not hold: the reactor has the owner in its table.
    mutating func letGo() {
        guard isHolding else { return }
        isHolding = false
        unmanaged?.release()
    }

    /// Forgets the reactor, which is about to go away.
    mutating func forget() {
        letGo()
        unmanaged = nil
    }

    /// Whether a property may answer; the rare cases are looked at, and spoken of, apart.
    @inline(__always)
    func permits(_ call: StaticString) -> Bool {
        isOnThread || ifOnThread(call) != nil
    }

    /// The reactor, for a call that can throw.
    ///
    /// - Throws: ``SocketError/wrongThread``, ``SocketError/reactorStopped``.
    func forCall(_ call: StaticString) throws(SocketError) -> Reactor {
        guard let reactor else { throw .reactorStopped }
        guard reactor.isOnThread || reactor.life == .fresh else {
            // Behind the end another thread stands in for the reactor's, with no reactor to use.
            if reactor.life == .ended { throw .reactorStopped }
            reactor.refuse(call.description)
            throw .wrongThread
        }
        guard reactor.isAcceptingCalls else { throw .reactorStopped }
        reactor.noteCall()
        return reactor
    }

    /// The reactor, for a call that cannot throw; `nil` if the call must do nothing.
    @inline(__always)
    func ifOnThread(_ call: StaticString) -> Reactor? {
        if let reactor, reactor.isOnThread {
            reactor.noteCall()
            return reactor
        }
        return ifPermitted(call)
    }

    /// The same where the thread is another one, or nobody's yet.
    private func ifPermitted(_ call: StaticString) -> Reactor? {
        guard let reactor else { return nil }
        guard reactor.life == .fresh else {
            if reactor.life != .ended { reactor.refuse(call.description) }
            return nil
        }
        reactor.noteCall()
        return reactor
    }
}

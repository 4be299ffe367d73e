/// What became of the connections that were open when a drain began.
public struct DrainReport: Sendable, Hashable, CustomStringConvertible {
    /// Connections that ended in order.
    public let finished: Int

    /// Connections that were cut at the limit.
    public let cut: Int

    /// Both numbers as one line.
    public var description: String { "drained: \(finished) finished, \(cut) cut" }
}

extension Reactor {
    /// Ends a service in order: listeners stop, and each connection is asked to end after its
    /// current exchange (`socketShouldFinish`), which by default it does as soon as its writes are
    /// with the kernel.
    ///
    /// The reactor goes on; most programs call ``stop()`` from `completion`. A second drain
    /// replaces the first one's completion, and can only shorten its limit.
    ///
    /// - Parameters:
    ///   - limit: The longest it may take; connections that are open then are reset.
    ///   - completion: Called once, from a turn, when no connection is open any more; behind the
    ///     limit, when those that were open then have ended.
    public func drain(within limit: Duration, then completion: @escaping (DrainReport) -> Void) {
        guard isOnThread || life == .fresh else {
            refuse("drain(within:then:)")
            return
        }
        guard isAcceptingCalls else { return }
        if let drain {
            unsafeDowncast(drain, to: Drain.self).replace(within: limit, completion)
        } else {
            Drain(self, within: limit, completion).begin()
        }
    }
}

/// One drain, kept alive by the reactor's hook and the timer until it is complete.
private final class Drain {
    private unowned let reactor: Reactor
    private let limit: Duration
    private var deadline: MonotonicInstant
    private var completion: (DrainReport) -> Void
    private var timer: Reactor.Timer?
    private let openAtStart: Int
    private var cut = 0
    /// Who was open at the limit and may still be; `nil` before it.
    private var rest: [SocketID]?
    private var isComplete = false

    init(
        _ reactor: Reactor,
        within limit: Duration,
        _ completion: @escaping (DrainReport) -> Void
    ) {
        self.reactor = reactor
        self.limit = limit
        self.completion = completion
        deadline = reactor.backend.now().advanced(by: limit)
        openAtStart = reactor.table.ids(of: .stream).count
    }

    /// Has another completion called, and the rest cut no later than `limit` from now.
    func replace(within limit: Duration, _ completion: @escaping (DrainReport) -> Void) {
        self.completion = completion
        let earlier = reactor.backend.now().advanced(by: limit)
        guard earlier < deadline else { return }
        deadline = earlier
        timer?.reschedule(after: limit)
    }

    func begin() {
        reactor.drain = self
        reactor.whenSocketEnds = { self.look() }
        timer = reactor.schedule(after: limit) { self.cutTheRest() }
        // From the next turn on, since asking calls back.
        reactor.schedule(after: .zero) { self.ask() }
    }

    private func ask() {
        for kind in [OwnerKind.listener, .stream] {
            for id in reactor.table.ids(of: kind) { reactor.perform(.finish, for: id) }
        }
        look()
    }

    private func cutTheRest() {
        let ids = reactor.table.ids(of: .stream)
        rest = ids
        for id in ids {
            guard let socket = reactor.streamSocket(id) else { continue }
            if socket.lifecycle.isOpen {
                cut += 1
                socket.setReason(.reactorStopped)
                socket.abort()
            } else {
                // All of it is sent, and its end, too; only the peer's is still awaited.
                socket.endLinger(reactor)
            }
        }
        look()
    }

    private func look() {
        guard !isComplete, isOver() else { return }
        isComplete = true
        timer?.cancel()
        reactor.whenSocketEnds = nil
        reactor.drain = nil
        completion(DrainReport(finished: max(0, openAtStart - cut), cut: cut))
    }

    /// Whether nobody is waited for any more.
    ///
    /// Behind the limit that is none but those who were cut: a client that connects anew from each
    /// farewell would be waited for to no end.
    private func isOver() -> Bool {
        guard reactor.table.serviceCount > 0 else { return true }
        guard rest != nil else { return false }
        while let id = rest?.last, reactor.table.slot(of: id) == nil { rest?.removeLast() }
        return rest?.isEmpty ?? false
    }
}

/// What became of the connections that were open during a drain.
public struct DrainReport: Sendable, Hashable, CustomStringConvertible {
    /// Connections that ended in order behind something that was under way.
    public let finished: Int

    /// Connections that ended at once when they were asked to, since nothing was under way: no
    /// write waited for the kernel, and no byte had come that no read had taken.
    public let idle: Int

    /// Connections that were cut, at the limit or because the reactor stopped before it.
    public let cut: Int

    /// The numbers as one line.
    public var description: String { "drained: \(finished) finished, \(idle) idle, \(cut) cut" }
}

extension Reactor {
    /// Ends a service in order: listeners stop, and each connection is asked to end after its
    /// current exchange (`socketShouldFinish`), which by default it does as soon as its writes are
    /// with the kernel, with ``SocketError/reactorStopped``.
    ///
    /// Connections that begin while it runs are asked, too. A delegate that has a
    /// `socketShouldFinish` of its own decides by itself when nothing is under way any more. The
    /// reactor goes on behind it; most programs call ``stop()`` from `completion`. A second drain
    /// joins the first one, and can only shorten its limit.
    ///
    /// - Parameters:
    ///   - limit: The longest it may take; connections that are open then are reset.
    ///   - completion: Called once, from a turn, when no connection is open any more; behind the
    ///     limit, when those that were open then have ended; at the latest when the reactor stops.
    ///     Never if it has stopped already.
    public func drain(within limit: Duration, then completion: @escaping (DrainReport) -> Void) {
        guard isOnThread || life == .fresh else {
            refuse("drain(within:then:)")
            return
        }
        guard isAcceptingCalls else { return }
        if let drain = drain as? Drain {
            drain.join(within: limit, completion)
        } else {
            Drain(self, within: limit, completion).begin()
        }
    }
}

/// One drain, kept alive by its reactor and the timers until it is complete.
private final class Drain: DrainInProgress {
    private unowned let reactor: Reactor
    private let limit: Duration
    private var deadline: MonotonicInstant
    private var completions: [(DrainReport) -> Void]
    private var timer: Reactor.Timer?
    /// Connections that were open at the beginning, or have begun since.
    private var count: Int
    private var idle = 0
    private var cut = 0
    /// Those that have begun since, and were not asked yet.
    private var unasked: [SocketID] = []
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
        completions = [completion]
        deadline = reactor.backend.now().advanced(by: limit)
        count = reactor.table.ids(of: .stream).count
    }

    /// Has another completion called as well, and the rest cut no later than `limit` from now.
    func join(within limit: Duration, _ completion: @escaping (DrainReport) -> Void) {
        completions.append(completion)
        let earlier = reactor.backend.now().advanced(by: limit)
        guard earlier < deadline else { return }
        deadline = earlier
        timer?.reschedule(after: limit)
    }

    func begin() {
        reactor.drain = self
        timer = reactor.schedule(after: limit) { self.cutTheRest() }
        // From the next turn on, since asking calls back.
        reactor.schedule(after: .zero) { self.askAll() }
    }

    // MARK: What the reactor tells

    func noteStart(of id: SocketID) {
        guard rest == nil else { return }
        count += 1
        if unasked.isEmpty { reactor.schedule(after: .zero) { self.askNew() } }
        unasked.append(id)
    }

    func noteSocketEnd() { look() }

    func noteReactorStop() {
        guard rest == nil else { return }
        let ids = reactor.table.ids(of: .stream)
        rest = ids
        cut += ids.count { reactor.streamSocket($0)?.lifecycle.isOpen ?? false }
    }

    func noteReactorEnd() { complete() }

    // MARK: Asking

    private func askAll() {
        // Those that have begun in the meantime are among them.
        unasked = []
        for id in reactor.table.ids(of: .listener) { reactor.perform(.finish, for: id) }
        for id in reactor.table.ids(of: .stream) { ask(id) }
        look()
    }

    private func askNew() {
        let ids = unasked
        unasked = []
        for id in ids { ask(id) }
        look()
    }

    private func ask(_ id: SocketID) {
        guard let socket = reactor.streamSocket(id), socket.lifecycle.isOpen else { return }
        let wasQuiet = socket.isQuiet
        reactor.perform(.finish, for: id)
        // It may have gone elsewhere, or have begun anew.
        if wasQuiet, socket.id != id || !socket.lifecycle.isOpen { idle += 1 }
    }

    // MARK: Ending

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
        if isOver() { complete() }
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

    private func complete() {
        guard !isComplete else { return }
        isComplete = true
        timer?.cancel()
        reactor.drain = nil
        let report = DrainReport(finished: max(0, count - idle - cut), idle: idle, cut: cut)
        let completions = completions
        self.completions = []
        for completion in completions { completion(report) }
    }
}

extension StreamSocket {
    /// Whether nothing is under way that an end would cut.
    fileprivate var isQuiet: Bool { writes.pendingBytes == 0 && kept == nil }
}

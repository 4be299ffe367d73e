internal import Glibc
internal import Towline

/// A listening socket of a simulated network, of the program under test or of a script.
final class SimulatedListener {
    let address: SocketAddress
    private let backlog: Int

    /// Connections that nobody has accepted yet, the oldest first.
    private(set) var waiting: [SimulatedEnd] = []

    /// How a script hears of a further connection; `nil` for a listener under test.
    var whenAdded: (() -> Void)?

    init(at address: SocketAddress, backlog: Int) {
        self.address = address
        self.backlog = backlog
    }

    /// Whether no further connection may wait; the kernel lets one more than the backlog.
    var isFull: Bool { waiting.count > backlog }

    func add(_ end: SimulatedEnd) {
        waiting.append(end)
        whenAdded?()
    }

    /// Takes the oldest connection: accept(2).
    func takeFirst() -> SimulatedEnd? {
        waiting.isEmpty ? nil : waiting.removeFirst()
    }

    /// Resets everybody who still waits, as the kernel does.
    func close() {
        for end in waiting { end.close(.reset) }
        waiting = []
    }
}

/// A connect under way on a simulated network, from the first knock to its outcome.
final class SimulatedConnect {
    enum Outcome {
        case connected(SimulatedEnd)
        case failed(CInt)
    }

    /// How often TCP knocks again before it gives up; 127 s in all.
    ///
    /// Source: tcp(7), `tcp_syn_retries`.
    private static let retryLimit = 6

    let wire: Wire
    let local: SocketAddress
    let remote: SocketAddress

    /// What came of it; `nil` while it is under way.
    private(set) var outcome: Outcome?

    private let whenDone: ((Outcome) -> Void)?
    private var isAbandoned = false

    init(
        _ wire: Wire,
        from local: SocketAddress,
        to remote: SocketAddress,
        whenDone: ((Outcome) -> Void)? = nil
    ) {
        self.wire = wire
        self.local = local
        self.remote = remote
        self.whenDone = whenDone
    }

    /// Begins; in the Unix domain the outcome is there when this returns.
    func start() {
        if case .unix(let path) = remote {
            finish(connectLocally(path))
        } else {
            knock(attempt: 0)
        }
    }

    /// Nobody is interested any more.
    func abandon() {
        isAbandoned = true
        if case .connected(let end) = outcome { end.close(.reset) }
    }

    private func finish(_ outcome: Outcome) {
        self.outcome = outcome
        if isAbandoned { abandon() } else { whenDone?(outcome) }
    }

    // MARK: The Unix domain

    private func connectLocally(_ path: UnixPath) -> Outcome {
        guard let listener = wire.listener(at: remote) else {
            return .failed(path.isAbstract ? ECONNREFUSED : ENOENT)
        }
        guard !listener.isFull else { return .failed(EAGAIN) }
        let connection = SimulatedConnection(wire, client: local, server: remote)
        listener.add(connection.server)
        return .connected(connection.client)
    }

    // MARK: TCP

    private func knock(attempt: Int) {
        wire.clock.schedule(at: wire.drawArrival()) { self.reachListener(attempt: attempt) }
    }

    private func reachListener(attempt: Int) {
        guard !isAbandoned else { return }
        guard !wire.silentAddresses.contains(remote) else {
            knockAgain(after: attempt)
            return
        }
        guard let listener = wire.listener(at: remote) else {
            wire.clock.schedule(at: wire.drawArrival()) { self.finish(.failed(ECONNREFUSED)) }
            return
        }
        // A full backlog answers nothing, so that the client knocks again.
        guard !listener.isFull else {
            knockAgain(after: attempt)
            return
        }
        let connection = SimulatedConnection(wire, client: local, server: remote)
        let answer = wire.drawArrival()
        // What the server sends at once is behind its answer.
        connection.sides[0].lastArrival = answer
        wire.clock.schedule(at: answer) { self.finish(.connected(connection.client)) }
        listener.add(connection.server)
    }

    private func knockAgain(after attempt: Int) {
        let time = wire.clock.now.advanced(by: .seconds(1 << attempt))
        wire.clock.schedule(at: time) {
            if attempt < Self.retryLimit {
                self.reachListener(attempt: attempt + 1)
            } else {
                self.finish(.failed(ETIMEDOUT))
            }
        }
    }
}

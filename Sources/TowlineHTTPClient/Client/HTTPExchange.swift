internal import Towline
public import TowlineHTTP

/// A request that was started, until its end.
///
/// Lives on the client's reactor and is used from its thread.
public final class HTTPExchange {
    /// Where an exchange is.
    ///
    ///     created ─▶ waiting ─▶ connecting ─▶ active ─▶ ended
    ///                   ▲                        │
    ///                   └── redirect, repeat ────┘
    enum Phase {
        /// Nothing was asked for yet, or the next hop is being prepared.
        case between
        /// Among those who wait for a connection of this pool.
        case waiting(HTTPPool, HTTPPool.Group)
        /// This connection serves it.
        case active(HTTPConnection)
        /// Its last callback has been called, or is about to be.
        case ended
    }

    /// The request as it was started.
    public let request: HTTPRequest

    /// The URL that is asked now; `nil` if the one that was given is none.
    public var url: HTTPURL? { hop?.url }

    /// The head of the current request as it is sent, or was; empty before there is one.
    public var requestHead: [UInt8] { outgoing?.head ?? [] }

    /// For whatever the caller wants to remember of it.
    public var userInfo: Any?

    /// Held until the end.
    let client: HTTPClient

    /// Where the client holds it.
    @exclusivity(unchecked) var place = 0

    @exclusivity(unchecked) private weak var delegate: (any HTTPExchangeDelegate)?
    @exclusivity(unchecked) var keptDelegate: (any HTTPExchangeDelegate)?

    @exclusivity(unchecked) private(set) var phase = Phase.between
    @exclusivity(unchecked) var hop: Hop?
    /// What the current hop sends.
    @exclusivity(unchecked) var outgoing: OutgoingRequest?
    @exclusivity(unchecked) var metrics: HTTPMetrics

    /// Why it has ended, until that is told.
    @exclusivity(unchecked) private var lateError: HTTPError?

    /// Whether the caller holds content back.
    @exclusivity(unchecked) public private(set) var isSuspended = false

    /// What the delegate was asked and has not answered yet.
    @exclusivity(unchecked) var question: CredentialQuestion?
    @exclusivity(unchecked) var questionCount = 0

    /// Whether the rest of a response waits for the delegate's answer.
    var isAsking: Bool { question != nil }

    /// Brings its body, where that comes from a sequence.
    @exclusivity(unchecked) var bodyPull: BodyPull?

    /// The connection that was made for it and is not ready yet.
    @exclusivity(unchecked) private var sponsored: HTTPConnection?

    @exclusivity(unchecked) private var waitTimer: Reactor.Timer?
    @exclusivity(unchecked) private var totalTimer: Reactor.Timer?

    /// Whether the connection itself is what is asked for.
    let isTunnel: Bool

    init(
        _ request: HTTPRequest,
        client: HTTPClient,
        delegate: any HTTPExchangeDelegate,
        isTunnel: Bool = false
    ) {
        self.request = request
        self.isTunnel = isTunnel
        self.client = client
        self.delegate = delegate
        metrics = HTTPMetrics(began: client.reactor.now)
    }

    /// Whether its last callback has been called, or will be without anything else before it.
    public var hasEnded: Bool { if case .ended = phase { true } else { false } }

    // MARK: What the caller does

    /// Ends it: all that still comes is `didFail` with ``HTTPError/cancelled``, on a later turn.
    ///
    /// Does nothing to one that has ended.
    public func cancel() {
        endLater(.cancelled)
    }

    /// Lets no content come until ``resume()``.
    ///
    /// The connection is not read meanwhile beyond what is here already, so that the peer has to
    /// wait, and the time that a body may stall stands still.
    public func suspend() {
        isSuspended = true
    }

    /// Lets content come again, from a later turn on.
    public func resume() {
        guard isSuspended else { return }
        isSuspended = false
        if case .active(let connection) = phase { connection.resume(self) }
    }

    // MARK: A body that is brought while it is sent

    /// Brings the next bytes of the body, in answer to its producer's being called.
    ///
    /// - Parameter bytes: The bytes; none means that the producer wants to be asked again. Without
    ///   having been asked it does nothing.
    public func supply(_ bytes: [UInt8]) {
        if case .active(let connection) = phase { connection.supply(bytes) }
    }

    /// Says that the body has no more bytes.
    public func finishBody() {
        if case .active(let connection) = phase { connection.finishBody() }
    }

    /// Gives the body up, and so the exchange, which ends with ``HTTPError/producer(_:)``.
    public func failBody(_ error: any Error) {
        endLater(.producer(error))
    }

    // MARK: Its way

    func begin() {
        if let total = timeouts.total {
            totalTimer = client.reactor.schedule(after: total) { [weak self] in
                self?.end(.timeout(.total))
            }
        }
        do throws(HTTPError) {
            let first = try isTunnel ? client.tunnelHop(request) : client.firstHop(of: request)
            go(first)
        } catch {
            endLater(error)
        }
    }

    /// Asks for a connection for a hop.
    func go(_ hop: Hop) {
        guard !hasEnded else { return }
        phase = .between
        self.hop = hop
        do throws(HTTPError) {
            outgoing = hop.isTunnel ? nil : try client.outgoing(hop)
        } catch {
            return endLater(error)
        }
        client.pool.admit(self, for: hop.key, of: client)
    }

    /// The pool has no connection for it yet.
    func isWaiting(in pool: HTTPPool, for group: HTTPPool.Group) {
        phase = .waiting(pool, group)
        guard let limit = timeouts.connect else { return }
        waitTimer = client.reactor.schedule(after: limit) { [weak self] in
            guard let self else { return }
            let isSecuring = sponsored?.isSecuring == true
            end(.timeout(sponsored == nil ? .poolWait : isSecuring ? .tls : .connect))
        }
    }

    /// A connection is being made for it.
    func isSponsor(of connection: HTTPConnection) {
        sponsored = connection
    }

    /// The connection that was made for it did not come about.
    func connectionFailed(_ connection: HTTPConnection, _ error: HTTPError) {
        // Another may have served it meanwhile.
        guard case .waiting = phase, sponsored === connection else { return }
        end(error)
    }

    /// A connection serves it from now on.
    func isServed(by connection: HTTPConnection) {
        waitTimer?.cancel()
        waitTimer = nil
        sponsored = nil
        phase = .active(connection)
    }

    /// The connection has nothing more to do with it: another hop follows.
    func isLeft(by connection: HTTPConnection) {
        guard case .active(let current) = phase, current === connection else { return }
        phase = .between
    }

    // MARK: Its end

    /// Ends it by an error, from within the reactor's turn.
    func end(_ error: HTTPError) {
        guard leave() else { return }
        deliver { $0.exchange(self, didFail: error, metrics: metrics) }
        forget()
    }

    /// Ends it in order.
    func finish() {
        guard leave() else { return }
        deliver { $0.exchangeDidFinish(self, metrics: metrics) }
        forget()
    }

    /// Ends it by handing the connection over.
    func handOver(_ socket: StreamSocket, leftover: RawSpan) {
        guard leave() else { return }
        if let delegate = currentDelegate {
            do {
                try delegate.exchange(self, didUpgrade: socket, leftover: leftover)
            } catch {
                socket.abort()
            }
        }
        forget()
    }

    /// Ends it by an error whose callback comes on a later turn.
    func endLater(_ error: HTTPError) {
        guard leave() else { return }
        lateError = error
        client.reactor.schedule(after: .zero) { [self] in deliverLateError() }
    }

    private func deliverLateError() {
        guard let error = lateError else { return }
        lateError = nil
        deliver { $0.exchange(self, didFail: error, metrics: metrics) }
        forget()
    }

    /// Ends it for want of a reactor on which anything else could come.
    func endWithReactor() {
        if lateError == nil { end(.cancelled) } else { deliverLateError() }
    }

    /// Leaves whatever it waits for; false if it has ended already.
    private func leave() -> Bool {
        let last = phase
        phase = .ended
        switch last {
        case .ended: return false
        case .between: break
        case .waiting(let pool, let group): pool.withdraw(self, from: group)
        case .active(let connection): connection.abandon(self)
        }
        waitTimer?.cancel()
        totalTimer?.cancel()
        waitTimer = nil
        totalTimer = nil
        sponsored = nil
        question = nil
        bodyPull?.cancel()
        bodyPull = nil
        metrics.endedAt = client.reactor.now
        return true
    }

    private func forget() {
        keptDelegate = nil
        client.forget(self)
    }

    // MARK: Callbacks

    /// Whether only a connection will do that nobody has used before.
    var needsNewConnection: Bool { hop?.needsNewConnection == true }

    var timeouts: HTTPTimeouts { request.timeouts ?? client.configuration.timeouts }

    var currentDelegate: (any HTTPExchangeDelegate)? { keptDelegate ?? delegate }

    private func deliver(_ call: (any HTTPExchangeDelegate) -> Void) {
        if let delegate = currentDelegate { call(delegate) }
    }

    /// Calls back about an event; what is thrown, or that nobody is there any more, ends it.
    ///
    /// - Returns: Whether it goes on.
    func tell(_ call: (any HTTPExchangeDelegate) throws -> Void) -> Bool {
        guard let delegate = currentDelegate else {
            end(.cancelled)
            return false
        }
        do {
            try call(delegate)
        } catch {
            end(.handler(error))
        }
        return !hasEnded
    }
}

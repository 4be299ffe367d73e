internal import Towline
internal import TowlineCoding
internal import TowlineHTTP
internal import TowlineTLS

/// One socket of a client, and the exchange that it serves.
///
///     opening ──▶ idle ◀──▶ busy
///        └──────────┴─────────┴──▶ closed
///
/// The socket holds it until its farewell, the pool until it is of no use any more.
final class HTTPConnection: StreamSocketTLSDelegate {
    typealias LookupTicket = AnswerTicket<Result<ResolvedAddresses, ResolverError>>

    /// Where a connection is.
    enum Phase {
        /// Not ready for any exchange yet.
        case opening(OpeningStep)
        /// Ready, and serves nobody.
        case idle
        /// Serves an exchange, or reads the rest of one that nobody wants any more.
        case busy
        /// Of no use any more, or the caller's.
        case closed
    }

    /// How far one has come that is being opened.
    enum OpeningStep {
        case lookingUp
        case connecting
        case tunnelling
        case securing
    }

    let group: HTTPPool.Group
    let pool: HTTPPool
    let socket: StreamSocket
    let reactor: Reactor

    // Touched by the reactor's thread only, and no access spans a callback, so that the checks of
    // the runtime would find nothing.

    @exclusivity(unchecked) var phase = Phase.opening(.lookingUp)

    /// Held while it is opened or busy, so that its settings are there.
    @exclusivity(unchecked) var client: HTTPClient?

    /// For whom it is opened.
    @exclusivity(unchecked) var sponsor: HTTPExchange?

    /// Answers of a lookup find their way by it.
    @exclusivity(unchecked) var ticket: LookupTicket?
    @exclusivity(unchecked) var triedHost = ""
    /// Whether the addresses that are connected to were looked up.
    @exclusivity(unchecked) var isLookedUp = false
    /// The tunnel that is being asked for.
    @exclusivity(unchecked) var tunnel: TunnelOpening?
    /// What came through a tunnel before anything was sent.
    @exclusivity(unchecked) var tunnelLeftover: [UInt8] = []

    /// How many exchanges it has served, the current one included.
    @exclusivity(unchecked) var useCount = 0
    @exclusivity(unchecked) private var localAddress: SocketAddress?

    // What the current exchange needs.

    /// Whom it serves; `nil` while it only drains.
    @exclusivity(unchecked) var exchange: HTTPExchange?
    @exclusivity(unchecked) var parser: HTTP1Parser
    @exclusivity(unchecked) var dialogue = HTTP1Dialogue(hasBody: false, waitsForContinue: false)
    @exclusivity(unchecked) var source: BodySource?
    @exclusivity(unchecked) var outstandingPieceCount = 0
    @exclusivity(unchecked) var isPumping = false
    @exclusivity(unchecked) var sourceHasEnded = false
    @exclusivity(unchecked) var sentAtStart = 0
    @exclusivity(unchecked) var owesConnectNotice = false
    @exclusivity(unchecked) var requestCloses = false
    @exclusivity(unchecked) var response: HTTPResponseHead?
    @exclusivity(unchecked) var decoding: ContentDecoding?
    /// Coded bytes that came with others and that the caller has not let come yet.
    @exclusivity(unchecked) var heldBody: [UInt8] = []
    /// Bytes behind the end of the response.
    @exclusivity(unchecked) var hasStrayBytes = false
    /// The connection's end, which came while the delegate was asked.
    @exclusivity(unchecked) var heldEnd: (reason: SocketError?, wasOrderly: Bool)?
    /// Whether it takes up nobody's place, since it waits for the delegate.
    @exclusivity(unchecked) var isSetAside = false
    /// How many bytes of a body that nobody wants may still come.
    @exclusivity(unchecked) var drainAllowance = 0
    /// What follows when the rest of the body is drained.
    @exclusivity(unchecked) var afterDrain: (() -> Void)?

    /// Facts of the connection, for each exchange that it serves.
    @exclusivity(unchecked) var times = OpeningTimes()

    // The one timer of a connection: what it watches for depends on what is under way.

    @exclusivity(unchecked) var watch: Reactor.Timer?
    @exclusivity(unchecked) var watchDeadline = MonotonicInstant.distantFuture
    /// The limit that the timer was set for; one that is no shorter needs no other.
    @exclusivity(unchecked) var watchLimit = Duration.zero
    @exclusivity(unchecked) var lastProgress = MonotonicInstant(nanoseconds: 0)
    @exclusivity(unchecked) var idleLimit = Duration.zero

    /// When the steps of opening were done.
    struct OpeningTimes {
        var began = MonotonicInstant(nanoseconds: 0)
        var lookedUp: MonotonicInstant?
        var connected: MonotonicInstant?
        var secured: MonotonicInstant?
    }

    init(group: HTTPPool.Group, client: HTTPClient, pool: HTTPPool) {
        self.group = group
        self.client = client
        self.pool = pool
        reactor = client.reactor
        socket = StreamSocket(reactor: client.reactor)
        let configuration = client.configuration
        parser = HTTP1Parser(profile: configuration.profile, limits: configuration.limits)
    }

    var key: PoolKey { group.key }

    var isIdle: Bool { if case .idle = phase { true } else { false } }

    var isPending: Bool { if case .opening = phase { true } else { false } }

    var isSecuring: Bool { if case .opening(.securing) = phase { true } else { false } }

    // MARK: Serving

    /// Sends the request of an exchange; nobody is called back from within.
    func serve(_ exchange: HTTPExchange, for client: HTTPClient) {
        self.client = client
        phase = .busy
        useCount += 1
        self.exchange = exchange
        exchange.isServed(by: self)
        owesConnectNotice = true
        // A tunnel is handed over as it is.
        guard let outgoing = exchange.outgoing else { return note(exchange, at: reactor.now) }
        beginMessage(exchange, outgoing)
        send(outgoing)
        progressed()
        note(exchange, at: lastProgress)
    }

    private func beginMessage(_ exchange: HTTPExchange, _ outgoing: OutgoingRequest) {
        response = nil
        decoding = nil
        hasStrayBytes = false
        heldEnd = nil
        requestCloses = outgoing.closes
        let allowsHTTP09 = useCount == 1 && client?.configuration.allowsHTTP09 == true
        parser.begin(
            HTTP1Parser.Expectation(
                method: exchange.hop?.request.method ?? .get,
                isUpgrade: exchange.hop?.request.upgrade.isEmpty == false,
                allowsHTTP09: allowsHTTP09
            )
        )
    }

    /// Tells the exchange's metrics what is known of the connection.
    private func note(_ exchange: HTTPExchange, at now: MonotonicInstant) {
        exchange.metrics.requestCount += 1
        exchange.metrics.isReused = useCount > 1
        exchange.metrics.remoteAddress = socket.remoteAddress
        exchange.metrics.requestBeganAt = now
        guard useCount == 1 else { return }
        exchange.metrics.connectionCount += 1
        exchange.metrics.lookedUpAt = times.lookedUp
        exchange.metrics.connectedAt = times.connected
        exchange.metrics.securedAt = times.secured
    }

    /// Tells the exchange that it has a connection, if that was not told yet.
    ///
    /// - Returns: Whether the exchange goes on.
    func payConnectNotice() -> Bool {
        guard owesConnectNotice else { return exchange != nil }
        owesConnectNotice = false
        guard let exchange else { return false }
        // What does not change is asked of the system once.
        if localAddress == nil { localAddress = socket.localAddress }
        let facts = HTTPConnectionFacts(
            remoteAddress: socket.remoteAddress,
            localAddress: localAddress,
            isReused: useCount > 1,
            tls: key.scheme == .https ? socket.tlsInfo : nil,
            applicationProtocol: "http/1.1"
        )
        exchange.metrics.localAddress = localAddress
        return exchange.tell { try $0.exchange(exchange, didConnect: facts) }
    }

    /// The exchange has ended by itself, or by its caller.
    func abandon(_ exchange: HTTPExchange) {
        guard self.exchange === exchange else { return }
        self.exchange = nil
        close(abruptly: true)
    }

    // MARK: Idling

    /// Waits for the next exchange; the end, or any byte, makes it useless.
    func becomeIdle(for time: Duration) {
        phase = .idle
        client = nil
        idleLimit = peerLimit.map { min($0, time) } ?? time
        response = nil
        progressed()
    }

    /// A second less than the peer says that it keeps a connection for.
    private var peerLimit: Duration? {
        guard let response else { return nil }
        return ReuseRules.keepAliveSeconds(response.headers).map { .seconds(max(0, $0 - 1)) }
    }

    // MARK: Its end

    /// Ends the connection by our own decision; no exchange is told.
    func close(abruptly: Bool = false) {
        guard leave() else { return }
        guard socket.state != .idle else {
            // No farewell comes that would part the two, which hold each other.
            socket.delegate = nil
            return
        }
        if abruptly { socket.abort() } else { socket.disconnect() }
    }

    /// Leaves the pool; false if it was over already.
    func leave() -> Bool {
        let last = phase
        guard case .closed = last else {
            phase = .closed
            ticket?.drop()
            ticket = nil
            watch?.cancel()
            watch = nil
            tunnel = nil
            source = nil
            decoding = nil
            heldBody = []
            sponsor = nil
            let client = self.client
            self.client = nil
            pool.isGone(self, was: last, client: client)
            let next = afterDrain
            afterDrain = nil
            next?()
            return true
        }
        return false
    }
}

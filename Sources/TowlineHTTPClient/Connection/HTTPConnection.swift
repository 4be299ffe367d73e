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

    let key: PoolKey
    let pool: HTTPPool
    let socket: StreamSocket
    let reactor: Reactor

    var phase = Phase.opening(.lookingUp)

    /// Held while it is opened or busy, so that its settings are there.
    var client: HTTPClient?

    /// For whom it is opened.
    var sponsor: HTTPExchange?

    /// Answers of a lookup find their way by it.
    var ticket: LookupTicket?
    var triedHost = ""
    /// Whether the addresses that are connected to were looked up.
    var isLookedUp = false
    /// The tunnel that is being asked for.
    var tunnel: TunnelOpening?
    /// What came through a tunnel before anything was sent.
    var tunnelLeftover: [UInt8] = []

    /// How many exchanges it has served, the current one included.
    var useCount = 0

    // What the current exchange needs.

    /// Whom it serves; `nil` while it only drains.
    var exchange: HTTPExchange?
    var parser: HTTP1Parser
    var dialogue = HTTP1Dialogue(hasBody: false, waitsForContinue: false)
    var source: BodySource?
    var outstandingPieceCount = 0
    var isPumping = false
    var sourceHasEnded = false
    var sentAtStart = 0
    var owesConnectNotice = false
    var requestCloses = false
    var response: HTTPResponseHead?
    var decoding: ContentDecoding?
    /// Coded bytes that came with others and that the caller has not let come yet.
    var heldBody: [UInt8] = []
    /// Bytes behind the end of the response.
    var hasStrayBytes = false
    /// How many bytes of a body that nobody wants may still come.
    var drainAllowance = 0
    /// What follows when the rest of the body is drained.
    var afterDrain: (() -> Void)?

    /// Facts of the connection, for each exchange that it serves.
    var times = OpeningTimes()

    // The one timer of a connection: what it watches for depends on what is under way.

    var watch: Reactor.Timer?
    var watchDeadline = MonotonicInstant.distantFuture
    var lastProgress = MonotonicInstant(nanoseconds: 0)
    var idleLimit = Duration.zero

    /// When the steps of opening were done.
    struct OpeningTimes {
        var began = MonotonicInstant(nanoseconds: 0)
        var lookedUp: MonotonicInstant?
        var connected: MonotonicInstant?
        var secured: MonotonicInstant?
    }

    init(key: PoolKey, client: HTTPClient, pool: HTTPPool) {
        self.key = key
        self.client = client
        self.pool = pool
        reactor = client.reactor
        socket = StreamSocket(reactor: client.reactor)
        let configuration = client.configuration
        parser = HTTP1Parser(profile: configuration.profile, limits: configuration.limits)
    }

    var isIdle: Bool { if case .idle = phase { true } else { false } }

    var isPending: Bool { if case .opening = phase { true } else { false } }

    var isSecuring: Bool { if case .opening(.securing) = phase { true } else { false } }

    // MARK: Serving

    /// Sends the request of an exchange; nobody is called back from within.
    func serve(_ exchange: HTTPExchange, for client: HTTPClient) {
        guard let hop = exchange.hop else { return }
        self.client = client
        phase = .busy
        useCount += 1
        self.exchange = exchange
        exchange.isServed(by: self)
        owesConnectNotice = true
        // A tunnel is handed over as it is.
        guard let outgoing = exchange.outgoing else { return note(exchange) }
        beginMessage(hop, outgoing)
        note(exchange)
        send(outgoing)
        progressed()
    }

    private func beginMessage(_ hop: Hop, _ outgoing: OutgoingRequest) {
        response = nil
        decoding = nil
        hasStrayBytes = false
        requestCloses = outgoing.closes
        let allowsHTTP09 = client?.configuration.allowsHTTP09 == true && useCount == 1
        parser.begin(
            HTTP1Parser.Expectation(
                method: hop.request.method,
                isUpgrade: !hop.request.upgrade.isEmpty,
                allowsHTTP09: allowsHTTP09
            )
        )
    }

    /// Tells the exchange's metrics what is known of the connection.
    private func note(_ exchange: HTTPExchange) {
        exchange.metrics.requestCount += 1
        exchange.metrics.isReused = useCount > 1
        exchange.metrics.remoteAddress = socket.remoteAddress
        exchange.metrics.requestBegan = exchange.elapsed
        guard useCount == 1 else { return }
        exchange.metrics.connectionCount += 1
        exchange.metrics.lookedUp = times.lookedUp?.since(exchange.began)
        exchange.metrics.connected = times.connected?.since(exchange.began)
        exchange.metrics.secured = times.secured?.since(exchange.began)
    }

    /// Tells the exchange that it has a connection, if that was not told yet.
    ///
    /// - Returns: Whether the exchange goes on.
    func payConnectNotice() -> Bool {
        guard owesConnectNotice else { return exchange != nil }
        owesConnectNotice = false
        guard let exchange else { return false }
        let facts = HTTPConnectionFacts(
            remoteAddress: socket.remoteAddress,
            localAddress: socket.localAddress,
            isReused: useCount > 1,
            tls: socket.tlsInfo,
            applicationProtocol: "http/1.1"
        )
        exchange.metrics.localAddress = facts.localAddress
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

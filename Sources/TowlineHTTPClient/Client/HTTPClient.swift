public import Towline
internal import TowlineHTTP

/// Sends HTTP requests over connections that it keeps.
///
///     let client = HTTPClient(reactor: reactor)
///     let exchange = client.start(HTTPRequest(.get, "https://box.test/"), delegate: self)
///
/// It lives on its reactor, is used from its thread, and calls back there. Whoever lets go of it
/// leaves exchanges that are under way undisturbed; idle connections are closed.
///
/// It is made of nothing but what this package offers to everybody.
public final class HTTPClient {
    /// The reactor that it lives on.
    public let reactor: Reactor

    /// What holds for requests that are started from now on.
    @exclusivity(unchecked)
    public var configuration: Configuration {
        didSet {
            lastPlace = nil
            places = []
            pool.configurationChanged()
        }
    }

    let pool: HTTPPool

    // Touched by the reactor's thread only, and no access spans a call to anybody else.

    /// The URL that was taken apart last, since the next request may well ask for the same.
    @exclusivity(unchecked) var lastURL: (text: String, url: HTTPURL)?
    /// What is known of the place that was asked last, and of some that were asked before.
    @exclusivity(unchecked) var lastPlace: KnownPlace?
    @exclusivity(unchecked) var places: [KnownPlace] = []
    @exclusivity(unchecked) private var ownResolver: (any Resolver)?

    /// What those who ask who asks have led to.
    let credentials = CredentialMemory()

    /// Those under way; each is held until its end.
    @exclusivity(unchecked) private(set) var exchanges: [HTTPExchange] = []

    /// Set while exchanges are under way; see ``EndWatch``.
    @exclusivity(unchecked) private var endWatch: Reactor.Timer?
    @exclusivity(unchecked) fileprivate var endWatchNumber = 0

    /// Whether the reactor has been seen to take no more calls.
    @exclusivity(unchecked) var reactorIsEnding = false

    /// Makes a client, which does nothing yet.
    ///
    /// - Parameters:
    ///   - reactor: Where it lives.
    ///   - configuration: What holds for its requests.
    ///   - resolver: What looks names up, living on the same reactor; `nil`, what the configuration
    ///     makes, or else the reactor's own.
    public init(
        reactor: Reactor,
        configuration: Configuration = .init(),
        resolver: (any Resolver)? = nil
    ) {
        self.reactor = reactor
        ownResolver = resolver
        self.configuration = configuration
        pool = HTTPPool()
    }

    deinit {
        pool.closeIdle()
    }

    /// Starts an exchange; every callback comes later.
    ///
    /// The reactor's end ends it with ``HTTPError/cancelled``; where the reactor has ended already,
    /// from within this call.
    ///
    /// - Parameters:
    ///   - request: What to ask.
    ///   - delegate: Who hears of it, held weakly: when it goes away, the exchange is cancelled.
    /// - Returns: The exchange, which the client holds until its end.
    @discardableResult
    public func start(
        _ request: HTTPRequest,
        delegate: any HTTPExchangeDelegate
    ) -> HTTPExchange {
        start(HTTPExchange(request, client: self, delegate: delegate))
    }

    /// Starts an exchange that holds its delegate until its end.
    ///
    /// - Parameters:
    ///   - request: What to ask.
    ///   - delegate: Who hears of it.
    /// - Returns: The exchange, which the client holds until its end.
    @discardableResult
    public func start(
        _ request: HTTPRequest,
        keeping delegate: any HTTPExchangeDelegate
    ) -> HTTPExchange {
        let exchange = HTTPExchange(request, client: self, delegate: delegate)
        exchange.keptDelegate = delegate
        return start(exchange)
    }

    /// Opens a connection to a place, through a tunnel where the proxy's rules for http say so.
    ///
    /// It ends with ``HTTPExchangeDelegate/exchange(_:didUpgrade:leftover:)``, or fails: names,
    /// detours, proxies and time limits are those of requests. Nothing is secured; whoever gets the
    /// socket may do that.
    ///
    /// - Parameters:
    ///   - place: Where to.
    ///   - proxy: Which proxy is asked; `nil`, as the configuration says.
    ///   - delegate: Who hears of it, held weakly: when it goes away, the exchange is cancelled.
    /// - Returns: The exchange, which the client holds until its end.
    @discardableResult
    public func openTunnel(
        to place: HTTPHostPort,
        through proxy: HTTPProxyRules? = nil,
        delegate: any HTTPExchangeDelegate
    ) -> HTTPExchange {
        var request = HTTPRequest(.connect, "http://\(place)/")
        request.proxy = proxy
        return start(HTTPExchange(request, client: self, delegate: delegate, isTunnel: true))
    }

    /// Closes all connections that serve nobody.
    public func closeIdleConnections() {
        pool.closeIdle()
    }

    /// How many connections there are, and how many of them serve nobody.
    public var connectionCounts: (all: Int, idle: Int) { pool.counts }

    /// How many exchanges are under way.
    public var exchangeCount: Int { exchanges.count }

    private func start(_ exchange: HTTPExchange) -> HTTPExchange {
        exchange.place = exchanges.count
        exchanges.append(exchange)
        if endWatch == nil { watchForEnd() }
        exchange.begin()
        if reactorIsEnding { reactorHasEnded() }
        return exchange
    }

    func forget(_ exchange: HTTPExchange) {
        // The last one takes its place.
        let last = exchanges.removeLast()
        if last !== exchange {
            last.place = exchange.place
            exchanges[exchange.place] = last
        }
        guard exchanges.isEmpty else { return }
        endWatchNumber += 1
        endWatch?.cancel()
        endWatch = nil
    }

    // MARK: The reactor's end

    private func watchForEnd() {
        let watch = EndWatch(self, number: endWatchNumber + 1)
        let timer = reactor.schedule(after: EndWatch.time) { withExtendedLifetime(watch) {} }
        guard timer.isPending else { return reactorIsEnding = true }
        endWatch = timer
        endWatchNumber += 1
    }

    /// No callback comes from a turn any more: whoever still waits for one gets it now.
    fileprivate func reactorHasEnded() {
        reactorIsEnding = true
        for exchange in exchanges { exchange.endWithReactor() }
    }

    /// What looks names up for this client.
    var resolver: any Resolver {
        if let ownResolver { return ownResolver }
        let made = configuration.makeResolver?(reactor) ?? reactor.resolver
        ownResolver = made
        return made
    }
}

/// Learns of the reactor's end, which the sockets alone do not tell to exchanges that have none.
///
/// A timer that is never meant to fire holds it, and lets go of it when the reactor ends.
private final class EndWatch {
    /// A year.
    static let time = Duration.seconds(365 * 24 * 3600)

    private weak var client: HTTPClient?
    private let number: Int

    init(_ client: HTTPClient, number: Int) {
        self.client = client
        self.number = number
    }

    deinit {
        // One whose timer was cancelled is not the current one any more.
        if let client, client.endWatchNumber == number { client.reactorHasEnded() }
    }
}

public import Towline

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
    public var configuration: Configuration {
        didSet { pool.configurationChanged() }
    }

    let pool: HTTPPool
    private var ownResolver: (any Resolver)?

    /// Those under way; each is held until its end.
    private(set) var exchanges: [ObjectIdentifier: HTTPExchange] = [:]

    /// Makes a client, which does nothing yet.
    ///
    /// - Parameters:
    ///   - reactor: Where it lives.
    ///   - configuration: What holds for its requests.
    public init(reactor: Reactor, configuration: Configuration = .init()) {
        self.reactor = reactor
        self.configuration = configuration
        pool = HTTPPool()
    }

    deinit {
        pool.closeIdle()
    }

    /// Starts an exchange; every callback comes later.
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

    /// Closes all connections that serve nobody.
    public func closeIdleConnections() {
        pool.closeIdle()
    }

    /// How many connections there are, and how many of them serve nobody.
    public var connectionCounts: (all: Int, idle: Int) { pool.counts }

    /// How many exchanges are under way.
    public var exchangeCount: Int { exchanges.count }

    private func start(_ exchange: HTTPExchange) -> HTTPExchange {
        exchanges[ObjectIdentifier(exchange)] = exchange
        exchange.begin()
        return exchange
    }

    func forget(_ exchange: HTTPExchange) {
        exchanges[ObjectIdentifier(exchange)] = nil
    }

    /// What looks names up for this client.
    var resolver: any Resolver {
        if let ownResolver { return ownResolver }
        let made = configuration.makeResolver?(reactor) ?? reactor.resolver
        ownResolver = made
        return made
    }
}

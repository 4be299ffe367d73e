public import Towline
public import TowlineHTTP
public import TowlineTLS

/// Asks a lookup service at a fixed address, over HTTP, for the addresses of names.
///
///     let lookups = try HTTPLookupResolver(
///         reactor: reactor,
///         service: "http://192.0.2.53/d?host=%s",
///         fallback: reactor.resolver
///     )
///     let client = HTTPClient(reactor: reactor, resolver: lookups)
///
/// Where there is no reactor yet, as in a configuration that is passed on:
///
///     let service = try HTTPLookupService("http://192.0.2.53/d?host=%s")
///     configuration.makeResolver = { reactor in
///         HTTPLookupResolver(reactor: reactor, service: service, fallback: reactor.resolver)
///     }
///
/// The service answers a GET with status 200 and one of these, of 64 KiB at most:
///
/// - Plain text: addresses with `;`, `,`, blanks or line ends between, and behind one of them
///   perhaps a whole number, the time to live in seconds: `192.0.2.7;2001:db8::7,60`. A text with
///   nothing in it says that the name has no address.
/// - `{"ips": ["192.0.2.7"], "ipsv6": ["2001:db8::7"], "ttl": 60}`, where all but one of the lists
///   may be missing.
/// - `{"Status": 0, "Answer": [{"type": 1, "TTL": 60, "data": "192.0.2.7"}]}`, the JSON of DNS
///   services; types 1 and 28 are taken. Status 3 says that nobody has the name.
///
/// Anything else, another status or a redirect included, is a failure of the service: then the
/// fallback is asked, if there is one. That a name has no address is an answer, and no failure.
///
/// Lives on a reactor and is used from its thread. Answers are kept for their time to live, equal
/// lookups under way are one, and its own requests look nothing up.
public final class HTTPLookupResolver: ForgetfulResolver {
    /// How the service is asked.
    public struct Options: Sendable {
        /// Where the service is, if its URL names it by name.
        public var addresses: [IPAddress] = []
        /// Fields that are sent along, such as a key.
        public var headers: HTTPHeaders = [:]
        /// How a service of https is secured.
        public var tls = TLSConfiguration.client
        /// How long the service has to answer; 3 s.
        public var timeout = Duration.seconds(3)
        /// How long the fallback has to answer then; 10 s.
        public var fallbackTimeout = Duration.seconds(10)
        /// How long answers are kept.
        public var caching = ResolverCaching()

        /// The usual ones.
        public init() {}
    }

    private let reactor: Reactor
    private let service: HTTPLookupService
    private let fallback: (any Resolver)?
    private let desk: LookupDesk
    private let client: HTTPClient

    /// A resolver that asks a service.
    ///
    /// - Parameters:
    ///   - reactor: Where it lives.
    ///   - service: Who is asked, and how.
    ///   - fallback: Who is asked when the service fails, such as `reactor.resolver`; `nil`,
    ///     nobody.
    public init(
        reactor: Reactor,
        service: HTTPLookupService,
        fallback: (any Resolver)? = nil
    ) {
        self.reactor = reactor
        self.service = service
        self.fallback = fallback
        let options = service.options
        desk = LookupDesk(reactor, options.caching)
        var configuration = HTTPClient.Configuration()
        let table = [service.host: options.addresses]
        configuration.makeResolver = { _ in FixedResolver(table) }
        configuration.tls = options.tls
        configuration.redirects = .show
        configuration.maxDecodedBytes = UInt64(LookupAnswer.byteLimit)
        configuration.timeouts.total = options.timeout
        configuration.idleTime = .seconds(10)
        client = HTTPClient(reactor: reactor, configuration: configuration)
    }

    /// A resolver that asks a service by its template.
    ///
    /// - Parameters:
    ///   - reactor: Where it lives.
    ///   - template: The URL to ask, in which `%s` stands for the name.
    ///   - options: How it is asked.
    ///   - fallback: Who is asked when the service fails; `nil`, nobody.
    /// - Throws: ``HTTPError/invalidURL(_:reason:)``, as of ``HTTPLookupService/init(_:options:)``.
    public convenience init(
        reactor: Reactor,
        service template: String,
        options: Options = .init(),
        fallback: (any Resolver)? = nil
    ) throws(HTTPError) {
        let service = try HTTPLookupService(template, options: options)
        self.init(reactor: reactor, service: service, fallback: fallback)
    }

    /// Brings what the service answers, or has answered a while ago.
    public func resolve(
        _ host: String,
        port: UInt16,
        reply: @escaping @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
    ) {
        desk.ask(host, port: port, reply: reply) { name, done in
            var request = HTTPRequest(.get, service.url(for: name))
            request.headers = service.options.headers
            client.start(
                request,
                keeping: LookupExchange { [weak self] in self?.heard($0, name, done) }
            )
        }
    }

    /// Drops what is kept of a name, here and with the fallback.
    public func forget(_ host: String) {
        desk.forget(host)
        (fallback as? any ForgetfulResolver)?.forget(host)
    }

    private func heard(
        _ answer: LookupAnswer,
        _ name: String,
        _ done: @escaping (LookupDesk.Answer) -> Void
    ) {
        switch answer {
        case .addresses([], _): done(.failure(.noAddress))
        case .addresses(let found, let seconds):
            let addresses = found.map { SocketAddress($0, port: 0) }
            let age = seconds.map { Duration.seconds($0) }
            done(.success(ResolvedAddresses(addresses: addresses, timeToLive: age)))
        case .noSuchHost: done(.failure(.noSuchHost))
        case .failure(let reason):
            guard let fallback else {
                return done(.failure(.other("the lookup service failed: \(reason)")))
            }
            fallback.ask(name, on: reactor, within: service.options.fallbackTimeout, done)
        }
    }
}

/// One question to the service.
private final class LookupExchange: HTTPExchangeDelegate {
    private let done: (LookupAnswer) -> Void
    private var status = 0
    private var body: [UInt8] = []

    init(_ done: @escaping (LookupAnswer) -> Void) {
        self.done = done
    }

    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) {
        status = response.status
    }

    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) throws {
        guard body.count + bytes.byteCount <= LookupAnswer.byteLimit else { throw TooLong() }
        body += [UInt8](bytes)
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        done(status == 200 ? LookupAnswer(body) : .failure("it answered with status \(status)"))
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        done(.failure("\(error)"))
    }

    private struct TooLong: Error {}
}

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

    /// What stands for the name in the template.
    private static let placeholder = "%s"

    private let reactor: Reactor
    private let template: String
    private let options: Options
    private let fallback: (any Resolver)?
    private let desk: LookupDesk
    private let client: HTTPClient

    /// A resolver that asks a service.
    ///
    /// - Parameters:
    ///   - reactor: Where it lives.
    ///   - template: The URL to ask, in which `%s` stands for the name.
    ///   - options: How it is asked.
    ///   - fallback: Who is asked when the service fails, such as `reactor.resolver`; `nil`, nobody.
    /// - Throws: ``HTTPError/invalidURL(_:reason:)`` for a template that is no URL, has no `%s`, or
    ///   names its host by a name while the options give no address for it.
    public init(
        reactor: Reactor,
        service template: String,
        options: Options = .init(),
        fallback: (any Resolver)? = nil
    ) throws(HTTPError) {
        let host = try Self.checkedHost(template, options)
        self.reactor = reactor
        self.template = template
        self.options = options
        self.fallback = fallback
        desk = LookupDesk(reactor, options.caching)
        var configuration = HTTPClient.Configuration()
        configuration.makeResolver = { _ in FixedResolver([host: options.addresses]) }
        configuration.tls = options.tls
        configuration.redirects = .show
        configuration.maxDecodedBytes = UInt64(LookupAnswer.byteLimit)
        configuration.timeouts.total = options.timeout
        configuration.idleTime = .seconds(10)
        client = HTTPClient(reactor: reactor, configuration: configuration)
    }

    private static func checkedHost(
        _ template: String,
        _ options: Options
    ) throws(HTTPError) -> String {
        let url: HTTPURL
        do throws(HTTPURLError) {
            url = try HTTPURL(filled(template, with: "name"))
        } catch {
            throw .invalidURL(template, reason: error.description)
        }
        let places = template.split(separator: placeholder, omittingEmptySubsequences: false)
        guard places.count > 1 else {
            throw .invalidURL(template, reason: "there is no \(placeholder) for the name")
        }
        guard url.host.isAddress || !options.addresses.isEmpty else {
            throw .invalidURL(template, reason: "the address of \(url.host) is not given")
        }
        return url.host.text
    }

    /// The template with a name in it, of which all is encoded that may mean something there.
    private static func filled(_ template: String, with name: String) -> String {
        var encoded = ""
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return template.split(separator: placeholder, omittingEmptySubsequences: false)
            .joined(separator: encoded)
    }

    /// Brings what the service answers, or has answered a while ago.
    public func resolve(
        _ host: String,
        port: UInt16,
        reply: @escaping @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
    ) {
        desk.ask(host, port: port, reply: reply) { name, done in
            var request = HTTPRequest(.get, Self.filled(template, with: name))
            request.headers = options.headers
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
            fallback.ask(name, on: reactor, within: options.fallbackTimeout, done)
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

import Towline
import TowlineHTTP
import TowlineHTTPClient

/// Keeps what was heard of an exchange.
final class ExchangeRecorder: HTTPExchangeDelegate {
    enum Event: Equatable {
        case connected(isReused: Bool)
        case sent(UInt64, of: UInt64?)
        case interim(Int)
        case redirect(String)
        case asked(answerCount: Int)
        case response(Int)
        case loaded(Int)
        case trailers([String])
        case upgraded
        case finished
        case failed
    }

    private(set) var events: [Event] = []
    private(set) var response: HTTPResponse?
    private(set) var body: [UInt8] = []
    private(set) var error: HTTPError?
    private(set) var metrics: HTTPMetrics?
    private(set) var leftover: [UInt8] = []
    private(set) var socket: StreamSocket?

    /// Called behind each event; what it throws, the callback throws.
    var onEvent: ((HTTPExchange, Event) throws -> Void)?
    /// Called with a connection that was handed over.
    var onUpgrade: ((StreamSocket) -> Void)?
    var redirectDecision: ((HTTPRequest) -> HTTPRedirectDecision)?
    /// Answers who asks; without it nobody does.
    var onQuestion: ((HTTPCredentialRequest, @escaping (HTTPCredential?) -> Void) -> Void)?

    /// How many ending callbacks came.
    var endCount: Int {
        events.filter { $0 == .finished || $0 == .failed || $0 == .upgraded }.count
    }
    var hasEnded: Bool { endCount > 0 }
    var text: String { String(decoding: body, as: UTF8.self) }
    /// How it went, in a word or two.
    var outcome: String {
        if let error { return "failed: \(error)" }
        return hasEnded ? "\(response?.status ?? 0)" : "under way"
    }

    private func note(_ event: Event, _ exchange: HTTPExchange) throws {
        events.append(event)
        try onEvent?(exchange, event)
    }

    func exchange(_ exchange: HTTPExchange, didConnect connection: HTTPConnectionFacts) throws {
        try note(.connected(isReused: connection.isReused), exchange)
    }

    func exchange(_ exchange: HTTPExchange, didSend byteCount: UInt64, of total: UInt64?) throws {
        try note(.sent(byteCount, of: total), exchange)
    }

    func exchange(_ exchange: HTTPExchange, didReceiveInterim head: HTTPResponseHead) throws {
        try note(.interim(head.status), exchange)
    }

    func exchange(
        _ exchange: HTTPExchange,
        willRedirectTo request: HTTPRequest,
        after response: HTTPResponse
    ) -> HTTPRedirectDecision {
        events.append(.redirect(request.url))
        return redirectDecision?(request) ?? .follow
    }

    func exchange(
        _ exchange: HTTPExchange,
        needsCredentialFor challenge: HTTPCredentialRequest,
        reply: @escaping (HTTPCredential?) -> Void
    ) {
        events.append(.asked(answerCount: challenge.answerCount))
        guard let onQuestion else { return reply(nil) }
        onQuestion(challenge, reply)
    }

    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) throws {
        self.response = response
        try note(.response(response.status), exchange)
    }

    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) throws {
        body += [UInt8](bytes)
        try note(.loaded(bytes.byteCount), exchange)
    }

    func exchange(_ exchange: HTTPExchange, didReceiveTrailers trailers: HTTPHeaders) throws {
        try note(
            .trailers(trailers.map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" }),
            exchange
        )
    }

    func exchange(
        _ exchange: HTTPExchange,
        didUpgrade socket: StreamSocket,
        leftover: RawSpan
    ) throws {
        self.socket = socket
        self.leftover = [UInt8](leftover)
        onUpgrade?(socket)
        try note(.upgraded, exchange)
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        self.metrics = metrics
        events.append(.finished)
        try? onEvent?(exchange, .finished)
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        self.metrics = metrics
        self.error = error
        events.append(.failed)
        try? onEvent?(exchange, .failed)
    }
}

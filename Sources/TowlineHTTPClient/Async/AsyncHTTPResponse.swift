public import TowlineHTTP

/// A response of an ``AsyncHTTPClient``: its head, and its body as it is asked for.
///
/// Whoever lets go of it, and of its body, before the body's end cancels the exchange, and so
/// closes the connection.
public struct AsyncHTTPResponse: Sendable {
    /// The head, and where it came from.
    public let response: HTTPResponse

    /// The content, decoded where the response says so.
    public let body: Body

    private let collectLimit: Int

    init(_ response: HTTPResponse, _ claim: AsyncExchangeClaim, collectLimit: Int) {
        self.response = response
        self.collectLimit = collectLimit
        body = Body(claim: claim)
    }

    /// The URL that answered, redirects followed.
    public var url: HTTPURL { response.url }

    /// The status code, 200 through 999; 101 where the server has changed to another protocol.
    public var status: Int { response.status }

    /// The fields as they came.
    public var headers: HTTPHeaders { response.headers }

    /// The version that the server speaks.
    public var version: HTTPVersion { response.version }

    /// Whether the status is 200 through 299.
    public var isSuccess: Bool { response.isSuccess }

    /// Whether the content is decoded, so that the fields speak of other bytes.
    public var isDecoded: Bool { response.isDecoded }

    /// How many bytes of content will come; `nil` where nobody knows, or where they are decoded.
    public var contentLength: UInt64? { response.contentLength }

    /// The fields that came behind the body; none before its end.
    public var trailers: HTTPHeaders { body.claim.exchange.outcome.trailers }

    /// How the exchange went; `nil` before its end.
    public var metrics: HTTPMetrics? { body.claim.exchange.outcome.metrics }

    /// Reads the whole body, or what is left of it.
    ///
    /// - Parameter limit: The most bytes that there may be; `nil`, as the configuration says.
    /// - Returns: The bytes.
    /// - Throws: ``HTTPError``, with ``HTTPError/limit(_:)`` for more bytes, which cancels the
    ///   exchange; `CancellationError`.
    public nonisolated(nonsending) func collect(upTo limit: Int? = nil) async throws -> [UInt8] {
        let limit = max(0, limit ?? collectLimit)
        let exchange = body.claim.exchange
        return try await exchange.onReactor {
            try await exchange.collect(upTo: limit, expecting: contentLength)
        }
    }

    /// Gives the body up, and so the exchange: whatever waits for it throws
    /// ``HTTPError/cancelled``.
    public func cancel() {
        body.claim.exchange.letGo()
    }

    /// The content of a response, part by part.
    ///
    ///     for try await part in response.body { try file.write(part) }
    ///
    /// Parts are as large as what has come meanwhile. Where nobody asks for the next one, 64 KiB
    /// and one part wait at most; then the peer has to. Leaving the loop before the end cancels the
    /// exchange. It can be gone through once: several tasks that do share the parts.
    public struct Body: AsyncSequence, Sendable {
        let claim: AsyncExchangeClaim

        /// Begins to ask for parts.
        public func makeAsyncIterator() -> Iterator { Iterator(claim: claim) }

        /// Asks for one part after the other.
        public struct Iterator: AsyncIteratorProtocol {
            /// The response's own, which may be let go of meanwhile.
            private let claim: AsyncExchangeClaim
            private let own: AsyncExchangeClaim

            init(claim: AsyncExchangeClaim) {
                self.claim = claim
                own = AsyncExchangeClaim(claim.exchange)
            }

            /// Waits for the next part.
            ///
            /// - Returns: The part, at least one byte; `nil` at the end.
            /// - Throws: ``HTTPError``; `CancellationError`.
            public nonisolated(nonsending) mutating func next() async throws -> [UInt8]? {
                let exchange = claim.exchange
                return try await exchange.onReactor { try await exchange.next() }
            }
        }
    }
}

/// An interest in the rest of an exchange: going away, it cancels one that has not ended.
final class AsyncExchangeClaim: Sendable {
    let exchange: AsyncExchange

    init(_ exchange: AsyncExchange) {
        self.exchange = exchange
    }

    deinit {
        exchange.letGo()
    }
}

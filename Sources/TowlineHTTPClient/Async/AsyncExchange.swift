internal import Synchronization
internal import Towline
internal import TowlineHTTP

/// What is left of an exchange, for whoever asks from any thread.
struct AsyncOutcome: Sendable {
    var trailers: HTTPHeaders = [:]
    /// Set by the end.
    var metrics: HTTPMetrics?
    /// Nothing more comes, or nobody wants it.
    var isOver = false
}

/// The delegate behind an ``AsyncHTTPResponse``: one continuation a call, each resumed once, from a
/// turn; and the bytes that nobody has asked for yet.
// Sendable since what changes in it is touched on the reactor's thread only, or, behind the
// reactor's end, on the one that stands in for it; but the outcome, which has a lock.
final class AsyncExchange: HTTPExchangeDelegate, @unchecked Sendable {
    typealias HeadContinuation = UnsafeContinuation<HTTPResponse, any Error>
    typealias PartContinuation = UnsafeContinuation<[UInt8]?, any Error>

    /// So many bytes may wait before no more are let come.
    private static let waitingLimit = 64 * 1024

    private let handle: ReactorHandle
    private let options: AsyncHTTPOptions
    private let sharedOutcome = Mutex(AsyncOutcome())

    /// `nil` before its start and behind its end.
    private var exchange: HTTPExchange?
    private var waitsForHead: HeadContinuation?
    private var waitsForPart: [(number: Int, PartContinuation)] = []
    private var lastNumber = 0
    /// Came before it was asked for.
    private var waitingBytes: [UInt8] = []
    private var end: Result<Void, HTTPError>?
    /// Finds out who asks.
    private var inquiry: Task<Void, Never>?
    private var inquiryReply: ((HTTPCredential?) -> Void)?

    init(_ handle: ReactorHandle, _ options: AsyncHTTPOptions) {
        self.handle = handle
        self.options = options
    }

    /// What is known by now; any thread may ask.
    var outcome: AsyncOutcome { sharedOutcome.withLock { $0 } }

    // MARK: Any thread

    /// Does `body` on the reactor's thread, at once if that is the caller's.
    nonisolated(nonsending) func onReactor<Value: Sendable>(
        _ body: nonisolated(nonsending) @Sendable () async throws -> Value
    ) async throws -> Value {
        if handle.serialExecutor.isIsolatingCurrentContext() == true { return try await body() }
        return try await withTaskExecutorPreference(handle.taskExecutor) { try await body() }
    }

    /// Nobody wants the rest.
    func letGo() {
        let wasOver = sharedOutcome.withLock { outcome in
            defer { outcome.isOver = true }
            return outcome.isOver
        }
        if !wasOver { handle.execute { [self] _ in cancel() } }
    }

    // MARK: What the caller does

    func start(_ request: HTTPRequest, by client: HTTPClient, _ continuation: HeadContinuation) {
        waitsForHead = continuation
        let exchange = client.start(request, keeping: self)
        // Where the reactor has ended, it was told of the end already.
        if end == nil { self.exchange = exchange }
    }

    /// The task that waits for the head is cancelled; it may have it already.
    func cancelStart() {
        guard let waiting = waitsForHead else { return }
        waitsForHead = nil
        waiting.resume(throwing: CancellationError())
        cancel()
    }

    func cancel() {
        waitingBytes = []
        exchange?.cancel()
    }

    func next(isolation: isolated (any Actor)? = #isolation) async throws -> [UInt8]? {
        if Task.isCancelled {
            cancel()
            throw CancellationError()
        }
        if let part = takePart() { return part }
        if let end {
            try end.get()
            return nil
        }
        lastNumber += 1
        let number = lastNumber
        return try await withTaskCancellationHandler {
            _ = isolation
            return try await withUnsafeThrowingContinuation { waitsForPart.append((number, $0)) }
        } onCancel: {
            handle.execute { _ in self.cancelWait(number) }
        }
    }

    private func cancelWait(_ number: Int) {
        guard let index = waitsForPart.firstIndex(where: { $0.number == number }) else { return }
        waitsForPart.remove(at: index).1.resume(throwing: CancellationError())
        cancel()
    }

    func collect(
        upTo limit: Int,
        expecting length: UInt64?,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        var isTooLong = length.map { $0 > UInt64(limit) } ?? false
        while !isTooLong, let part = try await next() {
            isTooLong = part.count > limit - bytes.count
            if bytes.isEmpty { bytes = part } else if !isTooLong { bytes += part }
        }
        guard isTooLong else { return bytes }
        cancel()
        throw HTTPError.limit(.content(UInt64(limit)))
    }

    /// All that waits, which lets more come.
    private func takePart() -> [UInt8]? {
        guard !waitingBytes.isEmpty else { return nil }
        defer { waitingBytes = [] }
        exchange?.resume()
        return waitingBytes
    }

    // MARK: Callbacks

    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) throws {
        waitsForHead?.resume(returning: response)
        waitsForHead = nil
    }

    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) throws {
        guard waitsForPart.isEmpty else {
            return waitsForPart.removeFirst().1.resume(returning: [UInt8](bytes))
        }
        bytes.withUnsafeBytes { waitingBytes += $0 }
        if waitingBytes.count >= Self.waitingLimit { exchange.suspend() }
    }

    func exchange(_ exchange: HTTPExchange, didReceiveTrailers trailers: HTTPHeaders) throws {
        sharedOutcome.withLock { $0.trailers = trailers }
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        finish(.success(()), metrics)
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        finish(.failure(error), metrics)
    }

    func exchange(
        _ exchange: HTTPExchange,
        didUpgrade socket: StreamSocket,
        leftover: RawSpan
    ) throws {
        finish(.success(()), nil)
        socket.disconnect()
    }

    private func finish(_ end: Result<Void, HTTPError>, _ metrics: HTTPMetrics?) {
        self.end = end
        exchange = nil
        inquiry?.cancel()
        inquiryReply = nil
        sharedOutcome.withLock { outcome in
            outcome.metrics = metrics
            outcome.isOver = true
        }
        let head = waitsForHead
        waitsForHead = nil
        let parts = waitsForPart
        waitsForPart = []
        switch end {
        case .success:
            head?.resume(throwing: HTTPError.unexpectedUpgrade)
            for (_, part) in parts { part.resume(returning: nil) }
        case .failure(let error):
            head?.resume(throwing: error)
            for (_, part) in parts { part.resume(throwing: error) }
        }
    }

    // MARK: Questions, and what else is heard

    func exchange(
        _ exchange: HTTPExchange,
        willRedirectTo request: HTTPRequest,
        after response: HTTPResponse
    ) -> HTTPRedirectDecision {
        options.willRedirect?(request, response) ?? .follow
    }

    func exchange(
        _ exchange: HTTPExchange,
        needsCredentialFor challenge: HTTPCredentialRequest,
        reply: @escaping (HTTPCredential?) -> Void
    ) {
        guard let credential = options.credential else { return reply(nil) }
        inquiryReply = reply
        inquiry = Task(executorPreference: handle.taskExecutor) { [self] in
            answerInquiry(await credential(challenge))
        }
    }

    private func answerInquiry(_ credential: HTTPCredential?) {
        // Taken out by the end, behind which nobody asks any more.
        let reply = inquiryReply
        inquiryReply = nil
        inquiry = nil
        reply?(credential)
    }

    func exchange(_ exchange: HTTPExchange, didConnect connection: HTTPConnectionFacts) throws {
        try options.didConnect?(connection)
    }

    func exchange(_ exchange: HTTPExchange, didSend byteCount: UInt64, of total: UInt64?) throws {
        try options.didSend?(byteCount, total)
    }

    func exchange(_ exchange: HTTPExchange, didReceiveInterim head: HTTPResponseHead) throws {
        try options.didReceiveInterim?(head)
    }
}

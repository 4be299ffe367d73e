public import Towline
internal import TowlineHTTP

/// Sends HTTP requests in the `async` style: each call returns when it is done, or throws why not.
///
///     let client = AsyncHTTPClient(on: handle)
///     let response = try await client.send(HTTPRequest(.get, "https://box.test/"))
///     for try await part in response.body { … }
///
/// May be used from anywhere. From a task that prefers the reactor's executor, or an actor that
/// lives on it, a call costs no hop; from elsewhere it makes one there and one back.
///
/// Behind it is an ``HTTPClient`` on the reactor, with its pool. Cancelling a task cancels its
/// exchange, and so does leaving a body before its end, or letting go of it. Whoever lets go of the
/// client leaves exchanges that are under way undisturbed; idle connections are closed.
///
/// What is thrown is an ``HTTPError`` or a `CancellationError`; at the reactor's end, and behind
/// it, ``HTTPError/cancelled``.
public final class AsyncHTTPClient: Sendable {
    let core: AsyncClientCore

    /// Makes a client, which does nothing yet.
    ///
    /// - Parameters:
    ///   - handle: The reactor that it lives on.
    ///   - configuration: What holds for its requests.
    public init(on handle: ReactorHandle, configuration: HTTPClient.Configuration = .init()) {
        core = AsyncClientCore(handle, configuration)
    }

    deinit {
        core.handle.execute { [core] _ in core.abandon() }
    }

    /// Sends a request, and waits for the head of its response.
    ///
    /// - Parameters:
    ///   - request: What to ask.
    ///   - options: Who is asked about redirects and credentials, and hears of progress.
    /// - Returns: The response; its body comes as it is asked for.
    /// - Throws: ``HTTPError``; `CancellationError`.
    public nonisolated(nonsending) func send(
        _ request: HTTPRequest,
        options: AsyncHTTPOptions = .init()
    ) async throws -> AsyncHTTPResponse {
        try Task.checkCancellation()
        if core.isHere { return try await core.send(request, options) }
        return try await withTaskExecutorPreference(core.handle.taskExecutor) {
            try await core.send(request, options)
        }
    }

    /// Closes all connections that serve nobody.
    public func closeIdleConnections() {
        core.handle.execute { [core] _ in core.closeIdleConnections() }
    }
}

/// The client behind an ``AsyncHTTPClient``, made when it is first needed.
// Sendable since what changes in it is touched on the reactor's thread only, or, behind the
// reactor's end, on the one that stands in for it.
final class AsyncClientCore: @unchecked Sendable {
    let handle: ReactorHandle
    let configuration: HTTPClient.Configuration
    private var client: HTTPClient?

    init(_ handle: ReactorHandle, _ configuration: HTTPClient.Configuration) {
        self.handle = handle
        self.configuration = configuration
    }

    /// Whether the caller runs on the reactor's thread, in a turn of it.
    var isHere: Bool { handle.serialExecutor.isIsolatingCurrentContext() == true }

    // Where a closure is awaited, the isolation is a parameter that the closure captures: a task of
    // an actor on the reactor would leave it for the pool of threads otherwise.

    func send(
        _ request: HTTPRequest,
        _ options: AsyncHTTPOptions,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> AsyncHTTPResponse {
        if client == nil { try await makeClient() }
        let exchange = AsyncExchange(handle, options)
        let claim = AsyncExchangeClaim(exchange)
        let response = try await withTaskCancellationHandler {
            _ = isolation
            return try await withUnsafeThrowingContinuation { start(exchange, request, $0) }
        } onCancel: {
            handle.execute { _ in exchange.cancelStart() }
        }
        return AsyncHTTPResponse(response, claim, collectLimit: configuration.collectLimit)
    }

    private nonisolated(nonsending) func makeClient() async throws {
        do {
            try await handle.submit { [self] reactor in
                guard client == nil else { return }
                client = HTTPClient(reactor: reactor, configuration: configuration)
            }
        } catch {
            throw HTTPError.cancelled
        }
    }

    private func start(
        _ exchange: AsyncExchange,
        _ request: HTTPRequest,
        _ continuation: AsyncExchange.HeadContinuation
    ) {
        guard let client else { return continuation.resume(throwing: HTTPError.cancelled) }
        exchange.start(request, by: client, continuation)
    }

    func closeIdleConnections() {
        client?.closeIdleConnections()
    }

    /// Nobody holds the client any more.
    func abandon() {
        client = nil
    }
}

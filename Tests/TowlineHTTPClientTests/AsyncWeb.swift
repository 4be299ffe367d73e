import Synchronization
import Testing
import Towline
import TowlineHTTPClient
import TowlineTestKit

/// A client in the `async` style on a simulated network, whose tasks run as the test turns.
struct AsyncWeb {
    let web: SimulatedWeb
    let client: AsyncHTTPClient

    init(configuration: HTTPClient.Configuration = .init()) throws {
        web = try SimulatedWeb()
        client = AsyncHTTPClient(on: web.reactor.handle, configuration: configuration)
    }

    /// Begins a task on the reactor.
    func begin<Value: Sendable>(
        _ body: @escaping @Sendable (AsyncHTTPClient) async throws -> Value
    ) -> Running<Value> {
        Running(client, on: web.reactor.handle, body)
    }

    /// Runs a task on the reactor, and turns until its end.
    func run<Value: Sendable>(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (AsyncHTTPClient) async throws -> Value
    ) throws -> Value {
        let running = begin(body)
        try web.turn(sourceLocation: sourceLocation) { running.result != nil }
        return try #require(running.result, sourceLocation: sourceLocation).get()
    }

    /// Ends the reactor, and looks whether anything is left behind.
    func end(sourceLocation: SourceLocation = #_sourceLocation) throws {
        client.closeIdleConnections()
        try web.end(sourceLocation: sourceLocation)
    }
}

/// A task, and what came of it.
final class Running<Value: Sendable>: Sendable {
    private let ended = Mutex<(result: Result<Value, any Error>?, count: Int)>((nil, 0))
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(
        _ client: AsyncHTTPClient,
        on handle: ReactorHandle,
        _ body: @escaping @Sendable (AsyncHTTPClient) async throws -> Value
    ) {
        let task = Task(executorPreference: handle.taskExecutor) {
            let result: Result<Value, any Error>
            do { result = .success(try await body(client)) } catch { result = .failure(error) }
            self.ended.withLock { $0 = (result, $0.count + 1) }
        }
        self.task.withLock { $0 = task }
    }

    func cancel() {
        task.withLock { $0 }?.cancel()
    }

    var result: Result<Value, any Error>? { ended.withLock { $0.result } }

    /// In a word: what came, or what was thrown.
    var outcome: String {
        switch result {
        case nil: "under way"
        case .success(let value): "\(value)"
        case .failure(let error): error is CancellationError ? "cancellation" : "\(error)"
        }
    }
}

internal import CBareHTTP
internal import Foundation
internal import FoundationNetworking
internal import Synchronization
internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient

/// So many requests over so many connections, one at a time on each.
struct HTTPLoad {
    let port: UInt16
    let connections: Int
    let requests: Int

    func run(_ kind: ClientKind) throws -> (done: Int, bad: Int) {
        switch kind {
        case .bare: try run(benchmark_run_bare_http)
        case .libcurl: try run(benchmark_run_libcurl)
        case .towline: try TowlineLoad.run(self)
        case .urlSession: SessionLoad.run(self)
        }
    }

    private func run(
        _ client: (UInt16, CInt, Int64, UnsafeMutablePointer<benchmark_http_result>?) -> Bool
    ) throws(RunFailure) -> (done: Int, bad: Int) {
        var result = benchmark_http_result()
        guard client(port, CInt(connections), Int64(requests), &result) else {
            throw RunFailure(String(zeroTerminated: result.failure))
        }
        return (Int(result.done), Int(result.bad))
    }
}

/// The same through the delegate.
private final class TowlineLoad: HTTPExchangeDelegate {
    private let client: HTTPClient
    private let request: HTTPRequest
    private let load: HTTPLoad
    private var started = 0
    private var done = 0
    private var bad = 0

    private init(_ load: HTTPLoad) throws {
        self.load = load
        var configuration = HTTPClient.Configuration()
        configuration.connectionsPerKey = load.connections
        client = HTTPClient(reactor: try Reactor(), configuration: configuration)
        request = HTTPRequest(.get, "http://127.0.0.1:\(load.port)/")
    }

    static func run(_ load: HTTPLoad) throws -> (done: Int, bad: Int) {
        let run = try TowlineLoad(load)
        for _ in 0..<load.connections { run.next() }
        try run.client.reactor.run()
        return (run.done, run.bad)
    }

    private func next() {
        guard started < load.requests else { return }
        started += 1
        client.start(request, delegate: self)
    }

    private func end() {
        done += 1
        if done == load.requests { client.reactor.stop() } else { next() }
    }

    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) {
        if response.status != 200 { bad += 1 }
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        if metrics.receivedByteCount != 13 { bad += 1 }
        end()
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        bad += 1
        end()
    }
}

/// The same through Foundation.
private enum SessionLoad {
    static func run(_ load: HTTPLoad) -> (done: Int, bad: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = load.connections
        let session = URLSession(configuration: configuration)
        guard let url = URL(string: "http://127.0.0.1:\(load.port)/") else { return (0, 1) }
        let counts = Counts()
        let ended = DispatchSemaphore(value: 0)
        for _ in 0..<load.connections { next(session, url, load.requests, counts, ended) }
        ended.wait()
        return (counts.done.load(ordering: .relaxed), counts.bad.load(ordering: .relaxed))
    }

    /// What the session's threads count.
    private final class Counts: Sendable {
        let started = Atomic(0)
        let done = Atomic(0)
        let bad = Atomic(0)
    }

    private static func next(
        _ session: URLSession,
        _ url: URL,
        _ limit: Int,
        _ counts: Counts,
        _ ended: DispatchSemaphore
    ) {
        guard counts.started.add(1, ordering: .relaxed).newValue <= limit else { return }
        let task = session.dataTask(with: url) { data, response, _ in
            let status = (response as? HTTPURLResponse)?.statusCode
            if status != 200 || data?.count != 13 { _ = counts.bad.add(1, ordering: .relaxed) }
            if counts.done.add(1, ordering: .relaxed).newValue == limit { ended.signal() }
            next(session, url, limit, counts, ended)
        }
        task.resume()
    }
}

internal import Towline

extension HTTPBody {
    /// What a sequence brings while it is sent: the next part is asked for when the connection can
    /// take more.
    ///
    /// The sequence is gone through on the reactor's executor, by a task that is cancelled when the
    /// exchange ends. What it throws ends the exchange with ``HTTPError/producer(_:)``.
    ///
    /// - Parameters:
    ///   - length: How many bytes there will be; fewer or more end the exchange. `nil` where nobody
    ///     knows: the body is then sent in chunks.
    ///   - bytes: The parts, each of any size.
    /// - Returns: The body, which can be sent once an exchange.
    public static func stream<Bytes: AsyncSequence & Sendable>(
        length: UInt64?,
        bytes: Bytes
    ) -> HTTPBody where Bytes.Element == [UInt8] {
        .stream(length: length) { exchange in
            if let pull = exchange.bodyPull { return pull.ask() }
            let pull = BodyPull(exchange)
            exchange.bodyPull = pull
            pull.begin(bytes, on: exchange.client.reactor.handle.taskExecutor)
        }
    }
}

/// Goes through a sequence as fast as an exchange asks for its body.
// Sendable since everything in it is touched on the reactor's thread only, or, behind the reactor's
// end, on the one that stands in for it.
final class BodyPull: @unchecked Sendable {
    /// `nil` behind its end.
    private var exchange: HTTPExchange?
    private var isAsked = true
    private var waitsForDemand: UnsafeContinuation<Void, Never>?
    private var task: Task<Void, Never>?

    init(_ exchange: HTTPExchange) {
        self.exchange = exchange
    }

    func begin<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes,
        on executor: ReactorTaskExecutor
    ) where Bytes.Element == [UInt8] {
        task = Task(executorPreference: executor) { [self] in
            do {
                var parts = bytes.makeAsyncIterator()
                while await isWanted(), let part = try await parts.next() { supply(part) }
                finish()
            } catch {
                fail(error)
            }
        }
    }

    /// The connection can take more.
    func ask() {
        isAsked = true
        waitsForDemand?.resume()
        waitsForDemand = nil
    }

    /// The exchange has ended.
    func cancel() {
        exchange = nil
        task?.cancel()
        task = nil
        waitsForDemand?.resume()
        waitsForDemand = nil
    }

    /// Waits until more is asked for; `false` if never.
    private func isWanted() async -> Bool {
        if !isAsked, exchange != nil { await withUnsafeContinuation { waitsForDemand = $0 } }
        isAsked = false
        return exchange != nil
    }

    private func supply(_ part: [UInt8]) {
        exchange?.supply(part)
    }

    private func finish() {
        exchange?.finishBody()
    }

    private func fail(_ error: any Error) {
        exchange?.failBody(error)
    }
}

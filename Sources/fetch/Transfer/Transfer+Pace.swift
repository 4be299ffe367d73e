internal import Glibc
internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient

/// How fast a transfer is.
struct TransferPace {
    let began: MonotonicInstant
    private let rateLimit: UInt64?
    /// Bytes a second that it has to bring.
    let speedLimit: UInt64?
    /// How long it may be slower.
    let speedTime: Duration
    private var byteCount: UInt64 = 0
    private var countBefore: UInt64 = 0
    private var slowTime = Duration.zero

    init(_ settings: Settings, began: MonotonicInstant) {
        self.began = began
        rateLimit = settings.rateLimit.flatMap { $0 == 0 ? nil : $0 }
        speedLimit = settings.speedLimit ?? settings.speedTime.map { _ in 1 }
        speedTime = settings.speedTime ?? .seconds(30)
    }

    mutating func received(_ count: Int) {
        byteCount += UInt64(count)
    }

    /// How long to wait for the bytes that have come to be as slow as they should be.
    func wait(at now: MonotonicInstant) -> Duration? {
        guard let rateLimit else { return nil }
        let due = Duration.seconds(Double(byteCount) / Double(rateLimit))
        let ahead = due - now.since(began)
        return ahead > .milliseconds(1) ? ahead : nil
    }

    /// A while has passed; whether it has been too slow for too long.
    mutating func isTooSlow(after passed: Duration) -> Bool {
        guard let speedLimit else { return false }
        let speed = Double(byteCount - countBefore) / (passed / .seconds(1))
        countBefore = byteCount
        slowTime = speed < Double(speedLimit) ? slowTime + passed : .zero
        return slowTime >= speedTime
    }
}

extension Transfer {
    /// Lets nothing come until the reader has taken what waits.
    func waitForReader(_ exchange: HTTPExchange) {
        exchange.suspend()
        context.reactor.schedule(after: .milliseconds(5)) { [weak self] in
            guard let self, let output, self.exchange === exchange else { return }
            do throws(FetchFailure) {
                try output.flush()
            } catch {
                return stop(.failure(error))
            }
            if output.isFull { waitForReader(exchange) } else { exchange.resume() }
        }
    }

    func slowDown(_ exchange: HTTPExchange) {
        guard let wait = pace.wait(at: context.reactor.now) else { return }
        exchange.suspend()
        context.reactor.schedule(after: wait) { exchange.resume() }
    }

    func watchPace() {
        guard pace.speedLimit != nil, let exchange else { return }
        context.reactor.schedule(after: .seconds(1)) { [weak self] in
            guard let self, self.exchange === exchange else { return }
            guard !pace.isTooSlow(after: .seconds(1)) else {
                let text = "Operation too slow. Less than \(pace.speedLimit ?? 0) bytes/sec"
                return stop(.failure(FetchFailure(.timeout, text)))
            }
            watchPace()
        }
    }

    // MARK: Again

    /// How long to wait before it is tried again; `nil` if it is not.
    ///
    /// Source: curl(1), `--retry`.
    func retryDelay(after failure: FetchFailure?) -> Duration? {
        guard retriesLeft > 0, mayRetry(failure) else { return nil }
        if let limit = settings.retryLimit, context.reactor.now.since(began) >= limit { return nil }
        retriesLeft -= 1
        defer { retryWait = min(retryWait * 2, .seconds(600)) }
        if let delay = settings.retryDelay, delay > .zero { return delay }
        guard let text = facts.head?.headers["Retry-After"] else { return retryWait }
        if let seconds = Int(text), seconds >= 0 { return .seconds(min(seconds, 86_400)) }
        return retryWait
    }

    private func mayRetry(_ failure: FetchFailure?) -> Bool {
        if case .failure(let forced) = forced, forced.code == .interrupted { return false }
        let isFailure = failure != nil
        if settings.retriesAll, isFailure { return true }
        switch failure?.code {
        case .timeout, .lookup, .proxyLookup: return true
        case .connect: return settings.retriesRefused
        case nil, .httpError:
            return [408, 429, 500, 502, 503, 504].contains(facts.status)
        default: return false
        }
    }

    // MARK: Bodies that are brought

    /// The connection takes the body that is sent in chunks.
    func bringData(_ data: [UInt8]) {
        guard let exchange else { return }
        if hasBroughtData || data.isEmpty { return exchange.finishBody() }
        hasBroughtData = true
        exchange.supply(data)
    }

    /// The connection takes more of the body.
    func bringInput() {
        let input = self.input ?? StandardInput(context.reactor)
        self.input = input
        input.read { [weak self] result in
            guard let exchange = self?.exchange else { return }
            switch result {
            case .bytes(let bytes): exchange.supply(bytes)
            case .end: exchange.finishBody()
            case .failure(let failure): exchange.failBody(failure)
            }
        }
    }
}

/// Answers of earlier lookups, for a bounded time and up to a bounded number; told the time.
struct AnswerCache {
    typealias Answer = Result<[SocketAddress], ResolverError>

    /// The longest that a failure is kept.
    private static let failureAge = Duration.seconds(1)

    private struct Entry {
        let answer: Answer
        let expiry: MonotonicInstant
    }

    private let age: Duration
    private let limit: Int
    private var entries: [String: Entry] = [:]

    /// A cache that is empty.
    init(age: Duration, limit: Int) {
        self.age = age
        self.limit = max(1, limit)
    }

    var count: Int { entries.count }

    /// The answer for a name, if one is known that is not too old.
    func answer(for name: String, at now: MonotonicInstant) -> Answer? {
        guard let entry = entries[name], now < entry.expiry else { return nil }
        return entry.answer
    }

    /// Keeps an answer; at the limit, the one that would have to go first goes.
    mutating func insert(_ answer: Answer, for name: String, at now: MonotonicInstant) {
        if entries[name] == nil, entries.count >= limit {
            entries = entries.filter { now < $0.value.expiry }
            let oldest = entries.min { $0.value.expiry < $1.value.expiry }
            if entries.count >= limit, let oldest { entries[oldest.key] = nil }
        }
        let isFailure = if case .failure = answer { true } else { false }
        let expiry = now.advanced(by: isFailure ? min(age, Self.failureAge) : age)
        entries[name] = Entry(answer: answer, expiry: expiry)
    }
}

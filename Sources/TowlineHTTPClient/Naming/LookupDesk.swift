internal import Towline

/// How long a resolver keeps what it has found.
public struct ResolverCaching: Sendable, Hashable {
    /// How long addresses are kept whose answer does not say; 60 s.
    public var usualAge = Duration.seconds(60)

    /// The longest that addresses are kept, whatever their answer says; an hour.
    public var longestAge = Duration.seconds(3_600)

    /// How long it is remembered that nothing was found; 1 s.
    public var failureAge = Duration.seconds(1)

    /// How many names are remembered, 0 or more; 1,024, and what would expire first goes.
    public var nameLimit = 1_024

    /// The usual ages.
    public init() {}
}

/// Lookups under way and answers that still hold, for a resolver that lives on a reactor.
///
/// Equal lookups are one. Whoever carries one out must answer it, some time.
final class LookupDesk {
    typealias Answer = Result<ResolvedAddresses, ResolverError>
    typealias Reply = @Sendable (Answer) -> Void

    private struct Entry {
        let answer: Answer
        let expiry: MonotonicInstant
    }

    private let reactor: Reactor
    private let caching: ResolverCaching
    private var entries: [String: Entry] = [:]
    private var waiting: [String: [(port: UInt16, reply: Reply)]] = [:]

    init(_ reactor: Reactor, _ caching: ResolverCaching) {
        self.reactor = reactor
        self.caching = caching
    }

    /// Answers from what is known, joins a lookup under way, or has one begin: `begin` is given the
    /// name, and what to call once with what came of it, on the reactor's thread.
    func ask(
        _ host: String,
        port: UInt16,
        reply: @escaping Reply,
        begin: (String, @escaping (Answer) -> Void) -> Void
    ) {
        let name = LookupName.canonical(host)
        if let entry = entries[name] {
            if reactor.now < entry.expiry { return reply(entry.answer.at(port)) }
            entries[name] = nil
        }
        guard waiting[name] == nil else {
            waiting[name]?.append((port, reply))
            return
        }
        waiting[name] = [(port, reply)]
        begin(name) { [weak self] answer in self?.finish(name, answer) }
    }

    /// Drops what is kept of a name.
    func forget(_ host: String) {
        entries[LookupName.canonical(host)] = nil
    }

    private func finish(_ name: String, _ answer: Answer) {
        guard let replies = waiting.removeValue(forKey: name) else { return }
        keep(answer, for: name)
        for (port, reply) in replies { reply(answer.at(port)) }
    }

    private func keep(_ answer: Answer, for name: String) {
        let age =
            switch answer {
            case .success(let found): min(found.timeToLive ?? caching.usualAge, caching.longestAge)
            case .failure: caching.failureAge
            }
        guard age > .zero, caching.nameLimit > 0 else { return }
        let now = reactor.now
        if entries.count >= caching.nameLimit {
            entries = entries.filter { now < $0.value.expiry }
            let first = entries.min { $0.value.expiry < $1.value.expiry }
            if entries.count >= caching.nameLimit, let first { entries[first.key] = nil }
        }
        entries[name] = Entry(answer: answer, expiry: now.advanced(by: age))
    }
}

extension LookupDesk.Answer {
    /// The same for one port.
    fileprivate func at(_ port: UInt16) -> LookupDesk.Answer {
        map { found in
            ResolvedAddresses(
                addresses: found.addresses.map { $0.withPort(port) },
                timeToLive: found.timeToLive
            )
        }
    }
}

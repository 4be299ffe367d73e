/// The resolver that a reactor has by itself: the system's, on threads of its own.
///
/// Equal lookups under way are one. Each has a deadline, after which it fails though its thread may
/// still hang. Everything here belongs to the reactor's thread; only the pool has others.
final class ThreadResolver: Resolver {
    typealias Answer = Result<[SocketAddress], ResolverError>
    typealias Reply = @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void

    /// What it needs of its reactor.
    struct Surroundings {
        /// Has a job run in a turn; from any thread.
        let execute: @Sendable (@escaping @Sendable () -> Void) -> Void
        /// Brings an answer to ``ThreadResolver/finish(_:_:)``, in a turn; from any thread.
        let deliver: @Sendable (UInt64, Answer) -> Void
        /// Calls something after a while, unless what it returned is called before.
        let schedule: (Duration, @escaping () -> Void) -> () -> Void
        let now: () -> MonotonicInstant
    }

    private struct Lookup {
        let name: String
        var replies: [(port: UInt16, reply: Reply)]
        var cancelDeadline: () -> Void
    }

    private let options: LookupOptions
    private let surroundings: Surroundings
    private let pool: LookupPool
    private var lookups: [UInt64: Lookup] = [:]
    /// The lookup under way for a name.
    private var numbers: [String: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    private var cache: AnswerCache?

    /// A resolver that has no thread yet.
    ///
    /// - Parameters:
    ///   - options: Its deadline and its cache.
    ///   - idleTime: How long a thread waits for work before it ends.
    ///   - surroundings: What it needs of its reactor.
    ///   - lookUp: What looks a name up, on a thread of the pool.
    init(
        _ options: LookupOptions,
        idleTime: Duration = .seconds(30),
        _ surroundings: Surroundings,
        lookUp: @escaping AddressLookup = SystemLookup.addresses(of:)
    ) {
        self.options = options
        self.surroundings = surroundings
        pool = LookupPool(idleTime: idleTime, lookUp: lookUp, deliver: surroundings.deliver)
        cache = options.cachedAnswerAge.map {
            AnswerCache(age: $0, limit: options.cachedAnswerLimit)
        }
    }

    /// How many lookups are under way.
    var lookupCount: Int { lookups.count }

    /// How many threads there are.
    var threadCount: Int { pool.threadCount }

    func resolve(_ host: String, port: UInt16, reply: @escaping Reply) {
        if let addresses = KnownHost.addresses(of: host, port: port) {
            let answer = ResolvedAddresses(addresses: addresses)
            surroundings.execute { reply(.success(answer)) }
            return
        }
        // Names do not differ by case.
        let name = host.lowercased()
        if let number = numbers[name] {
            lookups[number]?.replies.append((port, reply))
        } else if let answer = cache?.answer(for: name, at: surroundings.now()) {
            surroundings.execute { reply(Self.result(answer, port: port)) }
        } else {
            begin(name, port, reply)
        }
    }

    private func begin(_ name: String, _ port: UInt16, _ reply: @escaping Reply) {
        lastNumber += 1
        let number = lastNumber
        if let failure = pool.submit(name, as: number) {
            surroundings.execute { reply(.failure(failure)) }
            return
        }
        let cancel = surroundings.schedule(options.deadline) { [weak self] in
            self?.giveUp(number)
        }
        lookups[number] = Lookup(name: name, replies: [(port, reply)], cancelDeadline: cancel)
        numbers[name] = number
    }

    /// Its time is up; the thread that is at it may hang for as long as it likes.
    private func giveUp(_ number: UInt64) {
        pool.abandon(number)
        // Not for the cache: the next lookup may have a better day.
        answer(number, .failure(.timedOut))
    }

    /// An answer has come from a thread; late ones find nobody.
    func finish(_ number: UInt64, _ answer: Answer) {
        guard let lookup = lookups[number] else { return }
        cache?.insert(answer, for: lookup.name, at: surroundings.now())
        self.answer(number, answer)
    }

    private func answer(_ number: UInt64, _ answer: Answer) {
        guard let lookup = lookups.removeValue(forKey: number) else { return }
        numbers[lookup.name] = nil
        lookup.cancelDeadline()
        for (port, reply) in lookup.replies { reply(Self.result(answer, port: port)) }
    }

    /// The reactor ends: threads go, and nobody is answered any more.
    func close() {
        pool.close()
        for lookup in lookups.values { lookup.cancelDeadline() }
        lookups = [:]
        numbers = [:]
    }

    private static func result(
        _ answer: Answer,
        port: UInt16
    ) -> Result<ResolvedAddresses, ResolverError> {
        answer.map { addresses in
            ResolvedAddresses(addresses: addresses.map { $0.withPort(port) })
        }
    }
}

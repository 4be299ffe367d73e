/// Which address of a host is tried when; told the time, and knows no descriptor.
///
/// The addresses are interleaved by family, so that a family that does not work costs one delay.
/// The next one is tried when the one before has had its delay, or at once when one has failed; the
/// first that connects wins. Each address is tried once, but for one that was busy.
///
/// Source: RFC 8305, sections 4 and 5.
struct ConnectRace {
    /// What is to be done now.
    enum Step: Equatable {
        /// Try the address with this index; then ask again.
        case start(Int)
        /// Ask again at this time, or when an attempt has failed.
        case wait(MonotonicInstant)
        /// Every address was tried, and none is under way.
        case exhausted
    }

    /// So many attempts are under way at once, at most.
    static let attemptLimit = 16

    /// How long an attempt is alone, unless it is told otherwise.
    static let usualDelay = Duration.milliseconds(250)

    /// The first pause before a busy address is tried again, and the longest.
    private static let retryDelays = Duration.milliseconds(1)...Duration.milliseconds(100)

    /// The addresses, in the order in which they are tried.
    let addresses: [SocketAddress]

    private let delay: Duration
    private var nextIndex = 0
    private var nextStart: MonotonicInstant
    private var running: Set<Int> = []
    private var retries: [(index: Int, time: MonotonicInstant)] = []
    private var retryDelay = ConnectRace.retryDelays.lowerBound

    /// A race in which nothing is tried yet.
    ///
    /// - Parameters:
    ///   - addresses: The addresses as the resolver has ordered them; duplicates count once.
    ///   - preference: Which family comes first.
    ///   - delay: How long an attempt is alone, 0 or more.
    ///   - now: The time.
    init(
        _ addresses: [SocketAddress],
        preferring preference: FamilyPreference,
        delay: Duration,
        at now: MonotonicInstant
    ) {
        self.addresses = Self.interleaved(addresses, preference)
        self.delay = delay
        nextStart = now
    }

    /// The addresses that were tried and have neither failed nor connected, in their order.
    var unfinished: [Int] { (running + retries.map(\.index)).sorted() }

    /// What is to be done now.
    mutating func step(at now: MonotonicInstant) -> Step {
        let canStart = running.count < Self.attemptLimit
        if let due = retries.firstIndex(where: { $0.time <= now }), canStart {
            let index = retries.remove(at: due).index
            running.insert(index)
            return .start(index)
        }
        let hasMore = nextIndex < addresses.count
        if hasMore, nextStart <= now, canStart {
            let index = nextIndex
            running.insert(index)
            nextIndex += 1
            nextStart = now.advanced(by: delay)
            return .start(index)
        }
        guard hasMore || !running.isEmpty || !retries.isEmpty else { return .exhausted }
        // At the limit only the end of an attempt changes anything.
        guard canStart else { return .wait(.distantFuture) }
        let next = hasMore ? nextStart : .distantFuture
        return .wait(retries.reduce(next) { min($0, $1.time) })
    }

    /// An attempt has failed, or was not made: the next is tried at once.
    mutating func failed(_ index: Int, at now: MonotonicInstant) {
        running.remove(index)
        nextStart = min(nextStart, now)
    }

    /// The address had no room, and may have some soon; another one is tried meanwhile.
    mutating func wasBusy(_ index: Int, at now: MonotonicInstant) {
        failed(index, at: now)
        retries.append((index, now.advanced(by: retryDelay)))
        retryDelay = min(retryDelay * 2, Self.retryDelays.upperBound)
    }

    /// One of each family in turn, the families in the order of their first addresses.
    private static func interleaved(
        _ addresses: [SocketAddress],
        _ preference: FamilyPreference
    ) -> [SocketAddress] {
        var families: [CInt] = []
        var queues: [CInt: [SocketAddress]] = [:]
        var seen: Set<SocketAddress> = []
        for address in addresses where seen.insert(address).inserted {
            if queues[address.family] == nil { families.append(address.family) }
            queues[address.family, default: []].append(address)
        }
        let preferred = families.firstIndex { family in
            queues[family]?.first?.addressFamily?.rawValue == preference.rawValue
        }
        if let preferred { families.insert(families.remove(at: preferred), at: 0) }
        let longest = queues.values.reduce(0) { max($0, $1.count) }
        return (0..<longest).flatMap { round in
            families.compactMap { family in
                queues[family].flatMap { round < $0.count ? $0[round] : nil }
            }
        }
    }
}

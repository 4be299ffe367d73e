internal import Glibc
internal import Towline

/// What a simulated call answered: a count, or an errno.
enum CallOutcome {
    case done(Int)
    case failed(CInt)

    var wouldBlock: Bool {
        if case .failed(EAGAIN) = self { true } else { false }
    }
}

/// What all parts of one simulated network share: clock, chance, faults, and who listens where.
final class Wire {
    let clock = VirtualClock()
    var conditions: NetworkConditions
    var random: SplitMix64
    var faults = Faults()

    /// Addresses at which nothing answers, not even with a refusal.
    var silentAddresses: Set<SocketAddress> = []

    private var listeners: [SocketAddress: SimulatedListener] = [:]
    private var peers: [ObjectIdentifier: SimulatedPeer] = [:]
    private var connections: [ObjectIdentifier: SimulatedConnection] = [:]
    private var lastPort: UInt16 = 49_151

    init(seed: UInt64, conditions: NetworkConditions) {
        random = SplitMix64(seed: seed)
        self.conditions = conditions
    }

    // MARK: Chance

    /// One value of a range, without drawing where there is only one.
    func draw(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound == range.upperBound
            ? range.lowerBound : Int.random(in: range, using: &random)
    }

    /// Whether something that happens with this share happens now.
    func happens(_ share: Double) -> Bool {
        share > 0 && Double.random(in: 0..<1, using: &random) < share
    }

    /// When what is sent now arrives.
    func drawArrival() -> MonotonicInstant {
        let low = conditions.delay.lowerBound.saturatedNanoseconds
        let high = conditions.delay.upperBound.saturatedNanoseconds
        let delay = low == high ? low : Int64.random(in: low...high, using: &random)
        return clock.now.advanced(byNanoseconds: delay)
    }

    /// Makes a call, unless it is to fail; one that a signal interrupts is made again.
    func call(_ call: SimulatedCall, _ body: () -> CallOutcome) -> CallOutcome {
        while true {
            let interruption = happens(conditions.interruptedShare) ? EINTR : nil
            guard let number = faults.take(for: call) ?? interruption else { break }
            if number != EINTR || !call.isRepeatedOnInterruption { return .failed(number) }
        }
        if call.mayBlock, happens(conditions.blockedShare) { return .failed(EAGAIN) }
        return body()
    }

    // MARK: Places

    /// The address with a port of its own if it has port 0.
    func completed(_ address: SocketAddress) -> SocketAddress {
        guard address.port == 0 else { return address }
        var candidate = address
        repeat {
            lastPort = lastPort == .max ? 49_152 : lastPort + 1
            candidate = address.withPort(lastPort)
        } while listener(at: candidate) != nil
        return candidate
    }

    /// An address for a client of `target`, which nobody else has.
    func clientAddress(for target: SocketAddress) -> SocketAddress {
        switch target {
        case .ipv4: return completed(.ipv4(.loopback, port: 0))
        case .ipv6: return completed(.ipv6(.loopback, port: 0))
        case .unix: return .unix(.unnamed)
        }
    }

    /// Where a connection to `target` begins that is bound to `local`.
    func source(_ local: SocketAddress?, for target: SocketAddress) -> SocketAddress {
        guard let local else { return clientAddress(for: target) }
        switch local {
        case .ipv4(.any, let port): return completed(.ipv4(.loopback, port: port))
        case .ipv6(.any, let port, _): return completed(.ipv6(.loopback, port: port))
        case .ipv4, .ipv6: return completed(local)
        case .unix: return local
        }
    }

    /// Who listens at the address, or at each address of its family.
    func listener(at address: SocketAddress) -> SimulatedListener? {
        listeners[address] ?? listeners[Self.wildcard(for: address)]
    }

    /// Lets a listener have its address.
    ///
    /// - Returns: Whether the address was free.
    func add(_ listener: SimulatedListener) -> Bool {
        let address = listener.address
        let isWildcard = address == Self.wildcard(for: address)
        let isTaken =
            self.listener(at: address) != nil
            || isWildcard && listeners.keys.contains { Self.wildcard(for: $0) == address }
        guard !isTaken else { return false }
        listeners[address] = listener
        return true
    }

    func remove(_ listener: SimulatedListener) {
        if listeners[listener.address] === listener { listeners[listener.address] = nil }
    }

    private static func wildcard(for address: SocketAddress) -> SocketAddress {
        switch address {
        case .ipv4(_, let port): .ipv4(.any, port: port)
        case .ipv6(_, let port, _): .ipv6(.any, port: port)
        case .unix: address
        }
    }

    // MARK: Books

    /// Keeps a scripted peer alive for as long as it takes part.
    func add(_ peer: SimulatedPeer) { peers[ObjectIdentifier(peer)] = peer }
    func remove(_ peer: SimulatedPeer) { peers[ObjectIdentifier(peer)] = nil }

    func add(_ connection: SimulatedConnection) {
        connections[ObjectIdentifier(connection)] = connection
    }

    func remove(_ connection: SimulatedConnection) {
        connections[ObjectIdentifier(connection)] = nil
    }

    /// What is wrong with the connections' books.
    func inspect() -> [String] {
        connections.values.flatMap { $0.inspect() }.sorted()
    }

    /// Lets go of everything.
    func removeAll() {
        clock.removeAll()
        peers.removeAll()
        listeners.removeAll()
        connections.removeAll()
    }
}

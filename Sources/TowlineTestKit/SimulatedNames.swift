public import Towline

/// The names of a simulated network, and how their lookups go.
///
///     network.names["box.test"] = [.ipv4(.loopback), .ipv6(.loopback)]
///     network.names.answer("slow.test", with: .failure(.temporaryFailure), after: .seconds(5))
///
/// A name that nobody has set is answered with `ResolverError.noSuchHost`.
public final class SimulatedNames {
    /// What a lookup brings.
    public enum Answer: Sendable, Hashable {
        /// These addresses, in this order.
        case addresses([IPAddress])
        /// A failure.
        case failure(ResolverError)
        /// Nothing, ever.
        case silence
    }

    struct Plan {
        let answer: Answer
        let delay: Duration
        let repeats: Int
    }

    private var plans: [String: Plan] = [:]

    /// The names that were looked up, in their order.
    public internal(set) var lookups: [String] = []

    /// The addresses of a name, answered at once; `nil`, nobody has it.
    public subscript(host: String) -> [IPAddress]? {
        get {
            guard case .addresses(let addresses)? = plans[host.lowercased()]?.answer else {
                return nil
            }
            return addresses
        }
        set {
            plans[host.lowercased()] = newValue.map {
                Plan(answer: .addresses($0), delay: .zero, repeats: 1)
            }
        }
    }

    /// Sets how lookups of a name go from now on.
    ///
    /// - Parameters:
    ///   - host: The name, in any case.
    ///   - answer: What they bring.
    ///   - delay: The virtual time until then, 0 or more.
    ///   - repeats: How often it is brought, 1 or more; a resolver may answer twice.
    public func answer(
        _ host: String,
        with answer: Answer,
        after delay: Duration = .zero,
        repeats: Int = 1
    ) {
        plans[host.lowercased()] = Plan(answer: answer, delay: delay, repeats: repeats)
    }

    func plan(for host: String) -> Plan {
        lookups.append(host)
        return plans[host.lowercased()]
            ?? Plan(answer: .failure(.noSuchHost), delay: .zero, repeats: 1)
    }
}

/// Looks names up on a simulated network.
final class SimulatedResolver: Resolver {
    private let names: SimulatedNames
    private let wire: Wire
    private let wake: @Sendable () -> Void

    /// Answers lookups of a reactor whose wait `wake` ends.
    init(_ names: SimulatedNames, _ wire: Wire, wake: @escaping @Sendable () -> Void) {
        self.names = names
        self.wire = wire
        self.wake = wake
    }

    func resolve(
        _ host: String,
        port: UInt16,
        reply: @escaping @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
    ) {
        let plan = names.plan(for: host)
        let answer: Result<ResolvedAddresses, ResolverError>
        switch plan.answer {
        case .silence:
            return
        case .failure(let error):
            answer = .failure(error)
        case .addresses(let addresses):
            let found = addresses.map { SocketAddress($0, port: port) }
            answer = .success(ResolvedAddresses(addresses: found))
        }
        // As from another thread, whose answer would end the wait: this one is in it.
        wire.clock.schedule(at: wire.clock.now.advanced(by: plan.delay)) { [wake] in
            for _ in 0..<plan.repeats { reply(answer) }
            wake()
        }
    }
}

public import Towline

/// A resolver that can be told that what it found is of no use.
public protocol ForgetfulResolver: Resolver {
    /// Drops what is kept of a name: no connection came about to any of its addresses.
    ///
    /// - Parameter host: The name.
    func forget(_ host: String)
}

/// Asks one resolver after the other until one knows, and keeps what it knows for a while.
///
/// Lives on a reactor and is used from its thread. Equal lookups under way are one.
public final class ResolverChain: ForgetfulResolver {
    private let reactor: Reactor
    private let resolvers: [any Resolver]
    private let patience: Duration
    private let desk: LookupDesk

    /// A chain.
    ///
    /// - Parameters:
    ///   - reactor: Where it lives.
    ///   - resolvers: Who is asked, in this order. They may answer late, twice, from any thread, or
    ///     never.
    ///   - patience: How long one of them is waited for before the next is asked as well.
    ///   - caching: How long answers are kept.
    public init(
        reactor: Reactor,
        _ resolvers: [any Resolver],
        patience: Duration = .seconds(5),
        caching: ResolverCaching = .init()
    ) {
        self.reactor = reactor
        self.resolvers = resolvers
        self.patience = patience
        desk = LookupDesk(reactor, caching)
    }

    /// Brings the first addresses that any of them knows; else why the last one knew none.
    public func resolve(
        _ host: String,
        port: UInt16,
        reply: @escaping @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
    ) {
        desk.ask(host, port: port, reply: reply) { name, done in
            ask(0, for: name, done)
        }
    }

    /// Drops what is kept of a name, here and with all in the chain that can.
    public func forget(_ host: String) {
        desk.forget(host)
        for resolver in resolvers { (resolver as? any ForgetfulResolver)?.forget(host) }
    }

    private func ask(
        _ index: Int,
        for name: String,
        _ done: @escaping (LookupDesk.Answer) -> Void
    ) {
        guard index < resolvers.count else { return done(.failure(.noSuchHost)) }
        let isLast = index == resolvers.count - 1
        resolvers[index].ask(name, on: reactor, within: patience) { [weak self] answer in
            switch answer {
            case .success(let found) where !found.addresses.isEmpty: done(answer)
            case .success where isLast: done(.failure(.noAddress))
            case .failure where isLast: done(answer)
            default: self?.ask(index + 1, for: name, done)
            }
        }
    }
}

extension Resolver {
    /// Asks for a name's addresses, and answers once, on the reactor, whatever the resolver does.
    func ask(
        _ name: String,
        on reactor: Reactor,
        within limit: Duration,
        _ done: @escaping (LookupDesk.Answer) -> Void
    ) {
        var timer: Reactor.Timer?
        let ticket = AnswerTicket<LookupDesk.Answer>(reactor.handle) { answer in
            timer?.cancel()
            done(answer)
        }
        timer = reactor.schedule(after: limit) {
            ticket.drop()
            done(.failure(.timedOut))
        }
        resolve(name, port: 0) { ticket.bring($0) }
    }
}

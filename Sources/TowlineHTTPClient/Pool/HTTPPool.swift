internal import Towline
internal import TowlineTLS

/// The connections of a client, and who waits for one.
final class HTTPPool {
    /// What there is for one key.
    private struct Group {
        /// Those that serve nobody; the one used last comes last.
        var idle: [HTTPConnection] = []
        /// Who waits, first come first served.
        var waiters: [HTTPExchange] = []
        /// Connections under way, busy and idle ones.
        var count = 0
        /// Those under way.
        var pendingCount = 0
        /// Built once for all connections of the key, with the tickets of their sessions.
        var tls: TLSConfiguration?

        var isUnused: Bool { count == 0 && waiters.isEmpty }
    }

    private var groups: [PoolKey: Group] = [:]

    /// Every connection, so that one that serves nobody is held by somebody.
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]

    /// In the order in which they became idle; may name some that are idle no longer.
    private var idleOrder: [(ObjectIdentifier, Int)] = []
    private var idleCount = 0

    var counts: (all: Int, idle: Int) { (connections.count, idleCount) }

    // MARK: Exchanges

    /// Gives the exchange a connection that serves nobody; else it waits for one, and one more is
    /// made if there may be.
    func admit(_ exchange: HTTPExchange, for key: PoolKey, of client: HTTPClient) {
        if !exchange.needsNewConnection, let connection = takeIdle(key) {
            connection.serve(exchange, for: client)
            return
        }
        // Those that are kept may be as stale as the one that failed, and would take up its place.
        if exchange.needsNewConnection { closeIdle(of: key) }
        groups[key, default: Group()].waiters.append(exchange)
        exchange.isWaiting(in: self, for: key)
        openIfNeeded(for: key, of: client)
    }

    /// Takes an exchange out of the queue.
    func withdraw(_ exchange: HTTPExchange, for key: PoolKey) {
        guard let index = groups[key]?.waiters.firstIndex(where: { $0 === exchange }) else {
            return
        }
        groups[key]?.waiters.remove(at: index)
        // One that was on its way for it goes to the next who waits, and to nobody otherwise.
        if groups[key]?.waiters.isEmpty == true { abandonPending(key) }
        dropIfUnused(key)
    }

    /// One more connection for those who wait, if some have none under way and there may be more.
    private func openIfNeeded(for key: PoolKey, of client: HTTPClient) {
        guard !client.reactorIsEnding, let group = groups[key],
            group.pendingCount < group.waiters.count,
            group.count < max(1, client.configuration.connectionsPerKey)
        else { return }
        let connection = HTTPConnection(key: key, client: client, pool: self)
        connections[ObjectIdentifier(connection)] = connection
        groups[key]?.count += 1
        groups[key]?.pendingCount += 1
        let sponsor = group.waiters[group.pendingCount]
        sponsor.isSponsor(of: connection)
        connection.open(for: sponsor)
    }

    private func abandonPending(_ key: PoolKey) {
        for connection in connections.values where connection.key == key && connection.isPending {
            connection.close()
        }
    }

    // MARK: Connections

    /// A connection is made, or has served its exchange, and may serve another.
    func isReady(_ connection: HTTPConnection, wasPending: Bool, client: HTTPClient) {
        let key = connection.key
        if wasPending { groups[key]?.pendingCount -= 1 }
        if let exchange = takeWaiter(key, isNew: wasPending) {
            connection.serve(exchange, for: client)
            return
        }
        guard groups[key]?.waiters.isEmpty == true else {
            // Who waits needs a new one, and this one's place for it.
            return connection.close()
        }
        groups[key]?.idle.append(connection)
        idleCount += 1
        connection.becomeIdle(for: client.configuration.idleTime)
        idleOrder.append((ObjectIdentifier(connection), connection.useCount))
        while idleCount > max(0, client.configuration.idleConnectionLimit) { closeOldest() }
        if idleOrder.count > 2 * idleCount + 64 { dropStaleOrder() }
    }

    /// A connection is over; whoever waits may need another.
    func isGone(_ connection: HTTPConnection, was phase: HTTPConnection.Phase, client: HTTPClient?)
    {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        let key = connection.key
        groups[key]?.count -= 1
        switch phase {
        case .opening: groups[key]?.pendingCount -= 1
        case .idle: removeIdle(connection)
        case .busy, .closed: break
        }
        if let client { openIfNeeded(for: key, of: client) }
        dropIfUnused(key)
    }

    /// Closes those that serve nobody.
    func closeIdle() {
        for connection in connections.values where connection.isIdle { connection.close() }
    }

    /// Connections made under other settings serve nobody new.
    func configurationChanged() {
        closeIdle()
        for key in groups.keys { groups[key]?.tls = nil }
    }

    /// The settings for connections of this key, which share what they cost to build.
    func tls(for key: PoolKey, make: () -> TLSConfiguration) -> TLSConfiguration {
        if let made = groups[key]?.tls { return made }
        let made = make()
        groups[key]?.tls = made
        return made
    }

    // MARK: Helpers

    /// The one used last that is still healthy.
    private func takeIdle(_ key: PoolKey) -> HTTPConnection? {
        guard let connection = groups[key]?.idle.popLast() else { return nil }
        idleCount -= 1
        return connection
    }

    /// The first who waits and does with such a connection.
    private func takeWaiter(_ key: PoolKey, isNew: Bool) -> HTTPExchange? {
        guard let waiters = groups[key]?.waiters,
            let index = waiters.firstIndex(where: { isNew || !$0.needsNewConnection })
        else { return nil }
        return groups[key]?.waiters.remove(at: index)
    }

    private func closeIdle(of key: PoolKey) {
        for connection in groups[key]?.idle ?? [] { connection.close() }
    }

    private func removeIdle(_ connection: HTTPConnection) {
        guard let index = groups[connection.key]?.idle.lastIndex(where: { $0 === connection })
        else { return }
        groups[connection.key]?.idle.remove(at: index)
        idleCount -= 1
    }

    private func closeOldest() {
        while let (id, useCount) = idleOrder.first {
            idleOrder.removeFirst()
            guard let connection = connections[id], connection.isIdle,
                connection.useCount == useCount
            else { continue }
            connection.close()
            return
        }
    }

    private func dropStaleOrder() {
        idleOrder.removeAll { id, useCount in
            guard let connection = connections[id] else { return true }
            return !connection.isIdle || connection.useCount != useCount
        }
    }

    private func dropIfUnused(_ key: PoolKey) {
        // The tickets of a place that nobody is connected to are kept for a while by being few.
        guard groups[key]?.isUnused == true else { return }
        if groups[key]?.tls == nil || groups.count > 256 { groups[key] = nil }
    }
}

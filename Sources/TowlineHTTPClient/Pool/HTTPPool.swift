internal import Towline
internal import TowlineTLS

/// The connections of a client, and who waits for one.
final class HTTPPool {
    /// What there is for one key; connections hold theirs, so that nothing is looked up for them.
    final class Group {
        let key: PoolKey
        /// Those that serve nobody; the one used last comes last.
        @exclusivity(unchecked) fileprivate var idle: [HTTPConnection] = []
        /// Who waits, first come first served.
        @exclusivity(unchecked) fileprivate var waiters: [HTTPExchange] = []
        /// Connections under way, busy and idle ones.
        @exclusivity(unchecked) fileprivate var count = 0
        /// Those under way.
        @exclusivity(unchecked) fileprivate var pendingCount = 0
        /// Those that wait for their callers, which are not among the others.
        @exclusivity(unchecked) fileprivate var asideCount = 0
        /// Built once for all connections of the key, with the tickets of their sessions.
        @exclusivity(unchecked) fileprivate var tls: TLSConfiguration?

        fileprivate init(_ key: PoolKey) {
            self.key = key
        }

        fileprivate var isUnused: Bool { count + asideCount == 0 && waiters.isEmpty }
    }

    // Touched by the reactor's thread only, and no access spans a call to anybody else.

    @exclusivity(unchecked) private var groups: [PoolKey: Group] = [:]
    /// The group that was asked for last, since the next request may well go there, too.
    @exclusivity(unchecked) private var lastGroup: Group?

    /// Every connection, so that one that serves nobody is held by somebody.
    @exclusivity(unchecked) private var connections: [ObjectIdentifier: HTTPConnection] = [:]

    /// In the order in which they became idle; may name some that are idle no longer.
    @exclusivity(unchecked) private var idleOrder: [(ObjectIdentifier, Int)] = []
    @exclusivity(unchecked) private var idleCount = 0

    var counts: (all: Int, idle: Int) { (connections.count, idleCount) }

    // MARK: Exchanges

    /// Gives the exchange a connection that serves nobody; else it waits for one, and one more is
    /// made if there may be.
    func admit(_ exchange: HTTPExchange, for key: PoolKey, of client: HTTPClient) {
        let group = group(for: key)
        if !exchange.needsNewConnection, let connection = takeIdle(of: group) {
            connection.serve(exchange, for: client)
            return
        }
        // Those that are kept may be as stale as the one that failed, and would take up its place.
        if exchange.needsNewConnection { closeIdle(of: group) }
        group.waiters.append(exchange)
        exchange.isWaiting(in: self, for: group)
        openIfNeeded(for: group, of: client)
    }

    private func group(for key: PoolKey) -> Group {
        if let lastGroup, lastGroup.key == key { return lastGroup }
        let group = groups[key] ?? Group(key)
        groups[key] = group
        lastGroup = group
        return group
    }

    /// Takes an exchange out of the queue.
    func withdraw(_ exchange: HTTPExchange, from group: Group) {
        guard let index = group.waiters.firstIndex(where: { $0 === exchange }) else { return }
        group.waiters.remove(at: index)
        // One that was on its way for it goes to the next who waits, and to nobody otherwise.
        if group.waiters.isEmpty { abandonPending(of: group) }
        dropIfUnused(group)
    }

    /// One more connection for those who wait, if some have none under way and there may be more.
    private func openIfNeeded(for group: Group, of client: HTTPClient) {
        guard !client.reactorIsEnding, group.pendingCount < group.waiters.count,
            group.count < max(1, client.configuration.connectionsPerKey)
        else { return }
        let connection = HTTPConnection(group: group, client: client, pool: self)
        connections[ObjectIdentifier(connection)] = connection
        let sponsor = group.waiters[group.pendingCount]
        group.count += 1
        group.pendingCount += 1
        sponsor.isSponsor(of: connection)
        connection.open(for: sponsor)
    }

    private func abandonPending(of group: Group) {
        for connection in connections.values where connection.group === group {
            if connection.isPending { connection.close() }
        }
    }

    // MARK: Connections

    /// A connection is made, or has served its exchange, and may serve another.
    func isReady(_ connection: HTTPConnection, wasPending: Bool, client: HTTPClient) {
        let group = connection.group
        if wasPending { group.pendingCount -= 1 }
        if let exchange = takeWaiter(of: group, isNew: wasPending) {
            connection.serve(exchange, for: client)
            return
        }
        guard group.waiters.isEmpty else {
            // Who waits needs a new one, and this one's place for it.
            return connection.close()
        }
        group.idle.append(connection)
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
        let group = connection.group
        if connection.isSetAside { group.asideCount -= 1 } else { group.count -= 1 }
        switch phase {
        case .opening: group.pendingCount -= 1
        case .idle: removeIdle(connection)
        case .busy, .closed: break
        }
        if let client { openIfNeeded(for: group, of: client) }
        dropIfUnused(group)
    }

    /// A connection waits for the caller, and takes up nobody's place meanwhile: the caller may
    /// need one to find out what to say.
    func setAside(_ connection: HTTPConnection) {
        guard !connection.isSetAside, let client = connection.client else { return }
        connection.isSetAside = true
        connection.group.count -= 1
        connection.group.asideCount += 1
        openIfNeeded(for: connection.group, of: client)
    }

    /// It goes on, if need be as one more than there may be.
    func takeBack(_ connection: HTTPConnection) {
        guard connection.isSetAside else { return }
        connection.isSetAside = false
        connection.group.asideCount -= 1
        connection.group.count += 1
    }

    /// Closes those that serve nobody.
    func closeIdle() {
        for connection in connections.values where connection.isIdle { connection.close() }
    }

    /// Connections made under other settings serve nobody new.
    func configurationChanged() {
        closeIdle()
        for group in groups.values { group.tls = nil }
    }

    /// The settings for connections of a group, which share what they cost to build.
    func tls(for group: Group, make: () -> TLSConfiguration) -> TLSConfiguration {
        if let made = group.tls { return made }
        let made = make()
        group.tls = made
        return made
    }

    // MARK: Helpers

    /// The one used last.
    private func takeIdle(of group: Group) -> HTTPConnection? {
        guard let connection = group.idle.popLast() else { return nil }
        idleCount -= 1
        return connection
    }

    /// The first who waits and does with such a connection.
    private func takeWaiter(of group: Group, isNew: Bool) -> HTTPExchange? {
        guard !group.waiters.isEmpty,
            let index = group.waiters.firstIndex(where: { isNew || !$0.needsNewConnection })
        else { return nil }
        return group.waiters.remove(at: index)
    }

    private func closeIdle(of group: Group) {
        for connection in group.idle { connection.close() }
    }

    private func removeIdle(_ connection: HTTPConnection) {
        let group = connection.group
        guard let index = group.idle.lastIndex(where: { $0 === connection }) else { return }
        group.idle.remove(at: index)
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

    private func dropIfUnused(_ group: Group) {
        // The tickets of a place that nobody is connected to are kept for a while by being few.
        guard group.isUnused, group.tls == nil || groups.count > 256 else { return }
        if lastGroup === group { lastGroup = nil }
        // Another one may have taken its place already.
        if groups[group.key] === group { groups[group.key] = nil }
    }
}

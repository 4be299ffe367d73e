internal import Towline
internal import TowlineHTTP
internal import TowlineTLS

/// From nothing to a connection that may serve.
extension HTTPConnection {
    /// Begins to open it, for an exchange.
    func open(for sponsor: HTTPExchange) {
        self.sponsor = sponsor
        times.began = reactor.now
        socket.keep(self)
        guard let client else { return }
        let configuration = client.configuration
        socket.options = configuration.socketOptions
        socket.addressFamilies = configuration.addressFamilies
        socket.connectionAttemptDelay = configuration.connectionAttemptDelay
        socket.halfClosePolicy = .keepOpen
        // Nothing is told from within a call of the user's, so whatever cannot begin fails later.
        do throws(SocketError) {
            try begin(configuration)
        } catch {
            let reason = HTTPError.connect(host: triedHost, error, attempts: [])
            let later = reactor.schedule(after: .zero) { self.failed(reason) }
            guard !later.isPending else { return }
            client.reactorIsEnding = true
            close()
        }
    }

    func begin(_ configuration: HTTPClient.Configuration) throws(SocketError) {
        if let path = key.unixPath {
            triedHost = path
            guard let address = SocketAddress(path) else {
                throw .resolutionFailed(host: path, .noAddress)
            }
            return try connect(to: [address])
        }
        switch key.way {
        case .direct: try reach(key.place)
        case .forward(let proxy): try reach(proxy.place)
        case .tunnel(let proxy): try prepareTunnel(through: proxy)
        }
    }

    /// Connects to a place, whose addresses have to be found first.
    func reach(_ place: HTTPHostPort) throws(SocketError) {
        try find(place) { connection, addresses throws(SocketError) in
            connection.isLookedUp = connection.times.lookedUp != nil
            try connection.connect(to: addresses)
        }
    }

    /// Finds the addresses of a place: as the program says, as they stand there, or by a lookup.
    func find(
        _ place: HTTPHostPort,
        _ use: @escaping (HTTPConnection, [SocketAddress]) throws(SocketError) -> Void
    ) throws(SocketError) {
        triedHost = place.host
        if let addresses = client?.configuration.addresses[place] {
            return try use(self, addresses.map { $0.withPort(place.port) })
        }
        if let addresses = Self.knownAddresses(of: place) { return try use(self, addresses) }
        lookUp(place, use)
    }

    /// The addresses of a literal, and of the host itself by its name, which is never looked up.
    ///
    /// Source: RFC 6761 section 6.3.
    private static func knownAddresses(of place: HTTPHostPort) -> [SocketAddress]? {
        if let address = SocketAddress(place.description) { return [address] }
        let name = place.host.hasSuffix(".") ? String(place.host.dropLast()) : place.host
        guard name == "localhost" || name.hasSuffix(".localhost") else { return nil }
        return [.ipv6(.loopback, port: place.port), .ipv4(.loopback, port: place.port)]
    }

    private func lookUp(
        _ place: HTTPHostPort,
        _ use: @escaping (HTTPConnection, [SocketAddress]) throws(SocketError) -> Void
    ) {
        guard let client else { return }
        phase = .opening(.lookingUp)
        let ticket = LookupTicket(reactor.handle) { [weak self] in self?.lookedUp($0, place, use) }
        self.ticket = ticket
        client.resolver.resolve(place.host, port: place.port) { ticket.bring($0) }
    }

    private func lookedUp(
        _ result: Result<ResolvedAddresses, ResolverError>,
        _ place: HTTPHostPort,
        _ use: (HTTPConnection, [SocketAddress]) throws(SocketError) -> Void
    ) {
        ticket = nil
        guard case .opening(.lookingUp) = phase else { return }
        switch result {
        case .failure(let error):
            failed(.resolve(host: place.host, error))
        case .success(let answer):
            times.lookedUp = reactor.now
            do throws(SocketError) {
                try use(self, answer.addresses.map { $0.withPort(place.port) })
            } catch {
                failed(.connect(host: place.host, error, attempts: []))
            }
        }
    }

    private func connect(to addresses: [SocketAddress]) throws(SocketError) {
        guard let client else { return }
        phase = .opening(.connecting)
        guard !addresses.isEmpty else {
            throw .resolutionFailed(host: triedHost, .noUsableAddress)
        }
        try socket.connect(
            toAnyOf: addresses,
            via: client.configuration.interface,
            timeout: sponsor?.timeouts.connect ?? client.configuration.timeouts.connect
        )
    }

    /// The connection is there; what stands in front of the first exchange follows.
    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        guard case .opening = phase else { return }
        times.connected = reactor.now
        if tunnel != nil { beginTunnel() } else { try secure() }
    }

    /// The way to the origin is there; what makes it safe follows, where the URL asks for that.
    func secure() throws(SocketError) {
        guard let client else { return }
        guard key.scheme == .https else { return isOpen() }
        phase = .opening(.securing)
        let settings = pool.tls(for: group) { client.tlsSettings(for: key) }
        let limit = sponsor?.timeouts.tls ?? client.configuration.timeouts.tls
        try socket.startTLS(settings, timeout: limit)
    }

    func socketDidSecure(_ socket: StreamSocket) throws {
        guard case .opening(.securing) = phase else { return }
        times.secured = reactor.now
        isOpen()
    }

    func socket(
        _ socket: StreamSocket,
        didReceive trust: TLSTrust,
        completionHandler: @escaping @Sendable (Bool) -> Void
    ) throws {
        guard let evaluate = client?.configuration.evaluate else { return completionHandler(false) }
        evaluate(trust, key.serverName ?? key.host.text, completionHandler)
    }

    private func isOpen() {
        guard let client else { return }
        sponsor = nil
        phase = .idle
        pool.isReady(self, wasPending: true, client: client)
        if exchange != nil, !payConnectNotice() { return }
        if exchange?.hop?.isTunnel == true {
            let leftover = tunnelLeftover
            return handOver(leftover.span.bytes)
        }
        readOn()
    }

    /// None of the addresses took the connection: whatever said that they would has to look again.
    func forgetAddresses() {
        guard case .opening(.connecting) = phase, isLookedUp else { return }
        (client?.resolver as? any ForgetfulResolver)?.forget(triedHost)
    }

    /// It did not come about.
    func failed(_ error: HTTPError) {
        // Before the pool hears of it, which makes another one for whoever still waits.
        sponsor?.connectionFailed(self, error)
        close(abruptly: true)
    }

    /// What an exchange is told of a connection that did not come about.
    func openingError(_ report: DisconnectReport) -> HTTPError {
        if case .opening(.tunnelling) = phase { return tunnelError(report.error) }
        switch report.error {
        case .security(let reason):
            if let error = reason as? TLSError { return HTTPError(error) }
            return .connect(host: triedHost, .security(reason), attempts: report.attempts)
        case .connectTimedOut:
            return .timeout(.connect)
        case .reactorStopped:
            return .cancelled
        case let error:
            return .connect(
                host: triedHost,
                error ?? .closedByPeer,
                attempts: report.attempts
            )
        }
    }
}

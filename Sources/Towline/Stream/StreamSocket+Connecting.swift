extension StreamSocket {
    // MARK: Connecting

    /// Connects to a host by name or address.
    ///
    /// All addresses of a name are tried: the next one after ``connectionAttemptDelay``, or at once
    /// when one fails, and the first that connects is kept. Reads and writes may be queued at once;
    /// they begin when the connection is established. What comes of it is told by `didConnectTo`,
    /// or by `didDisconnect` with the phase `resolving` or `connecting`.
    ///
    /// - Parameters:
    ///   - host: A name, `localhost`, or an address such as `127.0.0.1`, `::1` or `fe80::1%eth0`.
    ///   - port: 1 through 65,535.
    ///   - interface: Where the connection begins; `nil`, as the host's routes say.
    ///   - timeout: The longest it may take, lookup and all attempts together, 0 or more; `nil`,
    ///     the kernel's own bound.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``connect(to:via:timeout:file:line:)``.
    public func connect(
        toHost host: String,
        port: UInt16,
        via interface: InterfaceSpecifier? = nil,
        timeout: Duration? = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let call = ConnectCall(.host(host, port), file, line)
        try call.check(!host.isEmpty && !host.utf8.contains(0), "host must be a name or an address")
        try call.check(port != 0, "port must be 1 through 65535")
        let known = KnownHost.addresses(of: host, port: port)
        let isName = known == nil
        try call.check(!isName || !host.contains(":"), "host must be a name or an address")
        let target = known.map { ConnectState.Target.addresses($0) } ?? .name(host)
        try start(target, port: port, via: interface, timeout: timeout, call)
        extras?.requestedHost = host
        if SocketAddress(literalHost: host, port: port) == nil {
            extras?.requestedPlace = "\(host):\(port)"
        }
    }

    /// Connects to an address.
    ///
    /// Reads and writes may be queued at once; they begin when the connection is established. What
    /// comes of it is told by `didConnectTo`, or by `didDisconnect` with the phase `connecting`.
    ///
    /// - Parameters:
    ///   - address: Where to; a port of 0 is refused.
    ///   - interface: Where the connection begins; `nil`, as the host's routes say.
    ///   - timeout: The longest it may take, 0 or more; `nil`, the kernel's own bound.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/invalidState(_:)`` unless the socket is idle;
    ///   ``SocketError/noDelegate``; ``SocketError/noAddressFamilyEnabled``;
    ///   ``SocketError/invalidArgument(_:)``, also for an interface that the host does not have, or
    ///   that has no address of the family; ``SocketError/system(_:)`` if the interfaces cannot be
    ///   listed; ``SocketError/wrongThread``; ``SocketError/reactorStopped``. Nothing is started
    ///   then, and nothing called back.
    public func connect(
        to address: SocketAddress,
        via interface: InterfaceSpecifier? = nil,
        timeout: Duration? = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let call = ConnectCall(.address(address), file, line)
        try call.check(address)
        try start(.addresses([address]), port: 0, via: interface, timeout: timeout, call)
    }

    /// Connects to whichever of several addresses answers first, in the way of
    /// ``connect(toHost:port:via:timeout:file:line:)``.
    ///
    /// - Parameters:
    ///   - addresses: Where to, one or more, in the order in which they should be tried; those that
    ///     cannot be used are left out, unless that is all of them.
    ///   - interface: Where the connection begins; `nil`, as the host's routes say.
    ///   - timeout: The longest it may take, 0 or more; `nil`, the kernel's own bound.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``connect(to:via:timeout:file:line:)``.
    public func connect(
        toAnyOf addresses: [SocketAddress],
        via interface: InterfaceSpecifier? = nil,
        timeout: Duration? = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let call = ConnectCall(.addresses(addresses.count), file, line)
        try call.check(!addresses.isEmpty, "there must be an address")
        for address in addresses { try call.check(address) }
        try start(.addresses(addresses), port: 0, via: interface, timeout: timeout, call)
        if addresses.count > 1 { extras?.requestedPlace = "any of \(addresses.count) addresses" }
    }

    // MARK: What a connect goes by

    /// The families that a connect may use; both.
    public var addressFamilies: Set<AddressFamily> {
        get {
            guard isOnThread("addressFamilies") else { return [] }
            return Set(AddressFamily.allCases).subtracting(extras?.disabledFamilies ?? [])
        }
        set {
            guard isOnThread("addressFamilies") else { return }
            makeExtras().disabledFamilies = Set(AddressFamily.allCases).subtracting(newValue)
        }
    }

    /// The family that is tried first where a host has both; ``FamilyPreference/system``.
    public var preferredFamily: FamilyPreference {
        get { isOnThread("preferredFamily") ? extras?.preferredFamily ?? .system : .system }
        set {
            guard isOnThread("preferredFamily") else { return }
            makeExtras().preferredFamily = newValue
        }
    }

    /// How long an attempt to connect is alone before the next address is tried beside it, 0 or
    /// more; 250 ms.
    ///
    /// Source: RFC 8305, section 5.
    public var connectionAttemptDelay: Duration {
        get {
            let usual = ConnectRace.usualDelay
            guard isOnThread("connectionAttemptDelay") else { return usual }
            return extras?.connectionAttemptDelay ?? usual
        }
        set {
            guard isOnThread("connectionAttemptDelay") else { return }
            makeExtras().connectionAttemptDelay = max(.zero, newValue)
        }
    }

    /// The host that a connect by name or text was asked for, as it was given; `nil` for others.
    ///
    /// Still answers in the terminal callback.
    public var requestedHost: String? { isOnThread("requestedHost") ? extras?.requestedHost : nil }

    // MARK: Starting

    private func start(
        _ target: ConnectState.Target,
        port: UInt16,
        via interface: InterfaceSpecifier?,
        timeout: Duration?,
        _ call: ConnectCall
    ) throws(SocketError) {
        let reactor = try reactorForCall("connect")
        guard lifecycle.phase == .idle else { throw .invalidState(state) }
        guard relayReference?.takeUnretainedValue().target != nil else { throw .noDelegate }
        let disabled = extras?.disabledFamilies ?? []
        guard disabled.count < AddressFamily.allCases.count || target.isLocal else {
            throw .noAddressFamilyEnabled
        }
        let nanoseconds = try Self.nanoseconds(of: timeout, "connect", call.file, call.line)
        try extras?.options.check("connect", call.file, call.line)
        let state = ConnectState(
            target,
            port: port,
            sources: try call.sources(of: interface, without: disabled),
            localPort: extras?.options.localPort ?? 0,
            disabledFamilies: disabled
        )
        try call.check(state.hasUsableAddress, "a family must be enabled, and on the interface")
        try enterTable(of: reactor)
        lifecycle.start(connecting: true)
        let extras = makeExtras()
        extras.connecting = state
        extras.localAddress = nil
        extras.formerSecurity = nil
        extras.requestedHost = nil
        extras.requestedPlace = nil
        extras.phase = .connecting
        switch state.target {
        case .name:
            peer = nil
            extras.phase = .resolving
        case .addresses(let addresses): peer = addresses.count == 1 ? addresses[0] : nil
        }
        let now = reactor.backend.now()
        started = now
        if nanoseconds != .max {
            extras.timeouts[.connect] = now.advanced(byNanoseconds: nanoseconds)
            armTimer(reactor)
        }
        // Not here: the delegate is asked about each address, and no callback runs in a call.
        reactor.work.add(socketID, to: .connect)
    }
}

/// A call to connect, for what is wrong with its arguments.
struct ConnectCall {
    enum Argument {
        case host(String, UInt16)
        case address(SocketAddress)
        case addresses(Int)
    }

    private let argument: Argument
    let file: StaticString
    let line: UInt

    init(_ argument: Argument, _ file: StaticString, _ line: UInt) {
        self.argument = argument
        self.file = file
        self.line = line
    }

    /// The call as its caller has written it, roughly.
    private var text: String {
        switch argument {
        case .host(let host, let port): "connect(toHost: \"\(host)\", port: \(port))"
        case .address(let address): "connect(to: \(address))"
        case .addresses(let count): "connect(toAnyOf: \(count) addresses)"
        }
    }

    func check(_ holds: Bool, _ reason: @autoclosure () -> String) throws(SocketError) {
        guard !holds else { return }
        let reason = reason()
        throw .invalidArgument(InvalidArgument(text, reason, file, line))
    }

    func check(_ address: SocketAddress) throws(SocketError) {
        try check(address.port != 0, "port must be 1 through 65535")
        try check(address != .unix(.unnamed), "path must not be empty")
    }

    /// The addresses of an interface that the host has; `nil` where the kernel may choose.
    func sources(
        of interface: InterfaceSpecifier?,
        without disabled: Set<AddressFamily>
    ) throws(SocketError) -> InterfaceSpecifier.SourceAddresses? {
        guard let interface, interface != .any else { return nil }
        var found: InterfaceSpecifier.SourceAddresses
        do {
            found = try interface.sourceAddresses()
        } catch {
            throw .system(error)
        }
        try check(!found.isEmpty, "interface \(interface) must be one of the host's")
        if disabled.contains(.ipv4) { found.ipv4 = nil }
        if disabled.contains(.ipv6) { found.ipv6 = nil }
        try check(!found.isEmpty, "interface \(interface) must have an enabled family")
        return found
    }
}

public import Towline

/// A network of scripted peers in virtual time, on which a reactor and its sockets can be tested.
///
/// Nothing here touches the kernel or sleeps: when a reactor waits, the clock jumps to the next
/// thing that happens. All chance comes from one seed, so a run can be repeated. The network, its
/// peers and its reactor belong to one thread.
///
///     let network = SimulatedNetwork(seed: 7)
///     let reactor = try network.makeReactor()
///     …                                   // listen with the code under test
///     let peer = network.connect(to: address)
///     peer.send("hello\r\n")
///     try reactor.turn()
public final class SimulatedNetwork {
    let wire: Wire

    /// The names of hosts, for its reactors.
    public let names = SimulatedNames()

    /// Makes a network on which nobody is yet.
    ///
    /// - Parameters:
    ///   - seed: Where all chance comes from; print it, so that a failure can be repeated.
    ///   - conditions: What the network is like.
    public init(seed: UInt64 = 0, conditions: NetworkConditions = NetworkConditions()) {
        wire = Wire(seed: seed, conditions: conditions)
    }

    deinit {
        // Things that were scheduled know the network's parts, which know the clock.
        wire.removeAll()
    }

    /// Makes a reactor whose sockets are on this network; `backend` of its configuration is not
    /// looked at.
    ///
    /// One reactor a network, since time passes only while it waits; it keeps the network alive.
    ///
    /// - Parameter configuration: What the reactor is made with.
    /// - Returns: The reactor; the calling thread owns it until another makes the first turn.
    /// - Throws: `ReactorError.invalidConfiguration`.
    public func makeReactor(
        _ configuration: Reactor.Configuration = Reactor.Configuration()
    ) throws(ReactorError) -> Reactor {
        try makeReactor(configuration, on: makeBackend(configuration))
    }

    /// Makes a reactor on a backend of this network, which can be looked into.
    package func makeReactor(
        _ configuration: Reactor.Configuration,
        on backend: SimulatedBackend
    ) throws(ReactorError) -> Reactor {
        try Reactor(
            configuration,
            backend: backend,
            resolver: SimulatedResolver(names, wire, wake: backend.wake)
        )
    }

    /// Makes a backend alone, for tests of what lies directly above it.
    package func makeBackend(
        _ configuration: Reactor.Configuration = Reactor.Configuration()
    ) -> SimulatedBackend {
        SimulatedBackend(
            self,
            receiveBufferSize: configuration.receiveBufferSize,
            budget: configuration.budget
        )
    }

    /// What the network is like; connections and bytes on their way keep what they began with.
    public var conditions: NetworkConditions {
        get { wire.conditions }
        set { wire.conditions = newValue }
    }

    // MARK: Time

    /// What the virtual clock says.
    public var now: MonotonicInstant { wire.clock.now }

    /// Has a script go on later.
    ///
    /// - Parameters:
    ///   - delay: The virtual time until then, 0 or more; with zero, in the reactor's next wait.
    ///   - action: Called from within a wait. It may do anything with peers and servers, and must
    ///     leave the reactor and its sockets alone.
    public func schedule(after delay: Duration, _ action: @escaping () -> Void) {
        wire.clock.schedule(at: now.advanced(by: delay), action)
    }

    // MARK: Peers

    /// Listens for the sockets under test.
    ///
    /// - Parameters:
    ///   - address: Where; a port of 0 has one chosen.
    ///   - backlog: How many may wait while nobody accepts, 0 or more; one more than that does.
    ///   - welcome: Called with each peer, from within a wait.
    /// - Returns: The server; `nil` if somebody listens there already.
    public func listen(
        at address: SocketAddress,
        backlog: Int = 128,
        welcome: ((SimulatedPeer) -> Void)? = nil
    ) -> SimulatedServer? {
        SimulatedServer(wire, at: address, backlog: backlog, welcome: welcome)
    }

    /// Connects a peer to a listener under test.
    ///
    /// - Parameters:
    ///   - address: Where to.
    ///   - local: Where from; `nil`, a port of the host itself that nobody else has.
    /// - Returns: The peer, which is `connecting` before the next wait. What it is told to send
    ///   meanwhile goes when it is connected.
    public func connect(
        to address: SocketAddress,
        from local: SocketAddress? = nil
    ) -> SimulatedPeer {
        let peer = SimulatedPeer(wire)
        wire.add(peer)
        let attempt = SimulatedConnect(
            wire,
            from: local ?? wire.clientAddress(for: address),
            to: address
        ) { outcome in
            switch outcome {
            case .connected(let end): peer.attach(end)
            case .failed(let number): peer.refuse(number)
            }
        }
        attempt.start()
        return peer
    }

    /// Has nothing answer at an address any more, not even with a refusal; connects to it time out.
    public func silence(_ address: SocketAddress) {
        wire.silentAddresses.insert(address)
    }

    // MARK: Faults

    /// Has a call of the reactor to the kernel fail.
    ///
    /// Several faults of one call happen one after the other. `EINTR` is repeated, as it is on the
    /// kernel, and so is not seen above, but counts as a call.
    ///
    /// - Parameters:
    ///   - number: The errno, 1 or more.
    ///   - call: Which call.
    ///   - skippedCalls: How many calls are left alone before it, 0 or more, counted from the fault
    ///     before.
    public func inject(_ number: CInt, into call: SimulatedCall, after skippedCalls: Int = 0) {
        wire.faults.add(number, to: call, skipping: skippedCalls)
    }
}

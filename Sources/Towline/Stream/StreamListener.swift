/// Hears of the connections that a ``StreamListener`` accepts.
public protocol StreamListenerDelegate: AnyObject {
    /// A connection was accepted. Set the socket's delegate before returning, or it is closed; it
    /// may be read from and written to at once. If this throws, the socket is closed, too.
    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws

    /// Accepting pauses because descriptors or memory have run out
    /// (``SocketError/acceptPaused(_:)``); it goes on by itself. Comes at most once a second.
    func listener(_ listener: StreamListener, didFailToAccept error: SocketError)

    /// The listener has ended; comes once. The error is `nil` if ``StreamListener/stop()`` was
    /// called.
    func listener(_ listener: StreamListener, didStopWith error: SocketError?)
}

extension StreamListenerDelegate {
    /// Does nothing.
    public func listener(_ listener: StreamListener, didFailToAccept error: SocketError) {}

    /// Does nothing.
    public func listener(_ listener: StreamListener, didStopWith error: SocketError?) {}
}

/// What a listener does with waiting connections while the process is out of descriptors.
@nonexhaustive
public enum ExhaustionPolicy: String, Sendable, Hashable, CaseIterable {
    /// They wait until a descriptor comes free.
    case wait
    /// They are reset, so that their clients fail at once instead of waiting; one descriptor of
    /// the reactor is kept aside for it.
    case shed
}

/// Accepts connections on a port or an address: TCP over IPv4 and IPv6, or Unix domain.
///
/// A listener that listens is kept alive by its reactor until its terminal callback. Ending it
/// leaves the connections that it accepted alone.
public final class StreamListener {
    @exclusivity(unchecked) var reference: ReactorReference
    @exclusivity(unchecked) weak var delegateReference: (any StreamListenerDelegate)?
    /// The same, if it is to be held.
    private var keptDelegate: (any StreamListenerDelegate)?
    var phase = Phase.idle
    /// What is open: a descriptor, or one for each family.
    @exclusivity(unchecked) var places: [Place] = []
    var socketFile: SocketFile?
    /// The options that were listened with, if they are not the usual ones.
    @exclusivity(unchecked) var inheritedOptions: InheritedOptions?

    /// Connections that this listen has accepted and that are open.
    @exclusivity(unchecked) var openConnections = 0
    @exclusivity(unchecked) var connectionLimit: Int?
    var isPausedByUser = false
    /// Whether too many of the connections that were accepted are not secured yet.
    var waitsForHandshakes = false
    var exhaustion = Exhaustion()

    /// Secures each connection before the delegate hears of it.
    @exclusivity(unchecked)
    package var secureAccepted: ((StreamSocket) throws(SocketError) -> Void)?
    private var chosenOptions = SocketOptions()
    private var chosenPolicy = HalfClosePolicy.finishWrites
    private var chosenFamilies: Set<AddressFamily> = [.ipv4, .ipv6]

    enum Phase {
        case idle
        case listening
        /// Stopped, while the last connections in the queue of a shared port are accepted.
        case leaving(Leave)
        /// What is open is being closed, for a reason.
        case closing(SocketError?)
    }

    /// One descriptor.
    struct Place {
        let id: SocketID
        let address: SocketAddress
    }

    /// How often the queue of a port that is left was looked at, and was empty lately.
    struct Leave {
        var looks = 0
        var emptyLooks = 0
    }

    /// What is known while descriptors have run out.
    struct Exhaustion {
        /// The first and the longest pause of accepting.
        static let pauses = (first: Duration.milliseconds(100), longest: Duration.seconds(1))

        var policy = ExhaustionPolicy.wait
        var isActive = false
        var pause = Exhaustion.pauses.first
        var resumption: Reactor.Timer?
        var lastNotice: MonotonicInstant?
    }

    /// Makes an idle listener.
    ///
    /// - Parameters:
    ///   - reactor: The reactor that it, and the sockets that it accepts, will live on.
    ///   - delegate: Who hears of connections; held weakly. To have it held, ``keep(_:)`` it.
    public init(reactor: Reactor, delegate: (any StreamListenerDelegate)? = nil) {
        reference = ReactorReference(reactor)
        reference.hold()
        delegateReference = delegate
    }

    deinit {
        reference.letGo()
    }

    // MARK: Configuration

    /// Who hears of connections; held weakly, unless it was given to ``keep(_:)``.
    ///
    /// A listener whose delegate has gone closes the connections that it accepts, each with a
    /// `warning` in the log.
    public var delegate: (any StreamListenerDelegate)? {
        get { isOnThread("delegate") ? delegateReference : nil }
        set {
            guard isOnThread("delegate") else { return }
            setDelegate(newValue, isKept: false)
        }
    }

    /// Sets a delegate that the listener holds until `didStopWith` has returned: for one that
    /// nobody else would keep.
    ///
    /// The connections outlive the listener. Where it is their delegate as well, each is given it
    /// by ``StreamSocket/keep(_:)``, or somebody holds it for as long as they last.
    public func keep(_ delegate: any StreamListenerDelegate) {
        guard isOnThread("keep(_:)") else { return }
        setDelegate(delegate, isKept: true)
    }

    private func setDelegate(_ delegate: (any StreamListenerDelegate)?, isKept: Bool) {
        letGoOfKeptDelegate()
        delegateReference = delegate
        if isKept { keptDelegate = delegate }
    }

    private func letGoOfKeptDelegate() {
        guard let old = keptDelegate else { return }
        keptDelegate = nil
        // It may be the one whose callback runs: it lives until the end of the turn.
        reference.reactor?.bury(old)
    }

    /// What accepted sockets begin with; takes effect with the next listen.
    public var options: SocketOptions {
        get { isOnThread("options") ? chosenOptions : SocketOptions() }
        set {
            guard isOnThread("options") else { return }
            chosenOptions = newValue
        }
    }

    /// What accepted sockets do when their peer sends its end; ``HalfClosePolicy/finishWrites``.
    public var halfClosePolicy: HalfClosePolicy {
        get { isOnThread("halfClosePolicy") ? chosenPolicy : .finishWrites }
        set {
            guard isOnThread("halfClosePolicy") else { return }
            chosenPolicy = newValue
        }
    }

    /// The families that a port is listened on with; both.
    ///
    /// Takes effect with the next listen.
    public var addressFamilies: Set<AddressFamily> {
        get { isOnThread("addressFamilies") ? chosenFamilies : [] }
        set {
            guard isOnThread("addressFamilies") else { return }
            chosenFamilies = newValue
        }
    }

    /// How many of its connections may be open at a time; `nil`, the default, as many as come.
    ///
    /// At the limit further clients wait in the kernel's backlog, and accepting goes on when a
    /// connection ends. Counted are those that were accepted since the listener began to listen.
    /// May be changed at any time; open connections are left alone.
    public var maxConnections: Int? {
        get { isOnThread("maxConnections") ? connectionLimit : nil }
        set {
            guard isOnThread("maxConnections") else { return }
            connectionLimit = newValue
            updateAccepting()
        }
    }

    /// What happens to waiting connections while descriptors have run out;
    /// ``ExhaustionPolicy/wait``.
    public var exhaustionPolicy: ExhaustionPolicy {
        get { isOnThread("exhaustionPolicy") ? exhaustion.policy : .wait }
        set {
            guard isOnThread("exhaustionPolicy") else { return }
            exhaustion.policy = newValue
            guard isListening, newValue == .shed, let reactor = reference.reactor else { return }
            do {
                try reactor.backend.takeReserve()
            } catch {
                reactor.note(.warning, "no descriptor to keep aside", ["error": "\(error)"])
            }
        }
    }

    // MARK: Facts

    /// The address that is listened on, with the port that the kernel chose for 0; the one of IPv4
    /// if there are two, `nil` while nothing is listened on.
    public var localAddress: SocketAddress? { localAddresses.first }

    /// The addresses that are listened on, the one of IPv4 first; none while nothing is.
    public var localAddresses: [SocketAddress] {
        isOnThread("localAddresses") && isListening ? places.map(\.address) : []
    }

    /// How many of the connections that were accepted since the listener began to listen are open.
    public var connectionCount: Int { isOnThread("connectionCount") ? openConnections : 0 }

    /// Lends the listener's descriptors for the length of the call: one, or two if it listens with
    /// both families; none while nothing is listened on, and on a simulated network.
    ///
    /// They stay the listener's: to close one, or to change its flags, is not allowed.
    ///
    /// - Parameter body: Called once, with the descriptors.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func withUnsafeDescriptors<Result, Failure: Error>(
        _ body: ([CInt]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let reactor = reference.ifOnThread("withUnsafeDescriptors(_:)"), isListening else {
            return try body([])
        }
        return try body(places.compactMap { reactor.backend.descriptor(of: $0.id) })
    }

    var isListening: Bool {
        switch phase {
        case .listening, .leaving: true
        case .idle, .closing: false
        }
    }

    private func isOnThread(_ call: StaticString) -> Bool { reference.permits(call) }

    // MARK: Calls

    /// Whether accepting was paused by ``pauseAccepting()``.
    public var isPaused: Bool { isOnThread("isPaused") ? isPausedByUser : false }

    /// Accepts nobody until ``resumeAccepting()``; clients wait in the kernel's backlog meanwhile.
    ///
    /// Stays in force over the end of a listen and the beginning of another.
    public func pauseAccepting() {
        guard reference.ifOnThread("pauseAccepting()") != nil else { return }
        isPausedByUser = true
        updateAccepting()
    }

    /// Accepts again after ``pauseAccepting()``.
    public func resumeAccepting() {
        guard reference.ifOnThread("resumeAccepting()") != nil else { return }
        isPausedByUser = false
        updateAccepting()
    }

    /// Accepts nobody from now on; `didStopWith` follows, and from it on, and not before, the
    /// listener may listen again.
    ///
    /// A listener that shares its port (``SocketOptions/reusePort``) first accepts who is in its
    /// queue already, which the kernel would reset: until nobody was there in two turns in a row. A
    /// client that comes between the last look and the close can still be reset; only a single
    /// descriptor for the port has no such moment. On an idle listener does nothing.
    public func stop() {
        guard let reactor = reference.ifOnThread("stop()") else { return }
        leave(reactor)
    }

    // MARK: Ending

    /// So many turns are spent at most on the queue of a port that is left.
    private static let leavingTurns = 100

    /// Stops as soon as nobody is lost by it.
    func leave(_ reactor: Reactor) {
        guard case .listening = phase else { return }
        guard inheritedOptions?.value.reusePort == true, wantsConnections, let first = places.first
        else {
            stop(because: nil, reactor)
            return
        }
        phase = .leaving(Leave())
        reactor.work.add(first.id, to: .serveAgain)
    }

    /// Looks whether the queue is empty, once a turn.
    func goOnLeaving(_ reactor: Reactor) {
        guard case .leaving(var leave) = phase, let first = places.first else { return }
        let backend = reactor.backend
        let hasWaiting = places.contains { backend.hasWaitingConnections($0.id) }
        leave.looks += 1
        leave.emptyLooks = hasWaiting ? 0 : leave.emptyLooks + 1
        phase = .leaving(leave)
        if leave.emptyLooks == 2 || leave.looks == Self.leavingTurns || !wantsConnections {
            stop(because: nil, reactor)
        } else {
            reactor.work.add(first.id, to: .serveAgain)
        }
    }

    func stop(because reason: SocketError?, _ reactor: Reactor) {
        guard isListening else { return }
        phase = .closing(reason)
        endExhaustion(reactor)
        socketFile?.remove()
        socketFile = nil
        for place in places {
            reactor.backend.pauseReceiving(place.id)
            reactor.work.add(place.id, to: .close)
        }
    }

    /// A descriptor is gone; the last one's end is the listener's.
    func noteClosed(_ id: SocketID, _ reactor: Reactor) {
        if let owner = reactor.table.remove(id) { reactor.bury(owner) }
        places.removeAll { $0.id == id }
        guard places.isEmpty, case .closing(let reason) = phase else { return }
        becomeIdle()
        reference.hold()
        let kept = keptDelegate
        delegateReference?.listener(self, didStopWith: reason)
        // Let go of, unless the callback has started the listener again, or has it keep another.
        if case .idle = phase, keptDelegate === kept { letGoOfKeptDelegate() }
        reactor.drain?.noteSocketEnd()
    }

    private func becomeIdle() {
        phase = .idle
        places = []
        openConnections = 0
        waitsForHandshakes = false
        inheritedOptions = nil
        exhaustion = Exhaustion(policy: exhaustion.policy)
    }

    /// The reactor has ended or goes away with the listener open: idle, without a callback.
    func detach() {
        socketFile?.remove()
        socketFile = nil
        becomeIdle()
        // It may hold the listener in turn.
        keptDelegate = nil
        reference.forget()
    }
}

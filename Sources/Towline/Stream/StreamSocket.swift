internal import TowlineBytes

/// A connection that tells its delegate what happens: TCP over IPv4 and IPv6, and Unix domain.
///
/// Reads and writes are queued and complete in the order they were asked for; each completion is
/// one callback. A started socket is kept alive by its reactor until its terminal callback,
/// `didDisconnect`, which comes exactly once. Then it is idle, and may connect again.
///
/// A socket belongs to its reactor's thread, and so is not `Sendable`; other threads hold its
/// ``id`` and the reactor's handle.
public final class StreamSocket {
    /// How far a socket has come.
    public enum State: String, Sendable, Hashable {
        /// Nothing is started.
        case idle
        /// A connect is under way.
        case connecting
        /// The connection is established.
        case connected
        /// Connections are accepted; of listeners only.
        case listening
        /// The connection is ending; the terminal callback is still to come.
        case disconnecting

        /// Whether the connection is established.
        public var isConnected: Bool { self == .connected }
    }

    // Everything here is touched by the reactor's thread only. No access spans a callback, so that
    // none needs a check at run time; the hot path is `received`, `read` and `write`.

    @exclusivity(unchecked) private var reference: ReactorReference
    @exclusivity(unchecked) private(set) var socketID = SocketID.none
    @exclusivity(unchecked) var relayReference: Unmanaged<DelegateRelay>?
    @exclusivity(unchecked) var obstacles: Obstacles = .isNotOpen
    @exclusivity(unchecked) var listed: TurnSteps = []
    @exclusivity(unchecked) var lifecycle = Lifecycle()
    @exclusivity(unchecked) var reads = ReadQueue()
    @exclusivity(unchecked) var writes = WriteQueue()
    /// Bytes that came and that no read has taken; `nil` mostly.
    @exclusivity(unchecked) var kept: ByteBuffer?
    @exclusivity(unchecked) var extras: StreamExtras?
    @exclusivity(unchecked) var receivedCount = 0
    /// What came behind the last bytes, to take effect when they have been read.
    @exclusivity(unchecked) var inputEnd: InputEnd?
    /// The first reason for its end, and whether there is one; no reason is a deliberate end.
    @exclusivity(unchecked) var reason: SocketError?
    @exclusivity(unchecked) var hasReason = false
    @exclusivity(unchecked) var peer: SocketAddress?
    /// Above so many waiting bytes it is news when few wait again.
    @exclusivity(unchecked) var highWaterMark = StreamSocket.defaultHighWaterMark
    /// When it was started.
    @exclusivity(unchecked) var started = MonotonicInstant(nanoseconds: 0)
    @exclusivity(unchecked) var idleClock = IdleClock()
    /// The socket's one timer, and what it is set for.
    @exclusivity(unchecked) var timer = TimerQueue<TimerWork>.noKey
    @exclusivity(unchecked) var timerDeadline = MonotonicInstant.distantFuture
    /// The listener that counts it among its connections; nobody's ID if none does.
    @exclusivity(unchecked) var origin = SocketID.none

    enum InputEnd {
        case ended
        /// The peer's end, which has completed a read already.
        case endedAndRead
        case failed(SocketError)
    }

    /// Makes an idle socket.
    ///
    /// - Parameters:
    ///   - reactor: The reactor that it will live on.
    ///   - delegate: Who hears of it; held weakly.
    public init(reactor: Reactor, delegate: (any StreamSocketDelegate)? = nil) {
        reference = ReactorReference(reactor)
        reference.hold()
        if let delegate { relayReference = .passRetained(reactor.relay(to: delegate)) }
    }

    /// Takes over a connected stream descriptor of the IPv4, IPv6 or Unix family; it is made
    /// non-blocking and close-on-exec.
    ///
    /// The socket begins connected, without `didConnectTo`.
    ///
    /// - Parameters:
    ///   - reactor: The reactor that it will live on.
    ///   - descriptor: The descriptor; it is the socket's only if nothing is thrown.
    ///   - delegate: Who hears of it; held weakly.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/invalidArgument(_:)`` for a descriptor that is no connected stream;
    ///   ``SocketError/system(_:)``; ``SocketError/reactorStopped``; ``SocketError/wrongThread``.
    public convenience init(
        reactor: Reactor,
        adopting descriptor: CInt,
        delegate: any StreamSocketDelegate,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        self.init(reactor: reactor, delegate: delegate)
        let reactor = try reactorForCall("init(adopting:)")
        let call = "init(adopting: \(descriptor))"
        let adopted = try AdoptedDescriptor(descriptor, call, file, line)
        let peer = try adopted.peerAddress()
        let saved = try adopted.prepare()
        do {
            try start(on: reactor, descriptor: descriptor, peer: peer)
        } catch {
            adopted.restore(saved)
            throw error
        }
    }

    /// An accepted socket, whose delegate is still to be set.
    init(accepting descriptor: CInt, from peer: SocketAddress, on reactor: Reactor)
        throws(SocketError)
    {
        reference = ReactorReference(reactor)
        try start(on: reactor, descriptor: descriptor, peer: peer)
    }

    deinit {
        relayReference?.release()
        reference.letGo()
    }

    // MARK: Facts

    /// Names the connection from its start to its end; stale afterwards, and nobody's before.
    public var id: SocketID { socketID }

    /// How far the socket has come; `.idle` when asked from another thread.
    public var state: State {
        guard isOnThread("state") else { return .idle }
        return switch lifecycle.phase {
        case .idle: .idle
        case .connecting: .connecting
        case .connected: .connected
        case .finishing, .disconnecting: .disconnecting
        }
    }

    /// The peer, or whom the socket connects to; `nil` while nothing is started.
    ///
    /// Still answers in the terminal callback.
    public var remoteAddress: SocketAddress? { isOnThread("remoteAddress") ? peer : nil }

    /// Where the connection begins on this host; `nil` while it is not established.
    ///
    /// Asked of the kernel once and remembered; still answers in the terminal callback.
    public var localAddress: SocketAddress? {
        guard isOnThread("localAddress") else { return nil }
        if let known = extras?.localAddress { return known }
        guard lifecycle.phase != .idle, lifecycle.phase != .connecting else { return nil }
        let address = reference.reactor?.backend.localAddress(of: socketID)
        makeExtras().localAddress = address
        return address
    }

    /// What happens when the peer sends its end; ``HalfClosePolicy/finishWrites``.
    public var halfClosePolicy: HalfClosePolicy {
        get {
            isOnThread("halfClosePolicy") ? extras?.halfClosePolicy ?? .finishWrites : .finishWrites
        }
        set {
            guard isOnThread("halfClosePolicy") else { return }
            makeExtras().halfClosePolicy = newValue
        }
    }

    /// Whatever the program likes; never looked at.
    public var userInfo: Any? {
        get { isOnThread("userInfo") ? extras?.userInfo : nil }
        set {
            guard isOnThread("userInfo") else { return }
            makeExtras().userInfo = newValue
        }
    }

    /// Bytes of writes that the kernel has not taken yet.
    ///
    /// Those that a callback has just written count as well: they are offered to the kernel when
    /// the callback has returned. So a peer is slow if many bytes wait *between* callbacks, which
    /// `socketDidBecomeWritable` tells the end of.
    public var pendingWriteBytes: Int { isOnThread("pendingWriteBytes") ? writes.pendingBytes : 0 }

    // MARK: The delegate

    /// Who hears of the socket; held weakly.
    ///
    /// May be set at any time: the new delegate hears the next callback, the old one none. One that
    /// goes away during a turn lives until its end at most. The socket then closes with
    /// ``SocketError/delegateGone`` at its next event, or when one of the turns comes by that look
    /// after a few sockets each: nothing tells when a weak reference ends.
    public var delegate: (any StreamSocketDelegate)? {
        get {
            guard isOnThread("delegate") else { return nil }
            return relayReference?.takeUnretainedValue().delegate()
        }
        set {
            guard let reactor = reactorIfOnThread("delegate") else { return }
            // An accepted socket's first delegate takes nobody's place.
            if relayReference != nil { leaveSplice(reactor) }
            if let newValue {
                setRelay(reactor.relay(to: newValue), reactor)
            } else {
                setRelay(nil, reactor)
            }
        }
    }

    /// Sets a delegate that the socket holds until its terminal callback has returned: for a
    /// handler object per connection, which nobody else would keep.
    public func keep(_ delegate: any StreamSocketDelegate) {
        guard let reactor = reactorIfOnThread("keep(_:)") else { return }
        leaveSplice(reactor)
        setRelay(DelegateRelay.make(delegate, keeping: true), reactor)
    }

    /// The same for one that is told when it is a delegate no longer.
    func keep(owner delegate: any QueueOwner) {
        guard let reactor = reactorIfOnThread("keep(_:)") else { return }
        let relay = DelegateRelay.make(delegate, keeping: true)
        relay.hasQueueOwner = true
        setRelay(relay, reactor)
    }

    func setRelay(_ relay: DelegateRelay?, _ reactor: Reactor) {
        // It may be the one whose callback runs: it lives until the end of the turn.
        let old = relayReference?.takeRetainedValue()
        relayReference = relay.map { .passRetained($0) }
        guard let old else { return }
        reactor.bury(old)
        old.queueOwner?.wasReplaced()
    }

    /// A default that does nothing has run, on this delegate's behalf.
    func noteDefault(_ callback: SkippedCallbacks, of delegate: AnyObject) {
        let address = UnsafeRawPointer(Unmanaged.passUnretained(delegate).toOpaque())
        // A proxy may call another object's default, which says nothing about the proxy.
        guard let relay = relayReference?.takeUnretainedValue(), relay.address == address else {
            return
        }
        relay.skipped.insert(callback)
    }

    /// A read is complete, and this delegate leaves that to the default.
    func noteUntakenBytes(of delegate: AnyObject) {
        guard let relay = relayReference?.takeUnretainedValue(), !relay.skipped.contains(.didRead)
        else { return }
        noteDefault(.didRead, of: delegate)
        guard relay.skipped.contains(.didRead) else { return }
        reactorIfOnThread("didRead")?.note(
            .debug,
            "bytes were read, and nobody takes them",
            ["socket": "\(socketID)", "delegate": "\(type(of: delegate))"]
        )
    }

    // MARK: The reactor

    /// The reactor, for a call that can throw.
    ///
    /// - Throws: ``SocketError/wrongThread``, ``SocketError/reactorStopped``.
    func reactorForCall(_ call: StaticString) throws(SocketError) -> Reactor {
        try reference.forCall(call)
    }

    /// The reactor, for a call that cannot throw; `nil` if it must do nothing.
    @inline(__always)
    func reactorIfOnThread(_ call: StaticString) -> Reactor? { reference.ifOnThread(call) }

    @inline(__always)
    func isOnThread(_ call: StaticString) -> Bool { reference.permits(call) }

    /// The reference, for the fast paths of calls that check the thread by themselves.
    @inline(__always)
    var reactorUnchecked: Unmanaged<Reactor>? { reference.unmanaged }

    /// Takes a slot of the table: the reactor holds the socket from here, no longer the reverse.
    func enterTable(of reactor: Reactor) throws(SocketError) {
        guard let id = reactor.table.insert(self, kind: .stream) else {
            throw .system(SystemCallError(call: "socket", errno: SystemCallError.tableIsFull))
        }
        socketID = id
        reactor.drain?.noteStart(of: id)
        // Whoever called holds the reactor, too.
        reference.letGo()
    }

    /// The slot is free again: the socket lives as long as its user likes.
    func leaveTable() {
        socketID = .none
        reference.hold()
    }

    /// The reactor is about to go away, with the socket open.
    func loseReactor() {
        reference.forget()
    }

    private func start(
        on reactor: Reactor,
        descriptor: CInt,
        peer: SocketAddress
    ) throws(SocketError) {
        try enterTable(of: reactor)
        do {
            try reactor.backend.adopt(descriptor, as: socketID, kind: .stream)
        } catch {
            _ = reactor.table.remove(socketID)
            leaveTable()
            throw .system(error)
        }
        self.peer = peer
        started = reactor.recentTime
        lifecycle.start(connecting: false)
        obstacles = .isPaused
        beginIdling(reactor)
    }

    /// What is rarely needed, made when it first is.
    @discardableResult
    func makeExtras() -> StreamExtras {
        if let extras { return extras }
        let made = StreamExtras()
        extras = made
        return made
    }
}

/// What keeps a socket from the fast paths; all of them are open to a socket with none of these.
struct Obstacles: OptionSet {
    let rawValue: UInt16

    /// Not connected, or ending.
    static let isNotOpen = Obstacles(rawValue: 1 << 0)
    /// The backend is told to receive nothing.
    static let isPaused = Obstacles(rawValue: 1 << 1)
    /// Bytes are kept that no read has taken.
    static let hasKeptBytes = Obstacles(rawValue: 1 << 2)
    /// Writes wait to be handed over, or to be finished.
    static let hasPendingWrites = Obstacles(rawValue: 1 << 3)
    /// A disconnect waits for the queues.
    static let awaitsDisconnect = Obstacles(rawValue: 1 << 4)
    /// The peer's end, or a failure, was told.
    static let inputHasEnded = Obstacles(rawValue: 1 << 5)
    /// A deadline runs.
    static let hasDeadline = Obstacles(rawValue: 1 << 6)
    /// More bytes have waited than the high-water mark, so that falling below the low one is news.
    static let isAboveHighWaterMark = Obstacles(rawValue: 1 << 7)
    /// A hang-up was told, which comes once.
    static let toldHangUp = Obstacles(rawValue: 1 << 8)
    /// Our end was asked for; nothing may be written any more.
    static let hasEndedWriting = Obstacles(rawValue: 1 << 9)
    /// The user wants no read to go on.
    static let readsArePaused = Obstacles(rawValue: 1 << 10)
    /// The connection is secured, or is going to be.
    static let isSecured = Obstacles(rawValue: 1 << 11)
    /// It is not secured yet.
    static let isSecuring = Obstacles(rawValue: 1 << 12)

    /// Whether a read or a write may be asked for in the fast ways, which a secured connection has
    /// no others for than one in the clear.
    @inline(__always)
    var permitAsking: Bool { isSubset(of: .isSecured) }
}

/// A delegate with something of its own in a socket's queues, which it has to answer for.
protocol QueueOwner: StreamSocketDelegate {
    /// Another delegate takes its place, or nobody: it hears of nothing any more.
    func wasReplaced()

    /// Reads or writes have left the queue without a callback.
    func lookForCancelled(in socket: StreamSocket)
}

/// Calls one delegate without a retain, a cast or a weak load for each event.
///
/// Sockets hold a relay instead of their delegate; those that share a delegate share its relay.
/// Once in a turn the reactor looks whether the delegate is still there and holds it until the turn
/// ends (``Reactor/pin(_:)``); until then the relay reaches it through an unmanaged reference.
///
/// A weak reference loaded for each event costs a third of a whole echo, and no other way was found
/// to call an object behind a protocol without a retain.
class DelegateRelay {
    /// Where the delegate lies; compared, never followed.
    final let address: UnsafeRawPointer
    private final weak var object: AnyObject?

    /// The delegate, held; for a handler that its socket keeps.
    final let kept: AnyObject?

    /// Callbacks that the delegate has shown to leave to their defaults.
    final var skipped: SkippedCallbacks = []

    /// Whether the delegate is a ``QueueOwner``; such are kept.
    final var hasQueueOwner = false

    /// The delegate, if it has to answer for its reads and writes.
    @inline(__always)
    final var queueOwner: (any QueueOwner)? { hasQueueOwner ? kept as? any QueueOwner : nil }

    fileprivate init(_ object: AnyObject, keeping: Bool) {
        address = UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        // A weak reference makes each retain of its object dearer.
        self.object = keeping ? nil : object
        kept = keeping ? object : nil
    }

    /// The delegate, if it is still there.
    final var target: AnyObject? { kept ?? object }

    func delegate() -> (any StreamSocketDelegate)? { abstract() }

    func didConnect(_ socket: StreamSocket, _ address: SocketAddress) throws { abstract() }
    func willConnect(
        _ socket: StreamSocket,
        _ address: SocketAddress,
        _ descriptor: CInt
    ) -> Bool { abstract() }
    func didSecure(_ socket: StreamSocket) throws { abstract() }
    func didRead(_ socket: StreamSocket, _ bytes: RawSpan, _ tag: Int) throws { abstract() }
    func didRead(_ socket: StreamSocket, _ target: ReadTarget, _ tag: Int) throws { abstract() }
    func didWrite(_ socket: StreamSocket, _ tag: Int) throws { abstract() }
    func didDisconnect(_ socket: StreamSocket, _ report: DisconnectReport) { abstract() }
    func peerDidHangUp(_ socket: StreamSocket) throws { abstract() }
    func didCloseReadStream(_ socket: StreamSocket) throws { abstract() }
    func didBecomeWritable(_ socket: StreamSocket) throws { abstract() }
    func didProgressRead(_ socket: StreamSocket, _ tag: Int, _ progress: IOProgress) throws {
        abstract()
    }
    func didProgressWrite(_ socket: StreamSocket, _ tag: Int, _ progress: IOProgress) throws {
        abstract()
    }
    func didCancelRead(_ socket: StreamSocket, _ tag: Int, _ bytes: RawSpan) throws { abstract() }
    func didCancelRead(_ socket: StreamSocket, _ target: ReadTarget, _ tag: Int) throws {
        abstract()
    }
    func shouldTimeOutRead(
        _ socket: StreamSocket,
        _ tag: Int,
        _ elapsed: Duration,
        _ byteCount: Int
    ) -> TimeoutDecision { abstract() }
    func shouldTimeOutWrite(
        _ socket: StreamSocket,
        _ tag: Int,
        _ elapsed: Duration,
        _ byteCount: Int
    ) -> TimeoutDecision { abstract() }
    func didIdle(_ socket: StreamSocket, _ direction: IdleDirection) throws { abstract() }
    func shouldFinish(_ socket: StreamSocket) { abstract() }

    private func abstract() -> Never {
        preconditionFailure("only the typed relay is ever made")
    }

    /// A relay to a delegate of any type; the protocol's value is opened here, once.
    static func make(
        _ delegate: any StreamSocketDelegate,
        keeping: Bool = false
    ) -> DelegateRelay {
        func open<Delegate: StreamSocketDelegate>(_ delegate: Delegate) -> DelegateRelay {
            TypedDelegateRelay(typed: delegate, keeping: keeping)
        }
        return open(delegate)
    }
}

/// Callbacks whose defaults do nothing and that would otherwise be called for each write, read or
/// address.
struct SkippedCallbacks: OptionSet {
    let rawValue: UInt8

    static let didWrite = SkippedCallbacks(rawValue: 1 << 0)
    static let didProgressRead = SkippedCallbacks(rawValue: 1 << 1)
    static let didProgressWrite = SkippedCallbacks(rawValue: 1 << 2)
    static let didDisconnect = SkippedCallbacks(rawValue: 1 << 3)
    static let willConnect = SkippedCallbacks(rawValue: 1 << 4)

    /// Not skipped, but said in the log already.
    static let didRead = SkippedCallbacks(rawValue: 1 << 5)

    /// All that a write is told of with.
    static let allOfWrites = SkippedCallbacks(rawValue: 1 << 0 | 1 << 2)
}

/// The relay that knows its delegate's type.
private final class TypedDelegateRelay<Delegate: StreamSocketDelegate>: DelegateRelay {
    /// Valid while the reactor has pinned this relay, or while `kept` holds the delegate.
    private let reference: Unmanaged<Delegate>

    init(typed delegate: Delegate, keeping: Bool) {
        reference = .passUnretained(delegate)
        super.init(delegate, keeping: keeping)
    }

    override func delegate() -> (any StreamSocketDelegate)? {
        guard target != nil else { return nil }
        return reference.takeUnretainedValue()
    }

    override func didConnect(_ socket: StreamSocket, _ address: SocketAddress) throws {
        try reference._withUnsafeGuaranteedRef { try $0.socket(socket, didConnectTo: address) }
    }

    override func willConnect(
        _ socket: StreamSocket,
        _ address: SocketAddress,
        _ descriptor: CInt
    ) -> Bool {
        reference._withUnsafeGuaranteedRef {
            $0.socket(socket, willConnectTo: address, descriptor: descriptor)
        }
    }

    override func didSecure(_ socket: StreamSocket) throws {
        try reference._withUnsafeGuaranteedRef { try $0.socketDidSecure(socket) }
    }

    override func didRead(_ socket: StreamSocket, _ bytes: RawSpan, _ tag: Int) throws {
        try reference._withUnsafeGuaranteedRef { try $0.socket(socket, didRead: bytes, tag: tag) }
    }

    override func didRead(_ socket: StreamSocket, _ target: ReadTarget, _ tag: Int) throws {
        guard let buffer = target.take() else { return }
        let delegate = reference.takeUnretainedValue()
        try delegate.socket(socket, didRead: buffer, range: target.range, tag: tag)
    }

    override func didWrite(_ socket: StreamSocket, _ tag: Int) throws {
        try reference._withUnsafeGuaranteedRef { try $0.socket(socket, didWrite: tag) }
    }

    override func didDisconnect(_ socket: StreamSocket, _ report: DisconnectReport) {
        reference._withUnsafeGuaranteedRef { $0.socket(socket, didDisconnect: report) }
    }

    override func peerDidHangUp(_ socket: StreamSocket) throws {
        try reference._withUnsafeGuaranteedRef { try $0.socketPeerDidHangUp(socket) }
    }

    override func didCloseReadStream(_ socket: StreamSocket) throws {
        try reference._withUnsafeGuaranteedRef { try $0.socketDidCloseReadStream(socket) }
    }

    override func didBecomeWritable(_ socket: StreamSocket) throws {
        try reference._withUnsafeGuaranteedRef { try $0.socketDidBecomeWritable(socket) }
    }

    override func didProgressRead(
        _ socket: StreamSocket,
        _ tag: Int,
        _ progress: IOProgress
    ) throws {
        try reference._withUnsafeGuaranteedRef {
            try $0.socket(socket, didProgressRead: tag, progress)
        }
    }

    override func didProgressWrite(
        _ socket: StreamSocket,
        _ tag: Int,
        _ progress: IOProgress
    ) throws {
        try reference._withUnsafeGuaranteedRef {
            try $0.socket(socket, didProgressWrite: tag, progress)
        }
    }

    override func didCancelRead(_ socket: StreamSocket, _ tag: Int, _ bytes: RawSpan) throws {
        try reference._withUnsafeGuaranteedRef {
            try $0.socket(socket, didCancelRead: tag, partialBytes: bytes)
        }
    }

    override func didCancelRead(_ socket: StreamSocket, _ target: ReadTarget, _ tag: Int) throws {
        guard let buffer = target.take() else { return }
        let delegate = reference.takeUnretainedValue()
        try delegate.socket(socket, didCancelRead: tag, buffer: buffer, range: target.range)
    }

    override func shouldTimeOutRead(
        _ socket: StreamSocket,
        _ tag: Int,
        _ elapsed: Duration,
        _ byteCount: Int
    ) -> TimeoutDecision {
        reference._withUnsafeGuaranteedRef {
            $0.socket(socket, shouldTimeOutRead: tag, elapsed: elapsed, byteCount: byteCount)
        }
    }

    override func shouldTimeOutWrite(
        _ socket: StreamSocket,
        _ tag: Int,
        _ elapsed: Duration,
        _ byteCount: Int
    ) -> TimeoutDecision {
        reference._withUnsafeGuaranteedRef {
            $0.socket(socket, shouldTimeOutWrite: tag, elapsed: elapsed, byteCount: byteCount)
        }
    }

    override func didIdle(_ socket: StreamSocket, _ direction: IdleDirection) throws {
        try reference._withUnsafeGuaranteedRef {
            try $0.socketDidIdle(socket, direction: direction)
        }
    }

    override func shouldFinish(_ socket: StreamSocket) {
        reference._withUnsafeGuaranteedRef { $0.socketShouldFinish(socket) }
    }
}

extension Reactor {
    /// Makes sure that the relay's delegate is there, and stays until the turn ends or another is
    /// pinned; `false` if it has gone.
    ///
    /// One pin is enough, since callbacks never nest.
    @inline(__always)
    func pin(_ relay: DelegateRelay) -> Bool {
        let address = UnsafeRawPointer(Unmanaged.passUnretained(relay).toOpaque())
        if _fastPath(pinnedRelay == address) { return true }
        return pinAnother(relay, address)
    }

    @inline(never)
    private func pinAnother(_ relay: DelegateRelay, _ address: UnsafeRawPointer) -> Bool {
        // A kept delegate needs no pin: it lives as long as its relay.
        if relay.kept != nil { return true }
        guard let object = relay.target else { return false }
        pinnedObject = object
        pinnedRelay = address
        return true
    }

    /// Whether the relay's delegate is known to be there.
    func hasPinned(_ relay: DelegateRelay) -> Bool {
        pinnedRelay == UnsafeRawPointer(Unmanaged.passUnretained(relay).toOpaque())
    }

    /// The relay to a delegate, the one made last if that is to the same.
    func relay(to delegate: any StreamSocketDelegate) -> DelegateRelay {
        if let last = lastRelay {
            let relay = unsafeDowncast(last, to: DelegateRelay.self)
            let address = UnsafeRawPointer(
                Unmanaged.passUnretained(delegate as AnyObject).toOpaque()
            )
            // An address says nothing once what lay there has gone.
            if relay.address == address, isServing(relay) { return relay }
        }
        let relay = DelegateRelay.make(delegate)
        lastRelay = relay
        return relay
    }

    /// Whether the relay's delegate is there; pinned for the rest of the turn, unless another one
    /// is, whose callback may run.
    private func isServing(_ relay: DelegateRelay) -> Bool {
        if hasPinned(relay) { return true }
        guard pinnedRelay == nil, life == .turning else { return relay.target != nil }
        // Pinned by its address, so it must last as long.
        bury(relay)
        return pin(relay)
    }
}

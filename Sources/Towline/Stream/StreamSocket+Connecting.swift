internal import Glibc

extension StreamSocket {
    /// The longest pause before a connect to a full Unix backlog is tried again.
    private static let longestRetryDelay: Int64 = 100_000_000

    /// Connects to an address.
    ///
    /// Reads and writes may be queued at once; they begin when the connection is established. What
    /// comes of it is told by `didConnectTo`, or by `didDisconnect` with the phase `connecting`.
    ///
    /// - Parameters:
    ///   - address: Where to; a port of 0 is refused.
    ///   - timeout: The longest it may take, 0 or more; `nil`, the kernel's own bound.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/invalidState(_:)`` unless the socket is idle;
    ///   ``SocketError/noDelegate``; ``SocketError/invalidArgument(_:)``;
    ///   ``SocketError/wrongThread``; ``SocketError/reactorStopped``. Nothing is started then, and
    ///   nothing called back.
    public func connect(
        to address: SocketAddress,
        timeout: Duration? = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForCall("connect(to:)")
        guard lifecycle.phase == .idle else { throw .invalidState(state) }
        guard relayReference?.takeUnretainedValue().target != nil else { throw .noDelegate }
        let nanoseconds = try Self.nanoseconds(of: timeout, "connect", file, line)
        try Self.check(address, file, line)
        try extras?.options.check("connect", file, line)
        try enterTable(of: reactor)
        lifecycle.start(connecting: true)
        peer = address
        let extras = makeExtras()
        extras.phase = .connecting
        extras.localAddress = nil
        let now = reactor.backend.now()
        started = now
        if nanoseconds != .max {
            extras.timeouts[.connect] = now.advanced(byNanoseconds: nanoseconds)
            armTimer(reactor)
        }
        reactor.backend.connect(socketID, to: address, options: extras.options)
    }

    private static func check(
        _ address: SocketAddress,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) {
        let call = "connect(to: \(address))"
        if address.port == 0 {
            throw .invalidArgument(
                InvalidArgument(call, "port must be 1 through 65535", file, line)
            )
        }
        if case .unix(let path) = address, path == .unnamed {
            throw .invalidArgument(InvalidArgument(call, "path must not be empty", file, line))
        }
    }

    func noteConnected(_ local: SocketAddress, _ reactor: Reactor) {
        guard lifecycle.connected(), let peer else { return }
        let extras = makeExtras()
        extras.phase = .connected
        extras.localAddress = local
        dropTimer(reactor)
        obstacles.remove(.isNotOpen)
        obstacles.insert(.isPaused)
        beginIdling(reactor)
        reactor.counters.connected &+= 1
        callBack(reactor) { try $0.didConnect(self, peer) }
        settle(reactor)
    }

    func noteConnectFailure(_ error: SystemCallError, _ reactor: Reactor) {
        guard lifecycle.phase == .connecting, let peer, let extras else { return }
        if error.errno == EAGAIN, case .unix = peer {
            // The listener's backlog is full. Nothing tells when it no longer is.
            let delay = extras.retryDelay
            extras.retryDelay = min(delay * 2, Self.longestRetryDelay)
            setDeadline(.retry, after: .nanoseconds(delay), reactor)
            return
        }
        noteAttempt(error)
        disconnect(because: .system(error), reactor)
    }

    /// Notes that the address did not do.
    func noteAttempt(_ error: SystemCallError) {
        guard let peer else { return }
        makeExtras().attempts.append(ConnectAttempt(address: peer, error: error))
    }

    func retryConnect(_ reactor: Reactor) {
        guard lifecycle.phase == .connecting, let peer else { return }
        reactor.backend.connect(socketID, to: peer, options: options)
    }
}

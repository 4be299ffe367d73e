internal import TowlineBytes

extension StreamSocket {
    /// Hands the connection over to another reactor.
    ///
    /// Reads and writes that are queued, bytes that are here and not read, options, limits and
    /// deadlines travel along; delegate and ``userInfo`` do not, since they belong to this thread.
    /// When the call returns this socket is idle, silent and as new: the connection's callbacks,
    /// the terminal one included, are those of the socket that `arrival` is given.
    ///
    /// - Parameters:
    ///   - handle: The other reactor, or this one.
    ///   - arrival: Called once on the other reactor's thread with the connection's new socket,
    ///     whose delegate it has to set: without one it is closed. If the other reactor ends first,
    ///     or has no room, the connection is closed and this is not called.
    /// - Throws: ``SocketError/notConnected`` unless the connection is established;
    ///   ``SocketError/disconnectPending``; ``SocketError/readClosed`` if the peer has ended
    ///   already; ``SocketError/securing`` while a handshake is to come or not over, or what has
    ///   come is not decrypted; ``SocketError/writesUnderWay`` if the kernel has not taken all that
    ///   was handed to it; ``SocketError/reactorStopped`` if the other reactor has ended;
    ///   ``SocketError/wrongThread``. The connection stays here then.
    public func move(
        to handle: ReactorHandle,
        then arrival: @escaping @Sendable (StreamSocket) -> Void
    ) throws(SocketError) {
        let reactor = try reactorForCall("move(to:then:)")
        guard lifecycle.phase == .connected else { throw .notConnected }
        guard !lifecycle.isDisconnectPending else { throw .disconnectPending }
        guard inputEnd == nil, !obstacles.contains(.inputHasEnded) else { throw .readClosed }
        if isSecuring || hasLeftovers { throw .securing }
        // Small writes of the callback that runs go first, and mostly at once.
        if reactor.current == socketID { flushGathered(reactor) }
        if let security = extras?.security { sendReplies(of: security, reactor) }
        guard !writes.isSending, extras?.sendFailure == nil,
            let descriptor = reactor.backend.release(socketID)
        else { throw .writesUnderWay }
        let userInfo = extras?.userInfo
        extras?.userInfo = nil
        let luggage = Luggage(descriptor: descriptor, of: self)
        let isAccepted = handle.execute { reactor in
            StreamSocket.arrive(with: luggage, on: reactor, arrival)
        }
        guard isAccepted else {
            extras?.userInfo = userInfo
            takeBack(descriptor, reactor)
            throw .reactorStopped
        }
        leave(reactor)
    }

    /// The other reactor has ended: goes on here.
    private func takeBack(_ descriptor: CInt, _ reactor: Reactor) {
        do {
            try reactor.backend.adopt(descriptor, as: socketID, kind: .stream)
        } catch {
            reactor.backend.discard(descriptor)
            disconnect(because: .system(error), reactor)
            return
        }
        if !obstacles.contains(.isPaused) { reactor.backend.resumeReceiving(socketID) }
    }

    /// Becomes idle without a farewell: the connection has it elsewhere.
    private func leave(_ reactor: Reactor) {
        removeTimer(reactor)
        if reactor.current == socketID { reactor.current = .none }
        if let owner = reactor.table.remove(socketID) { reactor.bury(owner) }
        leaveSplice(reactor)
        extras = nil
        idleClock = IdleClock()
        highWaterMark = Self.defaultHighWaterMark
        becomeIdle()
        leaveOrigin(reactor)
        forgetAddresses()
        letGoOfHandler(reactor)
        reactor.drain?.noteSocketEnd()
    }

    /// Goes on with a connection that another reactor has handed over.
    private static func arrive(
        with luggage: Luggage,
        on reactor: Reactor,
        _ arrival: (StreamSocket) -> Void
    ) {
        let socket: StreamSocket
        do {
            guard reactor.isAcceptingCalls else { throw SocketError.reactorStopped }
            let (descriptor, peer) = (luggage.descriptor, luggage.peer)
            socket = try StreamSocket(accepting: descriptor, from: peer, on: reactor)
        } catch {
            reactor.backend.discard(luggage.descriptor)
            reactor.note(
                .warning,
                "moved connection closed",
                ["peer": "\(luggage.peer)", "error": "\(error)"]
            )
            return
        }
        socket.unpack(luggage, reactor)
        reactor.beginCallbacks(of: socket.id)
        arrival(socket)
        reactor.endCallbacks()
        if socket.relayReference == nil { socket.disconnect(because: .noDelegate, reactor) }
        socket.armTimer(reactor)
        if socket.lifecycle.phase == .connected { socket.readsChanged(reactor) }
        if socket.writes.hasQueued { socket.list(for: .flush, reactor) }
        if socket.writes.current != nil { socket.list(for: .reportWrites, reactor) }
        socket.settle(reactor)
        // The others were asked when the drain began.
        if reactor.drain != nil { reactor.perform(.finish, for: socket.id) }
    }

    private func unpack(_ luggage: Luggage, _ reactor: Reactor) {
        lifecycle = luggage.lifecycle
        reads = luggage.reads
        reads.beginMatchingAnew()
        writes = luggage.writes
        extras = luggage.extras
        receivedCount = luggage.receivedCount
        started = luggage.started
        idleClock = luggage.idleClock
        highWaterMark = luggage.highWaterMark
        obstacles.formUnion(luggage.obstacles)
        let unreadBytes = luggage.unreadBytes
        if !unreadBytes.isEmpty { makeKept().append(unreadBytes.span.bytes) }
        if !writes.isEmpty { obstacles.insert(.hasPendingWrites) }
    }
}

/// What travels with a connection from one reactor to another.
///
/// Sent from the thread that packs it to the one that unpacks it, and used by nobody in between:
/// the socket that was packed has let go of everything in here. The job queue's lock orders the
/// two.
private final class Luggage: @unchecked Sendable {
    let descriptor: CInt
    let peer: SocketAddress
    let lifecycle: Lifecycle
    let reads: ReadQueue
    let writes: WriteQueue
    let extras: StreamExtras?
    let receivedCount: Int
    let started: MonotonicInstant
    let idleClock: IdleClock
    let highWaterMark: Int
    let obstacles: Obstacles
    let unreadBytes: [UInt8]

    init(descriptor: CInt, of socket: StreamSocket) {
        // A buffer travels empty: a search for a delimiter begins anew behind the move.
        socket.returnCollectedBytes()
        self.descriptor = descriptor
        peer = socket.peer ?? .unix(.unnamed)
        lifecycle = socket.lifecycle
        reads = socket.reads
        writes = socket.writes
        extras = socket.extras
        receivedCount = socket.receivedCount
        started = socket.started
        idleClock = socket.idleClock
        highWaterMark = socket.highWaterMark
        // What says something about the connection, and not about this thread's lists.
        obstacles = socket.obstacles.intersection([
            .isAboveHighWaterMark, .hasDeadline, .readsArePaused, .toldHangUp, .hasEndedWriting,
            .isSecured,
        ])
        unreadBytes = socket.peek { bytes in [UInt8](bytes) }
    }
}

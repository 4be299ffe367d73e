/// What does the reactor's talking to the kernel, or to a simulation of it.
///
/// A backend takes verbs and gives events. It speaks of *finished* work, not of readiness: bytes
/// that have been received, bytes that have been sent. The contract:
///
/// 1. Verbs never call back. ``adopt(_:as:kind:)``, ``takeReserve()``, ``apply(_:to:)``,
///    ``open(_:for:from:options:)`` and ``listen(on:options:backlog:permissions:as:)`` throw at
///    once, ``wait(atMost:into:)`` when the loop itself is broken. What comes of the others is an
///    event that `wait` or ``deliverResults(into:)`` hands out.
/// 2. ``SocketEvent/received(_:)`` lends its bytes until the sink returns.
/// 3. ``send(_:_:count:)`` borrows its bytes for the call and copies what it cannot finish;
///    ``send(_:holding:from:)`` holds them until the last is counted or the socket is closed. Both
///    return how many are finished at once; ``SocketEvent/sent(_:)`` counts the rest.
/// 4. ``SocketEvent/failed(_:_:)`` names the direction; received bytes still waiting come first.
///    After ``close(_:_:)`` only ``SocketEvent/closed`` follows, once, when the descriptor is gone
///    and nothing holds memory of the socket.
/// 5. Events name a ``SocketID``; late news of a closed one finds nobody.
/// 6. Events of one socket keep their order: connected, received, sent, then the end, a hang-up or
///    a failure. What one turn does for one socket is bounded by the ``TurnBudget``.
/// 7. ``wake`` alone may be called from another thread.
/// 8. A paused socket receives nothing; its end behind no unread bytes, a hang-up and a failure are
///    still told, each once. An end, a hang-up and a failure never stop bytes in front of them.
/// 9. An end says nothing about sending. Behind one, a peer that takes nothing any more is told as
///    ``SocketEvent/failed(_:_:)`` with ``SocketDirection/sending``, unless our own end was asked
///    for; no send needs to find it.
/// 10. ``takeBack(_:behind:count:)`` takes bytes out of those that wait: what is behind them moves
///    up, and they are never counted by ``SocketEvent/sent(_:)``.
package protocol Backend: AnyObject {
    /// What the backend is called in reports: `epoll`, `simulated`.
    var name: String { get }

    /// What was counted since the backend was made.
    var figures: BackendFigures { get }

    /// Ends a running or the next ``wait(atMost:into:)``; may be called from any thread, also after
    /// the backend has ended.
    var wake: @Sendable () -> Void { get }

    /// What the clock says; only the reactor asks.
    func now() -> MonotonicInstant

    /// Takes ownership of a descriptor: of one that an ``SocketEvent/accepted(_:from:)`` brought,
    /// or of one from elsewhere, which must be non-blocking and close-on-exec.
    ///
    /// A stream begins paused, a listener accepting nobody.
    ///
    /// - Throws: The refused call. The descriptor is then still the caller's.
    func adopt(_ descriptor: CInt, as id: SocketID, kind: SocketKind) throws(SystemCallError)

    /// Gives the descriptor of a connected stream away: nothing of `id` is told any more, not even
    /// that it is closed.
    ///
    /// - Returns: The descriptor, which is the caller's; `nil`, and nothing changed, if bytes wait
    ///   to be sent.
    func release(_ id: SocketID) -> CInt?

    /// Closes a descriptor that an ``SocketEvent/accepted(_:from:)`` brought and nobody adopts.
    func discard(_ descriptor: CInt)

    /// Makes a listener on `address`; it accepts nobody before ``resumeReceiving(_:)``.
    ///
    /// - Parameters:
    ///   - address: Where; a port of 0 has one chosen.
    ///   - options: What is set on it, and inherited by the sockets that it accepts.
    ///   - backlog: How many may wait to be accepted.
    ///   - permissions: The mode of a Unix path's file, in force before anybody can connect.
    ///   - id: The listener's ID.
    /// - Returns: The address that it is bound to, with the port that the kernel chose for 0.
    /// - Throws: The refused call; nothing stays open.
    func listen(
        on address: SocketAddress,
        options: SocketOptions,
        backlog: Int32,
        permissions: UInt16?,
        as id: SocketID
    ) throws(SystemCallError) -> SocketAddress

    /// Whether somebody waits in the listener's queue.
    func hasWaitingConnections(_ id: SocketID) -> Bool

    /// Keeps one descriptor aside, for ``shedConnections(of:atMost:)``; once is enough.
    ///
    /// - Throws: The refused call.
    func takeReserve() throws(SystemCallError)

    /// Resets connections in the listener's queue, one after the other, with the descriptor that is
    /// kept aside.
    ///
    /// - Returns: How many.
    func shedConnections(of id: SocketID, atMost limit: Int) -> Int

    /// How many descriptors the process may have; `nil` if it cannot be told.
    var descriptorLimit: Int? { get }

    /// Makes a descriptor for a stream that is to connect to `address`; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - id: The stream; it has no descriptor.
    ///   - address: Where it is to connect to.
    ///   - local: What it is bound to, with port 0 for one that the kernel chooses; `nil`, whatever
    ///     the kernel chooses.
    ///   - options: What is set on it.
    /// - Throws: The refused call; nothing stays open.
    func open(
        _ id: SocketID,
        for address: SocketAddress,
        from local: SocketAddress?,
        options: SocketOptions
    ) throws(SystemCallError)

    /// Connects a stream that was opened for `address`; paused once it is connected.
    ///
    /// Tells ``SocketEvent/connected(local:)``, or ``SocketEvent/failed(_:_:)`` with
    /// ``SocketDirection/connecting``: then it has no descriptor any more, and may be opened again.
    func connect(_ id: SocketID, to address: SocketAddress)

    /// Gives the connection that `attempt` has made to another ID, which has no descriptor.
    ///
    /// Of `attempt` only ``SocketEvent/closed`` follows; `id` is a stream that is connected, and
    /// paused.
    func handOver(_ attempt: SocketID, to id: SocketID)

    /// Changes the options of an open socket.
    ///
    /// - Throws: The refused call. Options before the refused one stay set.
    func apply(_ options: SocketOptions, to id: SocketID) throws(SystemCallError)

    /// Lets bytes, or on a listener connections, come.
    func resumeReceiving(_ id: SocketID)

    /// Lets no more come from now on, not even in this wait.
    func pauseReceiving(_ id: SocketID)

    /// Sends bytes behind all earlier ones.
    ///
    /// - Parameters:
    ///   - id: A connected stream.
    ///   - bytes: Where they begin; borrowed for the call.
    ///   - count: 1 or more.
    /// - Returns: How many are finished at once, 0 through `count`.
    func send(_ id: SocketID, _ bytes: UnsafeRawPointer, count: Int) -> Int

    /// Sends `bytes` from `offset` on behind all earlier ones, without copying them.
    ///
    /// - Returns: How many are finished at once, 0 through the number of bytes behind `offset`.
    func send(_ id: SocketID, holding bytes: [UInt8], from offset: Int) -> Int

    /// Sends bytes of a file behind all earlier ones, no more in one turn than the budget says.
    ///
    /// The file is held until the last is counted or the socket is closed. One that ends in front
    /// of its range's end has the sending fail with `ENODATA`.
    ///
    /// - Returns: How many are finished at once, 0 through the range's length.
    func send(_ id: SocketID, file: OpenFile, range: Range<Int>) -> Int

    /// Takes back bytes that wait to be sent, as if they had never been asked for; an end behind
    /// them may then have nothing more to wait for.
    ///
    /// - Parameters:
    ///   - id: A stream.
    ///   - offset: How many waiting bytes stay in front of them.
    ///   - count: 1 or more.
    /// - Returns: `false`, and nothing has changed, if they are not all there any more, or may be
    ///   on their way.
    func takeBack(_ id: SocketID, behind offset: Int, count: Int) -> Bool

    /// Sends an end behind all earlier bytes; a second one does nothing.
    func finishSending(_ id: SocketID)

    /// Ends everything about `id`: pending bytes are dropped, and the descriptor, if there is one,
    /// is closed. ``SocketEvent/closed`` follows, once, also where there never was one.
    func close(_ id: SocketID, _ manner: ClosingManner)

    /// The address that the socket is bound to, if it can be told.
    func localAddress(of id: SocketID) -> SocketAddress?

    /// Which process is at the other end; `nil` but in the Unix domain.
    func peerCredentials(of id: SocketID) -> PeerCredentials?

    /// How many of the bytes that were sent the peer's host has not acknowledged; `nil` if that
    /// cannot be told.
    func unacknowledgedByteCount(of id: SocketID) -> Int?

    /// The descriptor behind a socket, if there is one.
    func descriptor(of id: SocketID) -> CInt?

    /// Waits once, then hands out everything that happened.
    ///
    /// - Parameters:
    ///   - limit: The longest wait in nanoseconds, 0 for a look, `nil` without a bound.
    ///   - sink: Who hears of it.
    /// - Throws: The refused call if the loop itself is broken.
    func wait<Sink: EventSink>(atMost limit: Int64?, into sink: Sink) throws(SystemCallError)

    /// Hands out what came of earlier verbs, without waiting.
    func deliverResults<Sink: EventSink>(into sink: Sink)

    /// A descriptor that is readable while ``wait(atMost:into:)`` would find something, for a loop
    /// that hosts this one; the backend's own, and the same each time.
    ///
    /// - Throws: The refused call; ENOTSUP where nothing of the kind can be had.
    func makeReadinessDescriptor() throws(SystemCallError) -> CInt

    /// Makes that descriptor readable from `deadline` on as well; `nil`, at no time.
    func armReadiness(at deadline: MonotonicInstant?)

    /// Whether ``deliverResults(into:)`` has something to hand out.
    var hasResults: Bool { get }

    /// Gives everything back to the kernel; nothing may be called afterwards but ``wake``.
    func shutDown()
}

/// Who hears of what happened: the reactor.
package protocol EventSink: AnyObject {
    /// The wait is over, and events follow: whoever posts a job from now on need not wake anybody.
    func waitEnded(at now: MonotonicInstant)

    /// Handles one event. Verbs may be called from within.
    func handle<Source: Backend>(_ event: SocketEvent, of id: SocketID, from backend: Source)
}

/// What kind of thing a descriptor is.
package enum SocketKind: UInt8, Sendable {
    case stream
    case listener
    /// Something only to be read, such as a signalfd.
    case plain
    /// Somebody else's, never read and never closed: ``SocketEvent/received(_:)`` without a byte
    /// says, as long as it is so, that it is readable, or has failed.
    case watched
}

/// Which of a socket's doings failed.
package enum SocketDirection: Sendable {
    case connecting
    case accepting
    case receiving
    case sending
}

/// How a connection is closed.
package enum ClosingManner: Sendable {
    /// As close(2) does it.
    case end
    /// With a reset, so that the peer sees an error rather than an end.
    case reset
}

/// What happened to a socket.
package enum SocketEvent: ~Escapable {
    /// The connection is established, from this local address.
    case connected(local: SocketAddress)

    /// A connection was accepted; the descriptor is the sink's, to be adopted or discarded.
    case accepted(CInt, from: SocketAddress)

    /// These bytes came; they are lent until the sink returns.
    case received(RawSpan)

    /// The peer sent its end, and there is no byte in front of it any more.
    case reachedEnd

    /// The peer has gone, or sent its end, behind bytes that a paused socket has not received yet.
    case hungUp

    /// So many more bytes were finished.
    case sent(Int)

    /// The kernel refused; for the two data directions nothing more comes or goes that way.
    case failed(SocketDirection, SystemCallError)

    /// Nothing is left of the socket.
    case closed
}

/// What a backend counts; plain numbers since it was made.
package struct BackendFigures: Sendable {
    package var waits = 0
    package var emptyWaits = 0
    package var events = 0
    package var staleEvents = 0
    package var disarmedEvents = 0
    package var interruptedWaits = 0
    package var receives = 0
    package var receivedBytes = 0
    package var sends = 0
    package var sentBytes = 0
    package var shortSends = 0

    package init() {}
}

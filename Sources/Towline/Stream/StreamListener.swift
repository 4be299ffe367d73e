internal import Glibc

/// Hears of the connections that a ``StreamListener`` accepts.
public protocol StreamListenerDelegate: AnyObject {
    /// A connection was accepted. Set the socket's delegate before returning, or it is closed; it
    /// may be read from and written to at once. If this throws, the socket is closed, too.
    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws

    /// Accepting pauses because descriptors or memory have run out; it goes on by itself. Comes at
    /// most once a second.
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

/// Accepts connections on one address: TCP over IPv4 or IPv6, or Unix domain.
///
/// A listener that listens is kept alive by its reactor until its terminal callback. Ending it
/// leaves the connections that it accepted alone.
public final class StreamListener {
    /// The first and the longest pause of accepting when descriptors have run out.
    private static let pauses = (first: Duration.milliseconds(100), longest: Duration.seconds(1))

    @exclusivity(unchecked) private var reference: ReactorReference
    @exclusivity(unchecked) private weak var delegateReference: (any StreamListenerDelegate)?
    private var socketID = SocketID.none
    @exclusivity(unchecked) private var boundAddress: SocketAddress?
    private var socketFile: SocketFile?
    private var reason: SocketError?

    // While descriptors have run out.
    private var pause = StreamListener.pauses.first
    private var resumption: Reactor.Timer?
    private var lastNotice: MonotonicInstant?

    /// What accepted sockets begin with; takes effect with the next listen.
    @exclusivity(unchecked) public var options = SocketOptions()

    /// What accepted sockets do when their peer sends its end; ``HalfClosePolicy/finishWrites``.
    @exclusivity(unchecked) public var halfClosePolicy = HalfClosePolicy.finishWrites

    /// Makes an idle listener.
    ///
    /// - Parameters:
    ///   - reactor: The reactor that it, and the sockets that it accepts, will live on.
    ///   - delegate: Who hears of connections; held weakly.
    public init(reactor: Reactor, delegate: any StreamListenerDelegate) {
        reference = ReactorReference(reactor)
        reference.hold()
        delegateReference = delegate
    }

    deinit {
        reference.letGo()
    }

    /// Who hears of connections; held weakly.
    ///
    /// A listener whose delegate has gone closes the connections that it accepts.
    public var delegate: (any StreamListenerDelegate)? {
        get { isOnThread("delegate") ? delegateReference : nil }
        set {
            guard isOnThread("delegate") else { return }
            delegateReference = newValue
        }
    }

    /// The address that is listened on, with the port that the kernel chose for 0; `nil` while
    /// nothing is.
    public var localAddress: SocketAddress? { isOnThread("localAddress") ? boundAddress : nil }

    private func isOnThread(_ call: StaticString) -> Bool { reference.permits(call) }

    // MARK: Calls

    /// Listens on a TCP port of every IPv4 interface.
    ///
    /// - Parameters:
    ///   - port: The port; 0 has the kernel choose one, which ``localAddress`` tells at once.
    ///   - backlog: How many connections may wait to be accepted, 1 or more; the kernel has a limit
    ///     of its own.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``listen(on:backlog:file:line:)``.
    public func listen(
        onPort port: UInt16,
        backlog: Int = 1024,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        try listen(on: .ipv4(.any, port: port), backlog: backlog, file: file, line: line)
    }

    /// Listens on a path of the Unix domain.
    ///
    /// The file of a listener that has died is replaced; any other file, and the socket of a living
    /// one, are left alone. When the listener ends, it removes its own file.
    ///
    /// - Parameters:
    ///   - path: 1 through 107 bytes; with a leading `@` an abstract name, which has no file.
    ///   - permissions: The mode of the file; `nil`, what the process's mask leaves.
    ///   - backlog: As for ``listen(onPort:backlog:file:line:)``.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``listen(on:backlog:file:line:)``.
    public func listen(
        onUnixPath path: String,
        permissions: UInt16? = nil,
        backlog: Int = 1024,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        guard let unixPath = UnixPath(path) else {
            let limit = UnixPath.pathByteLimit
            let reason = "path must have 1 through \(limit) bytes, none of them zero"
            throw .invalidArgument(
                InvalidArgument("listen(onUnixPath: \(path))", reason, file, line)
            )
        }
        try listen(on: .unix(unixPath), backlog: backlog, file: file, line: line)
        guard let permissions, let path = unixPath.path else { return }
        guard chmod(path, mode_t(permissions)) == 0 else {
            let error = SystemCallError(call: "chmod", errno: errno, purpose: "listen on \(path)")
            giveUp()
            throw .system(error)
        }
    }

    /// Listens on an address.
    ///
    /// - Parameters:
    ///   - address: The address; a port of 0 has the kernel choose one.
    ///   - backlog: As for ``listen(onPort:backlog:file:line:)``.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/system(_:)`` with the address and the reason, such as `EADDRINUSE`;
    ///   ``SocketError/invalidState(_:)`` if it listens already;
    ///   ``SocketError/invalidArgument(_:)``; ``SocketError/wrongThread``;
    ///   ``SocketError/reactorStopped``. Nothing stays open then, and nothing is called back.
    public func listen(
        on address: SocketAddress,
        backlog: Int = 1024,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reference.forCall("listen")
        guard boundAddress == nil, socketID == .none else { throw .invalidState(.listening) }
        guard backlog >= 1 else {
            throw .invalidArgument(
                InvalidArgument(
                    "listen(backlog: \(backlog))",
                    "backlog must be 1 or more",
                    file,
                    line
                )
            )
        }
        guard let id = reactor.table.insert(self, kind: .listener) else {
            throw .system(SystemCallError(call: "socket", errno: SystemCallError.tableIsFull))
        }
        do {
            if case .unix(let path) = address { try SocketFile.removeStale(path) }
            boundAddress = try reactor.backend.listen(
                on: address,
                options: options,
                backlog: Int32(clamping: backlog),
                as: id
            )
        } catch {
            _ = reactor.table.remove(id)
            let place = error.purpose.map { "\(address), \($0)," } ?? "\(address)"
            throw .system(error.during("listen on \(place)"))
        }
        if case .unix(let path) = address { socketFile = SocketFile(path) }
        socketID = id
        // From here on the reactor holds the listener.
        reference.letGo()
        reactor.backend.resumeReceiving(id)
    }

    /// Accepts nobody from now on; `didStopWith` follows.
    ///
    /// On an idle listener does nothing.
    public func stop() {
        guard let reactor = reference.ifOnThread("stop()") else { return }
        stop(because: nil, reactor)
    }

    // MARK: Events

    func handle(_ event: SocketEvent, _ reactor: Reactor) {
        switch event {
        case .accepted(let descriptor, let peer):
            accept(descriptor, from: peer, reactor)
        case .failed(.accepting, let error):
            noteAcceptFailure(error, reactor)
        case .closed:
            sayFarewell(reactor)
        case .failed(_, let error):
            stop(because: .system(error), reactor)
        case .hungUp, .reachedEnd:
            break
        case .connected, .received, .sent:
            preconditionFailure("a listener neither connects, receives nor sends")
        }
    }

    func perform(_ work: OwnerWork, _ reactor: Reactor) {
        switch work {
        case .close:
            reactor.backend.close(socketID, .end)
        case .end(let reason):
            stop(because: reason, reactor)
        case .finish:
            stop(because: nil, reactor)
        case .noteFreeDescriptor:
            resumeAccepting(reactor)
        case .flush, .serveAgain, .reportWrites, .noteTime, .expire:
            break
        }
    }

    private func accept(_ descriptor: CInt, from peer: SocketAddress, _ reactor: Reactor) {
        guard boundAddress != nil, let delegate = delegateReference else {
            if boundAddress != nil {
                noteRefusal(of: peer, "the listener's delegate has gone", reactor)
            }
            reactor.backend.discard(descriptor)
            return
        }
        let socket: StreamSocket
        do {
            socket = try StreamSocket(accepting: descriptor, from: peer, on: reactor)
        } catch {
            // It concerns this one connection; the next may be accepted.
            noteRefusal(of: peer, "\(error)", reactor)
            reactor.backend.discard(descriptor)
            return
        }
        pause = Self.pauses.first
        reactor.counters.accepted &+= 1
        socket.inherit(options, halfClosePolicy)
        reactor.beginCallbacks(of: socket.id)
        do {
            try delegate.listener(self, didAccept: socket)
        } catch {
            socket.disconnect(afterThrowing: error, reactor)
        }
        reactor.endCallbacks()
        if socket.relayReference == nil {
            // Nobody else will hear why.
            let reason = socket.reason ?? .noDelegate
            noteRefusal(of: peer, "\(reason)", reactor)
            socket.disconnect(because: .noDelegate, reactor)
        }
        socket.settle(reactor)
    }

    private func noteRefusal(of peer: SocketAddress, _ reason: String, _ reactor: Reactor) {
        reactor.note(.warning, "accepted connection closed", ["peer": "\(peer)", "error": reason])
    }

    // MARK: Out of descriptors

    private func noteAcceptFailure(_ error: SystemCallError, _ reactor: Reactor) {
        guard AcceptFailure(errno: error.errno) == .ofResources else {
            stop(because: .system(error), reactor)
            return
        }
        // Level-triggered readiness would be told again and again meanwhile.
        reactor.backend.pauseReceiving(socketID)
        reactor.counters.acceptPauses &+= 1
        reactor.listenersInNeed.append(socketID)
        let delay = pause
        pause = min(pause * 2, Self.pauses.longest)
        let id = socketID
        resumption?.cancel()
        resumption = reactor.schedule(after: delay) { [link = reactor.link] in
            link.reactor?.perform(.noteFreeDescriptor, for: id)
        }
        tell(error, retryAfter: delay, reactor)
    }

    private func tell(_ error: SystemCallError, retryAfter delay: Duration, _ reactor: Reactor) {
        let now = reactor.backend.now()
        if let lastNotice, now.since(lastNotice) < .seconds(1) { return }
        lastNotice = now
        let place = boundAddress.map { "\($0)" } ?? "?"
        let milliseconds = Int(delay / .milliseconds(1))
        let notice = error.during("accept on \(place)")
        let fields = ["address": place, "error": error.reason, "retry_ms": "\(milliseconds)"]
        reactor.note(.warning, "accept paused", fields)
        delegateReference?.listener(self, didFailToAccept: .system(notice))
    }

    private func resumeAccepting(_ reactor: Reactor) {
        resumption?.cancel()
        resumption = nil
        reactor.listenersInNeed.removeAll { $0 == socketID }
        guard boundAddress != nil else { return }
        reactor.backend.resumeReceiving(socketID)
    }

    // MARK: Ending

    private func stop(because reason: SocketError?, _ reactor: Reactor) {
        guard boundAddress != nil else { return }
        boundAddress = nil
        self.reason = reason
        resumption?.cancel()
        resumption = nil
        reactor.listenersInNeed.removeAll { $0 == socketID }
        socketFile?.remove()
        socketFile = nil
        reactor.backend.pauseReceiving(socketID)
        reactor.work.add(socketID, to: .close)
    }

    /// Ends a listen that has failed behind its start: idle at once, and nothing is called back.
    private func giveUp() {
        guard let reactor = reference.reactor else { return }
        let id = socketID
        stop(because: nil, reactor)
        reactor.bury(self)
        reactor.table.replaceOwner(of: id, with: Remnant(), kind: .remnant)
        socketID = .none
        reference.hold()
    }

    private func sayFarewell(_ reactor: Reactor) {
        if let owner = reactor.table.remove(socketID) { reactor.bury(owner) }
        socketID = .none
        reference.hold()
        let reason = reason
        self.reason = nil
        lastNotice = nil
        pause = Self.pauses.first
        delegateReference?.listener(self, didStopWith: reason)
        reactor.whenSocketEnds?()
    }

    func detach() {
        socketFile?.remove()
        socketFile = nil
        boundAddress = nil
        socketID = .none
        reference.forget()
    }
}

extension StreamSocket {
    /// What an accepted socket begins with; nothing is stored where it is the usual.
    fileprivate func inherit(_ options: SocketOptions, _ policy: HalfClosePolicy) {
        if options != SocketOptions() { self.options = options }
        if policy != .finishWrites { halfClosePolicy = policy }
    }
}

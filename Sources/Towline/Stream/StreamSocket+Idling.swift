extension StreamSocket {
    /// Has `socketDidIdle` called when nothing has moved for so long, and again after each further
    /// such time.
    ///
    /// Nothing is done to the connection: whether a silent peer is asked for a sign of life, or
    /// given up, is for the delegate to say. The clock runs from the moment the connection is
    /// established, or from this call, and starts anew with each byte. Bytes that a paused socket
    /// leaves in the kernel do not count. The setting outlives the connection; a call replaces the
    /// one before.
    ///
    /// - Parameters:
    ///   - read: The longest time without a byte received, more than 0; `nil`, no limit.
    ///   - write: The longest time in which the kernel has taken no byte, more than 0; `nil`, no
    ///     limit.
    ///   - both: The longest time without either, more than 0; `nil`, no limit.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/invalidArgument(_:)``, ``SocketError/wrongThread``,
    ///   ``SocketError/reactorStopped``. Nothing is changed then.
    public func setIdleTimeout(
        read: Duration? = nil,
        write: Duration? = nil,
        both: Duration? = nil,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForCall("setIdleTimeout")
        let limits = IdleLimits(
            read: try Self.limit(read, "read", file, line),
            write: try Self.limit(write, "write", file, line),
            both: try Self.limit(both, "both", file, line)
        )
        let isSet = min(limits.read, limits.write, limits.both) != .max
        idleClock.limits = isSet ? Self.share(limits, reactor) : nil
        if lifecycle.phase == .connected { beginIdling(reactor) }
    }

    private static func limit(
        _ duration: Duration?,
        _ name: String,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> Int64 {
        guard let duration else { return .max }
        guard duration > .zero else {
            throw .invalidArgument(
                InvalidArgument(
                    "setIdleTimeout(\(name): \(duration))",
                    "\(name) must be more than 0",
                    file,
                    line
                )
            )
        }
        return duration.saturatedNanoseconds
    }

    /// The limits that were made last, if they are the same: a server sets all its sockets alike.
    private static func share(_ limits: IdleLimits, _ reactor: Reactor) -> IdleLimits {
        if let last = reactor.lastIdleLimits {
            let known = unsafeDowncast(last, to: IdleLimits.self)
            if known.isEqual(to: limits) { return known }
        }
        reactor.lastIdleLimits = limits
        return limits
    }

    /// The connection is established, or its limits are others: silence begins now.
    func beginIdling(_ reactor: Reactor) {
        guard idleClock.limits != nil else { return }
        idleClock.begin(at: reactor.backend.now())
        armTimer(reactor)
    }

    func isIdleTooLong(at now: MonotonicInstant) -> Bool {
        lifecycle.phase == .connected && idleClock.nextDeadline <= now
    }

    /// Tells of silence that has lasted too long, within a run of callbacks.
    func tellIdle(_ now: MonotonicInstant, _ reactor: Reactor) {
        guard lifecycle.phase == .connected, idleClock.limits != nil else { return }
        let id = socketID
        let due = idleClock.takeDue(at: now)
        if due.contains(.read) { tell(.read, at: now, of: id, reactor) }
        if due.contains(.write) { tell(.write, at: now, of: id, reactor) }
        if due.contains(.both) { tell(.both, at: now, of: id, reactor) }
    }

    private func tell(
        _ direction: IdleDirection,
        at now: MonotonicInstant,
        of id: SocketID,
        _ reactor: Reactor
    ) {
        // The callback before may have ended the connection, and begun another one; or have set
        // other limits.
        guard socketID == id, lifecycle.phase == .connected,
            idleClock.isSilent(direction, at: now)
        else { return }
        call(reactor) { try $0.didIdle(self, direction) }
    }
}

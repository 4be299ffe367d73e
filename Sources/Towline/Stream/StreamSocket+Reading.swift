internal import CLinux
internal import TowlineBytes

extension StreamSocket {
    /// The most bytes that a delimiter read looks through unless it says otherwise, 16 MiB.
    public static let defaultDelimiterLimit = 16 * 1024 * 1024

    /// Reads whatever comes next, at least one byte.
    ///
    /// What comes is a piece of a stream, not a message;
    /// ``read(to:maxLength:timeout:tag:file:line:)`` and ``read(toLength:timeout:tag:file:line:)``
    /// cut a stream into messages. Reads complete in the order they were asked for: where one
    /// message says what the next read must be, ask for that from its callback, and not for all
    /// ahead.
    ///
    /// Keep a read outstanding: an end behind unread bytes is noticed only by reading them.
    ///
    /// - Parameters:
    ///   - maxLength: The most bytes to be given, 1 or more; `nil`, all that is there.
    ///   - timeout: The time from when the read is the first of the queue, 0 or more; with zero it
    ///     takes only what is there already. `nil`, no limit.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: ``SocketError/invalidArgument(_:)``, ``SocketError/notConnected``,
    ///   ``SocketError/disconnectPending``, ``SocketError/readClosed``,
    ///   ``SocketError/readQueueFull(limit:)``, ``SocketError/wrongThread``,
    ///   ``SocketError/reactorStopped``. Nothing is changed then, and nothing called back.
    @discardableResult
    public func read(
        maxLength: Int? = nil,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        // The next read of a handler that asks from within its own callback.
        if maxLength == nil, timeout == nil, obstacles.permitAsking, reads.isEmpty,
            let reactor = reactorUnchecked
        {
            let id = reactor._withUnsafeGuaranteedRef { reactor -> OperationID? in
                guard reactor.thread == towline_thread(), reactor.current == socketID else {
                    return nil
                }
                return reactor.takeOperationID()
            }
            if let id {
                reads.appendFirstPlain(tag: tag, id: id)
                return id
            }
        }
        return try queueAnyRead(maxLength, timeout, tag, file, line)
    }

    /// Reads exactly so many bytes.
    ///
    /// - Parameters:
    ///   - length: 1 or more.
    ///   - timeout: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: As ``read(maxLength:timeout:tag:file:line:)``.
    @discardableResult
    public func read(
        toLength length: Int,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        try Self.check(length, "read(toLength", "length", file, line)
        return try queueRead(.length, length, nil, timeout, tag, file, line)
    }

    /// Reads up to and with the first occurrence of a delimiter.
    ///
    /// - Parameters:
    ///   - delimiter: At least one byte.
    ///   - maxLength: The most bytes of the result, the delimiter included, and at least its
    ///     length. Where they hold no delimiter, the connection ends with
    ///     ``SocketError/delimiterNotFound(tag:limit:)``. `nil`, ``defaultDelimiterLimit``.
    ///   - timeout: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: As ``read(maxLength:timeout:tag:file:line:)``.
    @discardableResult
    public func read(
        to delimiter: Delimiter,
        maxLength: Int? = nil,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        let limit = try Self.limit(of: delimiter, maxLength, file, line)
        return try queueRead(.delimiter, limit, delimiter, timeout, tag, file, line)
    }

    /// Reads everything up to the peer's end, which may be nothing at all.
    ///
    /// Behind the callback the end takes effect, as ``halfClosePolicy`` says. If the connection
    /// fails instead, the read is not complete, and its bytes are in the report.
    ///
    /// - Parameters:
    ///   - maxLength: The most bytes to be given, 1 or more. Where more come, the connection ends
    ///     with ``SocketError/endNotFound(tag:limit:)``.
    ///   - timeout: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: As ``read(maxLength:timeout:tag:file:line:)``.
    @discardableResult
    public func readToEnd(
        maxLength: Int,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        try Self.check(maxLength, "readToEnd(maxLength", "maxLength", file, line)
        return try queueRead(.end, maxLength, nil, timeout, tag, file, line)
    }

    // MARK: Queueing

    /// Refuses a read of less than a byte.
    static func check(
        _ length: Int,
        _ call: StaticString,
        _ name: StaticString,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) {
        guard length < 1 else { return }
        throw .invalidArgument(
            InvalidArgument("\(call): \(length))", "\(name) must be 1 or more", file, line)
        )
    }

    /// The limit of a delimiter read.
    static func limit(
        of delimiter: Delimiter,
        _ maxLength: Int?,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> Int {
        let size = delimiter.bytes.count
        guard size > 0 else {
            throw .invalidArgument(
                InvalidArgument("read(to:)", "delimiter must have 1 byte or more", file, line)
            )
        }
        let limit = maxLength ?? max(defaultDelimiterLimit, size)
        guard limit >= size else {
            throw .invalidArgument(
                InvalidArgument(
                    "read(to:maxLength: \(limit))",
                    "maxLength must be at least the delimiter's \(size) bytes",
                    file,
                    line
                )
            )
        }
        return limit
    }

    private func queueAnyRead(
        _ maxLength: Int?,
        _ timeout: Duration?,
        _ tag: Int,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> OperationID {
        if let maxLength { try Self.check(maxLength, "read(maxLength", "maxLength", file, line) }
        return try queueRead(.any, maxLength ?? .max, nil, timeout, tag, file, line)
    }

    func queueRead(
        _ kind: ReadRequest.Kind,
        _ limit: Int,
        _ delimiter: Delimiter?,
        _ timeout: Duration?,
        _ tag: Int,
        _ file: StaticString,
        _ line: UInt,
        _ target: ReadTarget? = nil
    ) throws(SocketError) -> OperationID {
        let reactor = try reactorForCall("read")
        let nanoseconds = try Self.nanoseconds(of: timeout, "read", file, line)
        try checkOpen()
        if lifecycle.peerHasEnded { throw .readClosed }
        if let limit = extras?.maxQueuedReads, reads.count >= limit {
            throw .readQueueFull(limit: limit)
        }
        let id = reactor.takeOperationID()
        if let target {
            target.id = id
            makeExtras().targets.append(target)
        }
        reads.append(
            ReadRequest(
                kind: kind,
                hasTarget: target != nil,
                tag: tag,
                id: id,
                limit: limit,
                timeout: nanoseconds,
                delimiter: delimiter
            )
        )
        if reactor.current != socketID { readsChanged(reactor) }
        return id
    }

    /// A timeout in nanoseconds, `Int64.max` for none.
    static func nanoseconds(
        of timeout: Duration?,
        _ call: String,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> Int64 {
        guard let timeout else { return .max }
        guard timeout >= .zero else {
            throw .invalidArgument(
                InvalidArgument(
                    "\(call)(timeout: \(timeout))",
                    "timeout must be 0 or more",
                    file,
                    line
                )
            )
        }
        return timeout.saturatedNanoseconds
    }

    /// Refuses reads and writes on a socket that takes none.
    func checkOpen() throws(SocketError) {
        guard !lifecycle.isDisconnectPending else { throw .disconnectPending }
        guard lifecycle.isOpen else { throw .notConnected }
    }

    /// The first read of the queue may be another one: lets bytes come, or looks at kept ones, and
    /// starts its clock.
    func readsChanged(_ reactor: Reactor) {
        guard lifecycle.phase == .connected else { return }
        followCurrentRead(reactor)
        let mayServe = !reads.isEmpty && !obstacles.contains(.readsArePaused)
        if mayServe, kept != nil || inputEnd != nil {
            list(for: .serveAgain, reactor)
            return
        }
        guard wantsBytes else {
            pause(reactor)
            return
        }
        if hasLeftovers {
            list(for: .serveAgain, reactor)
        } else {
            resume(reactor)
        }
    }

    func resume(_ reactor: Reactor) {
        guard obstacles.contains(.isPaused) else { return }
        obstacles.remove(.isPaused)
        reactor.backend.resumeReceiving(socketID)
    }

    func pause(_ reactor: Reactor) {
        guard !obstacles.contains(.isPaused) else { return }
        obstacles.insert(.isPaused)
        reactor.backend.pauseReceiving(socketID)
    }

    /// Puts the socket on one of the reactor's lists, once.
    func list(for step: TurnSteps, _ reactor: Reactor) {
        guard !listed.contains(step) else { return }
        listed.insert(step)
        reactor.work.add(socketID, to: step)
    }
}

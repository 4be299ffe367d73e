internal import CLinux

extension StreamSocket {
    /// Above so many waiting bytes the socket tells when fewer than ``writeLowWaterMark`` wait
    /// again; 256 KiB.
    public var writeHighWaterMark: Int {
        get { isOnThread("writeHighWaterMark") ? highWaterMark : Self.defaultHighWaterMark }
        set {
            guard reactorIfOnThread("writeHighWaterMark") != nil else { return }
            highWaterMark = max(1, newValue)
            noteHighWater()
        }
    }

    /// Whether more than ``writeHighWaterMark`` bytes have waited since `socketDidBecomeWritable`
    /// was last called.
    ///
    /// It will be called again; until then one had better not write, or read what would have to be
    /// answered.
    public var isAboveHighWaterMark: Bool {
        obstacles.contains(.isAboveHighWaterMark) && isOnThread("isAboveHighWaterMark")
    }

    static let defaultHighWaterMark = 256 * 1024

    /// Below so many waiting bytes `socketDidBecomeWritable` is called; 64 KiB.
    public var writeLowWaterMark: Int {
        get {
            let usual = 64 * 1024
            return isOnThread("writeLowWaterMark") ? extras?.writeLowWaterMark ?? usual : usual
        }
        set {
            guard reactorIfOnThread("writeLowWaterMark") != nil else { return }
            makeExtras().writeLowWaterMark = max(1, newValue)
        }
    }

    /// A write that finds so many bytes waiting throws
    /// ``SocketError/writeQueueFull(waiting:limit:)``; 64 MiB.
    ///
    /// A single larger write passes.
    public var writeQueueLimit: Int {
        get {
            let usual = 64 * 1024 * 1024
            return isOnThread("writeQueueLimit") ? extras?.writeQueueLimit ?? usual : usual
        }
        set {
            guard reactorIfOnThread("writeQueueLimit") != nil else { return }
            makeExtras().writeQueueLimit = max(1, newValue)
        }
    }

    /// Writes bytes behind all earlier ones; they are copied, or sent from where they lie.
    ///
    /// - Parameters:
    ///   - bytes: The bytes; none at all is a write as well, complete when those before it are.
    ///   - timeout: The time from when the write is the first of the queue, 0 or more; `nil`, no
    ///     limit.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the write.
    /// - Throws: ``SocketError/writeQueueFull(waiting:limit:)``,
    ///   ``SocketError/invalidArgument(_:)``, ``SocketError/notConnected``,
    ///   ``SocketError/disconnectPending``, ``SocketError/writeClosed``,
    ///   ``SocketError/wrongThread``, ``SocketError/reactorStopped``. Nothing is changed then, and
    ///   nothing called back.
    @discardableResult
    public func write(
        _ bytes: RawSpan,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        if timeout == nil, let id = gatherFirst(bytes, tag) { return id }
        return try queueWrite(bytes, nil, timeout, tag, file, line)
    }

    /// Writes bytes behind all earlier ones; a large array is held, not copied.
    ///
    /// - Parameters:
    ///   - bytes: The bytes, as for ``write(_:timeout:tag:file:line:)-(RawSpan,_,_,_,_)``.
    ///   - timeout: The time from when the write is the first of the queue, 0 or more.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the write.
    /// - Throws: As for a `RawSpan`.
    @discardableResult
    public func write(
        _ bytes: [UInt8],
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        let span = bytes.span.bytes
        if timeout == nil, bytes.count < Self.heldSize, let id = gatherFirst(span, tag) {
            return id
        }
        return try queueWrite(span, bytes, timeout, tag, file, line)
    }

    /// Writes the UTF-8 of a text behind all earlier bytes.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - timeout: The time from when the write is the first of the queue, 0 or more.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the write.
    /// - Throws: As for a `RawSpan`.
    @discardableResult
    public func write(
        _ text: String,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        try write(Array(text.utf8), timeout: timeout, tag: tag, file: file, line: line)
    }

    /// Writes any collection of bytes behind all earlier ones.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - timeout: The time from when the write is the first of the queue, 0 or more.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the write.
    /// - Throws: As for a `RawSpan`.
    @discardableResult
    public func write(
        _ bytes: some Collection<UInt8>,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        try write(Array(bytes), timeout: timeout, tag: tag, file: file, line: line)
    }

    // MARK: Progress

    /// The write whose turn it is, and how far it has come; `nil` if the kernel has taken all.
    public var currentWrite: OperationProgress? {
        isOnThread("currentWrite") ? writes.progress : nil
    }

    // MARK: Queueing

    /// From so many bytes on an array is handed over whole, instead of being copied with others.
    static let heldSize = 16 * 1024

    /// The first write of a handler that writes from within its own callback: the bytes are
    /// gathered, to be sent when the callbacks have returned.
    @inline(__always)
    private func gatherFirst(_ bytes: RawSpan, _ tag: Int) -> OperationID? {
        let byteCount = bytes.byteCount
        guard obstacles.permitAsking, writes.isEmpty, byteCount > 0, byteCount <= highWaterMark,
            let reactor = reactorUnchecked
        else { return nil }
        return reactor._withUnsafeGuaranteedRef { reactor -> OperationID? in
            guard reactor.thread == towline_thread(), reactor.current == socketID else {
                return nil
            }
            let isGathered = bytes.withUnsafeBytes {
                // Not empty, so there is a base.
                reactor.gather.append($0.baseAddress.unsafelyUnwrapped, count: byteCount)
            }
            guard isGathered else { return nil }
            let id = reactor.takeOperationID()
            writes.appendFirstGathered(tag: tag, id: id, count: byteCount)
            return id
        }
    }

    func queueWrite(
        _ bytes: RawSpan,
        _ array: [UInt8]?,
        _ timeout: Duration?,
        _ tag: Int,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> OperationID {
        let (reactor, nanoseconds) = try admitWrite(timeout, file, line)
        let id = reactor.takeOperationID()
        var request = WriteRequest(
            tag: tag,
            id: id,
            end: 0,
            count: bytes.byteCount,
            timeout: nanoseconds
        )
        // A large array is held instead, which copies nothing; a span has to be copied anyway.
        let isHeld = array != nil && bytes.byteCount >= Self.heldSize
        if !isHeld, gather(bytes, reactor) {
            if !writes.isEmpty { reactor.counters.joinedWrites &+= 1 }
            writes.append(request, isGathered: true)
        } else {
            request.bytes = array ?? [UInt8](bytes)
            appendWrite(request, reactor)
        }
        noteHighWater()
        return id
    }

    /// Refuses what cannot be written now; the reactor, and the timeout in nanoseconds.
    func admitWrite(
        _ timeout: Duration?,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> (Reactor, Int64) {
        let reactor = try reactorForCall("write")
        let nanoseconds = try Self.nanoseconds(of: timeout, "write", file, line)
        try checkOpen()
        if lifecycle.isWritingOver { throw .writeClosed }
        if let failure = extras?.sendFailure { throw failure }
        let waiting = writes.pendingBytes
        guard waiting < writeQueueLimit else {
            throw .writeQueueFull(waiting: waiting, limit: writeQueueLimit)
        }
        return (reactor, nanoseconds)
    }

    /// Adds a write that is not gathered, to be handed over when its turn comes.
    func appendWrite(_ request: WriteRequest, _ reactor: Reactor) {
        writes.append(request, isGathered: false)
        obstacles.insert(.hasPendingWrites)
        if reactor.current != socketID { list(for: .flush, reactor) }
    }

    /// Gathers a further write of the callbacks that run; nothing may wait in front of it.
    private func gather(_ bytes: RawSpan, _ reactor: Reactor) -> Bool {
        guard reactor.current == socketID, lifecycle.phase == .connected, !writes.hasQueued,
            extras?.sendFailure == nil, bytes.byteCount > 0, !isSecuring,
            !writes.isSendingBeyond(reactor.gather.count)
        else { return false }
        return bytes.withUnsafeBytes {
            reactor.gather.append($0.baseAddress.unsafelyUnwrapped, count: $0.count)
        }
    }

    func noteHighWater() {
        guard writes.pendingBytes > highWaterMark else { return }
        obstacles.insert(.isAboveHighWaterMark)
    }

    // MARK: Handing over

    /// Hands the gathered bytes to the backend, and takes its answer.
    func flushGathered(_ reactor: Reactor) {
        let count = reactor.gather.count
        guard count > 0 else { return }
        let sent = transmit(reactor.gather.start, count: count, reactor)
        reactor.gather.removeAll()
        acknowledge(sent, reactor)
    }

    /// Hands queued writes over, in their order, for as long as the backend finishes them at once:
    /// what is not handed over can still be cancelled.
    func flushQueued(_ reactor: Reactor) {
        guard lifecycle.phase == .connected, extras?.sendFailure == nil else { return }
        while writes.hasQueued, !writes.isSending, mayHandOver {
            if writes.isNextHeldApart {
                sendHeldOutput(reactor)
            } else if writes.nextCount >= Self.heldSize {
                let bytes = writes.handOver()
                acknowledge(transmit(holding: bytes, reactor), reactor)
            } else {
                gatherQueued(reactor)
                flushGathered(reactor)
            }
            guard lifecycle.phase == .connected, extras?.sendFailure == nil else { return }
        }
        if writes.finished != nil { list(for: .reportWrites, reactor) }
    }

    /// Copies small writes together, as many as fit.
    private func gatherQueued(_ reactor: Reactor) {
        while writes.hasQueued, writes.nextCount < Self.heldSize, !writes.isNextHeldApart,
            mayHandOver
        {
            guard reactor.gather.count + writes.nextCount <= 256 * 1024 else { return }
            let bytes = writes.handOver()
            bytes.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
                let fits = reactor.gather.append(base, count: bytes.count)
                precondition(fits, "the line above made sure of room")
            }
        }
    }

    /// Counts bytes that the kernel has taken; what is finished is reported in step 8 of the turn.
    func acknowledge(_ byteCount: Int, _ reactor: Reactor) {
        writes.acknowledge(byteCount)
        if byteCount > 0, idleClock.limits != nil { idleClock.lastSent = reactor.backend.now() }
        if byteCount > 0 || writes.finished != nil { list(for: .reportWrites, reactor) }
        if writes.isSending || writes.hasQueued {
            obstacles.insert(.hasPendingWrites)
        } else {
            obstacles.remove(.hasPendingWrites)
        }
    }
}

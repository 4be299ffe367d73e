/// What a write sends that is no single array.
enum HeldOutput {
    /// Several arrays, each as it was given unless it is small.
    case pieces([[UInt8]])
    /// Bytes of a file.
    case file(OpenFile, Range<Int>)
}

extension StreamSocket {
    /// Writes several pieces as one write, behind all earlier bytes.
    ///
    /// Large ones are held and not copied, as arrays are that are written singly; small neighbours
    /// are joined.
    ///
    /// - Parameters:
    ///   - chunks: The pieces, in their order.
    ///   - timeout: The time from when the write is the first of the queue, 0 or more.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the write.
    /// - Throws: As for a `RawSpan`.
    @discardableResult
    public func write(
        chunks: [[UInt8]],
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        let pieces = Self.joiningSmall(chunks)
        guard pieces.count > 1 else {
            return try write(
                pieces.first ?? [],
                timeout: timeout,
                tag: tag,
                file: file,
                line: line
            )
        }
        let (reactor, nanoseconds) = try admitWrite(timeout, file, line)
        let count = pieces.reduce(0) { $0 + $1.count }
        return queueHeld(.pieces(pieces), count: count, nanoseconds, tag, reactor)
    }

    /// Writes a file, or a part of it, behind all earlier bytes, without reading it into memory.
    ///
    /// The bytes count as waiting ones, and progress is told of them, as of any others; how many
    /// of them one turn sends is bounded by ``TurnBudget/fileBytesPerSocket``. The file may grow
    /// meanwhile. If it becomes shorter than the range, or cannot be read, what was promised to the
    /// peer cannot be kept: the connection ends with ``SocketError/system(_:)``, such as `ENODATA`,
    /// and with a reset, so that the peer does not take a part for the whole (a Unix socket has no
    /// reset). Bytes of it that change while they are sent, and shortly afterwards, may arrive as
    /// either.
    ///
    /// - Parameters:
    ///   - source: The file; it is held open until the write has ended.
    ///   - range: Which of its bytes, within its size at the time of the call; `nil`, all of them.
    ///     An empty one is a write as well, complete when those before it are.
    ///   - timeout: The time from when the write is the first of the queue, 0 or more.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the write.
    /// - Throws: As for a `RawSpan`; ``SocketError/invalidArgument(_:)`` also for a range that is
    ///   not within the file.
    ///
    /// Source: sendfile(2).
    @discardableResult
    public func write(
        file source: OpenFile,
        range: Range<Int>? = nil,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        let (reactor, nanoseconds) = try admitWrite(timeout, file, line)
        let size = try source.byteCount()
        let range = range ?? 0..<size
        guard range.lowerBound >= 0, range.upperBound <= size else {
            throw .invalidArgument(
                InvalidArgument(
                    "write(file:range: \(range))",
                    "range must be within the file's \(size) bytes",
                    file,
                    line
                )
            )
        }
        guard !range.isEmpty else {
            return try write([], timeout: timeout, tag: tag, file: file, line: line)
        }
        return queueHeld(.file(source, range), count: range.count, nanoseconds, tag, reactor)
    }

    /// How many of the bytes written so far the peer's host has not acknowledged: those that wait
    /// here, and those that the kernel has not heard of; `nil` while there is no connection.
    ///
    /// With 0, all that was written has been received by the peer's host, if not by its program.
    /// Over a Unix socket the kernel counts memory instead of bytes, and lets go of it as the
    /// program reads.
    ///
    /// Source: tcp(7), `SIOCOUTQ`.
    public var unacknowledgedByteCount: Int? {
        guard let reactor = reactorIfOnThread("unacknowledgedByteCount"),
            lifecycle.phase != .idle, lifecycle.phase != .connecting,
            let count = reactor.backend.unacknowledgedByteCount(of: socketID)
        else { return nil }
        return count + writes.pendingBytes
    }

    // MARK: Queueing and handing over

    private static func joiningSmall(_ chunks: [[UInt8]]) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var joined: [UInt8] = []
        for chunk in chunks {
            if chunk.count < heldSize {
                joined += chunk
                continue
            }
            if !joined.isEmpty { pieces.append(joined) }
            joined = []
            pieces.append(chunk)
        }
        if !joined.isEmpty { pieces.append(joined) }
        return pieces
    }

    private func queueHeld(
        _ output: HeldOutput,
        count: Int,
        _ nanoseconds: Int64,
        _ tag: Int,
        _ reactor: Reactor
    ) -> OperationID {
        let id = reactor.takeOperationID()
        makeExtras().heldOutput[id] = output
        let request = WriteRequest(tag: tag, id: id, end: 0, count: count, timeout: nanoseconds)
        appendWrite(request, reactor)
        noteHighWater()
        return id
    }

    /// Hands over the first write that is not, which is held output.
    func sendHeldOutput(_ reactor: Reactor) {
        guard let output = extras?.heldOutput.removeValue(forKey: writes.nextID) else {
            preconditionFailure("a write without bytes of its own holds them here")
        }
        _ = writes.handOver()
        var sent = 0
        switch output {
        case .pieces(let pieces):
            for piece in pieces { sent += transmit(holding: piece, reactor) }
        case .file(let file, let range):
            sent = transmit(file, range, reactor)
        }
        acknowledge(sent, reactor)
    }
}

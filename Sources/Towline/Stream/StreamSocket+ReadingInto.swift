internal import TowlineBytes

/// Reads into memory of the caller's.
extension StreamSocket {
    /// Reads whatever comes next, at least one byte, into a buffer.
    ///
    /// The bytes are stored from `offset` on, over what is there; where the buffer is too short, it
    /// becomes as long as they need. It comes back with `socket(_:didRead:range:tag:)`; or with
    /// ``DisconnectReport/takeReadBuffer()`` if the connection ends before. If the call throws, it
    /// is gone.
    ///
    /// - Parameters:
    ///   - buffer: Where the bytes go.
    ///   - offset: Where in it they begin, 0 through its count.
    ///   - maxLength: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - timeout: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: As ``read(maxLength:timeout:tag:file:line:)``.
    @discardableResult
    public func read(
        into buffer: consuming ReadBuffer,
        at offset: Int = 0,
        maxLength: Int? = nil,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        if let maxLength {
            try Self.check(maxLength, "read(into:maxLength", "maxLength", file, line)
        }
        let target = try Self.target(buffer, offset, file, line)
        return try queueRead(.any, maxLength ?? .max, nil, timeout, tag, file, line, target)
    }

    /// Reads exactly so many bytes into a buffer.
    ///
    /// - Parameters:
    ///   - buffer: As for ``read(into:at:maxLength:timeout:tag:file:line:)``.
    ///   - offset: Where in it the bytes begin, 0 through its count.
    ///   - length: 1 or more.
    ///   - timeout: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: As ``read(maxLength:timeout:tag:file:line:)``.
    @discardableResult
    public func read(
        into buffer: consuming ReadBuffer,
        at offset: Int = 0,
        toLength length: Int,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        try Self.check(length, "read(into:toLength", "length", file, line)
        let target = try Self.target(buffer, offset, file, line)
        return try queueRead(.length, length, nil, timeout, tag, file, line, target)
    }

    /// Reads up to and with the first occurrence of a delimiter into a buffer.
    ///
    /// - Parameters:
    ///   - buffer: As for ``read(into:at:maxLength:timeout:tag:file:line:)``.
    ///   - offset: Where in it the bytes begin, 0 through its count.
    ///   - delimiter: At least one byte.
    ///   - maxLength: As for ``read(to:maxLength:timeout:tag:file:line:)``; the bytes in front of
    ///     `offset` do not count.
    ///   - timeout: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: As ``read(maxLength:timeout:tag:file:line:)``.
    @discardableResult
    public func read(
        into buffer: consuming ReadBuffer,
        at offset: Int = 0,
        to delimiter: Delimiter,
        maxLength: Int? = nil,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        let limit = try Self.limit(of: delimiter, maxLength, file, line)
        let target = try Self.target(buffer, offset, file, line)
        return try queueRead(.delimiter, limit, delimiter, timeout, tag, file, line, target)
    }

    /// Reads everything up to the peer's end into a buffer.
    ///
    /// - Parameters:
    ///   - buffer: As for ``read(into:at:maxLength:timeout:tag:file:line:)``.
    ///   - offset: Where in it the bytes begin, 0 through its count.
    ///   - maxLength: As for ``readToEnd(maxLength:timeout:tag:file:line:)``.
    ///   - timeout: As for ``read(maxLength:timeout:tag:file:line:)``.
    ///   - tag: Given to the callback; for you.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Returns: A name for the read.
    /// - Throws: As ``read(maxLength:timeout:tag:file:line:)``.
    @discardableResult
    public func readToEnd(
        into buffer: consuming ReadBuffer,
        at offset: Int = 0,
        maxLength: Int,
        timeout: Duration? = nil,
        tag: Int = 0,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) -> OperationID {
        try Self.check(maxLength, "readToEnd(into:maxLength", "maxLength", file, line)
        let target = try Self.target(buffer, offset, file, line)
        return try queueRead(.end, maxLength, nil, timeout, tag, file, line, target)
    }

    private static func target(
        _ buffer: consuming ReadBuffer,
        _ offset: Int,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> ReadTarget {
        let count = buffer.count
        guard offset >= 0, offset <= count else {
            throw .invalidArgument(
                InvalidArgument(
                    "read(into:at: \(offset))",
                    "offset must be within the buffer's \(count) bytes",
                    file,
                    line
                )
            )
        }
        return ReadTarget(buffer, at: offset)
    }

    // MARK: Filling

    /// The buffer of the current read, if that has one.
    var currentTarget: ReadTarget? {
        guard let read = reads.current, read.hasTarget else { return nil }
        return extras?.targets.first
    }

    /// Moves kept and fresh bytes into the current read's buffer, and delivers that if it is
    /// complete.
    ///
    /// - Returns: How many fresh bytes it took, and whether it was delivered.
    func fill(
        _ target: ReadTarget,
        of read: ReadRequest,
        with fresh: RawSpan,
        _ reactor: Reactor
    ) -> (taken: Int, isDelivered: Bool) {
        var match = ReadQueue.Match.incomplete
        if let kept {
            kept.consume(kept.withBytes { move($0, to: target, of: read, &match) })
            if kept.isEmpty { dropKept() }
        }
        var taken = 0
        if match == .incomplete { taken = move(fresh, to: target, of: read, &match) }
        reactor.untaken = fresh.extracting(taken..<fresh.byteCount).storage
        let newBytes = target.count - (extras?.readProgress ?? 0)
        switch match {
        case .complete:
            guard finishProgress(of: read, newBytes: newBytes, done: target.count, reactor) else {
                // Whatever kept it from its end, its bytes are anybody's again.
                if reads.current?.id == read.id { returnCollectedBytes() }
                return (taken, false)
            }
            noteCompletion(of: read)
            call(reactor) { try $0.didRead(self, target, read.tag) }
            return (taken, true)
        case .incomplete:
            reportReadProgress(read, newBytes: newBytes, done: target.count, reactor)
        case .tooLong:
            giveUp(read, reactor)
        }
        return (taken, false)
    }

    private func move(
        _ bytes: RawSpan,
        to target: ReadTarget,
        of read: ReadRequest,
        _ match: inout ReadQueue.Match
    ) -> Int {
        let taken = reads.take(bytes, behind: target.count, isAll: hasAll(of: read))
        target.append(bytes.extracting(0..<taken.count))
        match = taken.match
        return taken.count
    }

    /// Puts what the current read's buffer has got of it back in front of all other bytes.
    func returnCollectedBytes() {
        guard let target = currentTarget, target.count > 0 else { return }
        makeKept().prepend(target.removeAll().span.bytes)
        reads.beginMatchingAnew()
    }

    /// Forgets the buffer of a read that is cancelled, and keeps its bytes for the next.
    ///
    /// - Returns: The buffer, if the read has one.
    func removeTarget(of id: OperationID) -> ReadTarget? {
        guard let extras, let index = extras.targets.all.firstIndex(where: { $0.id == id }) else {
            return nil
        }
        if reads.current?.id == id { returnCollectedBytes() }
        return extras.targets.remove(at: index)
    }
}

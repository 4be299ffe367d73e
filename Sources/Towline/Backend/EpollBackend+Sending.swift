internal import CLinux
internal import Glibc

extension EpollBackend {
    @inline(__always)
    func send(_ id: SocketID, _ bytes: UnsafeRawPointer, count: Int) -> Int {
        guard let entry = entry(of: id), entry.pointee.output == nil,
            entry.pointee.flags.isDisjoint(with: [.cannotSend, .isConnecting])
        else { return queueBehind(id, bytes, count) }
        figures.sends &+= 1
        let descriptor = entry.pointee.descriptor
        let result = systemCall { Glibc.send(descriptor, bytes, count, CInt(MSG_NOSIGNAL)) }
        if _fastPath(result.value == count) {
            figures.sentBytes &+= count
            return count
        }
        return keepUnsent(id, bytes, count, result)
    }

    func send(_ id: SocketID, holding bytes: [UInt8], from offset: Int) -> Int {
        guard let entry = entry(of: id), !entry.pointee.flags.contains(.cannotSend) else {
            return 0
        }
        guard entry.pointee.output == nil else {
            entry.pointee.output?.takeUnretainedValue().append(holding: bytes, from: offset)
            return 0
        }
        figures.sends &+= 1
        let descriptor = entry.pointee.descriptor
        let count = bytes.count - offset
        let result = systemCall {
            bytes.withUnsafeBytes {
                // `offset` is less than the count, so there is a base and it stays in bounds.
                Glibc.send(
                    descriptor,
                    $0.baseAddress.unsafelyUnwrapped + offset,
                    count,
                    CInt(MSG_NOSIGNAL)
                )
            }
        }
        let sent = noteSent(id, result, of: count)
        guard sent < count, let output = outputToKeep(id) else { return sent }
        output.append(holding: bytes, from: offset + sent)
        return sent
    }

    func send(_ id: SocketID, file: OpenFile, range: Range<Int>) -> Int {
        guard let entry = entry(of: id), !entry.pointee.flags.contains(.cannotSend) else {
            return 0
        }
        guard entry.pointee.output == nil else {
            entry.pointee.output?.takeUnretainedValue().append(file, range)
            return 0
        }
        figures.sends &+= 1
        let result = sendFile(file, range, to: entry.pointee.descriptor)
        let sent = noteSent(id, result, of: range.count, isFile: true)
        guard sent < range.count, let output = outputToKeep(id) else { return sent }
        output.append(file, range.lowerBound + sent..<range.upperBound)
        return sent
    }

    /// Sends as much of a file as one turn may.
    private func sendFile(
        _ file: OpenFile,
        _ range: Range<Int>,
        to descriptor: CInt
    ) -> SystemCallResult {
        let count = min(range.count, budget.fileBytesPerSocket)
        let result = file.withDescriptor { source in
            systemCall { towline_sendfile(descriptor, source, Int64(range.lowerBound), count) }
        }
        if result.value == 0 { return OpenFile.ended }
        guard !result.isSuccess, [EINVAL, ENOSYS, EOPNOTSUPP].contains(result.errno) else {
            return result
        }
        // Not every file system can: then by way of our own memory.
        return copyFile(file, range.lowerBound, min(count, 64 * 1024), to: descriptor)
    }

    private func copyFile(
        _ file: OpenFile,
        _ offset: Int,
        _ count: Int,
        to descriptor: CInt
    ) -> SystemCallResult {
        withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            // 1 or more bytes, so there is a base.
            let base = buffer.baseAddress.unsafelyUnwrapped
            let result = file.read(into: base, count: count, at: offset)
            guard result.isSuccess else { return result }
            return systemCall { Glibc.send(descriptor, base, result.value, CInt(MSG_NOSIGNAL)) }
        }
    }

    @inline(never)
    private func queueBehind(_ id: SocketID, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        guard let entry = entry(of: id), !entry.pointee.flags.contains(.cannotSend),
            let output = entry.pointee.output
        else { return 0 }
        let buffer = UnsafeRawBufferPointer(start: bytes, count: count)
        output.takeUnretainedValue().append(copying: RawSpan(_unsafeBytes: buffer))
        return 0
    }

    @inline(never)
    private func keepUnsent(
        _ id: SocketID,
        _ bytes: UnsafeRawPointer,
        _ count: Int,
        _ result: SystemCallResult
    ) -> Int {
        let sent = noteSent(id, result, of: count)
        guard sent < count, let output = outputToKeep(id) else { return sent }
        // The bytes behind those that were sent, within what the caller lent.
        let rest = UnsafeRawBufferPointer(start: bytes + sent, count: count - sent)
        output.append(copying: RawSpan(_unsafeBytes: rest))
        return sent
    }

    /// Counts what a send took, and remembers its failure.
    private func noteSent(
        _ id: SocketID,
        _ result: SystemCallResult,
        of count: Int,
        isFile: Bool = false
    ) -> Int {
        guard !result.isSuccess else {
            figures.sentBytes &+= result.value
            if result.value < count { figures.shortSends &+= 1 }
            return result.value
        }
        figures.shortSends &+= 1
        guard !result.wouldBlock else { return 0 }
        entry(of: id)?.pointee.flags.insert(.cannotSend)
        results.append(.failed(id, .sending, Self.sendError(result.errno, isFile)))
        return 0
    }

    private static func sendError(_ number: CInt, _ isFile: Bool) -> SystemCallError {
        isFile ? OpenFile.error(number) : SystemCallError(call: "send", errno: number)
    }

    /// Makes a place for output that the kernel has no room for, and watches for room.
    private func outputToKeep(_ id: SocketID) -> PendingOutput? {
        guard let entry = entry(of: id), !entry.pointee.flags.contains(.cannotSend) else {
            return nil
        }
        let output = PendingOutput()
        entry.pointee.output = Unmanaged.passRetained(output)
        if entry.pointee.flags.contains(.isInSet) {
            watch(id) { $0.insert(.watchesRoom) }
        } else {
            // A hang-up took it out of the set. The next send tells why, so it is watched again.
            entry.pointee.flags.insert(.watchesRoom)
            do {
                try enterSet(id)
            } catch {
                results.append(.failed(id, .sending, error))
            }
        }
        return output
    }

    /// Sends what waits, for as long as the kernel takes all that it is shown.
    func sendPendingOutput<Sink: EventSink>(_ id: SocketID, _ sink: Sink) {
        guard let entry = entry(of: id), let reference = entry.pointee.output else { return }
        let output = reference.takeUnretainedValue()
        let descriptor = entry.pointee.descriptor
        var sent = 0
        var failure: SystemCallError?
        while !output.isEmpty {
            figures.sends &+= 1
            let isFile = output.beginsWithFile
            let (result, isWhole) = output.sendFirst(
                sendFile: { sendFile($0, $1, to: descriptor) },
                { bytes, count in
                    systemCall { Glibc.send(descriptor, bytes, count, CInt(MSG_NOSIGNAL)) }
                }
            )
            if result.isSuccess {
                sent += result.value
                figures.sentBytes &+= result.value
            } else if !result.wouldBlock {
                failure = Self.sendError(result.errno, isFile)
            }
            guard isWhole else {
                figures.shortSends &+= 1
                break
            }
        }
        if output.isEmpty || failure != nil { finishOutput(id, hasFailed: failure != nil) }
        if sent > 0 { sink.handle(.sent(sent), of: id, from: self) }
        guard let failure, self.entry(of: id) != nil else { return }
        sink.handle(.failed(.sending, failure), of: id, from: self)
    }

    private func finishOutput(_ id: SocketID, hasFailed: Bool) {
        guard let entry = entry(of: id) else { return }
        entry.pointee.output?.release()
        entry.pointee.output = nil
        if hasFailed { entry.pointee.flags.insert(.cannotSend) }
        watch(id) { $0.remove(.watchesRoom) }
        if entry.pointee.flags.contains(.finishesAfterOutput), !hasFailed {
            _ = shutdown(entry.pointee.descriptor, CInt(SHUT_WR))
        }
    }

    func takeBack(_ id: SocketID, behind offset: Int, count: Int) -> Bool {
        guard let output = entry(of: id)?.pointee.output?.takeUnretainedValue(),
            output.remove(offset..<offset + count)
        else { return false }
        if output.isEmpty { finishOutput(id, hasFailed: false) }
        return true
    }

    func finishSending(_ id: SocketID) {
        guard let entry = entry(of: id) else { return }
        entry.pointee.flags.insert(.hasFinished)
        if entry.pointee.output == nil {
            // ENOTCONN says that the peer has gone, which receiving tells.
            _ = shutdown(entry.pointee.descriptor, CInt(SHUT_WR))
        } else {
            entry.pointee.flags.insert(.finishesAfterOutput)
        }
    }
}

/// What became of bytes that were offered to the kernel without being queued.
@usableFromInline
enum ImmediateSend {
    /// The kernel has them all.
    case done
    /// Some of them wait; the write is in the queue.
    case begun(OperationID)
    /// Something is in front of them, or they cannot be sent: nothing has happened.
    case refused
}

extension Obstacles {
    /// What stands in front of a write.
    fileprivate static let toSending: Obstacles = [
        .isNotOpen, .hasPendingWrites, .awaitsDisconnect, .hasEndedWriting, .isSecured,
    ]
}

extension StreamSocket {
    /// Sends bytes straight from where they lie, if nothing waits in front of them.
    ///
    /// What its own callbacks have gathered would be in the queue.
    func sendAtOnce(_ bytes: [UInt8], tag: Int) -> ImmediateSend {
        let count = bytes.count
        // A large array is likely not to be taken in one piece, and is better held.
        guard count > 0, count < Self.heldSize, writes.isEmpty,
            obstacles.isDisjoint(with: .toSending), lifecycle.phase == .connected,
            let reactor = reactorUnchecked
        else { return .refused }
        return reactor._withUnsafeGuaranteedRef { sendAtOnce(bytes, count, tag, $0) }
    }

    @inline(__always)
    private func sendAtOnce(
        _ bytes: [UInt8],
        _ count: Int,
        _ tag: Int,
        _ reactor: Reactor
    ) -> ImmediateSend {
        if let extras, extras.sendFailure != nil { return .refused }
        let sent = bytes.withUnsafeBytes {
            // Not empty, so there is a base.
            reactor.backend.send(socketID, $0.baseAddress.unsafelyUnwrapped, count: count)
        }
        if _fastPath(sent == count) {
            writes.notePassing(count)
            idleClock.lastSent = reactor.waitReturned
            return .done
        }
        let id = reactor.takeOperationID()
        writes.appendFirstGathered(tag: tag, id: id, count: count)
        acknowledge(sent, reactor)
        return .begun(id)
    }
}

extension Reactor {
    /// From so many bytes on the memory of an array is not kept for the next.
    private static let spareLimit = 4 * 1024

    /// Copies lent bytes, into the memory of the last copy if nobody has kept that.
    func copy(_ bytes: RawSpan) -> [UInt8] {
        let count = bytes.byteCount
        guard count > 0, count <= Self.spareLimit else { return [UInt8](bytes) }
        if spareBytes.count != count { spareBytes = [UInt8](repeating: 0, count: count) }
        bytes.withUnsafeBytes { source in
            // Where somebody has kept it, this makes another.
            spareBytes.withUnsafeMutableBytes { $0.copyMemory(from: source) }
        }
        return spareBytes
    }
}

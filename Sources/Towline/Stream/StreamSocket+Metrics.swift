internal import TowlineBytes

/// What a socket has done and what waits, at one moment.
public struct SocketMetrics: Sendable, Hashable {
    /// Bytes received on this connection.
    public let receivedByteCount: Int

    /// Bytes of it that the kernel has taken from us.
    public let sentByteCount: Int

    /// Bytes of writes that the kernel has not taken yet.
    public let pendingWriteByteCount: Int

    /// Bytes that came and that no read has been completed with.
    public let keptByteCount: Int

    /// Reads that are not complete.
    public let queuedReadCount: Int

    /// Writes that are not complete, or not told of yet.
    public let queuedWriteCount: Int
}

extension StreamSocket {
    /// What the connection has done and what waits; all of it 0 while nothing is started.
    public var metrics: SocketMetrics {
        let isKnown = isOnThread("metrics")
        return SocketMetrics(
            receivedByteCount: isKnown ? receivedCount : 0,
            sentByteCount: isKnown ? writes.finishedEnd : 0,
            pendingWriteByteCount: isKnown ? writes.pendingBytes : 0,
            keptByteCount: isKnown ? (currentTarget?.count ?? 0) + (kept?.waitingCount ?? 0) : 0,
            queuedReadCount: isKnown ? reads.count : 0,
            queuedWriteCount: isKnown ? writes.count : 0
        )
    }

    /// How far the current read has come; `nil` if no read is queued.
    public var currentRead: OperationProgress? {
        guard isOnThread("currentRead"), let read = reads.current else { return nil }
        return OperationProgress(tag: read.tag, bytesDone: collectedCount, total: read.total)
    }

    /// The bytes of the current read that are here.
    var collectedCount: Int {
        guard let read = reads.current else { return 0 }
        return currentTarget?.count ?? min(kept?.waitingCount ?? 0, read.limit)
    }
}

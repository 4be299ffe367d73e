/// How far a read or a write has come.
public struct IOProgress: Sendable, Hashable {
    /// Bytes since the report before, 1 or more.
    public let newBytes: Int

    /// Bytes of the operation so far, `newBytes` included.
    public let bytesDone: Int

    /// Bytes in all; `nil` where only the end will tell.
    public let total: Int?

    /// Describes progress.
    public init(newBytes: Int, bytesDone: Int, total: Int?) {
        self.newBytes = newBytes
        self.bytesDone = bytesDone
        self.total = total
    }
}

/// How far the read or the write has come whose turn it is.
public struct OperationProgress: Sendable, Hashable {
    /// The operation's tag.
    public let tag: Int

    /// Its bytes so far.
    public let bytesDone: Int

    /// Its bytes in all; `nil` where only the end will tell.
    public let total: Int?

    /// Describes how far an operation has come.
    public init(tag: Int, bytesDone: Int, total: Int?) {
        self.tag = tag
        self.bytesDone = bytesDone
        self.total = total
    }
}

/// What is to become of a read or a write whose time is up.
public enum TimeoutDecision: Sendable, Hashable {
    /// It gets that much more time, and the question may come again; no time at all is
    /// ``disconnect``.
    case extend(by: Duration)

    /// The connection ends with ``SocketError/readTimedOut(tag:)`` or
    /// ``SocketError/writeTimedOut(tag:)``.
    case disconnect

    /// The operation ends alone, and the connection stays. A write of which bytes have been sent
    /// cannot, since the stream would be corrupt: for it this means ``disconnect``.
    case cancelOperation
}

/// When a disconnect is to happen.
public enum DisconnectMoment: Sendable, Hashable {
    /// Now. Reads and writes that are not complete end with the connection.
    case now
    /// When the reads that are queued are complete, even if writes wait.
    case afterReads
    /// When the kernel has taken the writes that are queued, even if reads wait.
    case afterWrites
    /// When both are complete.
    case afterReadsAndWrites
}

/// What happens when the peer sends its end.
@nonexhaustive
public enum HalfClosePolicy: Sendable, Hashable {
    /// Disconnect at once; writes that wait are dropped.
    case disconnect
    /// Send what waits, within ``StreamSocket/finishTimeout``, then disconnect.
    case finishWrites
    /// Stay connected, and write for as long as that works.
    ///
    /// Reads that wait end in their order through `didCancelRead`, with the bytes that they had;
    /// then `socketDidCloseReadStream` comes, once. The connection ends when a send fails, when the
    /// program ends it, or when our own end is sent, too: ``StreamSocket/shutdownWrite()``.
    case keepOpen
}

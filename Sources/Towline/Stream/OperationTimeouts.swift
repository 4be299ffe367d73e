/// The deadlines of one socket; told the time, and asks nobody.
///
/// A socket has at most one timer. Each deadline is a field: setting a later one is a store, and
/// the timer, when it fires too early, is set anew for the deadline that is next.
struct OperationTimeouts {
    enum Kind: CaseIterable {
        /// The whole connect.
        case connect
        /// The next address of a connect, or trying one again.
        case retry
        /// The current read.
        case read
        /// The current write.
        case write
        /// The handshake, from the head of the queues on.
        case handshake
        /// The peer's end after ours, or the last writes after the peer's.
        case finish
    }

    private var connect = MonotonicInstant.distantFuture
    private var retry = MonotonicInstant.distantFuture
    private var read = MonotonicInstant.distantFuture
    private var write = MonotonicInstant.distantFuture
    private var finish = MonotonicInstant.distantFuture
    private var handshake = MonotonicInstant.distantFuture

    /// The operation that a read or write deadline belongs to, and its time with all extensions.
    private(set) var readOperation: OperationID?
    private(set) var writeOperation: OperationID?
    private(set) var readElapsed: Int64 = 0
    private(set) var writeElapsed: Int64 = 0

    subscript(kind: Kind) -> MonotonicInstant {
        get {
            switch kind {
            case .connect: connect
            case .retry: retry
            case .read: read
            case .write: write
            case .handshake: handshake
            case .finish: finish
            }
        }
        set {
            switch kind {
            case .connect: connect = newValue
            case .retry: retry = newValue
            case .read: read = newValue
            case .write: write = newValue
            case .handshake: handshake = newValue
            case .finish: finish = newValue
            }
        }
    }

    /// The deadline that comes first.
    var earliest: MonotonicInstant {
        min(connect, retry, read, write, handshake, finish)
    }

    /// Whether any deadline runs.
    var isEmpty: Bool { earliest == .distantFuture }

    func isDue(_ kind: Kind, at now: MonotonicInstant) -> Bool {
        self[kind] <= now && self[kind] != .distantFuture
    }

    mutating func clear(_ kind: Kind) {
        self[kind] = .distantFuture
    }

    /// The current read is another one, or none.
    ///
    /// - Returns: Whether the read's deadline changed.
    mutating func follow(read request: ReadRequest?, now: () -> MonotonicInstant) -> Bool {
        guard request?.id != readOperation else { return false }
        readOperation = request?.id
        let timeout = request?.timeout ?? .max
        readElapsed = timeout
        let before = read
        read = timeout == .max ? .distantFuture : now().advanced(byNanoseconds: timeout)
        return read != before
    }

    /// The current write is another one, or none.
    ///
    /// - Returns: Whether the write's deadline changed.
    mutating func follow(write request: WriteRequest?, now: () -> MonotonicInstant) -> Bool {
        guard request?.id != writeOperation else { return false }
        writeOperation = request?.id
        let timeout = request?.timeout ?? .max
        writeElapsed = timeout
        let before = write
        write = timeout == .max ? .distantFuture : now().advanced(byNanoseconds: timeout)
        return write != before
    }

    /// Gives the read more time, from `now`.
    mutating func extendRead(by nanoseconds: Int64, from now: MonotonicInstant) {
        readElapsed = readElapsed.addingSaturating(nanoseconds)
        read = now.advanced(byNanoseconds: nanoseconds)
    }

    /// Gives the write more time, from `now`.
    mutating func extendWrite(by nanoseconds: Int64, from now: MonotonicInstant) {
        writeElapsed = writeElapsed.addingSaturating(nanoseconds)
        write = now.advanced(byNanoseconds: nanoseconds)
    }
}

extension Int64 {
    fileprivate func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}

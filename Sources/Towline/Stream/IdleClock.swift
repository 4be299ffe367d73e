/// Where nothing has moved on a connection.
public enum IdleDirection: Sendable, Hashable {
    /// No byte came.
    case read
    /// The kernel took no byte of ours, be it that none was written or that the peer reads none.
    case write
    /// Neither.
    case both
}

/// How long a connection may be silent; one value for all sockets that are set alike.
final class IdleLimits: Sendable {
    /// Nanoseconds, 1 or more; `Int64.max` for no limit.
    let read: Int64
    let write: Int64
    let both: Int64

    init(read: Int64, write: Int64, both: Int64) {
        self.read = read
        self.write = write
        self.both = both
    }

    func isEqual(to other: IdleLimits) -> Bool {
        read == other.read && write == other.write && both == other.both
    }
}

/// When something last moved on a connection, and so when it has been silent for too long; told the
/// time.
///
/// That something moves is one store. The deadlines follow from it: one lies at each multiple of a
/// limit behind the last movement, so silence that goes on is told of again and again.
struct IdleClock {
    /// `nil`: nobody wants to know.
    var limits: IdleLimits?
    var lastReceived = MonotonicInstant(nanoseconds: 0)
    var lastSent = MonotonicInstant(nanoseconds: 0)
    /// Deadlines up to here have been told of.
    private var toldUntil = MonotonicInstant(nanoseconds: 0)

    /// The directions that have been silent for too long.
    struct Directions: OptionSet {
        let rawValue: UInt8

        static let read = Directions(rawValue: 1 << 0)
        static let write = Directions(rawValue: 1 << 1)
        static let both = Directions(rawValue: 1 << 2)
    }

    /// Silence begins now.
    mutating func begin(at now: MonotonicInstant) {
        lastReceived = now
        lastSent = now
        toldUntil = now
    }

    /// The next deadline, if nothing moves.
    var nextDeadline: MonotonicInstant {
        guard let limits else { return .distantFuture }
        return min(
            deadline(after: lastReceived, limits.read),
            deadline(after: lastSent, limits.write),
            deadline(after: max(lastReceived, lastSent), limits.both)
        )
    }

    /// Takes the directions whose deadlines have passed; each comes once, however many have.
    mutating func takeDue(at now: MonotonicInstant) -> Directions {
        guard let limits else { return [] }
        var due = Directions()
        if deadline(after: lastReceived, limits.read) <= now { due.insert(.read) }
        if deadline(after: lastSent, limits.write) <= now { due.insert(.write) }
        if deadline(after: max(lastReceived, lastSent), limits.both) <= now { due.insert(.both) }
        toldUntil = max(toldUntil, now)
        return due
    }

    /// Whether nothing has moved in a direction for as long as its limit now is.
    ///
    /// Asked before each is told: what was told before may have set other limits, or made something
    /// move.
    func isSilent(_ direction: IdleDirection, at now: MonotonicInstant) -> Bool {
        guard let limits else { return false }
        let (last, limit) =
            switch direction {
            case .read: (lastReceived, limits.read)
            case .write: (lastSent, limits.write)
            case .both: (max(lastReceived, lastSent), limits.both)
            }
        return limit != .max && now.nanoseconds - last.nanoseconds >= limit
    }

    /// The first multiple of `limit` behind `last` that has not been told of.
    private func deadline(after last: MonotonicInstant, _ limit: Int64) -> MonotonicInstant {
        guard limit != .max else { return .distantFuture }
        let told = max(0, toldUntil.nanoseconds - last.nanoseconds)
        let (wait, isTooLong) = (told / limit + 1).multipliedReportingOverflow(by: limit)
        return isTooLong ? .distantFuture : last.advanced(byNanoseconds: wait)
    }
}

internal import Synchronization

/// Names a read or a write from the call that queued it until it ends; no other has the same name,
/// on this reactor or another.
public struct OperationID: Sendable, Hashable, CustomStringConvertible {
    let rawValue: UInt64

    @inline(__always)
    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Its number within its reactor, as text.
    public var description: String { "operation \(rawValue % Self.idsPerReactor)" }

    /// Each reactor counts in a range of its own, so that a foreign name finds nothing.
    private static let idsPerReactor: UInt64 = 1 << 40
    private static let reactorCount = Atomic<UInt64>(0)

    /// The number in front of the first one of another reactor.
    static func beginRange() -> UInt64 {
        reactorCount.add(1, ordering: .relaxed).oldValue &* idsPerReactor
    }
}

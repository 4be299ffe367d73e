/// Names a read or a write from the call that queued it until it ends; unique within its reactor.
public struct OperationID: Sendable, Hashable, CustomStringConvertible {
    let rawValue: UInt64

    @inline(__always)
    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The number as text.
    public var description: String { "operation \(rawValue)" }
}

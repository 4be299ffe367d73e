/// Names one connection, listener or other thing that a reactor serves, for as long as it lasts.
///
/// An ID is a place in the reactor's table and the place's generation. When what it names has
/// ended, the generation moves on, so an old ID finds nobody instead of a stranger. Unlike a socket
/// it may go to other threads: `handle.execute { $0.streamSocket(id)?.disconnect() }`.
///
///     63 … 56        55 … 24         23 … 0
///     for backends   generation      slot
public struct SocketID: Sendable, Hashable, CustomStringConvertible {
    package let rawValue: UInt64

    /// The most slots of a table, 2 to the power of 24.
    static let slotLimit = 1 << 24

    /// Nobody's ID: generation 0 is never given out.
    package static let none = SocketID(rawValue: 0)

    @inline(__always)
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    @inline(__always)
    package init(slot: Int, generation: UInt32) {
        rawValue = UInt64(generation) &<< 24 | UInt64(truncatingIfNeeded: slot)
    }

    @inline(__always)
    package var slot: Int { Int(truncatingIfNeeded: rawValue & 0xFF_FFFF) }

    @inline(__always)
    package var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue &>> 24) }

    /// Slot and generation, such as `12.1`.
    public var description: String { "\(slot).\(generation)" }
}

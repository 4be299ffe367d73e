internal import COpenSSL
internal import Towline

/// What a server's tickets are encrypted with.
///
/// Left alone, they are random, and a new one comes into use every twelve hours; the two before it
/// still open the tickets that they were used for. Processes that serve one name give each other
/// theirs by value.
///
/// Source: RFC 5077, section 5.5; SSL_CTX_set_tlsext_ticket_key_evp_cb(3).
public final class TicketKeys: Sendable {
    /// Those that a process uses where nothing else is said.
    public static let process = TicketKeys()

    private struct State {
        var keys: [TicketKey]
        /// When the first came into use; `nil` if others look after them.
        var newestSince: UnixTime?
    }

    static let lifetimeSeconds: Int64 = 12 * 60 * 60
    private static let keyLimit = 3

    private let state: Locked<State>

    /// Random keys, which are replaced in time.
    public init() {
        state = Locked(State(keys: [], newestSince: UnixTime(seconds: 0)))
    }

    /// Keys of somebody's who replaces them in time.
    ///
    /// - Parameter keys: The one to encrypt with first, then others that tickets may still have
    ///   been encrypted with.
    public init(_ keys: [TicketKey]) {
        state = Locked(State(keys: keys, newestSince: nil))
    }

    /// The one that encrypts, then those that still open tickets.
    public var keys: [TicketKey] { keys(at: .now) }

    /// Replaces all of them; from here on nobody else does.
    public func replace(_ keys: [TicketKey]) {
        state.withLock { $0 = State(keys: keys, newestSince: nil) }
    }

    /// The keys at a moment, replaced if it is time.
    func keys(at now: UnixTime) -> [TicketKey] {
        state.withLock { state in
            guard let since = state.newestSince else { return state.keys }
            let age = now.seconds - since.seconds
            guard age >= Self.lifetimeSeconds, let key = TicketKey.random() else {
                return state.keys
            }
            // Those that should have gone long ago go now, however long nobody asked.
            let periods = min(age / Self.lifetimeSeconds, Int64(Self.keyLimit))
            let kept = max(0, Self.keyLimit - Int(periods))
            state.keys = [key] + state.keys.prefix(min(kept, Self.keyLimit - 1))
            state.newestSince = now
            return state.keys
        }
    }
}

/// A key for tickets: 16 bytes that say which it is, 32 to encrypt with, 32 to sign with.
public struct TicketKey: Sendable, Hashable {
    /// The 80 bytes, which are a secret.
    public let bytes: [UInt8]

    static let byteCount = 80
    static let nameByteCount = 16

    /// A key of these bytes; `nil` unless they are 80.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A new key; `nil` if the library has no random bytes.
    ///
    /// Source: RAND_priv_bytes(3).
    public static func random() -> TicketKey? {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        guard RAND_priv_bytes(&bytes, CInt(byteCount)) == 1 else { return nil }
        return TicketKey(bytes: bytes)
    }
}

internal import COpenSSL
internal import Towline

/// What a client keeps of earlier connections, so that later ones need fewer steps.
///
/// It is process memory and nothing else. Sessions of one name, port or configuration are never
/// used for another: who resumes a session checks neither chain nor name.
///
/// Source: RFC 8446, section 2.2; SSL_SESSION_get0_ticket_appdata(3).
public final class SessionCache: Sendable {
    /// What a session is good for.
    struct Key: Hashable {
        let context: UInt64
        let checkedName: PeerName?
        let sentName: String?
        let port: UInt16
    }

    private struct Entry {
        /// The newest last.
        var sessions: [KeptSession]
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var useCount: UInt64 = 0
    }

    private static let keyLimit = 1_024
    private static let sessionLimit = 4

    private let state = Locked(State())

    /// An empty cache.
    public init() {}

    /// Forgets everything.
    public func removeAll() {
        state.withLock { $0.entries = [:] }
    }

    /// How many sessions there are.
    public var count: Int {
        state.withLock { state in state.entries.values.reduce(0) { $0 + $1.sessions.count } }
    }

    /// Keeps a copy of a session; the original is spoiled when its connection breaks.
    func store(_ session: OpaquePointer, for key: Key) {
        guard let kept = KeptSession(copying: session) else { return }
        state.withLock { state in
            state.useCount += 1
            var entry = state.entries[key] ?? Entry(sessions: [], lastUse: 0)
            if entry.sessions.count == Self.sessionLimit || !kept.isUsedOnce {
                entry.sessions.removeFirst(kept.isUsedOnce ? 1 : entry.sessions.count)
            }
            entry.sessions.append(kept)
            entry.lastUse = state.useCount
            state.entries[key] = entry
            if state.entries.count > Self.keyLimit { Self.dropLeastUsed(&state) }
        }
    }

    /// The newest session that is still good; one of TLS 1.3 is given away.
    func take(for key: Key, now: UnixTime = .now) -> KeptSession? {
        state.withLock { state in
            guard var entry = state.entries[key] else { return nil }
            state.useCount += 1
            entry.lastUse = state.useCount
            entry.sessions.removeAll { $0.expiry <= now }
            let session = entry.sessions.last
            if session?.isUsedOnce == true { entry.sessions.removeLast() }
            state.entries[key] = entry.sessions.isEmpty ? nil : entry
            return session
        }
    }

    private static func dropLeastUsed(_ state: inout State) {
        let least = state.entries.min { $0.value.lastUse < $1.value.lastUse }
        if let least { state.entries[least.key] = nil }
    }
}

/// A session that nobody's connection uses.
final class KeptSession: @unchecked Sendable {
    // Sendable since nobody changes it; the library's counter of references is atomic.
    let pointer: OpaquePointer

    /// Whether a second use would tell an onlooker that both connections are the same client's.
    let isUsedOnce: Bool

    /// Until when the server may take it.
    let expiry: UnixTime

    init?(copying session: OpaquePointer) {
        guard SSL_SESSION_is_resumable(session) == 1,
            Self.ticketByteCount(of: session) <= Self.largestTicket,
            let copy = SSL_SESSION_dup(session)
        else { return nil }
        pointer = copy
        isUsedOnce = SSL_SESSION_get_protocol_version(copy) >= CInt(TLSVersion.tls13.rawValue)
        var lifetime = Int64(SSL_SESSION_get_timeout(copy))
        let hint = Int64(SSL_SESSION_get_ticket_lifetime_hint(copy))
        if hint > 0 { lifetime = min(lifetime, hint) }
        expiry = UnixTime(seconds: Int64(SSL_SESSION_get_time(copy)) + lifetime)
    }

    deinit {
        SSL_SESSION_free(pointer)
    }

    /// With a larger one a hello would fill more than a record, which servers refuse; with the
    /// largest that a server can send, no hello can be made at all.
    private static let largestTicket = 12 * 1024

    private static func ticketByteCount(of session: OpaquePointer) -> Int {
        var bytes: UnsafePointer<UInt8>?
        var count = 0
        SSL_SESSION_get0_ticket(session, &bytes, &count)
        return count
    }
}

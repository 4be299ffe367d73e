/// Counts the handshakes of a reactor's accepted connections, and tells listeners that had too many
/// when there is room for others.
///
/// A handshake takes ten times the memory of a connection that is secured, and ends of itself or by
/// its deadline; clients wait in the kernel's backlog meanwhile.
final class HandshakeGate {
    private let limit: Int
    private let link: Reactor.ReactorLink
    private(set) var count = 0
    private var waiting: [SocketID] = []

    init(limit: Int, _ link: Reactor.ReactorLink) {
        self.limit = limit
        self.link = link
    }

    var isFull: Bool { count >= limit }

    func enter() {
        count += 1
    }

    func leave() {
        count -= 1
        guard !waiting.isEmpty, !isFull else { return }
        let listeners = waiting
        waiting = []
        for id in listeners { link.reactor?.perform(.noteFreeHandshake, for: id) }
    }

    /// Has a listener told when there is room again.
    func tell(_ listener: SocketID) {
        waiting.append(listener)
    }
}

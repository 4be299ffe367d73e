public import Towline

/// Listens on a simulated network for connects of the sockets under test, and gives each a peer.
public final class SimulatedServer {
    /// The address that it listens at, with the port that was chosen for 0.
    public let address: SocketAddress

    /// Everybody who has connected, the oldest first; the ones that have gone included.
    public private(set) var peers: [SimulatedPeer] = []

    /// Whether connects are taken; else they wait, as many as the backlog allows and one more.
    public var isAccepting = true {
        didSet { if isAccepting { acceptWaiting() } }
    }

    private let wire: Wire
    private let welcome: ((SimulatedPeer) -> Void)?
    private var listener: SimulatedListener?

    init?(
        _ wire: Wire,
        at address: SocketAddress,
        backlog: Int,
        welcome: ((SimulatedPeer) -> Void)?
    ) {
        self.wire = wire
        self.welcome = welcome
        self.address = wire.completed(address)
        let listener = SimulatedListener(at: self.address, backlog: backlog)
        self.listener = listener
        guard wire.add(listener) else { return nil }
        listener.whenAdded = { [weak self] in self?.acceptWaiting() }
    }

    /// Listens no longer; connects are refused from now on, and those that wait are reset.
    public func close() {
        guard let listener else { return }
        self.listener = nil
        wire.remove(listener)
        listener.close()
    }

    private func acceptWaiting() {
        while isAccepting, let end = listener?.takeFirst() {
            let peer = SimulatedPeer(wire, end)
            wire.add(peer)
            peers.append(peer)
            welcome?(peer)
        }
    }
}

import Towline
import TowlineTestKit

/// The simulated backend with scripted peers.
final class SimulatedRig: Rig {
    let network: SimulatedNetwork
    let simulated: SimulatedBackend
    private var unixCount = 0

    convenience init(_ budget: TurnBudget, _ bufferSize: Int, _ window: Int32?) {
        var conditions = NetworkConditions()
        if let window { conditions.windowByteCount = Int(window) }
        // The wakes of one test come from another thread.
        conditions.deadlockIsAnError = false
        self.init(SimulatedNetwork(seed: 1, conditions: conditions), budget, bufferSize)
    }

    init(_ network: SimulatedNetwork, _ budget: TurnBudget, _ bufferSize: Int) {
        self.network = network
        simulated = SimulatedBackend(network, receiveBufferSize: bufferSize, budget: budget)
        super.init(simulated)
    }

    override func makeConnection() throws -> (CInt, any TestPeer) {
        let (descriptor, peer) = try simulated.makeDescriptor()
        return (descriptor, add(ScriptedPeer(peer)))
    }

    override func connectPeer(to address: SocketAddress) throws -> any TestPeer {
        add(ScriptedPeer(network.connect(to: address)))
    }

    override func makeServer(at address: SocketAddress, backlog: Int) throws -> any TestServer {
        guard let server = network.listen(at: address, backlog: backlog) else {
            throw SystemCallError(call: "bind", errno: 98)
        }
        server.isAccepting = false
        return ScriptedServer(server, self)
    }

    override func unixAddress() throws -> SocketAddress {
        unixCount += 1
        guard let address = SocketAddress("/simulated/\(unixCount)") else { throw NoAddress() }
        return address
    }
}

/// A text was no address.
struct NoAddress: Error {}

/// A peer of the simulated network, which needs no pump.
private final class ScriptedPeer: TestPeer {
    private let peer: SimulatedPeer

    init(_ peer: SimulatedPeer) {
        self.peer = peer
    }

    var received: [UInt8] { peer.received }
    var sawEnd: Bool { peer.sawEnd }
    var sawReset: Bool { peer.sawReset }

    var isReading: Bool {
        get { peer.isReading }
        set { if newValue { peer.resumeReading() } else { peer.stopReading() } }
    }

    func send(_ bytes: [UInt8]) { peer.send(bytes) }
    func finishSending() { peer.finishSending() }
    func close() { peer.close() }
    func reset() { peer.reset() }
    func read(atMost limit: Int) { peer.read(atMost: limit) }
    func pump() {}
}

/// A server of the simulated network that accepts when it is asked to.
private final class ScriptedServer: TestServer {
    private let server: SimulatedServer
    private let rig: SimulatedRig
    private var acceptedCount = 0

    init(_ server: SimulatedServer, _ rig: SimulatedRig) {
        self.server = server
        self.rig = rig
    }

    var address: SocketAddress { server.address }

    func accept() -> (any TestPeer)? {
        server.isAccepting = true
        defer { server.isAccepting = false }
        guard acceptedCount < server.peers.count else { return nil }
        acceptedCount += 1
        return rig.add(ScriptedPeer(server.peers[acceptedCount - 1]))
    }

    func close() { server.close() }
}

import Testing
import Towline
import TowlineTestKit

/// A connected socket on a simulated network, what it heard, and its peer.
struct SimulatedPair {
    let network: SimulatedNetwork
    let reactor: Reactor
    let recorder: Recorder
    let socket: StreamSocket
    let peer: SimulatedPeer

    /// Connects; `prepare` runs before the connection is there.
    init(
        _ network: SimulatedNetwork = SimulatedNetwork(seed: 1),
        configuration: Reactor.Configuration = Reactor.Configuration(),
        prepare: (StreamSocket) throws -> Void = { _ in }
    ) throws {
        self.network = network
        reactor = try network.makeReactor(configuration)
        var welcomed: SimulatedPeer?
        let server = try #require(network.listen(at: .ipv4(.loopback, port: 80)) { welcomed = $0 })
        recorder = Recorder()
        socket = StreamSocket(reactor: reactor, delegate: recorder)
        try socket.connect(to: server.address)
        try prepare(socket)
        for _ in 0..<100 where welcomed == nil || !socket.state.isConnected { try reactor.turn() }
        peer = try #require(welcomed)
        withExtendedLifetime(server) {}
    }

    /// What was heard behind `didConnectTo`.
    var heard: [Recorder.Event] { Array(recorder.events.dropFirst()) }

    /// The report of the connection's end; `nil` while there is none.
    var report: DisconnectReport? { recorder.reports.last }

    /// Turns until a condition holds, a bounded number of times.
    func turn(
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) throws {
        for _ in 0..<2_000 {
            if condition() { return }
            try reactor.turn(waitingAtMost: .seconds(40))
        }
        Issue.record("it never came: \(heard)", sourceLocation: sourceLocation)
    }

    /// Makes so many turns that do not wait.
    func turn(times count: Int) throws {
        for _ in 0..<count { try reactor.turn(waitingAtMost: .zero) }
    }

    /// Ends the reactor with whatever is open.
    func end() throws {
        reactor.stop()
        try reactor.run()
    }
}

import Testing
import Towline
import TowlineTestKit

@Suite("Sockets on a simulated network") struct SimulatedSocketTests {
    let network = SimulatedNetwork(seed: 1)
    let recorder = Recorder()

    @Test("An accepted socket echoes what its peer sends, and ends with the peer")
    func echo() throws {
        let reactor = try network.makeReactor()
        recorder.onEvent = { socket, event in
            switch event {
            case .didAccept:
                try socket.read()
            case .didRead(let bytes, _):
                try socket.write(bytes, tag: 7)
                try socket.read()
            default:
                break
            }
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let port = try #require(listener.localAddress?.port)
        let peer = network.connect(to: .ipv4(.loopback, port: port))
        peer.send("hello")
        try turn(reactor) { peer.received.count == 5 }
        #expect(peer.takeReceived() == Array("hello".utf8))
        peer.close()
        try turn(reactor) { recorder.reports.count == 1 }
        #expect(
            recorder.events == [
                .didAccept, .didRead(Array("hello".utf8), tag: 0), .didWrite(tag: 7),
                .didDisconnect(.closedByPeer),
            ]
        )
        try end(reactor)
    }

    /// Turns until `condition` holds, a bounded number of times.
    private func turn(_ reactor: Reactor, until condition: () -> Bool) throws {
        for _ in 0..<1_000 where !condition() { try reactor.turn() }
        #expect(condition())
    }

    /// Ends the reactor, as every test does with sockets open.
    private func end(_ reactor: Reactor) throws {
        reactor.stop()
        try reactor.run()
    }
}

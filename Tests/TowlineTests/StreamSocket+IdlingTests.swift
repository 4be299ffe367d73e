import Testing
import TowlineTestKit

@testable import Towline

@Suite("Silent connections") struct StreamSocketIdlingTests {
    private let network = SimulatedNetwork(seed: 1)
    private let recorder = Recorder()
    private let reactor: Reactor

    init() throws {
        reactor = try network.makeReactor()
    }

    @Test("M7: a silent connection is told of after exactly its limit, and again after another")
    func silence() throws {
        let (_, peer) = try accept { try $0.setIdleTimeout(read: .seconds(30)) }
        let start = network.now
        try turn { recorder.events.count == 2 }
        #expect(network.now.since(start) == .seconds(30))
        try turn { recorder.events.count == 3 }
        #expect(network.now.since(start) == .seconds(60))
        #expect(recorder.events == [.didAccept, .didIdle(.read), .didIdle(.read)])
        peer.send("x")
        try turn { recorder.events.count == 4 }
        #expect(recorder.events.last == .didRead([120], tag: 0))
        let moved = network.now
        try turn { recorder.events.count == 5 }
        #expect(network.now.since(moved) == .seconds(30), "counted from the byte")
        try end()
    }

    @Test("M7: what is written counts for writing, what is read for reading, either for both")
    func directions() throws {
        let (socket, _) = try accept {
            try $0.setIdleTimeout(read: .seconds(5), write: .seconds(3), both: .seconds(4))
        }
        network.schedule(after: .seconds(2)) {}
        let start = network.now
        let timer = reactor.schedule(after: .seconds(2)) { _ = try? socket.write("x") }
        try turn { recorder.events.contains(.didIdle(.both)) }
        #expect(!timer.isPending)
        #expect(
            recorder.events == [
                .didAccept, .didWrite(tag: 0), .didIdle(.read), .didIdle(.write), .didIdle(.both),
            ],
            "reading at 5 s, writing at 5 s, both at 6 s"
        )
        #expect(network.now.since(start) == .seconds(6))
        try end()
    }

    @Test("M7: bytes that the peer does not take are no movement")
    func blockedWriter() throws {
        network.conditions.windowByteCount = 1_000
        let (socket, peer) = try accept { try $0.setIdleTimeout(write: .seconds(3)) }
        peer.stopReading()
        try socket.write([UInt8](repeating: 1, count: 100_000))
        try turn { recorder.events.count == 2 }
        #expect(recorder.events.last == .didIdle(.write))
        #expect(socket.pendingWriteBytes > 0)
        try end()
    }

    @Test("M7: the delegate may end the connection, and is told nothing more of its silence")
    func ending() throws {
        recorder.onEvent = { socket, event in
            if case .didIdle = event { socket.disconnect() }
        }
        _ = try accept {
            try $0.setIdleTimeout(read: .seconds(1), write: .seconds(1), both: .seconds(1))
        }
        try turn { recorder.reports.count == 1 }
        #expect(recorder.events == [.didAccept, .didIdle(.read), .didDisconnect(nil)])
        #expect(reactor.figures.timers == 0, "no timer without an owner")
        try end()
    }

    @Test("M7: what is due together is told only as far as the limits then are", arguments: 0...2)
    func changedLimits(way: Int) throws {
        recorder.onEvent = { socket, event in
            guard case .didIdle = event else { return }
            switch way {
            case 0: try socket.setIdleTimeout()
            case 1: try socket.setIdleTimeout(write: .seconds(9), both: .seconds(9))
            default: try socket.setIdleTimeout(read: .seconds(1), write: .seconds(1))
            }
        }
        let (socket, _) = try accept {
            try $0.setIdleTimeout(read: .seconds(1), write: .seconds(1), both: .seconds(1))
        }
        let start = network.now
        network.schedule(after: .milliseconds(1_500)) {}
        try turn { network.now.since(start) >= .milliseconds(1_500) }
        #expect(recorder.events == [.didAccept, .didIdle(.read)])
        recorder.onEvent = nil
        if way == 1 {
            try turn { recorder.events.count == 4 }
            #expect(recorder.events.suffix(2) == [.didIdle(.write), .didIdle(.both)])
            #expect(network.now.since(start) == .seconds(10), "the limits count from the call")
        }
        socket.disconnect()
        try end()
    }

    @Test("M7: bytes that came while the loop was late are a movement")
    func lateLoop() throws {
        let (_, peer) = try accept { try $0.setIdleTimeout(read: .seconds(5)) }
        network.schedule(after: .seconds(5)) { peer.send("x") }
        try turn { recorder.events.count == 2 }
        #expect(recorder.events.last == .didRead([120], tag: 0))
        try end()
    }

    @Test("M7, TM2: a busy connection has one timer, which moves only when it fires early")
    func oneTimer() throws {
        let (socket, peer) = try accept { try $0.setIdleTimeout(read: .seconds(10)) }
        let deadline = try #require(reactor.timers.deadline(of: socket.timer))
        for round in 2...6 {
            peer.send("x")
            try turn { recorder.events.count == round }
        }
        #expect(reactor.timers.deadline(of: socket.timer) == deadline)
        #expect(reactor.figures.timers == 1)
        #expect(socket.extras == nil, "nothing else is needed for it")
        try end()
    }

    @Test("M7, R1: a limit of no time is refused, none at all switches the timer off")
    func limits() throws {
        let (socket, _) = try accept { try $0.setIdleTimeout(both: .seconds(1)) }
        #expect(throws: SocketError.self) { try socket.setIdleTimeout(read: .zero) }
        try turn { recorder.events.count == 2 }
        #expect(recorder.events.last == .didIdle(.both), "the refused call has changed nothing")
        try socket.setIdleTimeout()
        network.schedule(after: .seconds(20)) {}
        let start = network.now
        try turn { network.now.since(start) >= .seconds(20) }
        #expect(recorder.events.count == 2)
        #expect(reactor.figures.timers == 0)
        try end()
    }

    @Test("L1: the limits outlive a connection, its clock does not")
    func reconnect() throws {
        let server = try #require(network.listen(at: .ipv4(.loopback, port: 80)))
        let socket = StreamSocket(reactor: reactor, delegate: recorder)
        try socket.setIdleTimeout(both: .seconds(7))
        try socket.connect(to: server.address)
        try turn { recorder.events.count == 2 }
        #expect(recorder.events.last == .didIdle(.both))
        socket.disconnect()
        try turn { recorder.reports.count == 1 }
        try socket.connect(to: server.address)
        try turn { recorder.events.count == 4 }
        let start = network.now
        try turn { recorder.events.count == 5 }
        #expect(network.now.since(start) == .seconds(7))
        try end()
    }

    // MARK: Helpers

    /// Accepts a peer on a socket that reads on and on.
    private func accept(
        _ prepare: @escaping (StreamSocket) throws -> Void
    ) throws -> (StreamSocket, SimulatedPeer) {
        let further = recorder.onEvent
        recorder.onEvent = { socket, event in
            if event == .didAccept { try prepare(socket) }
            try further?(socket, event)
            switch event {
            case .didAccept, .didRead: try socket.read()
            default: break
            }
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let peer = network.connect(to: try #require(listener.localAddress))
        try turn { recorder.events.count == 1 }
        return (try #require(recorder.accepted.first), peer)
    }

    private func turn(until condition: () -> Bool) throws {
        for _ in 0..<1_000 where !condition() { try reactor.turn() }
        try #require(condition(), "heard: \(recorder.events)")
    }

    private func end() throws {
        recorder.onEvent = nil
        reactor.stop()
        try reactor.turn()
    }
}

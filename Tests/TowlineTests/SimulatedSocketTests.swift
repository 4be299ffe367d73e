import Glibc
import Testing
import Towline
import TowlineTestKit

@Suite("Sockets on a simulated network") struct SimulatedSocketTests {
    let network = SimulatedNetwork(seed: 1)
    let recorder = Recorder()

    @Test("An accepted socket echoes what its peer sends, and ends with the peer")
    func echo() throws {
        let reactor = try network.makeReactor()
        recorder.onEvent = Self.echo
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let peer = try connectPeer(to: listener)
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

    @Test("A socket and a listener of one reactor talk to each other")
    func bothEnds() throws {
        let reactor = try network.makeReactor()
        recorder.onEvent = Self.echo
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let port = try #require(listener.localAddress?.port)
        let client = Recorder()
        let socket = StreamSocket(reactor: reactor, delegate: client)
        try socket.connect(to: .ipv4(.loopback, port: port))
        try socket.write("ping\n", tag: 1)
        try socket.read(to: .lf, tag: 2)
        try turn(reactor) { client.events.count == 3 }
        #expect(
            client.events == [
                .didConnect(.ipv4(.loopback, port: port)), .didWrite(tag: 1),
                .didRead(Array("ping\n".utf8), tag: 2),
            ]
        )
        socket.disconnect()
        try turn(reactor) { client.reports.count == 1 && recorder.reports.count == 1 }
        #expect(client.reports[0].error == nil)
        try end(reactor)
    }

    @Test("A scripted server answers a socket that connects to it")
    func server() throws {
        let reactor = try network.makeReactor()
        let server = try #require(
            network.listen(at: .ipv4(.loopback, port: 80)) { peer in
                peer.whenNewsComes = { peer in
                    guard peer.takeReceived() == Array("GET\n".utf8) else { return }
                    peer.send("200\n")
                    peer.close()
                }
            }
        )
        let socket = StreamSocket(reactor: reactor, delegate: recorder)
        try socket.connect(to: server.address)
        try socket.write("GET\n")
        try socket.read(to: .lf, tag: 1)
        try socket.read(tag: 2)
        try turn(reactor) { recorder.reports.count == 1 }
        #expect(recorder.events.contains(.didRead(Array("200\n".utf8), tag: 1)))
        #expect(recorder.reports[0].error == .closedByPeer)
        #expect(recorder.reports[0].incompleteReads == [2])
        try end(reactor)
    }

    // MARK: Time

    @Test("TM8: a read timeout of 5 s fires after exactly 5 s, of virtual time only")
    func readTimeout() throws {
        let reactor = try network.makeReactor()
        recorder.onEvent = { socket, event in
            if event == .didAccept { try socket.read(timeout: .seconds(5), tag: 3) }
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let peer = try connectPeer(to: listener)
        try turn(reactor) { recorder.events == [.didAccept] }
        let start = network.now
        let realStart = ContinuousClock.now
        try turn(reactor) { recorder.reports.count == 1 }
        #expect(recorder.events == [.didAccept, .didDisconnect(.readTimedOut(tag: 3))])
        #expect(network.now.since(start) == .seconds(5))
        #expect(ContinuousClock.now - realStart < .seconds(4))
        try turn(reactor) { peer.sawEnd }
        try end(reactor)
    }

    @Test("A peer that answers a moment before the timeout is in time, however late the loop looks")
    func inTime() throws {
        let reactor = try network.makeReactor()
        recorder.onEvent = { socket, event in
            if event == .didAccept { try socket.read(timeout: .seconds(5), tag: 3) }
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let peer = try connectPeer(to: listener)
        try turn(reactor) { recorder.events == [.didAccept] }
        network.schedule(after: .seconds(5)) { peer.send("x") }
        try turn(reactor) { recorder.events.count == 2 }
        #expect(recorder.events.last == .didRead(Array("x".utf8), tag: 3))
        try end(reactor)
    }

    @Test("A connect to silence ends with its own timeout")
    func connectTimeout() throws {
        let reactor = try network.makeReactor()
        let address = SocketAddress.ipv4(.loopback, port: 9)
        network.silence(address)
        let start = network.now
        let socket = StreamSocket(reactor: reactor, delegate: recorder)
        try socket.connect(to: address, timeout: .seconds(3))
        try turn(reactor) { recorder.reports.count == 1 }
        #expect(recorder.events == [.didDisconnect(.connectTimedOut)])
        #expect(network.now.since(start) == .seconds(3))
        try end(reactor)
    }

    @Test("Timers fire at their time, in their order, and nothing real passes")
    func timers() throws {
        let reactor = try network.makeReactor()
        let start = network.now
        var fired: [Duration] = []
        for seconds in [3_600, 1, 60] {
            reactor.schedule(after: .seconds(seconds)) { [network] in
                fired.append(network.now.since(start))
            }
        }
        try turn(reactor) { fired.count == 3 }
        #expect(fired == [.seconds(1), .seconds(60), .seconds(3_600)])
        try end(reactor)
    }

    // MARK: Writes

    @Test("A write is done when its last byte is handed over, not before")
    func shortWrite() throws {
        network.conditions.bytesPerSend = 1...1
        let reactor = try network.makeReactor()
        recorder.onEvent = { socket, event in
            if event == .didAccept { try socket.write([1, 2, 3, 4, 5], tag: 7) }
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let peer = try connectPeer(to: listener)
        var handedOver: [Int] = []
        try turn(reactor) {
            if let socket = recorder.accepted.first {
                handedOver.append(5 - socket.pendingWriteBytes)
                #expect(recorder.events.contains(.didWrite(tag: 7)) == (handedOver.last == 5))
            }
            return recorder.events.count == 2
        }
        #expect(handedOver == [1, 2, 3, 4, 5])
        try turn(reactor) { peer.received == [1, 2, 3, 4, 5] }
        try end(reactor)
    }

    @Test("Writes to a peer that reads nothing wait, and what is unfinished is reported")
    func backPressure() throws {
        network.conditions.windowByteCount = 1_000
        let reactor = try network.makeReactor()
        recorder.onEvent = { socket, event in
            guard event == .didAccept else { return }
            try socket.write([UInt8](repeating: 1, count: 800), tag: 1)
            try socket.write([UInt8](repeating: 2, count: 800), tag: 2)
            try socket.read(timeout: .seconds(1), tag: 3)
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let peer = try connectPeer(to: listener)
        peer.stopReading()
        try turn(reactor) { recorder.reports.count == 1 }
        #expect(
            recorder.events == [
                .didAccept, .didWrite(tag: 1), .didDisconnect(.readTimedOut(tag: 3)),
            ]
        )
        let unfinished = recorder.reports[0].incompleteWrites
        #expect(unfinished.map(\.tag) == [2] && unfinished.map(\.bytesWritten) == [200])
        try end(reactor)
    }

    @Test("LS3: a listener out of descriptors says so, and takes everybody when some come free")
    func outOfDescriptors() throws {
        network.conditions.descriptorLimit = 4
        let reactor = try network.makeReactor()
        recorder.onEvent = { socket, event in
            if event == .didAccept { try socket.read() }
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let peers = try (0..<5).map { _ in try connectPeer(to: listener) }
        try turn(reactor) { recorder.accepted.count == 2 && recorder.events.count == 3 }
        guard case .didFailToAccept(.acceptPaused(let pause)) = recorder.events[2] else {
            Issue.record("\(recorder.events)")
            return
        }
        #expect(pause.cause.errno == EMFILE)
        for peer in peers { network.schedule(after: .seconds(1)) { peer.close() } }
        try turn(reactor) { recorder.reports.count == 5 }
        try end(reactor)
    }

    @Test("LS3: accepting goes on as soon as a connection of this reactor ends, not a pause later")
    func descriptorComesFree() throws {
        let reactor = try network.makeReactor()
        recorder.onEvent = Self.echo
        // The listener's two, and one more.
        network.conditions.descriptorLimit = 3
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 0)
        let first = try connectPeer(to: listener)
        let second = try connectPeer(to: listener)
        try turn(reactor) { reactor.figures.acceptPauses == 1 }
        first.close()
        second.send("served")
        let start = network.now
        try turn(reactor) { second.received.count == 6 }
        #expect(network.now.since(start) < .milliseconds(50))
        try end(reactor)
    }

    // MARK: Helpers

    private static func echo(_ socket: StreamSocket, _ event: Recorder.Event) throws {
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

    private func connectPeer(to listener: StreamListener) throws -> SimulatedPeer {
        let port = try #require(listener.localAddress?.port)
        return network.connect(to: .ipv4(.loopback, port: port))
    }

    /// Turns until a condition holds, a bounded number of times.
    private func turn(_ reactor: Reactor, until condition: () -> Bool) throws {
        for _ in 0..<1_000 {
            if condition() { return }
            try reactor.turn()
        }
        Issue.record("it never came: \(recorder.events)")
    }

    /// Ends the reactor with whatever is open.
    private func end(_ reactor: Reactor) throws {
        reactor.stop()
        try reactor.run()
    }
}

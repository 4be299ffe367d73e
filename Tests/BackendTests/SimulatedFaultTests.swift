import Glibc
import Testing
import Towline
import TowlineTestKit

/// What only a simulated network can bring about.
@Suite("Faults of a simulated network") struct SimulatedFaultTests {
    private func makeRig() -> SimulatedRig {
        SimulatedRig(TurnBudget(), 64 * 1024, nil)
    }

    /// A failure that an accept may tell of one connection or of the machine.
    private static let ofOneConnection = [
        ECONNABORTED, EPROTO, EPERM, ENETDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ENONET,
        ENOPROTOOPT, EOPNOTSUPP, ETIMEDOUT,
    ]

    // MARK: Accepting

    @Test(
        "LS1: the failure of one connection between two good ones is let pass",
        arguments: ofOneConnection
    )
    func transientAccept(_ number: CInt) throws {
        let rig = makeRig()
        let (listener, address) = try rig.makeListener()
        _ = try rig.connectPeer(to: address)
        rig.network.inject(number, into: .accept, after: 1)
        try rig.poll(until: { rig.log.accepted.count == 1 })
        _ = try rig.connectPeer(to: address)
        try rig.poll(until: { rig.log.accepted.count == 2 })
        #expect(rig.log.events(of: listener) == [.accepted, .accepted])
    }

    @Test("LS1: no more failures in a row than the budget are let pass in one wait")
    func manyTransientAccepts() throws {
        let rig = makeRig()
        let (listener, address) = try rig.makeListener()
        for _ in 0..<200 { rig.network.inject(ECONNABORTED, into: .accept) }
        _ = try rig.connectPeer(to: address)
        for _ in 0..<3 { try rig.poll() }
        #expect(rig.log.happenings.isEmpty)
        try rig.poll(until: { rig.log.events(of: listener) == [.accepted] })
    }

    @Test(
        "LS3: what has run out is told, and the connection waits",
        arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM]
    )
    func resourcesOfAccept(_ number: CInt) throws {
        let rig = makeRig()
        let (listener, address) = try rig.makeListener()
        rig.network.inject(number, into: .accept)
        let peer = try rig.connectPeer(to: address)
        try rig.poll(until: { rig.log.events(of: listener).count == 2 })
        #expect(rig.log.events(of: listener) == [.failed(.accepting, number), .accepted])
        #expect(!peer.sawEnd && !peer.sawReset)
    }

    @Test("LS3: at the limit of descriptors a connection waits until one comes free")
    func descriptorLimit() throws {
        let rig = makeRig()
        let (listener, address) = try rig.makeListener()
        rig.network.conditions.descriptorLimit = 2
        let peers = try (0..<2).map { _ in try rig.connectPeer(to: address) }
        try rig.poll(until: { rig.log.events(of: listener).count >= 2 })
        #expect(rig.log.events(of: listener) == [.accepted, .failed(.accepting, EMFILE)])
        let client = rig.nextID()
        let error = #expect(throws: SystemCallError.self) { try rig.connect(client, to: address) }
        #expect(error?.errno == EMFILE)
        rig.backend.discard(rig.log.accepted[0])
        try rig.poll(until: { rig.log.accepted.count == 2 })
        try rig.poll(until: { peers[0].sawEnd })
        #expect(!peers[1].sawEnd)
    }

    @Test("Only what is wrong with the listener itself is its end", arguments: [EBADF, EINVAL])
    func brokenListener(_ number: CInt) throws {
        let rig = makeRig()
        let (listener, address) = try rig.makeListener()
        rig.network.inject(number, into: .accept)
        _ = try rig.connectPeer(to: address)
        try rig.poll(until: { !rig.log.events(of: listener).isEmpty })
        #expect(rig.log.events(of: listener).first == .failed(.accepting, number))
    }

    // MARK: The right direction

    @Test("Seam 4: a failed receive is told as that", arguments: SimulatedCall.receive.errnos)
    func receiveFails(_ number: CInt) throws {
        let rig = makeRig()
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        rig.network.inject(number, into: .receive)
        peer.send([1])
        try rig.poll(until: { !rig.log.events(of: id).isEmpty })
        try rig.pollInVain()
        #expect(rig.log.events(of: id) == [.failed(.receiving, number)])
        #expect(rig.backend.send(id, holding: [2], from: 0) == 1, "the other direction goes on")
    }

    @Test("Seam 4: a failed send is told as that", arguments: SimulatedCall.send.errnos)
    func sendFails(_ number: CInt) throws {
        let rig = makeRig()
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        rig.network.inject(number, into: .send)
        #expect(rig.backend.send(id, holding: [1], from: 0) == 0)
        #expect(rig.log.happenings.isEmpty, "never inside the call")
        try rig.poll()
        peer.send([2])
        try rig.poll(until: { rig.log.bytes(of: id) == [2] })
        #expect(rig.log.events(of: id) == [.failed(.sending, number), .received(1)])
    }

    @Test(
        "A failed connect is told as that, by whichever call",
        arguments: [SimulatedCall.connect, .watch]
    )
    func connectFails(_ call: SimulatedCall) throws {
        let rig = makeRig()
        let server = try rig.makeServer(at: .ipv4(.loopback, port: 0), backlog: 8)
        let id = rig.nextID()
        for number in call.errnos {
            rig.log.removeAll()
            rig.network.inject(number, into: call)
            try rig.connect(id, to: server.address)
            try rig.poll(until: { !rig.log.events(of: id).isEmpty })
            #expect(rig.log.events(of: id) == [.failed(.connecting, number)])
            #expect(rig.simulated.openDescriptorCount == 0)
        }
        try rig.connect(id, to: server.address)
        try rig.poll(until: { rig.log.events(of: id).last == .connected })
    }

    @Test(
        "What cannot be opened throws, by whichever call, and may be opened again",
        arguments: [SimulatedCall.socket, .setOption, .bind]
    )
    func openFails(_ call: SimulatedCall) throws {
        let rig = makeRig()
        let server = try rig.makeServer(at: .ipv4(.loopback, port: 0), backlog: 8)
        let id = rig.nextID()
        let local = SocketAddress.ipv4(.loopback, port: 0)
        for number in call.errnos {
            rig.network.inject(number, into: call)
            let error = #expect(throws: SystemCallError.self) {
                try rig.connect(id, to: server.address, from: local)
            }
            #expect(error?.errno == number && rig.simulated.openDescriptorCount == 0)
        }
        try rig.connect(id, to: server.address, from: local)
        try rig.poll(until: { rig.log.events(of: id) == [.connected] })
    }

    @Test(
        "BK6: a failed listen throws, by whichever call, and leaves nothing open",
        arguments: [SimulatedCall.socket, .setOption, .bind, .listen, .watch]
    )
    func listenFails(_ call: SimulatedCall) throws {
        let rig = makeRig()
        for number in call.errnos {
            rig.network.inject(number, into: call)
            let error = #expect(throws: SystemCallError.self) { try rig.makeListener() }
            #expect(error?.call == call.rawValue && error?.errno == number)
            #expect(rig.simulated.openDescriptorCount == 0)
        }
        #expect(rig.simulated.inspect() == [])
    }

    @Test(
        "A failure at the peer's host is told behind its bytes",
        arguments: [ETIMEDOUT, EHOSTUNREACH]
    )
    func connectionFails(_ number: CInt) throws {
        let rig = makeRig()
        let (descriptor, peer) = try rig.simulated.makeDescriptor()
        let id = rig.nextID()
        try rig.backend.adopt(descriptor, as: id, kind: .stream)
        rig.backend.resumeReceiving(id)
        peer.send([1, 2, 3])
        peer.fail(with: number)
        try rig.poll(until: { rig.log.events(of: id).count == 2 })
        #expect(rig.log.events(of: id) == [.received(3), .failed(.receiving, number)])
    }

    @Test("A connect to silence gives up after TCP's 127 s, and only of virtual time")
    func connectTimesOut() throws {
        let rig = makeRig()
        let address = SocketAddress.ipv4(.loopback, port: 9)
        rig.network.silence(address)
        let id = rig.nextID()
        let start = rig.network.now
        try rig.connect(id, to: address)
        rig.log.isListening = true
        try rig.backend.wait(atMost: nil, into: rig.log)
        rig.backend.deliverResults(into: rig.log)
        #expect(rig.log.events(of: id) == [.failed(.connecting, ETIMEDOUT)])
        #expect(rig.network.now.since(start) == .seconds(127))
    }

    // MARK: Interruptions and pieces

    /// Echoes through the rig, whatever the conditions are, and looks at the books.
    private func echo(_ rig: SimulatedRig, byteCount: Int = 100_000) throws {
        let backend = rig.backend
        let (listener, address) = try rig.makeListener()
        let peer = try rig.connectPeer(to: address)
        try rig.poll(until: { rig.log.accepted.count == 1 })
        let id = rig.nextID()
        try backend.adopt(rig.log.accepted[0], as: id, kind: .stream)
        rig.log.onBytes = { id, bytes in _ = backend.send(id, holding: [UInt8](bytes), from: 0) }
        backend.resumeReceiving(id)
        let bytes = countedBytes(byteCount)
        peer.send(bytes)
        peer.finishSending()
        try rig.poll(until: { peer.received.count == byteCount })
        try rig.poll(until: { rig.log.turns(of: id) == [.reachedEnd] })
        let isWhole = peer.received == bytes
        #expect(isWhole)
        #expect(rig.simulated.inspect() == [])
        backend.close(id, .end)
        backend.close(listener, .end)
        try rig.poll(until: { peer.sawEnd })
        #expect(rig.simulated.openDescriptorCount == 0)
        #expect(rig.simulated.inspect() == [])
    }

    @Test("BK5, N3: interruptions never end a connection")
    func interruptions() throws {
        let rig = makeRig()
        rig.network.conditions.interruptedShare = 0.6
        rig.network.conditions.bytesPerReceive = 1...500
        rig.network.conditions.bytesPerSend = 1...500
        try echo(rig)
        #expect(rig.backend.figures.interruptedWaits > 0)
    }

    @Test("BK5: an interrupted connect goes on by itself")
    func interruptedConnect() throws {
        let rig = makeRig()
        let server = try rig.makeServer(at: .ipv4(.loopback, port: 0), backlog: 8)
        let id = rig.nextID()
        rig.network.inject(EINTR, into: .connect)
        try rig.connect(id, to: server.address)
        try rig.poll(until: { rig.log.events(of: id) == [.connected] })
    }

    @Test("LP10: an interrupted wait is an empty result")
    func interruptedWait() throws {
        let rig = makeRig()
        let start = rig.network.now
        rig.network.inject(EINTR, into: .wait)
        try rig.backend.wait(atMost: nil, into: rig.log)
        #expect(rig.network.now == start)
        rig.network.inject(EBADF, into: .wait)
        #expect(throws: SystemCallError.self) { try rig.backend.wait(atMost: nil, into: rig.log) }
        #expect(rig.log.waitsEnded == 2)
    }

    @Test("BK4: short results and false readiness lose nothing", arguments: 0..<20 as Range<UInt64>)
    func pieces(_ seed: UInt64) throws {
        var conditions = NetworkConditions()
        conditions.bytesPerReceive = 1...2_000
        conditions.bytesPerSend = 1...2_000
        conditions.bytesPerSegment = 1...3_000
        conditions.windowByteCount = 5_000
        conditions.blockedShare = 0.3
        conditions.shufflesEvents = true
        conditions.delay = .zero ... .milliseconds(3)
        let rig = makeRig(seed: seed, conditions)
        try echo(rig)
    }

    @Test("The same seed gives the same run, another one a different one")
    func seeds() throws {
        func run(_ seed: UInt64) throws -> [Happening] {
            var conditions = NetworkConditions()
            conditions.bytesPerReceive = 1...2_000
            conditions.delay = .zero ... .milliseconds(3)
            let rig = makeRig(seed: seed, conditions)
            try echo(rig, byteCount: 20_000)
            return rig.log.happenings.map(\.what)
        }
        #expect(try run(5) == run(5))
        #expect(try run(5) != run(6))
    }

    private func makeRig(seed: UInt64, _ conditions: NetworkConditions) -> SimulatedRig {
        SimulatedRig(SimulatedNetwork(seed: seed, conditions: conditions), TurnBudget(), 64 * 1024)
    }

    // MARK: Deadlock and books

    @Test("A wait in which nothing can happen any more fails instead of hanging")
    func deadlock() throws {
        let network = SimulatedNetwork()
        let backend = network.makeBackend()
        let log = EventLog()
        let error = #expect(throws: SystemCallError.self) {
            try backend.wait(atMost: nil, into: log)
        }
        #expect(error?.errno == EDEADLK)
        var hasHappened = false
        network.schedule(after: .seconds(60)) { hasHappened = true }
        let start = network.now
        try backend.wait(atMost: nil, into: log)
        #expect(hasHappened && network.now.since(start) == .seconds(60))
    }

    @Test("The inspector finds a connection that was accepted and forgotten")
    func inspector() throws {
        let rig = makeRig()
        let (_, address) = try rig.makeListener()
        _ = try rig.connectPeer(to: address)
        try rig.poll(until: { rig.log.accepted.count == 1 })
        #expect(rig.simulated.inspect().count == 1)
        rig.backend.discard(rig.log.accepted[0])
        #expect(rig.simulated.inspect() == [])
        rig.backend.discard(rig.log.accepted[0])
        #expect(rig.simulated.inspect().count == 1, "closed twice")
    }
}

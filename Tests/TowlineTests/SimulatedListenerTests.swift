import Glibc
import Testing
import Towline
import TowlineTestKit

@Suite("Listeners on a simulated network") struct SimulatedListenerTests {
    private let network = SimulatedNetwork(seed: 1)
    private let recorder = Recorder()

    private func makeListener(
        _ prepare: (StreamListener) -> Void = { _ in }
    ) throws -> (Reactor, StreamListener) {
        let reactor = try network.makeReactor()
        recorder.onEvent = { socket, event in
            if event == .didAccept { try socket.read() }
        }
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        prepare(listener)
        try listener.listen(onPort: 0)
        return (reactor, listener)
    }

    private func connectPeer(
        to listener: StreamListener,
        _ host: IPAddress = .ipv4(.loopback)
    ) throws -> SimulatedPeer {
        let port = try #require(listener.localAddress?.port)
        return network.connect(to: SocketAddress(host, port: port))
    }

    /// Turns until a condition holds, a bounded number of times.
    private func turn(_ reactor: Reactor, until condition: () -> Bool) throws {
        for _ in 0..<2_000 {
            if condition() { return }
            try reactor.turn(waitingAtMost: .milliseconds(1))
        }
        Issue.record("it never came: \(recorder.events.suffix(5))")
    }

    private func turnInVain(_ reactor: Reactor, _ count: Int = 20) throws {
        for _ in 0..<count { try reactor.turn(waitingAtMost: .milliseconds(1)) }
    }

    private func end(_ reactor: Reactor) throws {
        reactor.stop()
        try reactor.run()
    }

    // MARK: Families

    @Test("A2: a port is listened on with both families, and the last descriptor's end is the end")
    func bothFamilies() throws {
        let (reactor, listener) = try makeListener()
        let port = try #require(listener.localAddress?.port)
        #expect(listener.localAddress == .ipv4(.any, port: port))
        #expect(
            listener.localAddresses == [.ipv4(.any, port: port), .ipv6(.any, port: port)]
        )
        let peers = [
            try connectPeer(to: listener), try connectPeer(to: listener, .ipv6(.loopback)),
        ]
        try turn(reactor) { recorder.accepted.count == 2 }
        #expect(listener.connectionCount == 2)
        listener.stop()
        #expect(listener.localAddresses.isEmpty && listener.localAddress == nil)
        try turnInVain(reactor)
        #expect(recorder.events.filter { $0 == .didStop(nil) }.count == 1)
        #expect(recorder.reports.isEmpty, "A12: its connections are left alone")
        try end(reactor)
        withExtendedLifetime(peers) {}
    }

    @Test("A2: with port 0, a port that is taken in the other family is given up for another")
    func otherPort() throws {
        let others = (UInt16(49_152)...49_154).compactMap {
            network.listen(at: .ipv6(.any, port: $0))
        }
        let (reactor, listener) = try makeListener()
        #expect(listener.localAddresses.map(\.port) == [49_155, 49_155])
        try turnInVain(reactor)
        #expect(reactor.figures.openSockets == 2, "nothing is left of the ports given up")
        try end(reactor)
        withExtendedLifetime(others) {}
    }

    @Test("A2: the tries are bounded, and a port that was asked for is tried once")
    func triesAreBounded() throws {
        let others = (UInt16(49_152)...49_352).compactMap {
            network.listen(at: .ipv6(.any, port: $0))
        }
        let reactor = try network.makeReactor()
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        for (port, last) in [(UInt16(0), 49_167), (49_300, 49_300)] {
            do {
                try listener.listen(onPort: port)
                Issue.record("a taken port was listened on")
            } catch {
                let reason = "failed: address already in use (EADDRINUSE)"
                #expect("\(error)" == "listen on [::]:\(last) \(reason)")
            }
            #expect(listener.localAddresses.isEmpty)
            try turnInVain(reactor)
            #expect(reactor.figures.openSockets == 0)
            // The first of the two is free again at once.
            let first = network.listen(at: .ipv4(.any, port: 49_300))
            #expect(first != nil)
            first?.close()
        }
        #expect(recorder.events.isEmpty, "E4: nothing is called back")
        try end(reactor)
        withExtendedLifetime(others) {}
    }

    @Test("A2: a family that the host does not have is left out, any other failure is the call's")
    func absentFamily() throws {
        network.inject(EAFNOSUPPORT, into: .socket, after: 1)
        let (reactor, listener) = try makeListener()
        let port = try #require(listener.localAddress?.port)
        #expect(listener.localAddresses == [.ipv4(.any, port: port)])
        listener.stop()
        try turn(reactor) { recorder.events == [.didStop(nil)] }
        network.inject(EADDRNOTAVAIL, into: .bind, after: 1)
        try listener.listen(onPort: 80)
        #expect(listener.localAddresses == [.ipv4(.any, port: 80)])
        listener.stop()
        try turn(reactor) { recorder.events.count == 2 }
        for call in [SimulatedCall.socket, .setOption, .bind, .listen, .watch] {
            network.inject(ENOMEM, into: call, after: 1)
            #expect(throws: SocketError.self) { try listener.listen(onPort: 80) }
            #expect(listener.localAddresses.isEmpty)
            try turnInVain(reactor, 2)
            #expect(reactor.figures.openSockets == 0)
        }
        try end(reactor)
    }

    @Test("A2: the families are chosen; with none of them nothing can be listened on")
    func chosenFamilies() throws {
        let (reactor, listener) = try makeListener { $0.addressFamilies = [.ipv6] }
        let port = try #require(listener.localAddress?.port)
        #expect(listener.localAddresses == [.ipv6(.any, port: port)])
        let other = StreamListener(reactor: reactor, delegate: recorder)
        other.addressFamilies = []
        #expect(throws: SocketError.noAddressFamilyEnabled) { try other.listen(onPort: 0) }
        other.addressFamilies = [.ipv4]
        try other.listen(onPort: port)
        #expect(other.localAddresses == [.ipv4(.any, port: port)])
        try end(reactor)
    }

    // MARK: Pausing and limits

    @Test("A11: a paused listener accepts nobody, and forgets nobody")
    func pausing() throws {
        let (reactor, listener) = try makeListener { $0.pauseAccepting() }
        let peers = try (0..<3).map { _ in try connectPeer(to: listener) }
        try turnInVain(reactor)
        #expect(recorder.accepted.isEmpty && listener.isPaused)
        recorder.onEvent = { _, event in if event == .didAccept { listener.pauseAccepting() } }
        listener.resumeAccepting()
        try turn(reactor) { recorder.accepted.count == 1 }
        try turnInVain(reactor)
        #expect(recorder.accepted.count == 1, "not even one more in the same wait")
        recorder.onEvent = nil
        listener.resumeAccepting()
        try turn(reactor) { recorder.accepted.count == 3 }
        listener.pauseAccepting()
        listener.stop()
        try turn(reactor) { recorder.events.contains(.didStop(nil)) }
        try end(reactor)
        withExtendedLifetime(peers) {}
    }

    @Test("LS4: accepting stops before the limit is passed, and goes on when a connection ends")
    func connectionLimit() throws {
        let (reactor, listener) = try makeListener { $0.maxConnections = 3 }
        let peers = try (0..<10).map {
            try connectPeer(to: listener, $0 % 2 == 0 ? .ipv4(.loopback) : .ipv6(.loopback))
        }
        try turnInVain(reactor)
        #expect(recorder.accepted.count == 3 && listener.connectionCount == 3)
        // By the peer, by us, and without notice.
        recorder.accepted[0].disconnect()
        try turn(reactor) { recorder.accepted.count == 4 }
        recorder.accepted[1].disconnect(notifyingDelegate: false)
        try turn(reactor) { recorder.accepted.count == 5 }
        try turnInVain(reactor)
        #expect(recorder.accepted.count == 5)
        listener.maxConnections = 4
        try turn(reactor) { recorder.accepted.count == 6 }
        // Lowered, it leaves the open ones alone, and waits until there are fewer.
        listener.maxConnections = 2
        for socket in recorder.accepted[2...3] { socket.disconnect() }
        try turnInVain(reactor)
        #expect(recorder.accepted.count == 6 && listener.connectionCount == 2)
        recorder.accepted[4].disconnect()
        try turn(reactor) { recorder.accepted.count == 7 }
        listener.maxConnections = nil
        try turn(reactor) { recorder.accepted.count == 10 }
        try end(reactor)
        withExtendedLifetime(peers) {}
    }

    @Test("LS4: connections of an earlier listen do not count")
    func limitOfAnotherListen() throws {
        let (reactor, listener) = try makeListener { $0.maxConnections = 1 }
        let first = try connectPeer(to: listener)
        try turn(reactor) { recorder.accepted.count == 1 }
        listener.stop()
        try turn(reactor) { recorder.events.contains(.didStop(nil)) }
        try listener.listen(onPort: 0)
        let second = try connectPeer(to: listener)
        try turn(reactor) { recorder.accepted.count == 2 }
        #expect(listener.connectionCount == 1)
        recorder.accepted[0].disconnect()
        try turn(reactor) { recorder.reports.count == 1 }
        #expect(listener.connectionCount == 1)
        try end(reactor)
        withExtendedLifetime((first, second)) {}
    }

    // MARK: Out of descriptors

    @Test("LS3: shedding resets who waits, keeps who is served, and goes on when there is room")
    func shedding() throws {
        // The listener's two, the one kept aside, and two connections.
        network.conditions.descriptorLimit = 5
        let (reactor, listener) = try makeListener { $0.exhaustionPolicy = .shed }
        let peers = try (0..<6).map { _ in try connectPeer(to: listener) }
        try turn(reactor) { peers[2...].allSatisfy { $0.sawReset } }
        #expect(recorder.accepted.count == 2)
        #expect(peers[..<2].allSatisfy { !$0.sawReset })
        #expect(reactor.figures.shed == 4)
        try turnInVain(reactor, 300)
        #expect(reactor.figures.acceptPauses == 1, "nobody waits any more")
        peers[0].close()
        try turn(reactor) { recorder.reports.count == 1 }
        let late = try connectPeer(to: listener)
        try turn(reactor) { recorder.accepted.count == 3 }
        #expect(!late.sawReset)
        try end(reactor)
    }

    @Test("LS3: without a descriptor to keep aside a listener that sheds does not begin")
    func noReserve() throws {
        network.conditions.descriptorLimit = 0
        let reactor = try network.makeReactor()
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        listener.exhaustionPolicy = .shed
        #expect(throws: SocketError.system(SystemCallError(call: "open", errno: EMFILE))) {
            try listener.listen(onPort: 0)
        }
        try end(reactor)
    }

    @Test("LS3, A7, Wish 25, Scenario 7: the notice says where and why, once a second")
    func notices() throws {
        network.conditions.descriptorLimit = 2
        let reactor = try network.makeReactor()
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        try listener.listen(onPort: 8080)
        let peer = try connectPeer(to: listener)
        let start = network.now
        while network.now.since(start) < .seconds(10) { try reactor.turn() }
        let texts = recorder.events.map {
            if case .didFailToAccept(let error) = $0 { "\(error)" } else { "\($0)" }
        }
        #expect(
            texts.first
                == "accept on :8080 paused: too many open files (EMFILE), 2 of 2 in use; "
                + "retry in 100 ms"
        )
        #expect((9...11).contains(texts.count), "\(texts.count) notices in 10 s")
        #expect(texts.last?.hasSuffix("retry in 1000 ms") == true)
        try end(reactor)
        withExtendedLifetime(peer) {}
    }

    @Test("LS3: what has run out in the whole system is told without a number")
    func systemLimit() throws {
        let (reactor, listener) = try makeListener { $0.addressFamilies = [.ipv6] }
        network.inject(ENFILE, into: .accept)
        let peer = try connectPeer(to: listener, .ipv6(.loopback))
        try turn(reactor) { recorder.events.count == 1 }
        let port = try #require(listener.localAddress?.port)
        guard case .didFailToAccept(.acceptPaused(let pause)) = recorder.events[0] else {
            Issue.record("\(recorder.events)")
            return
        }
        #expect(
            "\(pause)" == "accept on :\(port) paused: too many open files in system (ENFILE); "
                + "retry in 100 ms"
        )
        #expect(SocketError.acceptPaused(pause) == .acceptPaused(pause))
        try turn(reactor) { recorder.accepted.count == 1 }
        try end(reactor)
        withExtendedLifetime(peer) {}
    }

    @Test("A7, Wish 26: a listener whose descriptor is broken ends, and says why, once")
    func broken() throws {
        let (reactor, listener) = try makeListener()
        network.inject(EBADF, into: .accept)
        let peer = try connectPeer(to: listener)
        try turn(reactor) { recorder.events.count == 1 }
        let error = SystemCallError(call: "accept4", errno: EBADF)
        #expect(recorder.events == [.didStop(.system(error))])
        #expect(listener.localAddresses.isEmpty)
        try turnInVain(reactor)
        #expect(recorder.events.count == 1 && reactor.figures.openSockets == 0)
        try end(reactor)
        withExtendedLifetime(peer) {}
    }

    @Test("Scenario 8: a health checker that closes before an answer, on every schedule")
    func healthChecker() throws {
        let (reactor, listener) = try makeListener()
        var loudest = LogEvent.Level.trace
        reactor.log = { loudest = max(loudest, $0.level) }
        recorder.onEvent = { socket, event in
            guard event == .didAccept else { return }
            try socket.write([UInt8](repeating: 0, count: 100_000))
            try socket.read()
        }
        for round in 0..<2_000 {
            let peer = try connectPeer(to: listener)
            if round % 3 == 0 { peer.send("?") }
            if round % 2 == 0 { try reactor.turn(waitingAtMost: .zero) }
            if round % 5 == 0 { peer.reset() } else { peer.close() }
        }
        try turn(reactor) { reactor.figures.closed == 2_000 }
        #expect(recorder.reports.count == 2_000 && recorder.accepted.count == 2_000)
        #expect(reactor.figures.openSockets == 2)
        #expect(loudest <= .debug)
        try end(reactor)
    }

    // MARK: Leaving

    @Test("LS6: who is in the queue of a shared port is accepted before the listener leaves it")
    func leaving() throws {
        let (reactor, listener) = try makeListener { $0.options.reusePort = true }
        listener.pauseAccepting()
        let peers = try (0..<20).map {
            try connectPeer(to: listener, $0 % 2 == 0 ? .ipv4(.loopback) : .ipv6(.loopback))
        }
        try turnInVain(reactor)
        listener.resumeAccepting()
        listener.stop()
        #expect(!recorder.events.contains(.didStop(nil)))
        try turn(reactor) { recorder.events.contains(.didStop(nil)) }
        #expect(recorder.accepted.count == 20)
        #expect(peers.allSatisfy { !$0.sawReset })
        #expect(recorder.events.last == .didStop(nil))
        try end(reactor)
    }

    @Test("LS6: without end of clients it leaves nevertheless, and stop of the reactor cuts it")
    func leavingIsBounded() throws {
        let (reactor, listener) = try makeListener { $0.options.reusePort = true }
        var peers: [SimulatedPeer] = []
        recorder.onEvent = { [network] _, event in
            guard event == .didAccept else { return }
            peers.append(network.connect(to: .ipv4(.loopback, port: 80)))
        }
        listener.stop()
        try turn(reactor) { recorder.events == [.didStop(nil)] }
        try listener.listen(onPort: 80)
        peers.append(try connectPeer(to: listener))
        peers.append(try connectPeer(to: listener))
        try turn(reactor) { recorder.accepted.count > 2 }
        listener.stop()
        try turn(reactor) { recorder.events.last == .didStop(nil) }
        recorder.removeAll()
        try listener.listen(onPort: 80)
        listener.stop()
        reactor.stop()
        try reactor.run()
        #expect(recorder.events.contains(.didStop(.reactorStopped)))
    }

    // MARK: Descriptors

    @Test("T5: no descriptor of the process is behind a simulated listener")
    func descriptors() throws {
        let (reactor, listener) = try makeListener()
        #expect(listener.withUnsafeDescriptors { $0 } == [])
        try end(reactor)
    }
}

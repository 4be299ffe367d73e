import Glibc
import Testing
import Towline
import TowlineTestKit

/// What a backend owes across the lives of its sockets, on each backend.
@Suite("Identity") struct IdentityTests {
    @Test(
        "Seam 5: a stale ID finds nobody, whatever is asked of it",
        arguments: BackendKind.allCases
    )
    func staleID(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let backend = rig.backend
        let (old, _) = try rig.makeStream()
        backend.close(old, .end)
        try rig.poll(until: { rig.log.events(of: old) == [.closed] })
        let new = SocketID(slot: old.slot, generation: old.generation + 1)
        let (_, peer) = try rig.makeStream(new)
        backend.resumeReceiving(new)
        backend.pauseReceiving(old)
        #expect(backend.send(old, holding: [1, 2, 3], from: 0) == 0)
        backend.finishSending(old)
        backend.close(old, .reset)
        #expect(backend.localAddress(of: old) == nil)
        #expect(backend.descriptor(of: old) == nil)
        try backend.apply(SocketOptions(), to: old)
        peer.send([4])
        try rig.poll(until: { rig.log.bytes(of: new) == [4] })
        try rig.pollInVain(3)
        #expect(rig.log.events(of: old) == [.closed])
        #expect(rig.log.events(of: new) == [.received(1)])
        #expect(peer.received.isEmpty && !peer.sawEnd && !peer.sawReset)
    }

    @Test(
        "Trap 1, N2: who gets the number of one closed in the same batch hears nothing of it",
        arguments: BackendKind.allCases
    )
    func slotReuse(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let backend = rig.backend
        var ids = [SocketID(slot: 1, generation: 1), SocketID(slot: 2, generation: 1)]
        var peers = try ids.map { try rig.makeStream($0).1 }
        var strangers = 0
        for _ in 0..<2_000 {
            ids.forEach(backend.resumeReceiving)
            var spare: (CInt, any TestPeer)? = nil
            var first: Int?
            rig.log.onEvent = { id, what in
                guard case .received = what else { return }
                guard first == nil, let index = ids.firstIndex(of: id) else {
                    strangers += 1
                    return
                }
                first = index
                // The other one goes, and a new one takes its slot and, on the kernel, its number.
                let other = 1 - index
                backend.close(ids[other], .end)
                ids[other] = SocketID(slot: ids[other].slot, generation: ids[other].generation + 1)
                let connection = try rig.makeConnection()
                try backend.adopt(connection.0, as: ids[other], kind: .stream)
                backend.resumeReceiving(ids[other])
                spare = connection
            }
            peers.forEach { $0.send([1]) }
            try rig.poll()
            let index = try #require(first)
            peers[1 - index] = try #require(spare).1
            rig.log.onEvent = nil
            rig.dropPeers(keeping: peers)
            rig.log.removeAll()
        }
        #expect(strangers == 0)
    }

    @Test(
        "Seam 4: each of many is closed once, and the descriptors come back",
        arguments: BackendKind.allCases
    )
    func closedOnce(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let streams = try (0..<100).map { _ in try rig.makeStream() }
        for (index, (id, _)) in streams.enumerated() {
            rig.backend.close(id, index % 2 == 0 ? .end : .reset)
            rig.backend.close(id, .end)
        }
        #expect(rig.backend.hasResults)
        try rig.poll()
        #expect(!rig.backend.hasResults)
        try rig.pollInVain(3)
        for (id, _) in streams { #expect(rig.log.events(of: id) == [.closed]) }
        if let rig = rig as? SimulatedRig {
            #expect(rig.simulated.openDescriptorCount == 0)
            #expect(rig.simulated.inspect() == [])
        }
    }

    // MARK: Waiting

    @Test(
        "Seam 7: a wake from another thread ends a wait without a limit",
        arguments: BackendKind.allCases
    )
    func wake(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        for round in 1...200 {
            let thread = TestThread(rig.backend.wake)
            try rig.backend.wait(atMost: nil, into: rig.log)
            thread.join()
            // A wake that came too late for this wait is left for the next.
            #expect(rig.log.waitsEnded == round)
        }
        #expect(rig.log.happenings.isEmpty)
    }

    @Test(
        "Seam 7: a wake before the wait ends it, too, and one after the end is let pass",
        arguments: BackendKind.allCases
    )
    func earlyWake(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let wake = rig.backend.wake
        wake()
        wake()
        try rig.backend.wait(atMost: nil, into: rig.log)
        try rig.backend.wait(atMost: 0, into: rig.log)
        #expect(rig.log.waitsEnded == 2)
        rig.backend.shutDown()
        wake()
    }

    @Test(
        "EP6: a wait never ends before its limit, by the backend's own clock",
        arguments: BackendKind.allCases
    )
    func limit(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        for limit: Int64 in [0, 1, 900_000, 2_000_000] {
            let start = rig.backend.now()
            try rig.backend.wait(atMost: limit, into: rig.log)
            let elapsed = rig.backend.now().nanoseconds - start.nanoseconds
            #expect(elapsed >= limit)
            if kind == .simulated { #expect(elapsed == limit) }
        }
    }

    // MARK: Ending

    @Test("A backend may be shut down twice, with sockets open", arguments: BackendKind.allCases)
    func shutDownTwice(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (_, peer) = try rig.makeStream()
        _ = try rig.makeListener()
        rig.backend.shutDown()
        rig.backend.shutDown()
        for _ in 0..<1_000 where !peer.sawEnd { peer.pump() }
        if let rig = rig as? SimulatedRig {
            #expect(rig.simulated.openDescriptorCount == 0)
        } else {
            #expect(peer.sawEnd)
        }
        #expect(rig.log.happenings.isEmpty)
    }

    @Test(
        "EP1, EP11, W3: in steady state an echo is one receive and one send",
        arguments: BackendKind.allCases
    )
    func steadyState(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let backend = rig.backend
        let (id, peer) = try rig.makeStream()
        backend.resumeReceiving(id)
        rig.log.onBytes = { id, bytes in
            bytes.withUnsafeBytes {
                _ = backend.send(id, $0.baseAddress.unsafelyUnwrapped, count: $0.count)
            }
        }
        for round in 1...500 {
            peer.send([1, 2, 3, 4])
            try rig.poll(until: { peer.received.count == 4 * round })
        }
        #expect(backend.figures.receives == 500)
        #expect(backend.figures.sends == 500)
        #expect(backend.figures.disarmedEvents == 0)
        #expect(backend.figures.receivedBytes == 2_000 && backend.figures.sentBytes == 2_000)
    }
}

/// A thread that does one thing.
private final class TestThread {
    private var thread = pthread_t()

    init(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Body(body))
        pthread_create(&thread, nil, run, box.toOpaque())
    }

    func join() {
        pthread_join(thread, nil)
    }
}

private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    // Retained by whoever made the thread, and let go of here.
    Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}

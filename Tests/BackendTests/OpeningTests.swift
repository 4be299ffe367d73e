import Glibc
import Testing
import Towline
import TowlineTestKit

/// What a backend owes to whoever connects and listens, on each backend.
@Suite("Opening") struct OpeningTests {
    private static func addresses(_ rig: Rig) throws -> [SocketAddress] {
        [.ipv4(.loopback, port: 0), .ipv6(.loopback, port: 0), try rig.unixAddress()]
    }

    @Test(
        "A connect tells its local address, and bytes go both ways, in each family",
        arguments: BackendKind.allCases
    )
    func connect(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        for address in try Self.addresses(rig) {
            let server = try rig.makeServer(at: address, backlog: 8)
            let id = rig.nextID()
            try rig.connect(id, to: server.address)
            #expect(rig.log.events(of: id).isEmpty)
            try rig.poll(until: { rig.log.events(of: id) == [.connected] })
            let peer = try #require(server.accept())
            #expect(rig.backend.localAddress(of: id)?.family == server.address.family)
            _ = rig.backend.send(id, holding: [1, 2, 3], from: 0)
            peer.send([4, 5])
            try rig.pollInVain(3)
            #expect(rig.log.events(of: id) == [.connected], "it begins paused")
            rig.backend.resumeReceiving(id)
            try rig.poll(until: { rig.log.bytes(of: id) == [4, 5] && peer.received == [1, 2, 3] })
        }
    }

    @Test(
        "LP7: `connected` comes first, whatever the peer has done meanwhile",
        arguments: BackendKind.allCases
    )
    func connectedFirst(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        for address in try Self.addresses(rig) {
            let server = try rig.makeServer(at: address, backlog: 8)
            let id = rig.nextID()
            try rig.connect(id, to: server.address)
            // On the simulated network TCP takes a wait to connect, which tells it.
            guard let peer = server.accept() else {
                try rig.poll(until: { rig.log.events(of: id) == [.connected] })
                continue
            }
            peer.send([1, 2, 3])
            peer.close()
            try rig.poll(until: { rig.log.events(of: id) == [.connected, .hungUp] })
            rig.backend.resumeReceiving(id)
            try rig.poll(until: { rig.log.events(of: id).last == .reachedEnd })
            #expect(rig.log.bytes(of: id) == [1, 2, 3])
        }
    }

    @Test(
        "A refused connect is told, and may be tried again with the same ID",
        arguments: BackendKind.allCases
    )
    func refused(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let first = try rig.makeServer(at: .ipv4(.loopback, port: 0), backlog: 8)
        let address = first.address
        first.close()
        let id = rig.nextID()
        for round in 1...3 {
            try rig.connect(id, to: address)
            try rig.poll(until: { rig.log.events(of: id).count == round })
        }
        let refusal = Happening.failed(.connecting, ECONNREFUSED)
        #expect(rig.log.events(of: id) == [refusal, refusal, refusal])
        let second = try rig.makeServer(at: .ipv4(.loopback, port: 0), backlog: 8)
        try rig.connect(id, to: second.address)
        try rig.poll(until: { rig.log.events(of: id).last == .connected })
        rig.backend.close(id, .end)
        try rig.poll(until: { rig.log.events(of: id).last == .closed })
    }

    @Test(
        "Trap 13: a full backlog of the Unix domain is EAGAIN, and no end",
        arguments: BackendKind.allCases
    )
    func fullBacklog(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let server = try rig.makeServer(at: try rig.unixAddress(), backlog: 1)
        var last = rig.nextID()
        for _ in 0..<8 {
            last = rig.nextID()
            try rig.connect(last, to: server.address)
            try rig.poll(until: { !rig.log.events(of: last).isEmpty })
            if rig.log.events(of: last) != [.connected] { break }
        }
        #expect(rig.log.events(of: last) == [.failed(.connecting, EAGAIN)])
        _ = try #require(server.accept())
        try rig.connect(last, to: server.address)
        try rig.poll(until: { rig.log.events(of: last).last == .connected })
    }

    @Test(
        "A connect that is closed before its outcome tells `closed` alone",
        arguments: BackendKind.allCases
    )
    func closeWhileConnecting(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        for address in try Self.addresses(rig) {
            let server = try rig.makeServer(at: address, backlog: 8)
            let id = rig.nextID()
            try rig.connect(id, to: server.address)
            rig.backend.close(id, .end)
            try rig.poll(until: { !rig.log.events(of: id).isEmpty })
            try rig.pollInVain(5)
            #expect(rig.log.events(of: id) == [.closed])
        }
    }

    // MARK: Listening

    @Test(
        "A listener accepts only while it is resumed, not even in the same wait",
        arguments: BackendKind.allCases
    )
    func accepting(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let backend = rig.backend
        let (listener, address) = try rig.makeListener()
        backend.pauseReceiving(listener)
        let peers = try (0..<6).map { _ in try rig.connectPeer(to: address) }
        try rig.pollInVain()
        #expect(rig.log.accepted.isEmpty)
        rig.log.onEvent = { id, _ in if id == listener { backend.pauseReceiving(listener) } }
        for round in 1...6 {
            backend.resumeReceiving(listener)
            try rig.poll(until: { rig.log.accepted.count == round })
            try rig.pollInVain(3)
            #expect(rig.log.accepted.count == round)
        }
        for descriptor in rig.log.accepted.dropFirst() { backend.discard(descriptor) }
        let id = rig.nextID()
        try backend.adopt(rig.log.accepted[0], as: id, kind: .stream)
        try rig.poll(until: { peers.dropFirst().allSatisfy { $0.sawEnd } })
        _ = backend.send(id, holding: [7], from: 0)
        try rig.poll(until: { peers[0].received == [7] })
    }

    @Test(
        "LS1: many at once are accepted within the budget, nobody is forgotten",
        arguments: BackendKind.allCases
    )
    func manyAtOnce(_ kind: BackendKind) throws {
        var budget = TurnBudget()
        budget.acceptsPerListener = 5
        let rig = try kind.makeRig(budget: budget)
        let (_, address) = try rig.makeListener()
        _ = try (0..<60).map { _ in try rig.connectPeer(to: address) }
        var known = 0
        while known < 60 {
            try rig.poll()
            #expect(rig.log.accepted.count - known <= 5)
            known = rig.log.accepted.count
        }
        for descriptor in rig.log.accepted { rig.backend.discard(descriptor) }
    }

    @Test(
        "A listen at an address that is taken throws EADDRINUSE and begins nothing",
        arguments: BackendKind.allCases
    )
    func addressInUse(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        for address in try Self.addresses(rig) {
            let (_, bound) = try rig.makeListener(at: address)
            let id = rig.nextID()
            for _ in 0..<3 {
                let error = #expect(throws: SystemCallError.self) {
                    try rig.backend.listen(
                        on: bound,
                        options: SocketOptions(),
                        backlog: 8,
                        permissions: nil,
                        as: id
                    )
                }
                #expect(error?.call == "bind" && error?.errno == EADDRINUSE)
            }
            #expect(rig.backend.localAddress(of: id) == nil)
            #expect(rig.log.happenings.isEmpty)
        }
    }

    @Test("A listener's port is free again when it is closed", arguments: BackendKind.allCases)
    func portComesFree(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (first, bound) = try rig.makeListener()
        rig.backend.close(first, .end)
        try rig.poll(until: { rig.log.events(of: first) == [.closed] })
        let (second, again) = try rig.makeListener(at: bound)
        #expect(again == bound)
        _ = try rig.connectPeer(to: bound)
        try rig.poll(until: { rig.log.accepted.count == 1 })
        #expect(rig.log.events(of: second) == [.accepted])
        rig.backend.discard(rig.log.accepted[0])
    }

    // MARK: Options

    @Test(
        "An option that is out of its range is refused by its call",
        arguments: BackendKind.allCases
    )
    func refusedOption(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, _) = try rig.makeStream()
        var options = SocketOptions()
        options.keepAlive = SocketOptions.KeepAlive(idleSeconds: 0)
        let error = #expect(throws: SystemCallError.self) { try rig.backend.apply(options, to: id) }
        #expect(error?.call == "setsockopt" && error?.errno == EINVAL)
        let client = rig.nextID()
        let server = try rig.makeServer(at: .ipv4(.loopback, port: 0), backlog: 8)
        let refusal = #expect(throws: SystemCallError.self) {
            try rig.connect(client, to: server.address, options: options)
        }
        #expect(refusal?.errno == EINVAL && rig.backend.localAddress(of: client) == nil)
        try rig.pollInVain(2)
        #expect(rig.log.events(of: client) == [])
    }

    @Test(
        "BK6: a descriptor that cannot be adopted stays the caller's",
        arguments: BackendKind.allCases
    )
    func refusedAdoption(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (descriptor, peer) = try rig.makeConnection()
        let id = rig.nextID()
        #expect(throws: SystemCallError.self) {
            try rig.backend.adopt(1 << 29, as: id, kind: .stream)
        }
        try rig.backend.adopt(descriptor, as: id, kind: .stream)
        peer.send([1])
        rig.backend.resumeReceiving(id)
        try rig.poll(until: { rig.log.bytes(of: id) == [1] })
    }

    @Test(
        "A released stream is told nothing of, and goes on under another ID",
        arguments: BackendKind.allCases
    )
    func release(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        let descriptor = try #require(rig.backend.release(id))
        peer.send([1, 2, 3])
        try rig.pollInVain()
        #expect(rig.log.events(of: id).isEmpty)
        let next = rig.nextID()
        try rig.backend.adopt(descriptor, as: next, kind: .stream)
        rig.backend.resumeReceiving(next)
        try rig.poll(until: { rig.log.bytes(of: next) == [1, 2, 3] })
        peer.isReading = false
        let large = countedBytes(1 << 20)
        let sent = rig.backend.send(next, holding: large, from: 0)
        #expect(sent < large.count)
        #expect(rig.backend.release(next) == nil, "bytes wait to be sent")
        #expect(rig.log.events(of: next) == [.received(3)])
    }
}

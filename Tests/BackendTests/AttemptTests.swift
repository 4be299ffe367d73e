import Glibc
import Testing
import Towline
import TowlineTestKit

/// What a backend owes to a connect that goes by several attempts, on each backend.
@Suite("Attempts") struct AttemptTests {
    private static let local = SocketAddress.ipv4(.loopback, port: 0)

    @Test(
        "A connection that was handed over is the other ID's, and of the attempt's comes `closed`",
        arguments: BackendKind.allCases
    )
    func handOver(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let addresses = [Self.local, .ipv6(.loopback, port: 0), try rig.unixAddress()]
        for address in addresses {
            let server = try rig.makeServer(at: address, backlog: 8)
            let backend = rig.backend
            let owner = rig.nextID()
            let attempt = rig.nextID()
            rig.log.onEvent = { id, happening in
                if id == attempt, happening == .connected { backend.handOver(attempt, to: owner) }
            }
            try rig.connect(attempt, to: server.address)
            try rig.poll(until: { rig.log.events(of: attempt) == [.connected, .closed] })
            let peer = try #require(server.accept())
            peer.send([1, 2, 3])
            try rig.pollInVain(3)
            #expect(rig.log.events(of: owner) == [], "it is paused")
            backend.resumeReceiving(owner)
            _ = backend.send(owner, holding: [4, 5], from: 0)
            try rig.poll(until: {
                rig.log.bytes(of: owner) == [1, 2, 3] && peer.received == [4, 5]
            })
            peer.close()
            try rig.poll(until: { rig.log.events(of: owner).last == .reachedEnd })
            backend.close(owner, .end)
            try rig.poll(until: { rig.log.events(of: owner).last == .closed })
            #expect(rig.log.events(of: attempt) == [.connected, .closed])
            #expect(backend.localAddress(of: attempt) == nil)
        }
    }

    @Test(
        "An attempt that was opened and never connected is closed",
        arguments: BackendKind.allCases
    )
    func openAlone(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let id = rig.nextID()
        try rig.backend.open(id, for: Self.local, from: nil, options: SocketOptions())
        #expect((rig.backend.descriptor(of: id) != nil) == (kind == .epoll))
        try rig.pollInVain(3)
        #expect(rig.log.events(of: id) == [])
        rig.backend.close(id, .end)
        try rig.poll(until: { rig.log.events(of: id) == [.closed] })
        #expect(rig.backend.descriptor(of: id) == nil)
    }

    @Test("What ends before it was opened is told once", arguments: BackendKind.allCases)
    func neverOpened(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let id = rig.nextID()
        rig.backend.close(id, .end)
        rig.backend.close(id, .end)
        try rig.poll(until: { rig.log.events(of: id) == [.closed] })
        rig.backend.close(id, .end)
        try rig.pollInVain(2)
        #expect(rig.log.events(of: id) == [.closed])
    }

    @Test(
        "C11 A connect begins at the address and port that it is bound to",
        arguments: BackendKind.allCases
    )
    func source(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let server = try rig.makeServer(at: Self.local, backlog: 8)
        let source = SocketAddress.ipv4(IPv4Address(rawValue: 0x7F09_0909), port: 0)
        let id = rig.nextID()
        try rig.connect(id, to: server.address, from: source)
        try rig.poll(until: { rig.log.events(of: id) == [.connected] })
        let place = try #require(rig.backend.localAddress(of: id))
        #expect(place.ipAddress == source.ipAddress && place.port != 0)
        rig.backend.close(id, .reset)
        try rig.poll(until: { rig.log.events(of: id).last == .closed })
        // Once more with the port, and again while the kernel still waits for the peer's end.
        let others = try (0..<2).map { _ in try rig.makeServer(at: Self.local, backlog: 8) }
        for other in others {
            let next = rig.nextID()
            try rig.connect(next, to: other.address, from: place)
            try rig.poll(until: { rig.log.events(of: next) == [.connected] })
            #expect(rig.backend.localAddress(of: next) == place)
            rig.backend.close(next, .end)
            try rig.poll(until: { rig.log.events(of: next).last == .closed })
        }
        // A server that goes takes its connections along, by a reset.
        withExtendedLifetime(others) {}
    }
}

import Glibc
import Testing
import Towline
import TowlineTestKit

/// What a backend owes to whoever sends and closes, on each backend.
@Suite("Sending") struct SendingTests {
    @Test(
        "Seam 3: what is finished at once and what `sent` counts add up",
        arguments: BackendKind.allCases
    )
    func counting(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        peer.isReading = false
        let bytes = countedBytes(1 << 20)
        let finished = rig.backend.send(id, holding: bytes, from: 0)
        #expect(finished > 0 && finished < bytes.count)
        try rig.pollInVain(5)
        #expect(finished + rig.log.sentCount(of: id) < bytes.count, "the peer reads nothing")
        peer.isReading = true
        try rig.poll(until: { peer.received.count == bytes.count })
        try rig.poll(until: { finished + rig.log.sentCount(of: id) == bytes.count })
        try rig.pollInVain(5)
        #expect(finished + rig.log.sentCount(of: id) == bytes.count)
        let isWhole = peer.received == bytes
        #expect(isWhole)
    }

    @Test(
        "BK1, Trap 21: megabytes through tiny buffers keep their order",
        arguments: BackendKind.allCases
    )
    func order(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        var random = SplitMix64(seed: 11)
        let bytes = countedBytes(3 << 20)
        var asked = 0
        var finished = 0
        while asked < bytes.count {
            let count = min(Int.random(in: 1...40_000, using: &random), bytes.count - asked)
            let piece = Array(bytes[asked..<asked + count])
            asked += count
            if count % 2 == 0 {
                finished += rig.backend.send(id, holding: piece, from: 0)
            } else {
                finished += piece.withUnsafeBytes {
                    rig.backend.send(id, $0.baseAddress.unsafelyUnwrapped, count: $0.count)
                }
            }
            if count % 5 == 0 { try rig.poll(waiting: 0) }
            peer.isReading = count % 3 != 0
        }
        rig.backend.finishSending(id)
        peer.isReading = true
        try rig.poll(until: { peer.sawEnd })
        let isWhole = peer.received == bytes
        #expect(isWhole)
        #expect(finished + rig.log.sentCount(of: id) == bytes.count)
        #expect(rig.log.turns(of: id).isEmpty)
    }

    @Test("Seam 3: a held array is sent from its offset on", arguments: BackendKind.allCases)
    func holding(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        #expect(rig.backend.send(id, holding: [1, 2, 3, 4, 5], from: 3) == 2)
        try rig.poll(until: { peer.received == [4, 5] })
    }

    @Test(
        "Seam 3: borrowed bytes may change once the call has returned",
        arguments: BackendKind.allCases
    )
    func borrowing(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        peer.isReading = false
        let bytes = countedBytes(500_000)
        var lent = bytes
        let finished = lent.withUnsafeMutableBytes { buffer in
            let base = buffer.baseAddress.unsafelyUnwrapped
            defer { memset(base, 0xFF, buffer.count) }
            return rig.backend.send(id, base, count: buffer.count)
        }
        #expect(finished < bytes.count)
        peer.isReading = true
        try rig.poll(until: { peer.received.count == bytes.count })
        let isWhole = peer.received == bytes
        #expect(isWhole)
    }

    @Test("An end is sent behind all earlier bytes", arguments: BackendKind.allCases)
    func end(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        peer.isReading = false
        let bytes = countedBytes(300_000)
        _ = rig.backend.send(id, holding: bytes, from: 0)
        rig.backend.finishSending(id)
        try rig.pollInVain(3)
        peer.isReading = true
        try rig.poll(until: { peer.sawEnd })
        let isWhole = peer.received == bytes
        #expect(isWhole)
        // The other half goes on.
        peer.send([1, 2, 3])
        try rig.poll(until: { rig.log.bytes(of: id) == [1, 2, 3] })
    }

    @Test(
        "Seam 4: a send that fails is told once, with its direction",
        arguments: BackendKind.allCases
    )
    func failure(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        peer.reset()
        try rig.poll(until: { !rig.log.events(of: id).isEmpty })
        #expect(rig.log.events(of: id) == [.failed(.receiving, ECONNRESET)])
        #expect(rig.backend.send(id, holding: [1, 2, 3], from: 0) == 0)
        try rig.poll(until: { rig.log.events(of: id).count == 2 })
        #expect(rig.backend.send(id, holding: [1, 2, 3], from: 0) == 0)
        try rig.pollInVain()
        #expect(rig.log.events(of: id).dropFirst() == [.failed(.sending, EPIPE)])
    }

    @Test(
        "Seam 4: bytes that wait fail with the connection, behind what was received",
        arguments: BackendKind.allCases
    )
    func failurePending(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        peer.isReading = false
        let bytes = countedBytes(1 << 20)
        let finished = rig.backend.send(id, holding: bytes, from: 0)
        try rig.pollInVain(5)
        peer.send([1, 2, 3])
        peer.reset()
        try rig.poll(until: { rig.log.turns(of: id).count == 2 })
        try rig.pollInVain()
        #expect(rig.log.bytes(of: id) == [1, 2, 3])
        #expect(
            rig.log.turns(of: id) == [.failed(.receiving, ECONNRESET), .failed(.sending, EPIPE)]
        )
        #expect(finished + rig.log.sentCount(of: id) < bytes.count)
    }

    // MARK: Closing

    @Test("Seam 4: after a close only `closed` follows, once", arguments: BackendKind.allCases)
    func closing(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let backend = rig.backend
        let streams = try (0..<50).map { _ in try rig.makeStream() }
        for (id, peer) in streams {
            backend.resumeReceiving(id)
            peer.send([1])
            _ = backend.send(id, holding: countedBytes(100_000), from: 0)
        }
        rig.log.onEvent = { _, what in
            guard case .received = what else { return }
            // All of them, in the first callback of the batch.
            for (id, _) in streams { backend.close(id, .end) }
        }
        try rig.poll(until: { rig.log.happenings.count { $0.what == .closed } == 50 })
        try rig.pollInVain()
        #expect(rig.log.happenings.count == 51)
        for (id, _) in streams { #expect(rig.log.events(of: id).last == .closed) }
    }

    @Test(
        "A close drops what waits to be sent, and the peer sees the end of it",
        arguments: BackendKind.allCases
    )
    func closeDropsOutput(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        peer.isReading = false
        let bytes = countedBytes(1 << 20)
        let finished = rig.backend.send(id, holding: bytes, from: 0)
        rig.backend.close(id, .end)
        peer.isReading = true
        try rig.poll(until: { peer.sawEnd })
        #expect(peer.received.count == finished)
        #expect(rig.log.events(of: id) == [.closed])
    }

    @Test("A close with a reset gives the peer ECONNRESET", arguments: BackendKind.allCases)
    func closeWithReset(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        rig.backend.close(id, .reset)
        try rig.poll(until: { peer.sawReset })
        #expect(!peer.sawEnd)
        #expect(rig.log.events(of: id) == [.closed])
    }

    @Test("A close without one gives the peer an end", arguments: BackendKind.allCases)
    func closeWithEnd(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        rig.backend.close(id, .end)
        try rig.poll(until: { peer.sawEnd })
        #expect(!peer.sawReset)
    }
}

import Glibc
import Testing
import Towline
import TowlineTestKit

/// What a backend owes to whoever receives, on each backend.
@Suite("Receiving") struct ReceivingTests {
    @Test("Seam 1: verbs never call back, whatever they lead to", arguments: BackendKind.allCases)
    func verbsNeverCallBack(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        let (listener, address) = try rig.makeListener()
        let client = rig.nextID()
        peer.send([1, 2, 3])
        rig.backend.resumeReceiving(id)
        try rig.connect(client, to: address)
        _ = rig.backend.send(id, holding: [4, 5], from: 0)
        rig.backend.finishSending(id)
        rig.backend.pauseReceiving(id)
        rig.backend.close(id, .end)
        rig.backend.close(listener, .end)
        rig.backend.close(client, .end)
        #expect(rig.log.happenings.isEmpty)
        try rig.poll(until: { rig.log.happenings.count == 3 })
        #expect(rig.log.happenings.allSatisfy { $0.what == .closed })
        #expect(rig.log.unexpected == 0)
    }

    @Test("Seam 2: lent bytes are whole while the sink sends them", arguments: BackendKind.allCases)
    func lending(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(bufferSize: 4_096)
        let backend = rig.backend
        let (id, peer) = try rig.makeStream()
        backend.resumeReceiving(id)
        rig.log.onBytes = { id, bytes in
            bytes.withUnsafeBytes {
                _ = backend.send(id, $0.baseAddress.unsafelyUnwrapped, count: $0.count)
            }
        }
        let bytes = countedBytes(200_000)
        peer.send(bytes)
        try rig.poll(until: { peer.received.count == bytes.count })
        #expect(peer.received == bytes)
        #expect(rig.log.bytes(of: id) == bytes)
    }

    @Test(
        "BK2: nothing is received after a pause, and everything after it is resumed",
        arguments: BackendKind.allCases
    )
    func pauseIsExact(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(bufferSize: 4_096)
        let backend = rig.backend
        let (id, peer) = try rig.makeStream()
        let bytes = countedBytes(50_000)
        peer.send(bytes)
        try rig.pollInVain()
        #expect(rig.log.events(of: id).isEmpty, "it begins paused")
        rig.log.onEvent = { id, _ in backend.pauseReceiving(id) }
        for round in 1...5 {
            backend.resumeReceiving(id)
            try rig.poll(until: { rig.log.events(of: id).count == round })
            try rig.pollInVain()
            #expect(rig.log.events(of: id).count == round)
        }
        rig.log.onEvent = nil
        backend.resumeReceiving(id)
        try rig.poll(until: { rig.log.bytes(of: id).count == bytes.count })
        #expect(rig.log.bytes(of: id) == bytes)
    }

    @Test(
        "Seam 6: one wait receives for one socket no more than the budget",
        arguments: BackendKind.allCases
    )
    func budget(_ kind: BackendKind) throws {
        var budget = TurnBudget()
        budget.receivedBytesPerSocket = 8_192
        budget.receivesPerSocket = 3
        let rig = try kind.makeRig(budget: budget, bufferSize: 4_096)
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        let bytes = countedBytes(60_000)
        peer.send(bytes)
        peer.close()
        var known = 0
        while known < bytes.count {
            try rig.poll()
            let count = rig.log.bytes(of: id).count
            #expect(count - known <= 8_192 + 4_096)
            known = count
        }
        try rig.poll(until: { rig.log.turns(of: id) == [.reachedEnd] })
    }

    // MARK: Ends

    @Test("BK3, Trap 7: every byte comes before the end behind it", arguments: BackendKind.allCases)
    func endBehindBytes(_ kind: BackendKind) throws {
        var budget = TurnBudget()
        budget.receivedBytesPerSocket = 4_096
        let rig = try kind.makeRig(budget: budget, bufferSize: 4_096)
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        let bytes = countedBytes(1 << 20)
        peer.send(bytes)
        peer.close()
        try rig.poll(until: { rig.log.turns(of: id) == [.reachedEnd] })
        #expect(rig.log.events(of: id).last == .reachedEnd)
        let isWhole = rig.log.bytes(of: id) == bytes
        #expect(isWhole)
    }

    @Test(
        "BK3, Trap 7: every byte comes before the reset behind it",
        arguments: BackendKind.allCases
    )
    func resetBehindBytes(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(bufferSize: 4_096)
        let (id, peer) = try rig.makeStream()
        let bytes = countedBytes(50_000)
        peer.send(bytes)
        try rig.pollInVain(3)
        peer.reset()
        try rig.poll(until: { rig.log.events(of: id) == [.hungUp] })
        rig.backend.resumeReceiving(id)
        let end = Happening.failed(.receiving, ECONNRESET)
        try rig.poll(until: { rig.log.events(of: id).last == end })
        #expect(rig.log.turns(of: id) == [.hungUp, end])
        #expect(rig.log.bytes(of: id) == bytes)
    }

    @Test(
        "Seam 8: a paused socket hears once of an end behind unread bytes",
        arguments: BackendKind.allCases
    )
    func pausedHangUp(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        peer.send([1, 2, 3])
        peer.close()
        try rig.poll(until: { !rig.log.events(of: id).isEmpty })
        try rig.pollInVain()
        #expect(rig.log.events(of: id) == [.hungUp])
        rig.backend.resumeReceiving(id)
        try rig.poll(until: { rig.log.events(of: id).last == .reachedEnd })
        #expect(rig.log.events(of: id) == [.hungUp, .received(3), .reachedEnd])
    }

    @Test(
        "Seam 8: paused again when the bytes in front of it are received, it hears of the end",
        arguments: BackendKind.allCases
    )
    func endBehindHangUp(_ kind: BackendKind) throws {
        for isGone in [false, true] {
            let rig = try kind.makeRig()
            let backend = rig.backend
            let (id, peer) = try rig.makeStream()
            peer.send([1, 2, 3])
            if isGone { peer.close() } else { peer.finishSending() }
            try rig.poll(until: { rig.log.events(of: id) == [.hungUp] })
            rig.log.onEvent = { id, event in
                if case .received = event { backend.pauseReceiving(id) }
            }
            backend.resumeReceiving(id)
            try rig.poll(until: { rig.log.events(of: id).count == 3 })
            try rig.pollInVain()
            #expect(rig.log.events(of: id) == [.hungUp, .received(3), .reachedEnd])
        }
    }

    @Test(
        "Seam 8: a paused socket hears once of an end behind no bytes",
        arguments: BackendKind.allCases
    )
    func pausedEnd(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        peer.finishSending()
        try rig.poll(until: { !rig.log.events(of: id).isEmpty })
        try rig.pollInVain()
        rig.backend.resumeReceiving(id)
        try rig.pollInVain()
        #expect(rig.log.events(of: id) == [.reachedEnd])
    }

    @Test("Seam 8: a paused socket hears once of a failure", arguments: BackendKind.allCases)
    func pausedFailure(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        peer.reset()
        try rig.poll(until: { !rig.log.events(of: id).isEmpty })
        try rig.pollInVain()
        rig.backend.resumeReceiving(id)
        try rig.pollInVain()
        #expect(rig.log.events(of: id) == [.failed(.receiving, ECONNRESET)])
    }

    @Test(
        "Trap 9: a half-close is no full close: 8 MiB still arrive at a slow reader",
        arguments: BackendKind.allCases
    )
    func halfClose(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        peer.isReading = false
        peer.finishSending()
        try rig.poll(until: { rig.log.events(of: id) == [.reachedEnd] })
        let bytes = countedBytes(8 << 20)
        let finished = rig.backend.send(id, holding: bytes, from: 0)
        rig.backend.finishSending(id)
        for _ in 0..<50 {
            peer.read(atMost: 100_000)
            try rig.poll(waiting: 0)
        }
        #expect(!peer.sawEnd)
        peer.isReading = true
        try rig.poll(until: { peer.sawEnd })
        let isWhole = peer.received == bytes
        #expect(isWhole)
        #expect(finished + rig.log.sentCount(of: id) == bytes.count)
        #expect(rig.log.turns(of: id) == [.reachedEnd])
    }

    @Test(
        "H5, Trap 8: a peer that has gone does not make a paused socket spin",
        arguments: BackendKind.allCases
    )
    func noSpinning(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let streams = try (0..<6).map { _ in try rig.makeStream() }
        for (index, (_, peer)) in streams.enumerated() {
            if index % 2 == 0 { peer.send([1, 2, 3]) }
            switch index / 2 {
            case 0: peer.close()
            case 1: peer.reset()
            default: peer.finishSending()
            }
        }
        try rig.pollInVain()
        let before = rig.backend.figures.events
        for _ in 0..<200 { try rig.poll(waiting: 0) }
        #expect(rig.backend.figures.events == before, "all was told, and nothing is left to say")
        for (id, _) in streams { #expect(rig.log.events(of: id).count == 1) }
    }

    @Test(
        "LP7: bytes, then room, then the end, where all come at once",
        arguments: BackendKind.allCases
    )
    func order(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 16_384)
        let (id, peer) = try rig.makeStream()
        rig.backend.resumeReceiving(id)
        peer.isReading = false
        let bytes = countedBytes(1 << 20)
        _ = rig.backend.send(id, holding: bytes, from: 0)
        try rig.pollInVain(5)
        rig.log.removeAll()
        peer.send([1, 2, 3])
        peer.finishSending()
        peer.isReading = true
        peer.pump()
        try rig.poll()
        let kinds = rig.log.events(of: id).map { event in
            switch event {
            case .received: "received"
            case .sent: "sent"
            default: "end"
            }
        }
        #expect(kinds == ["received", "sent", "end"])
    }
}

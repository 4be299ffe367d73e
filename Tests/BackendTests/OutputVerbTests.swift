import Glibc
import TestSupport
import Testing
import Towline
import TowlineTestKit

/// What a backend owes to whoever takes bytes back, sends files, and asks what has arrived.
@Suite("Output that is more than bytes") struct OutputVerbTests {
    // MARK: Taking back

    @Test(
        "Seam 10: bytes that wait can be taken back from anywhere",
        arguments: BackendKind.allCases
    )
    func takingBack(_ kind: BackendKind) throws {
        for isHeld in [false, true] {
            let rig = try kind.makeRig(window: 4_096)
            let (id, peer) = try rig.makeStream()
            let (sent, waiting) = try fill(rig, id, peer)
            let pieces = (0..<3).map { [UInt8](repeating: UInt8(0xA0 + $0), count: 20_000) }
            for piece in pieces { send(piece, isHeld, rig, id) }
            #expect(rig.backend.takeBack(id, behind: waiting + 20_000, count: 20_000))
            #expect(rig.backend.takeBack(id, behind: waiting + 5, count: 10))
            let isThere = rig.backend.takeBack(id, behind: waiting + 39_980, count: 20)
            #expect(!isThere)
            #expect(rig.backend.takeBack(id, behind: waiting + 39_980, count: 10))
            rig.backend.finishSending(id)
            peer.isReading = true
            try rig.poll(until: { peer.sawEnd })
            let first = [UInt8](pieces[0].dropLast(10))
            let isWhole = peer.received == sent + first + pieces[2].dropLast(10)
            #expect(isWhole)
        }
    }

    @Test("Seam 10: an end goes when nothing waits any more", arguments: BackendKind.allCases)
    func takingAllBack(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        let (sent, waiting) = try fill(rig, id, peer)
        rig.backend.finishSending(id)
        #expect(waiting > 0)
        #expect(rig.backend.takeBack(id, behind: 0, count: waiting))
        #expect(!rig.backend.takeBack(id, behind: 0, count: 1))
        let before = rig.log.sentCount(of: id)
        peer.isReading = true
        try rig.poll(until: { peer.sawEnd })
        let isWhole = peer.received == sent.dropLast(waiting)
        #expect(isWhole)
        #expect(rig.log.sentCount(of: id) == before)
        #expect(rig.log.turns(of: id).isEmpty)
    }

    /// Sends until nothing goes any more; all of it, and how many bytes wait.
    private func fill(
        _ rig: Rig,
        _ id: SocketID,
        _ peer: any TestPeer
    ) throws -> ([UInt8], Int) {
        peer.isReading = false
        let bytes = countedBytes(1 << 20)
        let finished = rig.backend.send(id, holding: bytes, from: 0)
        try rig.pollInVain(10)
        return (bytes, bytes.count - finished - rig.log.sentCount(of: id))
    }

    private func send(_ bytes: [UInt8], _ isHeld: Bool, _ rig: Rig, _ id: SocketID) {
        if isHeld {
            #expect(rig.backend.send(id, holding: bytes, from: 0) == 0)
        } else {
            let sent = bytes.withUnsafeBytes {
                rig.backend.send(id, $0.baseAddress.unsafelyUnwrapped, count: $0.count)
            }
            #expect(sent == 0)
        }
    }

    // MARK: Files

    @Test("Seam 3: a range of a file is sent in its place", arguments: BackendKind.allCases)
    func file(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        let bytes = countedBytes(1 << 20)
        let scratch = try ScratchFile(bytes)
        let file = try OpenFile(path: scratch.path)
        var finished = rig.backend.send(id, holding: [1, 2, 3], from: 0)
        finished += rig.backend.send(id, file: file, range: 10..<1_000_000)
        finished += rig.backend.send(id, file: file, range: 0..<5)
        finished += rig.backend.send(id, holding: [4, 5, 6], from: 0)
        rig.backend.finishSending(id)
        try rig.poll(until: { peer.sawEnd })
        let expected = [1, 2, 3] + bytes[10..<1_000_000] + bytes[0..<5] + [4, 5, 6]
        let isWhole = peer.received == expected
        #expect(isWhole)
        #expect(finished + rig.log.sentCount(of: id) == 1_000_001)
    }

    @Test(
        "Seam 6, T7: one wait sends no more of a file than the budget",
        arguments: BackendKind.allCases
    )
    func fileBudget(_ kind: BackendKind) throws {
        var budget = TurnBudget()
        budget.fileBytesPerSocket = 10_000
        let rig = try kind.makeRig(budget: budget)
        let (id, peer) = try rig.makeStream()
        let scratch = try ScratchFile(countedBytes(200_000))
        let file = try OpenFile(path: scratch.path)
        var known = rig.backend.send(id, file: file, range: 0..<200_000)
        #expect(known > 0 && known <= 10_000)
        let atOnce = known
        while known < 200_000 {
            try rig.poll()
            let count = atOnce + rig.log.sentCount(of: id)
            #expect(count - known <= 10_000)
            known = count
        }
        try rig.poll(until: { peer.received.count == 200_000 })
    }

    @Test("Seam 4: a file that ends early fails the sending", arguments: BackendKind.allCases)
    func shortFile(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        let bytes = countedBytes(1_000)
        let scratch = try ScratchFile(bytes)
        let file = try OpenFile(path: scratch.path)
        _ = rig.backend.send(id, file: file, range: 0..<2_000)
        try rig.poll(until: { !rig.log.turns(of: id).isEmpty && peer.received.count == 1_000 })
        #expect(rig.log.turns(of: id) == [.failed(.sending, ENODATA)])
        #expect(rig.backend.send(id, holding: [1], from: 0) == 0)
        try rig.pollInVain()
        #expect(peer.received == bytes)
    }

    @Test("Seam 10: what waits of a file can be taken back", arguments: BackendKind.allCases)
    func takingFileBack(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        let (sent, waiting) = try fill(rig, id, peer)
        let scratch = try ScratchFile(countedBytes(100_000))
        let file = try OpenFile(path: scratch.path)
        #expect(rig.backend.send(id, file: file, range: 0..<100_000) == 0)
        #expect(rig.backend.takeBack(id, behind: waiting + 10, count: 99_980))
        rig.backend.finishSending(id)
        peer.isReading = true
        try rig.poll(until: { peer.sawEnd })
        let ends = countedBytes(100_000)
        let isWhole = peer.received == sent + ends.prefix(10) + ends.suffix(10)
        #expect(isWhole)
    }

    // MARK: Acknowledgement

    @Test("What the peer's host has not taken is told", arguments: BackendKind.allCases)
    func unacknowledged(_ kind: BackendKind) throws {
        let rig = try kind.makeRig(window: 4_096)
        let (id, peer) = try rig.makeStream()
        peer.isReading = false
        #expect(rig.backend.unacknowledgedByteCount(of: id) == 0)
        _ = rig.backend.send(id, holding: [1, 2, 3], from: 0)
        rig.backend.finishSending(id)
        try rig.poll(until: { rig.backend.unacknowledgedByteCount(of: id) == 0 })
        #expect(rig.backend.unacknowledgedByteCount(of: rig.nextID()) == nil)
    }
}

import Glibc
import Testing
import Towline
import TowlineTestKit

/// What a backend tells of a peer behind that peer's end, on each backend.
@Suite("Peers behind their end") struct LostPeerTests {
    @Test(
        "Seam 9: behind an end, a peer that takes nothing any more is told once, unasked",
        arguments: BackendKind.allCases
    )
    func lostBehindEnd(_ kind: BackendKind) throws {
        for isPaused in [true, false] {
            let rig = try kind.makeRig()
            let (id, peer) = try rig.makeStream()
            if !isPaused { rig.backend.resumeReceiving(id) }
            peer.finishSending()
            try rig.poll(until: { rig.log.events(of: id) == [.reachedEnd] })
            try rig.pollInVain()
            #expect(rig.log.events(of: id) == [.reachedEnd], "H5")
            peer.reset()
            try rig.poll(until: { rig.log.events(of: id).count == 2 })
            try rig.pollInVain()
            #expect(rig.log.events(of: id) == [.reachedEnd, .failed(.sending, EPIPE)])
            #expect(rig.backend.send(id, holding: [1], from: 0) == 0)
            try rig.pollInVain()
            #expect(rig.log.events(of: id).count == 2)
        }
    }

    @Test(
        "Seam 9: nobody is told so whose own end was asked for",
        arguments: BackendKind.allCases
    )
    func lostBehindBothEnds(_ kind: BackendKind) throws {
        let rig = try kind.makeRig()
        let (id, peer) = try rig.makeStream()
        rig.backend.finishSending(id)
        rig.backend.finishSending(id)
        peer.finishSending()
        try rig.poll(until: { rig.log.events(of: id) == [.reachedEnd] && peer.sawEnd })
        try rig.pollInVain()
        peer.close()
        try rig.pollInVain()
        #expect(rig.log.events(of: id) == [.reachedEnd])
    }
}

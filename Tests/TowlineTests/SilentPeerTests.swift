import Glibc
import Testing
import Towline
import TowlineTestKit

@Suite("Silent peers in virtual time") struct SilentPeerTests {
    @Test("Scenario 4: a write to a silent peer ends within its own bound, a read within its own")
    func bounds() throws {
        let network = SimulatedNetwork(seed: 9)
        network.conditions.windowByteCount = 1_000
        let writing = try SimulatedPair(network)
        writing.peer.stopReading()
        try writing.socket.write([UInt8](repeating: 1, count: 5_000), timeout: .seconds(20), tag: 1)
        var start = writing.network.now
        try writing.turn { writing.report != nil }
        #expect(writing.report?.error == .writeTimedOut(tag: 1))
        #expect(writing.network.now.since(start) >= .seconds(20))
        #expect(writing.network.now.since(start) < .seconds(21))
        try writing.end()
        let reading = try SimulatedPair()
        try reading.socket.read(timeout: .seconds(15), tag: 2)
        start = reading.network.now
        try reading.turn { reading.report != nil }
        #expect(reading.report?.error == .readTimedOut(tag: 2))
        #expect(reading.network.now.since(start) >= .seconds(15))
        #expect(reading.network.now.since(start) < .seconds(16))
        try reading.end()
    }

    @Test("Scenario 4: what the kernel says of a vanished peer is the reason, to both directions")
    func vanished() throws {
        for isWriting in [false, true] {
            let network = SimulatedNetwork(seed: 10)
            network.conditions.windowByteCount = 1_000
            let pair = try SimulatedPair(network)
            pair.peer.stopReading()
            if isWriting {
                try pair.socket.write([UInt8](repeating: 1, count: 5_000), tag: 1)
            } else {
                try pair.socket.read(tag: 1)
            }
            try pair.turn(times: 3)
            pair.peer.fail(with: ETIMEDOUT)
            try pair.turn { pair.report != nil }
            guard case .system(let error) = pair.report?.error else {
                Issue.record("\(pair.heard)")
                return
            }
            #expect(error.errno == ETIMEDOUT)
            try pair.end()
        }
    }
}

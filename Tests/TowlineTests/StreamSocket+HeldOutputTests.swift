import Glibc
import TestSupport
import Testing
import Towline
import TowlineTestKit

/// How a write of a file ends that cannot be sent whole.
@Suite("Files that cannot be sent whole") struct StreamSocketHeldOutputTests {
    @Test(
        "W10: a send from a file that fails is a reset, not an end behind half of it",
        arguments: [EIO, ENOMEM],
        [false, true]
    )
    func failedSend(number: CInt, isReading: Bool) throws {
        let network = SimulatedNetwork(seed: 1)
        network.conditions.bytesPerSend = 1...4_000
        let pair = try SimulatedPair(network)
        let scratch = try ScratchFile(byteCount: 100_000)
        if isReading { try pair.socket.read() }
        network.inject(number, into: .send, after: 3)
        try pair.socket.write(file: try OpenFile(path: scratch.path), tag: 1)
        try pair.socket.shutdownWrite()
        try pair.turn { pair.report != nil && pair.peer.sawReset }
        #expect(!pair.peer.sawEnd, "it would look like the end of the file")
        #expect(pair.peer.receivedByteCount < 100_000)
        let error = SystemCallError(call: "sendfile", errno: number)
        #expect(pair.report?.error == .system(error))
        #expect(pair.report?.incompleteWrites.map(\.tag) == [1])
        try pair.end()
    }

    @Test("W10: so is a file that has become shorter")
    func shorter() throws {
        let network = SimulatedNetwork(seed: 1)
        network.conditions.windowByteCount = 4_000
        let pair = try SimulatedPair(network)
        let scratch = try ScratchFile(byteCount: 100_000)
        pair.peer.stopReading()
        try pair.socket.write(file: try OpenFile(path: scratch.path), tag: 1)
        try pair.turn(times: 3)
        try scratch.truncate(to: 1_000)
        pair.peer.resumeReading()
        try pair.turn { pair.report != nil && pair.peer.sawReset }
        #expect(!pair.peer.sawEnd)
        #expect("\(try #require(pair.report))".hasSuffix("no data available (ENODATA)"))
        try pair.end()
    }

    @Test("W10: a connection that is left in silence after such a failure is reset as well")
    func leftInSilence() throws {
        let pair = try SimulatedPair()
        let scratch = try ScratchFile(byteCount: 1_000)
        try pair.socket.read()
        pair.network.inject(EIO, into: .send)
        try pair.socket.write(file: try OpenFile(path: scratch.path), tag: 1)
        try pair.turn(times: 2)
        #expect(pair.socket.state == .connected, "what the peer still sends is waited for")
        pair.socket.disconnect(notifyingDelegate: false)
        try pair.turn { pair.peer.sawReset }
        #expect(!pair.peer.sawEnd)
        try pair.end()
    }
}

import TestSupport
import Testing
import Towline

@Suite("Resets on a real connection") struct StreamResetTests {
    @Test("F4: a reset behind bytes that are answered ends the connection without a pause")
    func answeredReset() throws {
        let pair = try Pair()
        pair.recorder.whenRead = { socket, bytes, _ in
            try socket.write(bytes)
            try socket.read()
        }
        try pair.socket.read()
        // Bytes and reset are there when the loop looks: it receives, and its answer is refused.
        try pair.peer.send("ping")
        pair.peer.reset()
        // Far less than the time that a peer's last bytes are waited for.
        #expect(try pair.turn(within: .milliseconds(500)) { pair.recorder.isDisconnected })
        #expect(pair.heard.first == .didRead("ping", tag: 0))
        #expect(pair.recorder.reports.count == 1)
        try pair.loop.end()
    }
}

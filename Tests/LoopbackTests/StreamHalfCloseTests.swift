import Glibc
import TestSupport
import Testing
import Towline

@Suite("Half-closed real connections") struct StreamHalfCloseTests {
    @Test("H1, H5, trap 9: behind the peer's end 8 MiB are written to it, and nothing spins")
    func keepOpen() throws {
        let pair = try Pair { socket, _ in socket.halfClosePolicy = .keepOpen }
        try pair.socket.read(tag: 1)
        pair.peer.finishSending()
        #expect(try pair.turn { pair.heard.contains(.closedReadStream) })
        #expect(pair.heard == [.didCancelRead("", tag: 1), .closedReadStream])
        let bytes = [UInt8](repeating: 0x5A, count: 8 << 20)
        try pair.socket.write(bytes, tag: 2)
        try pair.loop.turn(times: 3)
        // The kernel is full, the peer has ended and reads nothing: the loop has nothing to do.
        let figures = pair.loop.reactor.figures
        let before = ThreadTime.now()
        #expect(try !pair.turn(within: .milliseconds(200)) { false })
        let used = ThreadTime.now() - before
        #expect(used < .milliseconds(50), "\(used) of processor time in 200 ms")
        #expect(pair.loop.reactor.figures.events == figures.events)
        let reading = BackgroundWork { [peer = pair.peer] in try peer.receive(bytes.count) }
        #expect(try pair.turn { pair.heard.contains(.didWrite(tag: 2)) })
        let isWhole = try reading.value() == bytes
        #expect(isWhole)
        try pair.socket.shutdownWrite()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].error == .closedByPeer)
        #expect(try pair.peer.receiveUntilEnd() == [])
        try pair.loop.end()
    }

    @Test("H4, Wish 32: a client sends its end and reads the answer to all of it")
    func shutdown() throws {
        let pair = try Pair()
        pair.recorder.readsOn = true
        pair.recorder.recordsReads = false
        try pair.socket.read()
        try pair.socket.write("question")
        try pair.socket.shutdownWrite()
        let answer = [UInt8](repeating: 0x41, count: 1 << 20)
        let work = BackgroundWork { [peer = pair.peer] in
            let question = try peer.receiveUntilEnd()
            try peer.send(answer)
            peer.close()
            return question
        }
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(try work.value() == Array("question".utf8))
        let isWhole = pair.recorder.readBytes == answer
        #expect(isWhole)
        #expect(pair.recorder.reports[0].error == .closedByPeer)
        try pair.loop.end()
    }

    @Test("H2, H5: a reset behind the end ends the connection, though nothing is sent")
    func reset() throws {
        let pair = try Pair { socket, _ in socket.halfClosePolicy = .keepOpen }
        pair.peer.finishSending()
        #expect(try pair.turn { pair.heard == [.closedReadStream] })
        pair.peer.reset()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        guard case .system = pair.recorder.reports[0].error else {
            Issue.record("\(pair.recorder.reports[0])")
            return
        }
        try pair.loop.end()
    }

    @Test("H2: a Unix peer that has closed takes nothing any more, which is told at once")
    func unixPeerCloses() throws {
        let loop = try Loop()
        let recorder = Recorder()
        var ends: [CInt] = [0, 0]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let socket = try StreamSocket(
            reactor: loop.reactor,
            adopting: ends[0],
            delegate: recorder
        )
        socket.halfClosePolicy = .keepOpen
        let peer = BlockingPeer(adopting: ends[1])
        peer.finishSending()
        #expect(try loop.turn { recorder.heard == [.closedReadStream] })
        try loop.turn(times: 3)
        #expect(!recorder.isDisconnected, "half an end is none of the connection")
        peer.close()
        #expect(try loop.turn { recorder.isDisconnected })
        guard case .system(let error) = recorder.reports[0].error else {
            Issue.record("\(recorder.reports[0])")
            return
        }
        #expect(error.errno == EPIPE)
        try loop.end()
    }
}

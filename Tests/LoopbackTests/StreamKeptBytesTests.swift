import TestSupport
import Testing
import Towline

@Suite("Bytes that came before they were asked for") struct StreamKeptBytesTests {
    @Test("R5, P1: a read asked for in didWrite is served with bytes that are there already")
    func readInDidWrite() throws {
        let pair = try Pair()
        pair.recorder.whenRead = { socket, bytes, _ in try socket.write(bytes, tag: 1) }
        pair.recorder.whenWritten = { socket, _ in try socket.read(to: .lf) }
        try pair.socket.read(to: .lf)
        try pair.peer.send("a\nb\nc\n")
        let isServed = try pair.turn(within: .seconds(2)) { pair.recorder.readBytes.count == 6 }
        #expect(isServed, "\(pair.heard)")
        #expect(try pair.peer.receive(6) == Array("a\nb\nc\n".utf8))
        try pair.loop.end()
    }

    @Test("H1, F1: an answer to bytes in front of the peer's end is sent, however large")
    func largeAnswerBeforeEnd() throws {
        let pair = try Pair()
        let answer = [UInt8](repeating: 9, count: 40_000)
        pair.recorder.whenRead = { socket, _, tag in try socket.write(answer, tag: tag) }
        pair.recorder.whenWritten = { socket, tag in
            if tag == 1 { try socket.read(to: .lf, tag: 2) }
        }
        try pair.socket.read(to: .lf, tag: 1)
        try pair.peer.send("a\nb\n")
        pair.peer.finishSending()
        let peer = pair.peer
        let receiver = BackgroundWork { try peer.receive(80_000).count }
        #expect(try pair.turn(within: .seconds(5)) { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports.first?.error == .closedByPeer)
        #expect(pair.recorder.reports.first?.sentByteCount == 80_000)
        try pair.loop.end()
        #expect(try receiver.value() == 80_000)
    }

    @Test("R7: the peer's end behind kept bytes is told, once")
    func hangUpBehindKeptBytes() throws {
        let pair = try Pair()
        try pair.socket.read(to: .lf, tag: 1)
        try pair.peer.send("a\nb\n")
        pair.peer.finishSending()
        #expect(try pair.turn(within: .seconds(2)) { pair.heard.contains(.hangUp) })
        try pair.loop.turn(times: 3)
        #expect(pair.heard == [.didRead("a\n", tag: 1), .hangUp])
        try pair.socket.read(to: .lf, tag: 2)
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(
            pair.heard.dropFirst(2) == [.didRead("b\n", tag: 2), .didDisconnect(.closedByPeer)]
        )
        try pair.loop.end()
    }

    @Test("P2: a fast peer's bytes stay in the kernel while those that came are worked through")
    func bounded() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.receiveBufferSize = 65_536
        configuration.budget.callbacksPerSocket = 16
        let pair = try Pair(configuration: configuration)
        pair.recorder.recordsReads = false
        pair.recorder.whenRead = { socket, _, _ in try socket.read(to: .lf) }
        try pair.socket.read(to: .lf)
        let peer = pair.peer
        let sender = BackgroundWork {
            for _ in 0..<64 { try peer.send([UInt8](repeating: 10, count: 65_536)) }
        }
        #expect(try pair.turn { pair.recorder.readBytes.count > 4_000 })
        pair.socket.disconnect()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].unreadBytes.count <= 65_536)
        #expect(throws: (any Error).self) { try sender.value() }
        try pair.loop.end()
    }

    @Test("M5: no read times out whose bytes are there, however many are in front of it")
    func timedReads() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.budget.callbacksPerSocket = 4
        let pair = try Pair(configuration: configuration)
        try pair.peer.send("abcdefghijklmnopqrstuvwxyz")
        _ = holds { pair.peer.untakenByteCount == 0 }
        for tag in 0..<26 { try pair.socket.read(toLength: 1, timeout: .zero, tag: tag) }
        #expect(try pair.turn(within: .seconds(2)) { pair.recorder.readBytes.count == 26 })
        #expect(pair.heard.count == 26, "\(pair.heard)")
        try pair.loop.end()
    }

    @Test("O6, F1: a disconnect in the last report of progress leaves the read in the report")
    func disconnectInProgress() throws {
        final class Hasty: StreamSocketDelegate {
            var report: DisconnectReport?
            func socket(_ socket: StreamSocket, didProgressRead tag: Int, _ progress: IOProgress) {
                socket.disconnect()
            }
            func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
                self.report = report
            }
        }
        for pieces in [["abcd"], ["ab", "cd"]] {
            let pair = try Pair()
            let hasty = Hasty()
            if pieces.count > 1 {
                try pair.socket.read(toLength: 4, tag: 5)
                try pair.peer.send(pieces[0])
                #expect(try pair.turn { pair.loop.reactor.figures.receivedBytes == 2 })
                pair.socket.delegate = hasty
            } else {
                pair.socket.delegate = hasty
                try pair.socket.read(toLength: 4, tag: 5)
            }
            try pair.peer.send(pieces.last!)
            #expect(try pair.turn(within: .seconds(5)) { hasty.report != nil })
            #expect(hasty.report?.incompleteReads == [5])
            #expect(hasty.report?.unreadBytes == Array("abcd".utf8))
            try pair.loop.end()
        }
    }

    @Test("M3: a delegate set within the question hears what came of it, or nobody does")
    func delegateSetInQuestion() throws {
        final class Fickle: StreamSocketDelegate {
            final class Brief: StreamSocketDelegate {
                var text = "brief"
                func socket(
                    _ socket: StreamSocket,
                    didCancelRead tag: Int,
                    partialBytes: RawSpan
                ) throws {
                    text += "!"
                }
            }
            func socket(
                _ socket: StreamSocket,
                shouldTimeOutRead tag: Int,
                elapsed: Duration,
                byteCount: Int
            ) -> TimeoutDecision {
                socket.delegate = Brief()
                return .cancelOperation
            }
        }
        let pair = try Pair()
        let fickle = Fickle()
        pair.socket.delegate = fickle
        try pair.socket.read(timeout: .milliseconds(1))
        #expect(try pair.turn(within: .seconds(5)) { pair.socket.state == .idle })
        try pair.loop.end()
    }

    @Test("D4: a graceful end does not wait for a peer's end that came behind kept bytes")
    func gracefulEndBehindKnownEnd() throws {
        let pair = try Pair()
        try pair.socket.read(to: .lf, tag: 1)
        try pair.peer.send("a\nb\n")
        pair.peer.finishSending()
        #expect(try pair.turn(within: .seconds(2)) { pair.heard.contains(.hangUp) })
        // Until the end itself has come, and not only its announcement.
        try pair.loop.turn(times: 3)
        try pair.socket.write("bye", tag: 2)
        pair.socket.disconnect(.afterWrites)
        #expect(try pair.turn(within: .seconds(1)) { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports.first?.error == nil)
        #expect(pair.recorder.reports.first?.unreadBytes == Array("b\n".utf8))
        #expect(try pair.peer.receive(3) == Array("bye".utf8))
        try pair.loop.end()
    }

    @Test("R7: the peer's end is told if the last read leaves bytes in front of it")
    func hangUpBehindLastRead() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.budget.callbacksPerSocket = 1
        let pair = try Pair(configuration: configuration)
        // The end is noticed while the second read waits for its turn.
        try pair.socket.read(to: .lf, tag: 1)
        try pair.socket.read(to: .lf, tag: 2)
        try pair.socket.read(to: .lf, tag: 3)
        try pair.peer.send("a\nb\nc\nd\n")
        pair.peer.finishSending()
        #expect(try pair.turn(within: .seconds(2)) { pair.heard.contains(.hangUp) })
        try pair.loop.turn(times: 3)
        #expect(pair.heard.filter { $0 == .hangUp }.count == 1)
        try pair.loop.end()
    }
}

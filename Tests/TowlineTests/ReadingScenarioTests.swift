import Glibc
import TestSupport
import Testing
import Towline
import TowlineTestKit

@Suite("Scenarios of reading") struct ReadingScenarioTests {
    // MARK: 1

    @Test("Scenario 1: one callback for each line, none merged, none cut, however they come")
    func lines() throws {
        let text = Array("a line of some length\r\nsecond\r\n\r\n".utf8)
        let lines = ["a line of some length\r\n", "second\r\n", "\r\n"]
        for world in World.allCases {
            let ends = try Ends(world)
            ends.recorder.onEvent = { socket, event in
                if case .didRead = event { try socket.read(to: .crlf) }
            }
            try ends.socket.read(to: .crlf)
            // Eight bytes, then the rest; then all at once; then cut at every place.
            for cut in [8, text.count] + Array(1..<text.count) {
                ends.recorder.removeAll()
                let before = ends.reactor.figures.receivedBytes
                try ends.send(Array(text[..<cut]))
                try ends.receive(before + cut)
                try ends.send(Array(text[cut...]))
                try ends.receive(before + text.count)
                try ends.turn { ends.recorder.events.count >= 3 }
                #expect(
                    ends.recorder.events == lines.map { .didRead(Array($0.utf8), tag: 0) },
                    "cut at \(cut)"
                )
            }
            try ends.end()
        }
    }

    // MARK: 2

    /// Reads frames: a kind, a length of four bytes, and so many bytes.
    private final class FrameReader: StreamSocketDelegate {
        struct Oversize: Error, CustomStringConvertible {
            let length: Int
            var description: String { "a frame of \(length) bytes" }
        }

        var frames: [[UInt8]] = []
        var report: DisconnectReport?
        /// Where the stack was in the callbacks.
        var deepest = UInt.max
        var shallowest = UInt.min

        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
            var mark: UInt8 = 0
            withUnsafePointer(to: &mark) {
                deepest = min(deepest, UInt(bitPattern: $0))
                shallowest = max(shallowest, UInt(bitPattern: $0))
            }
            guard tag == 0 else {
                frames.append([UInt8](bytes))
                try socket.read(toLength: 5, tag: 0)
                return
            }
            let length = bytes.withUnsafeBytes { $0[1...].reduce(0) { $0 << 8 | Int($1) } }
            guard length <= 1_000 else { throw Oversize(length: length) }
            guard length > 0 else {
                frames.append([])
                try socket.read(toLength: 5, tag: 0)
                return
            }
            try socket.read(toLength: length, tag: 1)
        }

        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            self.report = report
        }
    }

    @Test("Scenario 2: thousands of frames from within callbacks; one that is too long is refused")
    func frames() throws {
        for world in World.allCases {
            var numbers = SeededNumbers(seed: 2)
            let bodies = (0..<5_000).map { frame in
                [UInt8](repeating: UInt8(frame % 251), count: numbers.number(in: 0..<40))
            }
            let reader = FrameReader()
            let ends = try Ends(world)
            ends.socket.delegate = reader
            try ends.socket.read(toLength: 5, tag: 0)
            var stream: [UInt8] = []
            for body in bodies { stream += [1, 0, 0, 0, UInt8(body.count)] + body }
            stream += [1, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3]
            var sent = 0
            while sent < stream.count {
                let count = min(stream.count - sent, numbers.number(in: 1..<9_000))
                try ends.send(Array(stream[sent..<sent + count]))
                sent += count
                try ends.reactor.turn(waitingAtMost: .milliseconds(1))
            }
            try ends.turn { reader.report != nil }
            #expect(reader.frames == bodies)
            #expect(
                reader.report?.error == .handler(FrameReader.Oversize(length: 0xFFFF_FFFF))
            )
            #expect(reader.shallowest - reader.deepest < 4_096, "the stack does not grow")
            try ends.end()
        }
    }

    // MARK: No taker

    @Test("Row 29: where a delegate takes no bytes, the log says so, once")
    func nobodyTakesBytes() throws {
        final class Idler: StreamSocketDelegate {}
        for world in World.allCases {
            let ends = try Ends(world)
            let lines = Lines()
            ends.reactor.log = { event in
                if event.message.contains("nobody takes") { lines.texts.append("\(event)") }
            }
            let idler = Idler()
            ends.socket.delegate = idler
            for _ in 0..<3 { try ends.socket.read(toLength: 1) }
            try ends.send("abc")
            try ends.turn { ends.socket.metrics.queuedReadCount == 0 }
            #expect(lines.texts.count == 1)
            #expect(lines.texts.first?.hasPrefix("debug ") == true)
            #expect(lines.texts.first?.contains("Idler") == true)
            ends.socket.delegate = ends.recorder
            try ends.socket.read()
            try ends.send("d")
            try ends.turn { ends.texts == ["d"] }
            #expect(lines.texts.count == 1)
            try ends.end()
        }
    }

    private final class Lines {
        var texts: [String] = []
    }

    // MARK: 6

    @Test(
        "Scenario 6: a Unix peer that closes while reads are paused is noticed, and costs nothing"
    )
    func pausedUnixPeer() throws {
        let reactor = try Reactor(.init(backend: .epoll))
        let recorder = Recorder()
        let (number, peer) = try Self.socketPair()
        let socket = try StreamSocket(reactor: reactor, adopting: number, delegate: recorder)
        // A neighbour that must not starve.
        let echo = Recorder()
        echo.onEvent = { socket, event in
            guard case .didRead(let bytes, _) = event else { return }
            try socket.write(bytes)
            try socket.read()
        }
        let (otherNumber, otherPeer) = try Self.socketPair()
        let other = try StreamSocket(reactor: reactor, adopting: otherNumber, delegate: echo)
        try other.read()

        try socket.read(toLength: 5, tag: 1)
        try socket.read(tag: 2)
        socket.pauseReads()
        try peer.send("hello")
        peer.close()
        for _ in 0..<20 where recorder.events.isEmpty {
            try reactor.turn(waitingAtMost: .milliseconds(20))
        }
        #expect(recorder.events == [.peerDidHangUp])
        let before = reactor.figures.waits
        for _ in 0..<3 { try reactor.turn(waitingAtMost: .milliseconds(2)) }
        #expect(reactor.figures.waits == before + 3, "each wait lasts")
        try otherPeer.send("ping")
        try reactor.turn(waitingAtMost: .seconds(5))
        #expect(try otherPeer.receive(4) == Array("ping".utf8))
        socket.resumeReads()
        for _ in 0..<20 where recorder.reports.isEmpty {
            try reactor.turn(waitingAtMost: .milliseconds(20))
        }
        #expect(
            recorder.events == [
                .peerDidHangUp, .didRead(Array("hello".utf8), tag: 1),
                .didDisconnect(.closedByPeer),
            ]
        )
        #expect(recorder.reports[0].incompleteReads == [2])
        reactor.stop()
        try reactor.turn()
    }

    @Test("Scenario 6: on the simulated network just so")
    func pausedSimulatedPeer() throws {
        let ends = try Ends(.simulated)
        try ends.socket.read(toLength: 5, tag: 1)
        ends.socket.pauseReads()
        try ends.send("hello")
        ends.close()
        try ends.turn { ends.heard == [.peerDidHangUp] }
        try ends.idle()
        ends.socket.resumeReads()
        try ends.turnUntilFarewell()
        #expect(ends.texts == ["hello"])
        #expect(ends.recorder.reports[0].error == .closedByPeer)
        try ends.end()
    }

    private static func socketPair() throws -> (CInt, BlockingPeer) {
        var numbers: (CInt, CInt) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &numbers) {
            socketpair(
                AF_UNIX,
                CInt(SOCK_STREAM.rawValue),
                0,
                $0.bindMemory(to: CInt.self).baseAddress
            )
        }
        try #require(result == 0)
        return (numbers.0, BlockingPeer(adopting: numbers.1))
    }
}

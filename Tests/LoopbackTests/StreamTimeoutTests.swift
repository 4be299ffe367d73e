import TestSupport
import Testing
import Towline

@Suite("Timeouts on a real connection") struct StreamTimeoutTests {
    @Test("M1: an unanswered read ends the connection with its tag; the default is to disconnect")
    func readTimeout() throws {
        let pair = try Pair()
        let start = ContinuousClock.now
        try pair.socket.read(timeout: .milliseconds(30), tag: 8)
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(ContinuousClock.now - start >= .milliseconds(30), "TM3: never early")
        #expect(
            pair.heard == [
                .shouldTimeOutRead(tag: 8, elapsed: .milliseconds(30), byteCount: 0),
                .didDisconnect(.readTimedOut(tag: 8)),
            ]
        )
        try pair.loop.end()
    }

    @Test("M1, M2: an extension is for that read, may come again, and the read can still complete")
    func extended() throws {
        let pair = try Pair()
        pair.recorder.timeoutAnswers = [
            .extend(by: .milliseconds(20)), .extend(by: .seconds(60)),
        ]
        try pair.socket.read(toLength: 4, timeout: .milliseconds(10), tag: 1)
        try pair.peer.send("ab")
        #expect(try pair.turn { pair.heard.count == 2 })
        #expect(
            pair.heard == [
                .shouldTimeOutRead(tag: 1, elapsed: .milliseconds(10), byteCount: 2),
                .shouldTimeOutRead(tag: 1, elapsed: .milliseconds(30), byteCount: 2),
            ]
        )
        try pair.peer.send("cd")
        #expect(try pair.turn { pair.heard.count == 3 })
        #expect(pair.heard[2] == .didRead("abcd", tag: 1))
        try pair.loop.end()
    }

    @Test(
        "M3, Wish 5: cancelOperation ends the read alone, with its bytes, and the next one goes on"
    )
    func cancelled() throws {
        let pair = try Pair()
        pair.recorder.timeoutAnswers = [.cancelOperation]
        try pair.socket.read(to: .crlf, timeout: .milliseconds(10), tag: 1)
        try pair.socket.read(toLength: 3, tag: 2)
        try pair.peer.send("part")
        #expect(try pair.turn { pair.heard.count == 2 })
        #expect(pair.heard[1] == .didCancelRead("part", tag: 1))
        try pair.peer.send("xyz")
        #expect(try pair.turn { pair.heard.count == 3 })
        #expect(pair.heard[2] == .didRead("xyz", tag: 2))
        try pair.loop.end()
    }

    @Test("M4: the delegate may write from within the question")
    func writesWithinQuestion() throws {
        final class Prompter: StreamSocketDelegate {
            func socket(
                _ socket: StreamSocket,
                shouldTimeOutRead tag: Int,
                elapsed: Duration,
                byteCount: Int
            ) -> TimeoutDecision {
                _ = try? socket.write("are you still there?")
                return .extend(by: .seconds(60))
            }
        }
        let pair = try Pair()
        let prompter = Prompter()
        pair.socket.delegate = prompter
        try pair.socket.read(timeout: .milliseconds(5))
        for _ in 0..<5 { try pair.loop.reactor.turn(waitingAtMost: .milliseconds(20)) }
        #expect(try pair.peer.receive(20) == Array("are you still there?".utf8))
        try pair.loop.end()
        withExtendedLifetime(prompter) {}
    }

    @Test("M5: with a timeout of zero, what is there completes the read, else it is over at once")
    func zero() throws {
        let pair = try Pair()
        try pair.peer.send("here")
        _ = holds { pair.peer.untakenByteCount == 0 }
        try pair.socket.read(timeout: .zero, tag: 1)
        #expect(try pair.turn { pair.heard.count == 1 })
        #expect(pair.heard == [.didRead("here", tag: 1)])
        try pair.socket.read(timeout: .zero, tag: 2)
        try pair.loop.turn(times: 3)
        #expect(pair.recorder.reports.first?.error == .readTimedOut(tag: 2))
        try pair.loop.end()
    }

    @Test("R6, M1, F5: a queued read's clock starts when it is the first")
    func clockStarts() throws {
        let pair = try Pair()
        try pair.socket.read(toLength: 1, tag: 1)
        try pair.socket.read(toLength: 1, timeout: .milliseconds(40), tag: 2)
        for _ in 0..<6 { try pair.loop.reactor.turn(waitingAtMost: .milliseconds(10)) }
        #expect(pair.heard == [], "the second read waits for the first, without a clock")
        try pair.peer.send("a")
        #expect(try pair.turn { pair.heard.count == 1 })
        let start = ContinuousClock.now
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(ContinuousClock.now - start >= .milliseconds(35))
        #expect(pair.recorder.reports[0].error == .readTimedOut(tag: 2))
        try pair.loop.end()
    }

    @Test("M6: an end that comes first closes as an end")
    func endFirst() throws {
        let pair = try Pair()
        try pair.socket.read(timeout: .seconds(60))
        pair.peer.close()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.heard == [.didDisconnect(.closedByPeer)])
        #expect(pair.loop.reactor.figures.timers == 0, "no timer without its owner")
        try pair.loop.end()
    }

    @Test("TM2: timed reads that complete leave at most one timer a socket")
    func oneTimer() throws {
        let pair = try Pair()
        var count = 0
        pair.recorder.recordsReads = false
        pair.recorder.whenRead = { socket, _, _ in
            count += 1
            if count < 500 { try socket.read(toLength: 1, timeout: .seconds(30)) }
        }
        try pair.socket.read(toLength: 1, timeout: .seconds(30))
        try pair.peer.send([UInt8](repeating: 0, count: 500))
        var mostTimers = 0
        let areRead = try pair.turn {
            mostTimers = max(mostTimers, pair.loop.reactor.figures.timers)
            return count == 500
        }
        #expect(areRead)
        #expect(mostTimers == 1)
        try pair.loop.end()
    }

    @Test("C3: a connect that nobody answers times out in its phase")
    func connectTimeout() throws {
        // A backlog of none that is full: further requests are dropped, not refused.
        let listener = try BlockingListener(backlog: 0)
        let loop = try Loop()
        let fillers = try (0..<3).map { _ in
            let filler = StreamSocket(reactor: loop.reactor, delegate: Recorder())
            filler.keep(Recorder())
            try filler.connect(to: listener.address, timeout: nil)
            return filler
        }
        try loop.turn(times: 5)
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(to: listener.address, timeout: .milliseconds(50))
        #expect(socket.state == .connecting)
        #expect(try loop.turn { recorder.isDisconnected })
        #expect(recorder.heard == [.didDisconnect(.connectTimedOut)])
        #expect(recorder.reports[0].phase == .connecting)
        #expect("\(recorder.reports[0])".contains("while connecting after 5"))
        try loop.end()
        withExtendedLifetime(fillers) {}
    }

    @Test("R6, M1: a timed read behind one that takes whatever comes has its deadline")
    func timedBehindPlain() throws {
        for asksFromCallback in [false, true] {
            let pair = try Pair()
            func askTimed(_ socket: StreamSocket) throws {
                try socket.read(toLength: 5, timeout: .milliseconds(30), tag: 2)
            }
            try pair.socket.read(tag: 1)
            if asksFromCallback {
                pair.recorder.whenRead = { socket, _, _ in try askTimed(socket) }
            } else {
                try askTimed(pair.socket)
            }
            try pair.peer.send("x")
            #expect(try pair.turn(within: .seconds(2)) { pair.recorder.isDisconnected })
            #expect(pair.recorder.reports.first?.error == .readTimedOut(tag: 2))
            try pair.loop.end()
        }
    }
}

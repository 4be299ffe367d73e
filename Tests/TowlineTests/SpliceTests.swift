import Glibc
import TestSupport
import Testing
import Towline
import TowlineTestKit

/// Two sockets that are tied on a simulated network, each with its peer, and what came of it.
private final class Tied {
    let network: SimulatedNetwork
    let reactor: Reactor
    let before = Recorder()
    private(set) var sockets: [StreamSocket] = []
    private(set) var peers: [SimulatedPeer] = []
    private(set) var reports: [SpliceReport] = []
    private var servers: [SimulatedServer] = []

    init(_ conditions: NetworkConditions = NetworkConditions(), seed: UInt64 = 1) throws {
        network = SimulatedNetwork(seed: seed, conditions: conditions)
        reactor = try network.makeReactor()
        for port in [UInt16(80), 81] {
            let address = SocketAddress.ipv4(.loopback, port: port)
            let welcome = { [unowned self] (peer: SimulatedPeer) in peers.append(peer) }
            let server = try #require(network.listen(at: address, welcome: welcome))
            let socket = StreamSocket(reactor: reactor, delegate: before)
            try socket.connect(to: server.address)
            servers.append(server)
            sockets.append(socket)
            try turn { peers.count == sockets.count && socket.state.isConnected }
        }
    }

    func tie(idleTimeout: Duration? = nil, halfOpenTimeout: Duration? = nil) throws {
        before.removeAll()
        try splice(
            sockets[0],
            sockets[1],
            idleTimeout: idleTimeout,
            halfOpenTimeout: halfOpenTimeout
        ) { self.reports.append($0) }
    }

    var isOver: Bool { sockets.allSatisfy { $0.state == .idle } }

    /// Turns until a condition holds, a bounded number of times.
    func turn(
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) throws {
        for _ in 0..<5_000 {
            if condition() { return }
            try reactor.turn(waitingAtMost: .milliseconds(100))
        }
        Issue.record("it never came", sourceLocation: sourceLocation)
    }

    /// Turns for so long in virtual time.
    func turn(for duration: Duration) throws {
        let end = network.now.advanced(by: duration)
        while network.now < end {
            try reactor.turn(waitingAtMost: min(end.since(network.now), .milliseconds(10)))
        }
    }

    /// Ends the reactor with whatever is open; what was told before hears nothing of the splice.
    func end() throws {
        reactor.stop()
        try reactor.run()
        #expect(before.events == [], "the delegates before hear nothing more")
        #expect(reports.count == 1, "it is reported once")
    }
}

private func pattern(_ byteCount: Int, from start: UInt8 = 0) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: ($0 + Int(start)) % 251) }
}

@Suite("Splice") struct SpliceTests {
    @Test(
        "Every byte comes out on the other side, in order, however they are cut",
        arguments: 1...8
    )
    func bothWays(seed: UInt64) throws {
        var conditions = NetworkConditions()
        conditions.delay = .zero ... .milliseconds(3)
        conditions.bytesPerSegment = 1...9_000
        conditions.bytesPerReceive = 1...70_000
        conditions.bytesPerSend = 1...50_000
        conditions.interruptedShare = 0.05
        conditions.blockedShare = 0.1
        conditions.shufflesEvents = true
        let tied = try Tied(conditions, seed: seed)
        var numbers = SeededNumbers(seed: seed)
        for socket in tied.sockets {
            socket.writeHighWaterMark = 1 << Int.random(in: 0...16, using: &numbers)
        }
        try tied.tie()
        let there = pattern(300_000)
        let back = pattern(200_000, from: 100)
        tied.peers[0].send(there)
        tied.peers[0].finishSending()
        tied.peers[1].send(back)
        tied.peers[1].finishSending()
        for peer in tied.peers where Bool.random(using: &numbers) { peer.stopReading() }
        try tied.turn {
            for peer in tied.peers where !peer.isReading {
                _ = peer.read(atMost: Int.random(in: 0...20_000, using: &numbers))
            }
            return tied.isOver && tied.peers.allSatisfy(\.sawEnd)
        }
        #expect(tied.peers[1].received == there)
        #expect(tied.peers[0].received == back)
        try tied.end()
        let report = try #require(tied.reports.first)
        #expect(report.reason == .complete)
        #expect(report.bytesToSecond == there.count)
        #expect(report.bytesToFirst == back.count)
        #expect(
            "\(report)" == "spliced, 300000 bytes there and 200000 back: both have ended"
        )
    }

    @Test(
        "H4 An end is passed on behind the last byte, and the other way goes on",
        arguments: 0...1
    )
    func oneEnd(side: Int) throws {
        let tied = try Tied()
        try tied.tie()
        let (ending, other) = (tied.peers[side], tied.peers[1 - side])
        ending.send("question")
        ending.finishSending()
        try tied.turn { other.sawEnd }
        #expect(other.received == Array("question".utf8))
        for count in 1...3 {
            other.send("answer")
            try tied.turn { ending.received.count == count * 6 }
        }
        #expect(!ending.sawEnd && !tied.isOver)
        other.finishSending()
        try tied.turn { tied.isOver && ending.sawEnd }
        try tied.end()
        #expect(tied.reports.first?.reason == .complete)
        #expect(tied.reports.first?.error == nil)
    }

    @Test("An end behind bytes that the other side does not take yet waits for them")
    func endBehindStalledBytes() throws {
        let tied = try Tied()
        try tied.tie()
        tied.peers[1].stopReading()
        tied.peers[0].send(pattern(1_000_000))
        tied.peers[0].finishSending()
        try tied.turn(for: .seconds(1))
        #expect(!tied.isOver)
        tied.peers[1].finishSending()
        tied.peers[1].resumeReading()
        try tied.turn { tied.isOver && tied.peers[1].sawEnd }
        #expect(tied.peers[1].received == pattern(1_000_000))
        try tied.end()
        #expect(tied.reports.first?.reason == .complete)
    }

    @Test("W6 A side that takes nothing stops the other, and memory is bounded", arguments: 0...1)
    func backPressure(side: Int) throws {
        let tied = try Tied()
        try tied.tie()
        let (sending, stalled) = (tied.peers[side], tied.peers[1 - side])
        let socket = tied.sockets[1 - side]
        stalled.stopReading()
        sending.send(pattern(1_000_000))
        var most = 0
        for _ in 0..<500 {
            try tied.reactor.turn(waitingAtMost: .milliseconds(1))
            most = max(most, socket.pendingWriteBytes)
        }
        #expect(most > 0)
        #expect(most <= socket.writeHighWaterMark + 256 * 1_024, "one mark and one receive")
        // The other way is not held up.
        stalled.send("free")
        try tied.turn { sending.received == Array("free".utf8) }
        stalled.resumeReading()
        try tied.turn { stalled.receivedByteCount == 1_000_000 }
        #expect(stalled.received == pattern(1_000_000))
        try tied.end()
    }

    @Test("A reset is passed on behind the bytes in front of it", arguments: 0...1)
    func reset(side: Int) throws {
        let tied = try Tied()
        try tied.tie()
        let (failing, other) = (tied.peers[side], tied.peers[1 - side])
        failing.send("last")
        try tied.turn { other.received.count == 4 }
        failing.reset()
        try tied.turn { tied.isOver && other.sawReset }
        #expect(!other.sawEnd, "half of something must not look like the whole")
        try tied.end()
        let report = try #require(tied.reports.first)
        #expect(report.reason == .failed(side == 0 ? .first : .second))
        guard case .system(let error) = report.error else {
            Issue.record("\(report)")
            return
        }
        #expect(error.name == "ECONNRESET")
        #expect("\(report)".contains("ECONNRESET"))
    }

    @Test("What came before a reset is still written to a side that is slow to take it")
    func resetBehindStalledBytes() throws {
        let tied = try Tied()
        try tied.tie()
        tied.peers[1].stopReading()
        tied.peers[0].send(pattern(200_000))
        try tied.turn { tied.sockets[1].pendingWriteBytes > 100_000 }
        tied.peers[0].reset()
        try tied.turn { tied.sockets[0].state == .idle }
        #expect(tied.sockets[1].state == .connected)
        try tied.turn {
            _ = tied.peers[1].read(atMost: 10_000)
            return tied.isOver
        }
        // All but what the reset itself has overtaken.
        #expect(tied.peers[1].receivedByteCount >= 200_000 - 65_536)
        try tied.end()
        #expect(tied.reports.first?.reason == .failed(.first))
    }

    @Test("A side that takes nothing at all behind a reset is given up after a while")
    func resetAndStall() throws {
        let tied = try Tied()
        try tied.tie()
        tied.peers[1].stopReading()
        tied.peers[0].send(pattern(200_000))
        try tied.turn { tied.sockets[1].pendingWriteBytes > 100_000 }
        tied.peers[0].reset()
        try tied.turn(for: .milliseconds(1_900))
        #expect(!tied.isOver)
        try tied.turn(for: .milliseconds(200))
        #expect(tied.isOver)
        try tied.end()
    }

    @Test("M7 It ends when neither side moves, and not while one does")
    func silence() throws {
        let tied = try Tied()
        try tied.tie(idleTimeout: .seconds(5))
        for _ in 0..<4 {
            try tied.turn(for: .seconds(4))
            tied.peers[1].send("x")
        }
        try tied.turn(for: .milliseconds(4_990))
        #expect(!tied.isOver)
        try tied.turn(for: .milliseconds(100))
        #expect(tied.isOver)
        try tied.end()
        #expect(tied.reports.first?.reason == .silent(.seconds(5)))
        #expect(tied.reports.first?.bytesToFirst == 4)
    }

    @Test("Once a side has ended, the bound is another one")
    func halfOpen() throws {
        let tied = try Tied()
        try tied.tie(idleTimeout: .seconds(60), halfOpenTimeout: .seconds(2))
        try tied.turn(for: .seconds(10))
        tied.peers[0].finishSending()
        try tied.turn { tied.peers[1].sawEnd }
        for _ in 0..<3 {
            try tied.turn(for: .milliseconds(1_900))
            tied.peers[1].send("x")
        }
        try tied.turn(for: .milliseconds(1_900))
        #expect(!tied.isOver)
        try tied.turn(for: .milliseconds(200))
        #expect(tied.isOver)
        try tied.end()
        #expect(tied.reports.first?.reason == .silent(.seconds(2)))
    }

    @Test("SD2 A drain lets go on what moves, and ends what is silent, without a reset")
    func drain() throws {
        let tied = try Tied()
        try tied.tie()
        var isDrained = false
        tied.reactor.drain(within: .seconds(60)) { _ in isDrained = true }
        for count in 1...5 {
            try tied.turn(for: .milliseconds(900))
            tied.peers[0].send("x")
            try tied.turn { tied.peers[1].received.count == count }
        }
        #expect(!tied.isOver)
        try tied.turn { isDrained }
        try tied.turn { tied.peers.allSatisfy(\.sawEnd) }
        #expect(!tied.peers.contains { $0.sawReset })
        try tied.end()
        #expect(tied.reports.first?.reason == .disconnected)
    }

    @Test("A side that the program ends ends the other behind its bytes")
    func deliberateEnd() throws {
        let tied = try Tied()
        try tied.tie()
        tied.peers[0].send("before")
        try tied.turn { tied.peers[1].received.count == 6 }
        tied.sockets[0].disconnect()
        try tied.turn { tied.isOver && tied.peers.allSatisfy(\.sawEnd) }
        try tied.end()
        #expect(tied.reports.first?.reason == .disconnected)
        #expect(tied.reports.first?.error == nil)
    }

    /// How a program may take a side away from its splice.
    enum Taking: CaseIterable {
        case leftInSilence, noDelegate, otherDelegate, keptDelegate
    }

    @Test(
        "L2 A side that the program takes away ends the other behind its bytes, and is reported",
        arguments: Taking.allCases,
        0...1
    )
    func takenAway(taking: Taking, side: Int) throws {
        let tied = try Tied()
        try tied.tie()
        let (socket, other) = (tied.sockets[side], tied.sockets[1 - side])
        tied.peers[side].send("before")
        try tied.turn { tied.peers[1 - side].received.count == 6 }
        let next = Recorder()
        switch taking {
        case .leftInSilence: socket.disconnect(notifyingDelegate: false)
        case .noDelegate: socket.delegate = nil
        case .otherDelegate: socket.delegate = next
        case .keptDelegate: socket.keep(next)
        }
        #expect(tied.reports.isEmpty, "T2 nothing is called back in a call")
        try tied.turn { tied.peers[1 - side].sawEnd && other.state == .idle }
        let report = try #require(tied.reports.first)
        #expect(report.reason == .disconnected && report.error == nil)
        #expect((side == 0 ? report.bytesToSecond : report.bytesToFirst) == 6)
        if taking == .otherDelegate || taking == .keptDelegate {
            tied.peers[side].send("mine")
            try tied.turn { next.events == [.didRead(Array("mine".utf8), tag: 0)] }
        } else {
            try tied.turn { tied.peers[side].sawEnd && socket.state == .idle }
        }
        try tied.end()
    }

    @Test("L2 A side that is taken away while the other has ended is reported once, later")
    func lastTakenAway() throws {
        let tied = try Tied()
        try tied.tie()
        // The first has ended, and the second waits for its peer's end.
        tied.peers[1].stopReading()
        tied.peers[0].send("x")
        try tied.turn(for: .milliseconds(20))
        tied.sockets[0].disconnect()
        try tied.turn { tied.sockets[0].state == .idle }
        #expect(tied.sockets[1].state != .idle)
        tied.sockets[1].disconnect(notifyingDelegate: false)
        #expect(tied.reports.isEmpty, "T2 nothing is called back in a call")
        try tied.turn { tied.reports.count == 1 }
        #expect(tied.reports.first?.reason == .disconnected)
        // A socket that has left is its program's alone.
        #expect(throws: SocketError.noDelegate) {
            try tied.sockets[1].connect(to: .ipv4(.loopback, port: 80))
        }
        try tied.end()
    }

    @Test("P1 Bytes that came before are passed on first, and those written before do not count")
    func keptBytes() throws {
        let tied = try Tied()
        try tied.sockets[0].read(toLength: 2)
        try tied.sockets[1].write("greeting")
        tied.peers[0].send("ab and the rest")
        try tied.turn { !tied.before.events.filter { $0 == .didRead([97, 98], tag: 0) }.isEmpty }
        try tied.tie()
        tied.peers[0].send(", all of it")
        tied.peers[0].finishSending()
        tied.peers[1].finishSending()
        try tied.turn { tied.isOver }
        #expect(tied.peers[1].received == Array("greeting and the rest, all of it".utf8))
        try tied.end()
        #expect(tied.reports.first?.bytesToSecond == " and the rest, all of it".utf8.count)
    }

    @Test("A side that cannot send is the one that has failed, whatever still comes for it")
    func failedSend() throws {
        let tied = try Tied()
        try tied.tie()
        tied.network.inject(EPIPE, into: .send)
        for _ in 0..<3 {
            tied.peers[0].send("lost")
            try tied.turn(for: .milliseconds(50))
        }
        tied.peers[1].send("last words")
        try tied.turn { tied.isOver && tied.peers[0].sawReset }
        #expect(tied.reports.first?.reason == .failed(.second))
        #expect(tied.peers[0].received == Array("last words".utf8))
        try tied.end()
    }

    @Test("A side that cannot send is the one that has failed, also when the other has ended")
    func failedSendBeforeEnd() throws {
        let tied = try Tied()
        try tied.tie()
        tied.network.inject(EPIPE, into: .send)
        tied.peers[0].send("lost")
        try tied.turn(for: .milliseconds(50))
        tied.peers[0].finishSending()
        try tied.turn { tied.isOver && tied.peers[0].sawReset }
        #expect(tied.reports.first?.reason == .failed(.second))
        try tied.end()
    }

    @Test("Reads that were paused before go on", arguments: 0...1)
    func pausedBefore(side: Int) throws {
        let tied = try Tied()
        tied.sockets[side].pauseReads()
        try tied.tie()
        tied.peers[side].send("through")
        try tied.turn { tied.peers[1 - side].received == Array("through".utf8) }
        try tied.end()
    }

    @Test("E4 What cannot be tied is refused, and nothing is changed")
    func refusals() throws {
        let tied = try Tied()
        let (first, second) = (tied.sockets[0], tied.sockets[1])
        let stranger = try Tied()
        expectInvalid { try splice(first, first) }
        expectInvalid { try splice(first, stranger.sockets[0]) }
        expectInvalid { try splice(first, second, idleTimeout: .zero) }
        expectInvalid { try splice(first, second, halfOpenTimeout: .seconds(-1)) }
        let idle = StreamSocket(reactor: tied.reactor, delegate: tied.before)
        #expect(throws: SocketError.notConnected) { try splice(first, idle) }
        try second.read(tag: 7)
        expectInvalid { try splice(first, second) }
        tied.peers[1].send("mine")
        let mine = Recorder.Event.didRead(Array("mine".utf8), tag: 7)
        try tied.turn { tied.before.events.contains(mine) }
        second.disconnect(.afterReads)
        try tied.turn { second.state == .idle }
        #expect(throws: SocketError.notConnected) { try splice(first, second) }
        #expect(first.state == .connected)
        for reactor in [tied.reactor, stranger.reactor] {
            reactor.stop()
            try reactor.run()
        }
    }

    private func expectInvalid(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ call: () throws -> Void
    ) {
        do {
            try call()
            Issue.record("it was not refused", sourceLocation: sourceLocation)
        } catch SocketError.invalidArgument {
        } catch {
            Issue.record("\(error)", sourceLocation: sourceLocation)
        }
    }
}

import Glibc
import Testing
import Towline
import TowlineTestKit

@Suite("Half-close") struct HalfCloseTests {
    private static func keepingOpen(
        _ configuration: Reactor.Configuration = Reactor.Configuration(),
        prepare: (StreamSocket) throws -> Void = { _ in }
    ) throws -> SimulatedPair {
        try SimulatedPair(configuration: configuration) {
            $0.halfClosePolicy = .keepOpen
            try prepare($0)
        }
    }

    // MARK: The peer's end

    @Test("H1: with keepOpen the peer's end is told once, and writing goes on")
    func keepOpen() throws {
        let pair = try Self.keepingOpen()
        try pair.socket.read(tag: 1)
        pair.peer.send("bye")
        pair.peer.finishSending()
        try pair.turn { pair.heard.contains(.didCloseReadStream) }
        #expect(pair.heard == [.didRead(Array("bye".utf8), tag: 1), .didCloseReadStream])
        for tag in 2...4 {
            try pair.socket.write("late", tag: tag)
            try pair.turn { pair.heard.last == .didWrite(tag: tag) }
        }
        try pair.turn { pair.peer.received.count == 12 }
        try pair.turn(times: 5)
        #expect(pair.socket.state == .connected)
        #expect(pair.heard.count == 5, "nothing is told again")
        pair.socket.disconnect(.afterWrites)
        try pair.turn { pair.report != nil }
        #expect(pair.report?.error == nil, "E1: a deliberate end, long after the peer's")
        try pair.turn { pair.peer.sawEnd }
        try pair.end()
    }

    @Test("H3: reads that wait end in their order with their bytes, before the reading side does")
    func cancelledReads() throws {
        let pair = try Self.keepingOpen()
        pair.recorder.onEvent = { socket, event in
            if case .didCancelRead = event {
                #expect(throws: SocketError.readClosed) { try socket.read() }
                try socket.write("x")
            }
        }
        for tag in 1...3 { try pair.socket.read(toLength: 5, tag: tag) }
        pair.peer.send("abcdefg")
        pair.peer.finishSending()
        try pair.turn { pair.heard.contains(.didCloseReadStream) }
        let closing = pair.heard.filter { $0 != .didWrite(tag: 0) }
        #expect(
            closing == [
                .didRead(Array("abcde".utf8), tag: 1), .didCancelRead(tag: 2, Array("fg".utf8)),
                .didCancelRead(tag: 3, []), .didCloseReadStream,
            ]
        )
        #expect(throws: SocketError.readClosed) { try pair.socket.read() }
        try pair.turn { pair.peer.received == Array("xx".utf8) }
        try pair.end()
    }

    @Test("H3: where the policy closes, the reads are in the report instead (F1)")
    func interruptedReads() throws {
        for policy in [HalfClosePolicy.disconnect, .finishWrites] {
            let pair = try SimulatedPair { $0.halfClosePolicy = policy }
            try pair.socket.read(toLength: 5, tag: 1)
            try pair.socket.read(tag: 2)
            pair.peer.send("ab")
            pair.peer.finishSending()
            try pair.turn { pair.report != nil }
            #expect(pair.heard == [.didDisconnect(.closedByPeer)])
            #expect(pair.report?.unreadBytes == Array("ab".utf8))
            #expect(pair.report?.incompleteReads == [1, 2])
            try pair.end()
        }
    }

    @Test("H3, T7: thousands of reads that wait end by the budget, and all before the reading side")
    func cancelledByBudget() throws {
        var configuration = Reactor.Configuration()
        configuration.budget.callbacksPerSocket = 100
        let pair = try Self.keepingOpen(configuration)
        for tag in 0..<1_000 { try pair.socket.read(tag: tag) }
        pair.peer.finishSending()
        var known = 0
        try pair.turn {
            #expect(pair.heard.count - known <= 101)
            known = pair.heard.count
            return pair.heard.last == .didCloseReadStream
        }
        let cancelled = (0..<1_000).map { Recorder.Event.didCancelRead(tag: $0, []) }
        #expect(pair.heard == cancelled + [.didCloseReadStream])
        try pair.end()
    }

    @Test("H3, T3: a callback of a cancelled read may end the connection; nothing of it follows")
    func disconnectWithinCancel() throws {
        let pair = try Self.keepingOpen()
        pair.recorder.onEvent = { socket, event in
            if case .didCancelRead = event { socket.disconnect() }
        }
        try pair.socket.read(tag: 1)
        try pair.socket.read(tag: 2)
        pair.peer.finishSending()
        try pair.turn { pair.report != nil }
        #expect(pair.heard == [.didCancelRead(tag: 1, []), .didDisconnect(nil)])
        #expect(pair.report?.incompleteReads == [2])
        try pair.end()
    }

    @Test("H3, LP6: a read refused behind the end is an error of the callback that lets it through")
    func refusedRead() throws {
        let pair = try Self.keepingOpen()
        pair.recorder.onEvent = { socket, event in
            if event == .didCloseReadStream { try socket.read() }
        }
        pair.peer.finishSending()
        try pair.turn { pair.report != nil }
        #expect(pair.report?.error == .handler(SocketError.readClosed))
        try pair.end()
    }

    @Test("H3: bytes that nobody has asked for are read before the reading side ends")
    func unreadBytes() throws {
        let pair = try Self.keepingOpen()
        pair.peer.send("unread")
        pair.peer.finishSending()
        try pair.turn { pair.heard == [.peerDidHangUp] }
        try pair.socket.read(maxLength: 3, tag: 1)
        try pair.turn { pair.heard.count == 2 }
        try pair.turn(times: 5)
        #expect(pair.heard.last == .didRead(Array("unr".utf8), tag: 1))
        try pair.socket.read(tag: 2)
        try pair.socket.read(tag: 3)
        try pair.turn { pair.heard.last == .didCloseReadStream }
        #expect(pair.heard[2] == .didRead(Array("ead".utf8), tag: 2))
        #expect(pair.heard[3] == .didCancelRead(tag: 3, []))
        try pair.end()
    }

    @Test("H2: a peer that reads nothing does not turn its end into a disconnect")
    func noProbe() throws {
        let network = SimulatedNetwork(seed: 2)
        network.conditions.windowByteCount = 1_000
        let pair = try SimulatedPair(network) { $0.halfClosePolicy = .keepOpen }
        pair.peer.stopReading()
        try pair.socket.write([UInt8](repeating: 7, count: 5_000), tag: 1)
        try pair.turn(times: 3)
        pair.peer.finishSending()
        try pair.turn { pair.heard == [.didCloseReadStream] }
        #expect(pair.socket.pendingWriteBytes == 4_000)
        pair.peer.resumeReading()
        try pair.turn { pair.peer.received.count == 5_000 }
        try pair.turn { pair.heard == [.didCloseReadStream, .didWrite(tag: 1)] }
        try pair.end()
    }

    @Test("H2: a reset behind the end is told although nothing is sent")
    func resetBehindEnd() throws {
        let pair = try Self.keepingOpen()
        pair.peer.finishSending()
        try pair.turn { pair.heard == [.didCloseReadStream] }
        pair.peer.reset()
        try pair.turn { pair.report != nil }
        guard case .system(let error) = pair.report?.error else {
            Issue.record("\(pair.heard)")
            return
        }
        #expect(error.errno == EPIPE)
        try pair.end()
    }

    @Test("E2: the peer's end during a pending disconnect is the peer's, with keepOpen as well")
    func endWhilePending() throws {
        let pair = try Self.keepingOpen()
        try pair.socket.read(tag: 1)
        pair.socket.disconnect(.afterReads)
        pair.peer.finishSending()
        try pair.turn { pair.report != nil }
        #expect(
            pair.heard == [
                .didCancelRead(tag: 1, []), .didCloseReadStream, .didDisconnect(.closedByPeer),
            ]
        )
        try pair.end()
    }

    // MARK: Our end

    @Test("H4: our end is sent behind the writes, reading goes on, and writes are refused")
    func shutdown() throws {
        let pair = try SimulatedPair()
        try pair.socket.write("last words", tag: 1)
        try pair.socket.shutdownWrite()
        #expect(throws: SocketError.writeClosed) { try pair.socket.write("late") }
        #expect(throws: SocketError.writeClosed) { try pair.socket.write(chunks: [[1], [2]]) }
        try pair.socket.shutdownWrite()
        try pair.turn { pair.peer.sawEnd }
        #expect(pair.peer.received == Array("last words".utf8))
        for tag in 2...4 {
            try pair.socket.read(tag: tag)
            pair.peer.send("answer")
            try pair.turn { pair.heard.last == .didRead(Array("answer".utf8), tag: tag) }
        }
        pair.peer.close()
        try pair.turn { pair.report != nil }
        #expect(pair.report?.error == .closedByPeer)
        try pair.end()
    }

    @Test("H4: shutdownWrite while connecting waits for the connection and its writes")
    func shutdownWhileConnecting() throws {
        let pair = try SimulatedPair { socket in
            try socket.write("one", tag: 1)
            try socket.shutdownWrite()
            #expect(throws: SocketError.writeClosed) { try socket.write("two") }
        }
        try pair.turn { pair.peer.sawEnd }
        #expect(pair.peer.received == Array("one".utf8))
        #expect(pair.socket.state == .connected)
        try pair.end()
        let silent = try SimulatedPair { try $0.shutdownWrite() }
        try silent.turn { silent.peer.sawEnd }
        try silent.end()
    }

    @Test("H4, E4: shutdownWrite is refused on an idle socket and behind a disconnect")
    func refusedShutdown() throws {
        let pair = try SimulatedPair()
        let idle = StreamSocket(reactor: pair.reactor, delegate: pair.recorder)
        #expect(throws: SocketError.notConnected) { try idle.shutdownWrite() }
        try pair.socket.read()
        pair.socket.disconnect(.afterReads)
        #expect(throws: SocketError.disconnectPending) { try pair.socket.shutdownWrite() }
        pair.socket.disconnect()
        #expect(throws: SocketError.notConnected) { try pair.socket.shutdownWrite() }
        try pair.turn { pair.report != nil }
        #expect(pair.report?.error == nil)
        try pair.end()
    }

    @Test("H4: a disconnect behind shutdownWrite waits as ever, and is deliberate")
    func disconnectBehindShutdown() throws {
        let pair = try SimulatedPair()
        try pair.socket.write("bye", tag: 1)
        try pair.socket.read(tag: 2)
        try pair.socket.shutdownWrite()
        pair.socket.disconnect(.afterReadsAndWrites)
        try pair.turn { pair.peer.sawEnd }
        #expect(pair.report == nil)
        pair.peer.send("x")
        try pair.turn { pair.heard.contains(.didRead([120], tag: 2)) }
        pair.peer.close()
        try pair.turn { pair.report != nil }
        #expect(pair.report?.error == nil)
        try pair.end()
    }

    @Test("H4: when both sides have ended, the connection has, whoever was first")
    func bothEnds() throws {
        for peerIsFirst in [true, false] {
            let pair = try Self.keepingOpen()
            try pair.socket.read(tag: 1)
            if peerIsFirst {
                pair.peer.finishSending()
                try pair.turn { pair.heard.contains(.didCloseReadStream) }
                try pair.socket.write("tail", tag: 2)
                try pair.socket.shutdownWrite()
            } else {
                try pair.socket.write("tail", tag: 2)
                try pair.socket.shutdownWrite()
                try pair.turn { pair.peer.sawEnd }
                pair.peer.finishSending()
            }
            try pair.turn { pair.report != nil }
            #expect(pair.report?.error == .closedByPeer)
            let order: [Recorder.Event] = [.didCancelRead(tag: 1, []), .didCloseReadStream]
            let expected =
                peerIsFirst ? order + [.didWrite(tag: 2)] : [.didWrite(tag: 2)] + order
            #expect(pair.heard.dropLast() == expected[...])
            try pair.turn { pair.peer.sawEnd }
            #expect(pair.peer.received == Array("tail".utf8))
            try pair.end()
        }
    }

    @Test("H1, H4: shutdownWrite while writes are finished behind the peer's end changes nothing")
    func shutdownWhileFinishing() throws {
        let network = SimulatedNetwork(seed: 3)
        network.conditions.windowByteCount = 1_000
        let pair = try SimulatedPair(network)
        pair.peer.stopReading()
        try pair.socket.write([UInt8](repeating: 7, count: 3_000), tag: 1)
        pair.peer.finishSending()
        try pair.turn(times: 5)
        try pair.socket.shutdownWrite()
        #expect(throws: SocketError.writeClosed) { try pair.socket.write("x") }
        pair.peer.resumeReading()
        try pair.turn { pair.report != nil }
        #expect(pair.heard == [.didWrite(tag: 1), .didDisconnect(.closedByPeer)])
        try pair.turn { pair.peer.received.count == 3_000 && pair.peer.sawEnd }
        try pair.end()
    }

    @Test("L1, H4: a socket that connects again may write again")
    func reuse() throws {
        let pair = try SimulatedPair()
        try pair.socket.shutdownWrite()
        pair.socket.disconnect()
        try pair.turn { pair.report != nil }
        let server = try #require(pair.network.listen(at: .ipv4(.loopback, port: 81)))
        try pair.socket.connect(to: server.address)
        try pair.socket.write("again", tag: 9)
        try pair.turn { pair.heard.last == .didWrite(tag: 9) }
        try pair.end()
    }

    // MARK: Limits

    @Test("H1: finishTimeout bounds what is finished behind the peer's end")
    func finishTimeout() throws {
        let network = SimulatedNetwork(seed: 4)
        network.conditions.windowByteCount = 1_000
        for (limit, expected) in [(nil, Duration.seconds(30)), (3, .seconds(3)), (-1, .zero)] {
            let pair = try SimulatedPair(SimulatedNetwork(conditions: network.conditions)) {
                #expect($0.finishTimeout == .seconds(30))
                if let limit { $0.finishTimeout = .seconds(limit) }
            }
            pair.peer.stopReading()
            try pair.socket.write([UInt8](repeating: 7, count: 3_000), tag: 1)
            try pair.turn(times: 3)
            pair.peer.finishSending()
            let start = pair.network.now
            try pair.turn { pair.report != nil }
            #expect(pair.report?.error == .closedByPeer)
            #expect(pair.report?.incompleteWrites.map(\.bytesWritten) == [1_000])
            let taken = pair.network.now.since(start)
            #expect(taken >= expected && taken < expected + .milliseconds(100))
            try pair.end()
        }
    }

    @Test("D4: lingerTimeout bounds the wait for the peer's end")
    func lingerTimeout() throws {
        for (limit, expected) in [(nil, Duration.seconds(2)), (5, .seconds(5))] {
            let pair = try SimulatedPair {
                #expect($0.lingerTimeout == .seconds(2))
                if let limit { $0.lingerTimeout = .seconds(limit) }
            }
            try pair.socket.write("x", tag: 1)
            pair.socket.disconnect(.afterWrites)
            let start = pair.network.now
            try pair.turn { pair.report != nil }
            #expect(pair.peer.sawEnd)
            #expect(pair.report?.error == nil)
            let taken = pair.network.now.since(start)
            #expect(taken >= expected && taken < expected + .milliseconds(100))
            try pair.end()
        }
    }
}

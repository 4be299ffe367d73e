import Glibc
import Testing
import Towline
import TowlineTestKit

@Suite("Cancelled writes") struct CancelledWriteTests {
    /// A connection whose peer reads nothing, and has room for 1,000 bytes.
    private func makeFullPair(_ prepare: (StreamSocket) throws -> Void = { _ in }) throws
        -> SimulatedPair
    {
        let network = SimulatedNetwork(seed: 6)
        network.conditions.windowByteCount = 1_000
        let pair = try SimulatedPair(network, prepare: prepare)
        pair.peer.stopReading()
        return pair
    }

    private func bytes(_ count: Int, _ value: UInt8) -> [UInt8] {
        [UInt8](repeating: value, count: count)
    }

    /// Everything that the peer gets from now on, once nothing waits any more.
    private func drain(_ pair: SimulatedPair) throws -> [UInt8] {
        pair.peer.resumeReading()
        try pair.turn { pair.socket.pendingWriteBytes == 0 }
        try pair.socket.shutdownWrite()
        try pair.turn { pair.peer.sawEnd }
        return pair.peer.received
    }

    @Test("W9, M3, Wish 6: a write that waits ends without a callback, one that has begun cannot")
    func waiting() throws {
        let pair = try makeFullPair()
        let first = try pair.socket.write(bytes(800, 1), tag: 1)
        let second = try pair.socket.write(bytes(800, 2), tag: 2)
        try pair.turn { pair.heard == [.didWrite(tag: 1)] }
        let third = try pair.socket.write(bytes(100, 3), tag: 3)
        let fourth = try pair.socket.write(bytes(100, 4), tag: 4)
        try pair.turn(times: 3)
        #expect(pair.socket.currentWrite == OperationProgress(tag: 2, bytesDone: 200, total: 800))
        #expect(!pair.socket.cancel(first), "it is over")
        #expect(!pair.socket.cancel(second), "200 bytes of it are with the kernel")
        #expect(pair.socket.cancel(third))
        #expect(!pair.socket.cancel(third))
        #expect(pair.socket.pendingWriteBytes == 700)
        let received = try drain(pair)
        #expect(received == bytes(800, 1) + bytes(800, 2) + bytes(100, 4))
        #expect(pair.heard == [.didWrite(tag: 1), .didWrite(tag: 2), .didWrite(tag: 4)])
        #expect(pair.socket.currentWrite == nil)
        #expect(!pair.socket.cancel(fourth))
        try pair.end()
    }

    @Test("W9: a write that is handed over and has no room yet is taken back")
    func handedOver() throws {
        for isLarge in [false, true] {
            let pair = try makeFullPair()
            try pair.socket.write(bytes(1_000, 1), tag: 1)
            try pair.turn { pair.heard == [.didWrite(tag: 1)] }
            let second = try pair.socket.write(bytes(isLarge ? 40_000 : 500, 2), tag: 2)
            try pair.turn(times: 3)
            #expect(pair.socket.cancel(second))
            #expect(pair.socket.pendingWriteBytes == 0)
            try pair.socket.write(bytes(200, 3), tag: 3)
            let received = try drain(pair)
            #expect(received == bytes(1_000, 1) + bytes(200, 3))
            #expect(pair.heard == [.didWrite(tag: 1), .didWrite(tag: 3)])
            #expect(pair.report == nil)
            try pair.end()
        }
    }

    @Test("W9: of writes that were handed over together each can be taken back", arguments: 2...4)
    func handedOverTogether(_ cancelled: Int) throws {
        let pair = try makeFullPair()
        try pair.socket.write(bytes(1_000, 1), tag: 1)
        try pair.turn { pair.heard == [.didWrite(tag: 1)] }
        var ids: [Int: OperationID] = [:]
        for tag in 2...4 {
            ids[tag] = try pair.socket.write(bytes(100 * tag, UInt8(tag)), tag: tag)
        }
        try pair.turn(times: 3)
        let id = try #require(ids[cancelled])
        #expect(pair.socket.cancel(id))
        let kept = (2...4).filter { $0 != cancelled }
        #expect(pair.socket.pendingWriteBytes == kept.reduce(0) { $0 + 100 * $1 })
        let received = try drain(pair)
        #expect(received == bytes(1_000, 1) + kept.flatMap { bytes(100 * $0, UInt8($0)) })
        #expect(pair.heard.dropFirst() == kept.map { .didWrite(tag: $0) }[...])
        try pair.end()
    }

    @Test("W9: within a callback its own writes can be taken back, an echo's as well")
    func gathered() throws {
        for cancelled in 1...4 {
            let pair = try SimulatedPair()
            pair.recorder.onEvent = { socket, event in
                guard case .didRead = event else { return }
                var ids: [OperationID] = []
                for tag in 1...4 { ids.append(try socket.write("\(tag)", tag: tag)) }
                #expect(socket.cancel(ids[cancelled - 1]))
                #expect(!socket.cancel(ids[cancelled - 1]))
            }
            try pair.socket.read()
            pair.peer.send("?")
            try pair.turn { pair.peer.received.count == 3 }
            let kept = (1...4).filter { $0 != cancelled }
            #expect(pair.peer.received == Array(kept.map(String.init).joined().utf8))
            try pair.turn { pair.heard.dropFirst() == kept.map { .didWrite(tag: $0) }[...] }
            try pair.end()
        }
        let echo = Echo()
        let pair = try SimulatedPair()
        pair.socket.delegate = echo
        try pair.socket.read()
        pair.peer.send("abcdef")
        try pair.turn { pair.peer.received == Array("abef".utf8) }
        try pair.end()
        withExtendedLifetime(echo) {}
    }

    /// Sends what it reads in three pieces from where they lie, and takes the middle one back.
    private final class Echo: StreamSocketDelegate {
        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
            try socket.write(bytes.extracting(0..<2))
            let middle = try socket.write(bytes.extracting(2..<4))
            try socket.write(bytes.extracting(4..<6))
            #expect(socket.cancel(middle))
        }
    }

    @Test("W9: cancelAllWrites leaves what has begun, and nothing else")
    func all() throws {
        let pair = try makeFullPair()
        try pair.socket.write(bytes(1_200, 1), tag: 1)
        for tag in 2...5 { try pair.socket.write(bytes(50, UInt8(tag)), tag: tag) }
        try pair.turn(times: 3)
        try pair.socket.write(chunks: [bytes(20_000, 6), bytes(20_000, 7)], tag: 6)
        pair.socket.cancelAllWrites()
        #expect(pair.socket.pendingWriteBytes == 200)
        pair.socket.cancelAllWrites()
        try pair.socket.write(bytes(10, 9), tag: 9)
        let received = try drain(pair)
        #expect(received == bytes(1_200, 1) + bytes(10, 9))
        #expect(pair.heard == [.didWrite(tag: 1), .didWrite(tag: 9)])
        try pair.end()
    }

    @Test("W9: thousands of writes are cancelled at once, or one by one, in no time")
    func many() throws {
        for isOneByOne in [false, true] {
            let pair = try makeFullPair()
            try pair.socket.write(bytes(1_000, 1), tag: 0)
            try pair.turn(times: 3)
            let ids = try (1...5_000).map { try pair.socket.write([1, 2], tag: $0) }
            let start = ContinuousClock.now
            if isOneByOne {
                for id in ids.reversed() { #expect(pair.socket.cancel(id)) }
            } else {
                pair.socket.cancelAllWrites()
            }
            #expect(pair.socket.pendingWriteBytes == 0)
            #expect(ContinuousClock.now - start < .seconds(5))
            #expect(try drain(pair) == bytes(1_000, 1))
            try pair.end()
        }
    }

    @Test("W6, W9: a cancelled write no longer counts against the water marks")
    func marks() throws {
        let pair = try makeFullPair {
            $0.writeHighWaterMark = 2_000
            $0.writeLowWaterMark = 500
        }
        try pair.socket.write(bytes(1_000, 1), tag: 1)
        let large = try pair.socket.write(bytes(5_000, 2), tag: 2)
        try pair.turn(times: 3)
        #expect(pair.socket.isAboveHighWaterMark)
        #expect(pair.socket.cancel(large))
        #expect(pair.heard == [.didWrite(tag: 1)], "T2: no callback inside the call")
        try pair.turn { pair.heard == [.didWrite(tag: 1), .didBecomeWritable] }
        #expect(!pair.socket.isAboveHighWaterMark)
        try pair.end()
    }

    @Test("D1, H4, W9: what waits for a write that is cancelled goes on")
    func waitingForTheWrite() throws {
        let pair = try makeFullPair()
        try pair.socket.write(bytes(1_000, 1), tag: 1)
        let second = try pair.socket.write(bytes(500, 2), tag: 2)
        try pair.socket.shutdownWrite()
        try pair.turn(times: 3)
        #expect(pair.socket.cancel(second))
        pair.peer.resumeReading()
        try pair.turn { pair.peer.sawEnd }
        #expect(pair.peer.received == bytes(1_000, 1))
        try pair.end()

        let other = try makeFullPair()
        try other.socket.write(bytes(1_000, 1), tag: 1)
        let last = try other.socket.write(bytes(500, 2), tag: 2)
        other.socket.disconnect(.afterWrites)
        try other.turn(times: 3)
        #expect(other.socket.cancel(last))
        try other.turn { other.report != nil }
        #expect(other.report?.error == nil)
        #expect(other.report?.incompleteWrites == [])
        #expect(!other.socket.cancel(last))
        try other.end()
    }

    @Test("L3, W9: writes that wait for the connection can be cancelled, the last one as well")
    func connecting() throws {
        let pair = try SimulatedPair { socket in
            let first = try socket.write("no", tag: 1)
            try socket.write("yes", tag: 2)
            #expect(socket.cancel(first))
        }
        try pair.turn { pair.peer.received == Array("yes".utf8) }
        #expect(pair.heard.first == .didWrite(tag: 2))
        let idle = StreamSocket(reactor: pair.reactor, delegate: pair.recorder)
        try idle.connect(to: .ipv4(.loopback, port: 9))
        let only = try idle.write("never", tag: 3)
        idle.disconnect(.afterWrites)
        #expect(idle.cancel(only))
        #expect(idle.state == .disconnecting)
        try pair.turn { pair.report != nil }
        #expect(pair.report?.error == nil)
        try pair.end()
    }

    @Test("M3: a late write of which nothing is sent ends alone, though it was handed over")
    func late() throws {
        let pair = try makeFullPair()
        pair.recorder.timeoutDecision = .cancelOperation
        try pair.socket.write(bytes(1_000, 1), tag: 1)
        try pair.socket.write(bytes(500, 2), timeout: .seconds(3), tag: 2)
        try pair.socket.write(bytes(400, 3), timeout: .seconds(4), tag: 3)
        let start = pair.network.now
        try pair.turn { pair.socket.pendingWriteBytes == 400 }
        #expect(pair.network.now.since(start) >= .seconds(3))
        try pair.turn { pair.socket.pendingWriteBytes == 0 }
        #expect(pair.network.now.since(start) >= .seconds(7), "W1: its clock started behind")
        #expect(pair.heard == [.didWrite(tag: 1)])
        #expect(pair.report == nil)
        try pair.socket.write(bytes(2, 4), tag: 4)
        #expect(try drain(pair) == bytes(1_000, 1) + bytes(2, 4))
        try pair.end()
    }

    @Test("M3: a late write that has begun ends the connection, whatever the answer")
    func lateAndBegun() throws {
        let pair = try makeFullPair()
        pair.recorder.timeoutDecision = .cancelOperation
        try pair.socket.write(bytes(1_500, 1), timeout: .seconds(3), tag: 1)
        try pair.turn { pair.report != nil }
        #expect(pair.report?.error == .writeTimedOut(tag: 1))
        #expect(pair.report?.incompleteWrites.map(\.bytesWritten) == [1_000])
        try pair.end()
    }

    // MARK: Told before the farewell

    /// A connection that ends, by `end`, in the callback of a read, with a write just finished.
    private func endWithFinishedWrites(
        _ end: @escaping (StreamSocket) -> Void,
        whenWritten: @escaping (StreamSocket) throws -> Void = { _ in }
    ) throws -> SimulatedPair {
        let pair = try SimulatedPair()
        pair.recorder.onEvent = { socket, event in
            switch event {
            case .didRead: end(socket)
            case .didWrite: try whenWritten(socket)
            default: break
            }
        }
        try pair.socket.read(tag: 9)
        pair.peer.send("x")
        try pair.socket.write("one", tag: 1)
        try pair.socket.write("two", tag: 2)
        try pair.turn { pair.socket.state == .idle }
        try pair.turn(times: 3)
        return pair
    }

    @Test("O5: writes that the kernel has taken are told of before a deliberate end is")
    func finishedBeforeTheEnd() throws {
        let pair = try endWithFinishedWrites { $0.disconnect() }
        #expect(
            pair.heard == [
                .didRead([120], tag: 9), .didWrite(tag: 1), .didWrite(tag: 2), .didDisconnect(nil),
            ]
        )
        #expect(pair.report?.incompleteWrites == [])
        try pair.end()
    }

    @Test("O5: a reset gives them up, and an end without notice tells nothing")
    func givenUp() throws {
        let reset = try endWithFinishedWrites { $0.abort() }
        #expect(reset.heard == [.didRead([120], tag: 9), .didDisconnect(nil)])
        try reset.end()
        let silent = try endWithFinishedWrites { $0.disconnect(notifyingDelegate: false) }
        #expect(silent.heard == [.didRead([120], tag: 9)])
        try silent.end()
    }

    @Test("O5, L3: in what is told before the farewell nothing can be written, nor ended again")
    func callsBeforeTheFarewell() throws {
        let pair = try endWithFinishedWrites {
            $0.disconnect()
        } whenWritten: { socket in
            #expect(socket.state == .disconnecting)
            #expect(throws: SocketError.notConnected) { try socket.write("late") }
            socket.disconnect()
            socket.disconnect(.afterWrites)
            throw Late()
        }
        #expect(pair.heard.suffix(2) == [.didWrite(tag: 2), .didDisconnect(nil)])
        try pair.end()
        let reset = try endWithFinishedWrites {
            $0.disconnect()
        } whenWritten: {
            $0.abort()
        }
        #expect(reset.heard.suffix(2) == [.didWrite(tag: 1), .didDisconnect(nil)])
        try reset.end()
    }

    private struct Late: Error {}
}

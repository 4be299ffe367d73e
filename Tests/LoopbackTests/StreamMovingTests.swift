import Synchronization
import TestSupport
import Testing

@testable import Towline

/// Section 15 of the model: a connection may go on elsewhere.
@Suite("Connections that move to another reactor") struct StreamMovingTests {
    /// What the socket heard on the other reactor's thread, to be looked at from here.
    private final class Elsewhere: StreamSocketDelegate {
        let log: Locked<[String]>
        var reads = 0

        init(_ log: Locked<[String]>) { self.log = log }

        private func note(_ text: String) { log.withLock { $0.append(text) } }

        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
            note("read \(tag) \(String(decoding: bytes))")
            try socket.write("<\(String(decoding: bytes))>", tag: 9)
            reads += 1
            if reads == 3 { socket.disconnect(.afterWrites) }
        }

        func socket(_ socket: StreamSocket, didWrite tag: Int) { note("wrote \(tag)") }

        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            note("ended \(report.error.map { "\($0)" } ?? "in order")")
        }
    }

    @Test("L2, L4: reads, kept bytes and the farewell go along; the old socket is idle and silent")
    func moving() throws {
        let other = try Reactor.start(Reactor())
        let log = Locked([String]())
        let pair = try Pair()
        pair.recorder.whenRead = { socket, _, _ in
            // Two more lines are here already, and a third is asked for.
            try socket.read(to: .lf, tag: 2)
            try socket.read(to: .lf, tag: 3)
            try socket.move(to: other) { socket in
                socket.keep(Elsewhere(log))
                do { try socket.read(to: .lf, tag: 4) } catch { Issue.record("\(error)") }
            }
            #expect(socket.state == .idle)
        }
        try pair.socket.read(to: .lf, tag: 1)
        try pair.peer.send("one\ntwo\nthree\nfo")
        #expect(try pair.turn { pair.heard.count == 1 })
        try pair.peer.send("ur\n")
        let answer = try pair.peer.receiveUntilEnd()
        #expect(String(decoding: answer, as: UTF8.self) == "<two\n><three\n><four\n>")
        pair.peer.close()
        #expect(holds { log.withLock { $0.last?.hasPrefix("ended") == true } })
        #expect(
            log.withLock { $0.filter { !$0.hasPrefix("wrote") } } == [
                "read 2 two\n", "read 3 three\n", "read 4 four\n", "ended in order",
            ]
        )
        #expect(pair.heard == [.didRead("one\n", tag: 1)], "nothing more is heard here")
        #expect(pair.loop.reactor.figures.openSockets == 0)
        other.stop()
        try pair.loop.end()
    }

    @Test("A moved connection keeps its deadline, and its queued writes are sent from there")
    func deadline() throws {
        let other = try Reactor.start(Reactor())
        let log = Locked([String]())
        let pair = try Pair()
        try pair.socket.read(timeout: .milliseconds(100), tag: 7)
        try pair.socket.move(to: other) { $0.keep(Elsewhere(log)) }
        #expect(holds { log.withLock { $0 == ["ended read tag 7 timed out"] } })
        other.stop()
        try pair.loop.end()
    }

    @Test("A reactor that has ended takes nobody: the connection stays, with all that it had")
    func ended() throws {
        let gone = try Reactor()
        let handle = gone.handle
        gone.stop()
        try gone.turn()
        let pair = try Pair()
        pair.socket.userInfo = "kept"
        try pair.socket.read(toLength: 2, tag: 1)
        try pair.peer.send("a")
        try pair.loop.turn(times: 3)
        #expect(throws: SocketError.reactorStopped) {
            try pair.socket.move(to: handle) { _ in Issue.record("nobody arrives") }
        }
        #expect(pair.socket.state == .connected)
        #expect(pair.socket.userInfo as? String == "kept")
        try pair.peer.send("b")
        #expect(try pair.turn { pair.heard == [.didRead("ab", tag: 1)] })
        try pair.loop.end()
    }

    @Test("What cannot move says why, and stays: not connected, ending, ended, or still sending")
    func refusals() throws {
        let other = try Reactor.start(Reactor())
        func move(_ socket: StreamSocket) throws(SocketError) {
            try socket.move(to: other) { _ in Issue.record("nobody arrives") }
        }
        let full = try Pair(buffer: 4_096)
        try full.socket.write([UInt8](repeating: 1, count: 4 << 20))
        try full.loop.turn(times: 2)
        #expect(throws: SocketError.writesUnderWay) { try move(full.socket) }
        full.socket.disconnect(.afterWrites)
        #expect(throws: SocketError.disconnectPending) { try move(full.socket) }
        full.socket.abort()
        #expect(try full.turn { full.recorder.isDisconnected })
        #expect(throws: SocketError.notConnected) { try move(full.socket) }
        let half = try Pair { socket, _ in socket.halfClosePolicy = .keepOpen }
        half.peer.finishSending()
        try half.socket.read()
        #expect(try half.turn { half.heard.contains(.closedReadStream) })
        #expect(throws: SocketError.readClosed) { try move(half.socket) }
        other.stop()
        try full.loop.end()
        try half.loop.end()
    }

    @Test("H5: a hang-up that was told before a move is not told again behind it")
    func hangUp() throws {
        let pair = try Pair()
        try pair.peer.send("late")
        pair.peer.close()
        #expect(try pair.turn { pair.heard == [.hangUp] })
        nonisolated(unsafe) let recorder = pair.recorder
        let arrived = Locked<SocketID?>(nil)
        try pair.socket.move(to: pair.loop.reactor.handle) { socket in
            socket.delegate = recorder
            arrived.withLock { $0 = socket.id }
        }
        try pair.loop.turn(times: 5)
        #expect(pair.heard == [.hangUp])
        let id = try #require(arrived.withLock { $0 })
        try pair.loop.reactor.streamSocket(id)?.read(tag: 3)
        #expect(try pair.turn { recorder.isDisconnected })
        #expect(pair.heard == [.hangUp, .didRead("late", tag: 3), .didDisconnect(.closedByPeer)])
        try pair.loop.end()
    }

    @Test("H4: a socket whose own end was sent takes no write behind a move either")
    func endedWriting() throws {
        let pair = try Pair()
        try pair.socket.shutdownWrite()
        try pair.loop.turn(times: 2)
        #expect(try pair.peer.receiveUntilEnd() == [])
        nonisolated(unsafe) let recorder = pair.recorder
        recorder.whenRead = { socket, _, _ in
            #expect(throws: SocketError.writeClosed) { try socket.write("x") }
        }
        try pair.socket.move(to: pair.loop.reactor.handle) { socket in
            socket.delegate = recorder
            do { try socket.read() } catch { Issue.record("\(error)") }
        }
        try pair.loop.turn(times: 2)
        try pair.peer.send("?")
        #expect(try pair.turn { pair.heard.count == 1 })
        #expect(pair.heard == [.didRead("?", tag: 0)])
        try pair.loop.end()
    }

    @Test("L6: a connection that arrives where nobody takes it is closed")
    func nobody() throws {
        let other = try Reactor.start(Reactor())
        let pair = try Pair()
        try pair.socket.move(to: other) { _ in }
        #expect(try pair.peer.receiveUntilEnd() == [])
        other.stop()
        try pair.loop.end()
    }

    @Test(
        "A connection may move to its own reactor, and back and forth between two, a hundred times"
    )
    func again() throws {
        let other = try Reactor.start(Reactor())
        let pair = try Pair()
        let here = pair.loop.reactor.handle
        let log = Locked([String]())
        let arrived = Atomic(0)
        @Sendable func hop(_ socket: StreamSocket, _ left: Int) {
            socket.keep(Elsewhere(log))
            guard left > 0 else {
                do { try socket.read(to: .lf, tag: 2) } catch { Issue.record("\(error)") }
                arrived.store(1, ordering: .relaxed)
                return
            }
            do {
                try socket.move(to: left % 3 == 0 ? here : left % 3 == 1 ? other : here) {
                    hop($0, left - 1)
                }
            } catch {
                Issue.record("\(error)")
            }
        }
        try pair.peer.send("hello\n")
        hop(pair.socket, 100)
        #expect(
            try pair.turn {
                arrived.load(ordering: .relaxed) == 1 && log.withLock { !$0.isEmpty }
            }
        )
        #expect(log.withLock { $0.first } == "read 2 hello\n")
        pair.peer.close()
        #expect(try pair.turn { log.withLock { $0.last?.hasPrefix("ended") == true } })
        other.stop()
        try pair.loop.end()
    }

    @Test("A socket that its connection has left is as new: nothing of the settings is left")
    func asNew() throws {
        let other = try Reactor.start(Reactor())
        let pair = try Pair()
        pair.socket.writeHighWaterMark = 7
        try pair.socket.setIdleTimeout(both: .seconds(7))
        try pair.socket.move(to: other) { socket in
            #expect(socket.writeHighWaterMark == 7 && socket.idleClock.limits != nil)
        }
        #expect(pair.socket.writeHighWaterMark == StreamSocket.defaultHighWaterMark)
        #expect(pair.socket.idleClock.limits == nil)
        #expect(try pair.peer.receiveUntilEnd() == [])
        other.stop()
        try pair.loop.end()
    }

    @Test("A connection that is handed on from didAccept is counted no longer, and no refusal")
    func handedOn() throws {
        let loop = try Loop()
        let other = try Reactor.start(Reactor())
        var lines: [String] = []
        loop.reactor.log = { lines.append($0.message) }
        let acceptor = Acceptor()
        acceptor.setsDelegate = false
        acceptor.whenAccepted = { socket, _ in try socket.move(to: other) { _ in } }
        let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        listener.maxConnections = 1
        try listener.listen(on: .ipv4(.loopback, port: 0))
        let address = try #require(listener.localAddress)
        let peers = try (0..<5).map { _ in try BlockingPeer(connectingTo: address) }
        #expect(try loop.turn { acceptor.sockets.count == 5 })
        #expect(listener.connectionCount == 0 && lines == [])
        for peer in peers { #expect(try peer.receiveUntilEnd() == []) }
        other.stop()
        try loop.end()
    }

    @Test("A connection that arrives during a drain is asked to finish, as an accepted one is")
    func arrivingInDrain() throws {
        /// Ends when it likes.
        final class Slow: StreamSocketDelegate {
            func socketShouldFinish(_ socket: StreamSocket) {}
        }
        let (loop, here) = (try Loop(), try Pair())
        let (pair, slow) = (try Pair(), Slow())
        var moved: StreamSocket?
        let log = Locked([String]())
        nonisolated(unsafe) let set = { (socket: StreamSocket) in
            if moved == nil { socket.delegate = slow } else { socket.keep(Elsewhere(log)) }
            moved = socket
        }
        try here.socket.move(to: loop.reactor.handle) { set($0) }
        #expect(try loop.turn { moved != nil })
        let first = moved
        var report: DrainReport?
        loop.reactor.drain(within: .seconds(100)) { report = $0 }
        try loop.turn(times: 3)
        #expect(report == nil, "the slow one is waited for")
        try pair.socket.move(to: loop.reactor.handle) { set($0) }
        #expect(try loop.turn(within: .seconds(2)) { moved?.state == .idle && moved !== first })
        first?.disconnect()
        #expect(try loop.turn { report != nil })
        #expect(report?.cut == 0)
        for loop in [loop, here.loop, pair.loop] { try loop.end() }
    }
}

import Glibc
import TestSupport
import Testing
import Towline

@Suite("The life of a real connection") struct StreamLifecycleTests {
    @Test(
        "L1, L2, O5, Wish 23: one farewell, on an idle socket that may connect from within it"
    )
    func reconnect() throws {
        let pair = try Pair()
        var states: [StreamSocket.State] = []
        let second = try BlockingListener()
        var ids: [SocketID] = [pair.socket.id]
        pair.recorder.whenDisconnected = { [unowned recorder = pair.recorder] socket in
            states.append(socket.state)
            guard recorder.reports.count == 1 else { return }
            #expect(throws: Never.self) { try socket.connect(to: second.address) }
            ids.append(socket.id)
        }
        pair.peer.close()
        let accepted = BackgroundWork { try second.accept() }
        #expect(try pair.turn { pair.recorder.heard.count == 3 })
        #expect(pair.recorder.heard[2] == .didConnect(second.address))
        try accepted.value().close()
        #expect(try pair.turn { pair.recorder.reports.count == 2 })
        #expect(states == [.idle, .idle])
        #expect(ids[0] != ids[1])
        #expect(pair.loop.reactor.streamSocket(ids[0]) == nil, "ID2: a stale ID finds nobody")
        #expect(pair.socket.remoteAddress == nil)
        try pair.loop.end()
    }

    @Test("L3, L4, D2, E4: calls in the wrong state throw the documented error and change nothing")
    func wrongState() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor)
        #expect(throws: SocketError.noDelegate) { try socket.connect(to: listener.address) }
        socket.delegate = recorder
        #expect(throws: SocketError.notConnected) { try socket.read() }
        #expect(throws: SocketError.notConnected) { try socket.write("x") }
        socket.disconnect()
        try loop.turn(times: 2)
        #expect(recorder.heard == [], "L2: a socket that never started gets no farewell")
        #expect(throws: SocketError.self) {
            try socket.connect(to: .ipv4(.loopback, port: 0))
        }
        try socket.connect(to: listener.address)
        #expect(throws: SocketError.invalidState(.connecting)) {
            try socket.connect(to: listener.address)
        }
        #expect(try loop.turn { recorder.heard.count == 1 })
        #expect(throws: SocketError.invalidState(.connected)) {
            try socket.connect(to: listener.address)
        }
        try socket.read()
        socket.disconnect(.afterReads)
        #expect(throws: SocketError.disconnectPending) { try socket.read() }
        #expect(throws: SocketError.disconnectPending) { try socket.write("x") }
        socket.disconnect()
        #expect(socket.state == .disconnecting)
        #expect(throws: SocketError.invalidState(.disconnecting)) {
            try socket.connect(to: listener.address)
        }
        #expect(throws: SocketError.notConnected) { try socket.read() }
        #expect(try loop.turn { recorder.isDisconnected })
        #expect(recorder.heard.count == 2)
        try loop.end()
        #expect(throws: SocketError.reactorStopped) { try socket.connect(to: listener.address) }
        #expect(throws: SocketError.reactorStopped) { try socket.read() }
    }

    @Test("C1, E6, Wish 22: a refused connect says so, with its phase, address and hint")
    func refused() throws {
        let listener = try BlockingListener()
        let address = listener.address
        listener.close()
        let loop = try Loop()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(to: address)
        try socket.write("lost", tag: 6)
        #expect(recorder.heard == [])
        #expect(try loop.turn { recorder.isDisconnected })
        let report = recorder.reports[0]
        #expect(report.phase == .connecting)
        #expect(report.attempts.map(\.address) == [address])
        #expect(report.incompleteWrites.map(\.tag) == [6])
        let text = "\(report)"
        #expect(text.hasPrefix("connect to \(address) failed while connecting after "))
        #expect(
            text.hasSuffix(": connection refused (ECONNREFUSED). Is the server running?")
        )
        try loop.end()
    }

    @Test("C10, E1, Wish 34: a disconnect while connecting is a farewell without an error")
    func cancelledConnect() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(to: listener.address)
        socket.disconnect()
        #expect(recorder.heard == [])
        try loop.turn(times: 3)
        #expect(recorder.heard == [.didDisconnect(nil)])
        try loop.end()
    }

    @Test("D1: disconnect after an empty queue happens at once, even while connecting")
    func emptyQueues() throws {
        for moment in [DisconnectMoment.afterReads, .afterWrites, .afterReadsAndWrites] {
            let pair = try Pair()
            pair.socket.disconnect(moment)
            #expect(pair.socket.state == .disconnecting)
            #expect(throws: SocketError.disconnectPending) { try pair.socket.write("late") }
            #expect(try pair.turn { pair.recorder.isDisconnected })
            #expect(pair.heard == [.didDisconnect(nil)])
            try pair.loop.end()
        }
    }

    @Test("D1, D3: afterReads waits for reads alone, afterReadsAndWrites for both")
    func afterReads() throws {
        let pair = try Pair()
        try pair.socket.read(toLength: 2, tag: 1)
        pair.socket.disconnect(.afterReads)
        pair.socket.disconnect(.afterWrites)
        try pair.loop.turn(times: 3)
        #expect(pair.heard == [])
        try pair.peer.send("ab")
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.heard == [.didRead("ab", tag: 1), .didDisconnect(nil)])
        try pair.loop.end()
    }

    @Test("D4: afterWrites loses nothing, though bytes of the peer are unread")
    func graceful() throws {
        let pair = try Pair()
        try pair.peer.send([UInt8](repeating: 9, count: 50_000))
        let bytes = [UInt8](repeating: 5, count: 300_000)
        try pair.socket.write(bytes, tag: 1)
        pair.socket.disconnect(.afterWrites)
        let peer = pair.peer
        let receiver = BackgroundWork {
            let received = try peer.receiveUntilEnd()
            peer.close()
            return received
        }
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(try receiver.value() == bytes)
        let withoutWritable = pair.heard.filter { $0 != .writable }
        #expect(withoutWritable == [.didWrite(tag: 1), .didDisconnect(nil)])
        try pair.loop.end()
    }

    @Test("D4: a peer that never ends is waited for 2 s at most")
    func lingers() throws {
        let pair = try Pair()
        try pair.socket.write("bye")
        let start = ContinuousClock.now
        pair.socket.disconnect(.afterWrites)
        #expect(try pair.turn { pair.recorder.isDisconnected })
        let duration = ContinuousClock.now - start
        #expect(duration >= .seconds(2) && duration < .seconds(4))
        #expect(pair.recorder.reports[0].error == nil)
        try pair.loop.end()
    }

    @Test("D4: abort resets; the peer sees an error instead of an end")
    func aborted() throws {
        let pair = try Pair()
        pair.socket.abort()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(throws: SystemCallError(call: "recv", errno: ECONNRESET)) {
            try pair.peer.receiveSome()
        }
        #expect(pair.recorder.reports[0].error == nil)
        try pair.loop.end()
    }

    @Test("D5, Wish 27: when the farewell comes the descriptor is closed")
    func closedBeforeFarewell() throws {
        let pair = try Pair()
        var received: [UInt8]?
        pair.recorder.whenDisconnected = { [peer = pair.peer] _ in
            received = try? peer.receiveSome()
        }
        pair.socket.disconnect()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(received == [], "the peer sees the end from within the callback")
        try pair.loop.end()
    }

    @Test("L4: without notice the socket is idle at once, and hears nothing of the old connection")
    func silent() throws {
        let pair = try Pair()
        let second = try BlockingListener()
        try pair.socket.read()
        try pair.peer.send("old news")
        _ = holds { pair.peer.untakenByteCount == 0 }
        let oldID = pair.socket.id
        pair.socket.disconnect(notifyingDelegate: false)
        #expect(pair.socket.state == .idle)
        try pair.socket.connect(to: second.address)
        #expect(pair.socket.id != oldID)
        try pair.socket.read(tag: 2)
        try pair.loop.turn(times: 1)
        let peer = try second.accept()
        try peer.send("new")
        #expect(try pair.turn { pair.heard.count == 2 })
        #expect(pair.heard == [.didConnect(second.address), .didRead("new", tag: 2)])
        #expect(try pair.peer.receiveUntilEndOrReset(), "the old connection is closed")
        try pair.loop.end()
        #expect(pair.loop.reactor.figures.openSockets == 0)
    }

    @Test("T3, LP6: a callback may end its own socket; nothing of it is called afterwards")
    func endsItself() throws {
        let pair = try Pair()
        pair.recorder.whenRead = { socket, _, _ in socket.disconnect() }
        for tag in 0..<4 { try pair.socket.read(toLength: 1, tag: tag) }
        try pair.peer.send("abcd")
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.heard == [.didRead("a", tag: 0), .didDisconnect(nil)])
        #expect(pair.recorder.reports[0].unreadBytes == Array("bcd".utf8))
        #expect(pair.recorder.reports[0].incompleteReads == [1, 2, 3])
        try pair.loop.end()
    }

    @Test("LP6: an error thrown from a callback ends that socket with it, and no other")
    func throwing() throws {
        struct Nonsense: Error {}
        let pair = try Pair()
        let other = StreamSocket(reactor: pair.loop.reactor)
        let recorder = Recorder()
        other.delegate = recorder
        let listener = try BlockingListener()
        try other.connect(to: listener.address)
        #expect(try pair.turn { recorder.heard.count == 1 })
        pair.recorder.whenRead = { _, _, _ in throw Nonsense() }
        try pair.socket.read(tag: 1)
        try pair.peer.send("x")
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].error == .handler(Nonsense()))
        #expect("\(pair.recorder.reports[0])".contains("a callback threw: Nonsense()"))
        #expect(other.state == .connected)
        try pair.loop.end()
    }

    @Test("Trap 31: in didWrite a socket may write, disconnect, and lose its last reference")
    func insideDidWrite() throws {
        for choice in 0..<3 {
            let pair = try Pair()
            pair.recorder.whenWritten = { socket, tag in
                guard tag < 5 else { return socket.disconnect() }
                if choice == 0 { try socket.write("x", tag: tag + 1) }
                if choice == 1 { socket.disconnect(.afterWrites) }
                if choice == 2 { socket.disconnect(notifyingDelegate: false) }
            }
            try pair.socket.write("x", tag: 0)
            _ = try pair.turn(within: .milliseconds(100)) { pair.recorder.isDisconnected }
            try pair.loop.end()
            #expect(pair.recorder.reports.count == (choice == 2 ? 0 : 1))
        }
    }

    @Test("L6, Wish 28: a dropped delegate ends its socket; a kept one lives until the farewell")
    func delegates() throws {
        let pair = try Pair()
        var gone: Recorder? = Recorder()
        pair.socket.delegate = gone
        weak let remembered = gone
        gone = nil
        #expect(pair.socket.delegate == nil)
        for _ in 0..<64 { try pair.loop.reactor.turn(waitingAtMost: .zero) }
        #expect(pair.socket.state == .idle)
        #expect(remembered == nil)
        #expect(try pair.peer.receiveSome() == [], "nobody attended to it, so it was closed")

        let listener = try BlockingListener()
        var kept: Recorder? = Recorder()
        weak let watched = kept
        let socket = StreamSocket(reactor: pair.loop.reactor)
        if let kept { socket.keep(kept) }
        kept = nil
        try socket.connect(to: listener.address)
        #expect(try pair.turn { watched?.heard.count == 1 })
        socket.disconnect()
        try pair.loop.turn(times: 2)
        #expect(watched == nil, "let go of behind the farewell")
        try pair.loop.end()
    }

    @Test(
        "L5, E7, Wish 29: a delegate that is swapped hears what comes next, the old one nothing"
    )
    func swapped() throws {
        let pair = try Pair()
        let second = Recorder()
        pair.recorder.whenRead = { socket, _, _ in socket.delegate = second }
        try pair.socket.read(toLength: 1, tag: 1)
        try pair.socket.read(toLength: 1, tag: 2)
        try pair.peer.send("ab")
        #expect(try pair.turn { second.heard.count == 1 })
        #expect(pair.heard == [.didRead("a", tag: 1)])
        #expect(second.heard == [.didRead("b", tag: 2)])
        try pair.loop.end()
    }

    @Test("H1, trap 9: a half-closed peer that reads slowly gets all of 8 MiB before the farewell")
    func finishesWrites() throws {
        let pair = try Pair(buffer: 8_192)
        let bytes = [UInt8](repeating: 3, count: 8 << 20)
        try pair.socket.write(bytes, tag: 1)
        try pair.socket.read()
        pair.peer.finishSending()
        let peer = pair.peer
        let receiver = BackgroundWork { try peer.receiveUntilEnd() }
        #expect(try pair.turn(within: .seconds(30)) { pair.recorder.isDisconnected })
        #expect(try receiver.value() == bytes)
        let withoutWritable = pair.heard.filter { $0 != .writable }
        #expect(withoutWritable == [.didWrite(tag: 1), .didDisconnect(.closedByPeer)])
        try pair.loop.end()
    }

    @Test("H1: with the policy disconnect, an end drops what waits")
    func dropsWrites() throws {
        let pair = try Pair(buffer: 4_096)
        pair.socket.halfClosePolicy = .disconnect
        try pair.socket.write([UInt8](repeating: 3, count: 1 << 20), tag: 1)
        try pair.socket.read()
        pair.peer.finishSending()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].incompleteWrites.map(\.tag) == [1])
        #expect(pair.recorder.reports[0].error == .closedByPeer)
        try pair.loop.end()
    }

    @Test("E2: an end that comes while a disconnect waits for writes is told as the peer's")
    func endWhilePending() throws {
        let pair = try Pair(buffer: 4_096)
        try pair.socket.write([UInt8](repeating: 3, count: 4 << 20), tag: 1)
        pair.socket.disconnect(.afterWrites)
        try pair.loop.turn(times: 2)
        pair.peer.close()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].error != nil)
        try pair.loop.end()
    }

    @Test(
        "An adopted descriptor begins connected; one that is none is refused and stays the caller's"
    )
    func adopts() throws {
        let loop = try Loop()
        var ends: [CInt] = [-1, -1]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let recorder = Recorder()
        let socket = try StreamSocket(
            reactor: loop.reactor,
            adopting: ends[0],
            delegate: recorder
        )
        #expect(socket.state == .connected)
        #expect(socket.remoteAddress == .unix(.unnamed))
        let peer = BlockingPeer(adopting: ends[1])
        try peer.send("hi")
        try socket.read(tag: 1)
        #expect(try loop.turn { recorder.heard.count == 1 })
        #expect(recorder.heard == [.didRead("hi", tag: 1)])
        let lonely = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #expect(throws: SocketError.self) {
            _ = try StreamSocket(reactor: loop.reactor, adopting: lonely, delegate: recorder)
        }
        #expect(fcntl(lonely, F_GETFD) >= 0, "still open")
        _ = Glibc.close(lonely)
        try loop.end()
    }

    @Test("Addresses are known while connected, and the peer's in the farewell")
    func addresses() throws {
        let pair = try Pair()
        #expect(pair.socket.localAddress == pair.peer.remoteAddress)
        var inFarewell: SocketAddress?
        let remote = pair.socket.remoteAddress
        pair.recorder.whenDisconnected = { inFarewell = $0.remoteAddress }
        pair.socket.disconnect()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(remote != nil)
        #expect(inFarewell == remote)
        #expect(pair.recorder.reports[0].remoteAddress == remote)
        try pair.loop.end()
    }
}

extension BlockingPeer {
    /// Receives until the connection is over, in whichever way; `false` if it is not.
    func receiveUntilEndOrReset() throws -> Bool {
        do {
            _ = try receiveUntilEnd()
            return true
        } catch let error as SystemCallError {
            return error.errno == ECONNRESET
        }
    }
}

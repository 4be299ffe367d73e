import Glibc
import TestSupport
import Testing
import Towline

@Suite("Connections in the async style") struct AsyncStreamSocketTests {
    @Test("AX4: bytes go and come, from the reactor's own tasks and from any other")
    func conversation() async throws {
        let line = try await AsyncLine()
        try await talk(line.stream, line.peer)
        let task = Task(executorPreference: line.handle.taskExecutor) {
            try await talk(line.stream, line.peer)
        }
        try await task.value
        #expect(line.stream.remoteAddress == line.peer.localAddress)
        #expect(line.stream.localAddress == line.peer.remoteAddress)
        try line.peer.send("the rest")
        line.peer.finishSending()
        #expect(try await line.stream.readToEnd(maxLength: 100) == Array("the rest".utf8))
        await line.stream.close()
        await line.end()
    }

    private func talk(_ stream: AsyncStreamSocket, _ peer: BlockingPeer) async throws {
        try await stream.write("hello\r\n")
        #expect(try peer.receive(7) == Array("hello\r\n".utf8))
        try peer.send("one\r\nfour and more")
        #expect(try await stream.read(to: .crlf) == Array("one\r\n".utf8))
        #expect(try await stream.read(toLength: 4) == Array("four".utf8))
        #expect(try await stream.read(maxLength: 4) == Array(" and".utf8))
        #expect(try await stream.read() == Array(" more".utf8))
    }

    /// An actor on a reactor, which uses a connection there.
    private actor Guest {
        private let handle: ReactorHandle

        nonisolated var unownedExecutor: UnownedSerialExecutor {
            handle.serialExecutor.asUnownedSerialExecutor()
        }

        init(on handle: ReactorHandle) {
            self.handle = handle
        }

        func echo(_ stream: AsyncStreamSocket) async throws {
            try await stream.write(stream.read())
            assertIsolated()
            try await stream.write(stream.read(to: .lf))
            assertIsolated()
        }
    }

    @Test("AX1, AX4: an actor on the reactor reads and writes, whatever its task prefers")
    func actorUses() async throws {
        for isPreferring in [true, false] {
            let line = try await AsyncLine()
            let guest = Guest(on: line.handle)
            let executor = isPreferring ? line.handle.taskExecutor : nil
            let task = Task(executorPreference: executor) { try await guest.echo(line.stream) }
            let peer = line.peer
            // On a thread of its own: the tasks need one of the few that tests run on.
            let heard = BackgroundWork {
                try peer.send("a")
                let first = try peer.receive(1)
                try peer.send("line\n")
                return first + (try peer.receive(5))
            }
            try await task.value
            #expect(try heard.value() == Array("aline\n".utf8))
            await line.end()
        }
    }

    @Test("AX4, O2: reads of several tasks complete in the order they were asked for")
    func severalReaders() async throws {
        let line = try await AsyncLine()
        let stream = line.stream
        let tasks = (0..<10).map { _ in
            Task(executorPreference: line.handle.taskExecutor) {
                try await stream.read(toLength: 1)
            }
        }
        try line.peer.send("0123456789")
        for (number, task) in tasks.enumerated() {
            #expect(try await task.value == Array("\(number)".utf8))
        }
        await line.end()
    }

    @Test("AX4: the peer's end is thrown, again and again, and so is a close of one's own")
    func ends() async throws {
        let line = try await AsyncLine()
        line.peer.close()
        for _ in 0..<2 {
            await #expect(throws: SocketError.closedByPeer) { try await line.stream.read() }
        }
        await #expect(throws: SocketError.closedByPeer) { try await line.stream.write("x") }
        #expect(try await line.stream.ended().error == .closedByPeer)
        await line.end()

        let other = try await AsyncLine()
        async let waiting = other.stream.read()
        try await other.stream.write("bye")
        let closer = Task { await other.stream.close() }
        let peer = other.peer
        let heard = BackgroundWork {
            defer { peer.close() }
            return try peer.receiveUntilEnd()
        }
        await closer.value
        #expect(try heard.value() == Array("bye".utf8))
        do {
            _ = try await waiting
            Issue.record("it was closed")
        } catch {
            #expect(error as? SocketError == .notConnected)
        }
        await other.end()
    }

    @Test("AX4, R9: a cancelled read leaves its bytes, and the connection, for the next")
    func cancelledRead() async throws {
        let line = try await AsyncLine()
        let stream = line.stream
        let task = Task { try await stream.read(to: .lf) }
        try line.peer.send("half a ")
        let handle = line.handle
        while try await handle.submit({ $0.figures.receivedBytes }) < 7 {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let next = Task { try await stream.read(to: .lf) }
        try line.peer.send("line\n")
        #expect(try await next.value == Array("half a line\n".utf8))
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stream.read()
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await line.end()
    }

    @Test("AX4, W4: a write that the kernel does not take waits, and its rest is sent if cancelled")
    func stalledWrite() async throws {
        let line = try await AsyncLine(buffer: 4_096)
        let stream = line.stream
        let bytes = (0..<4 << 20).map { UInt8(truncatingIfNeeded: $0) }
        let task = Task { try await stream.write(bytes) }
        let handle = line.handle
        while try await handle.submit({ $0.figures.sentBytes }) == 0 {}
        let other = Task { try await stream.write("behind") }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try line.peer.receive(bytes.count) == bytes)
        #expect(try line.peer.receive(6) == Array("behind".utf8))
        try await other.value
        await line.end()
    }

    @Test("AX4: many small writes, past what the kernel takes, arrive in order")
    func manyWrites() async throws {
        let line = try await AsyncLine(buffer: 4_096)
        let stream = line.stream
        let count = 20_000
        let writer = Task(executorPreference: line.handle.taskExecutor) {
            for number in 0..<count { try await stream.write("\(number)\n") }
        }
        let expected = Array((0..<count).map { "\($0)\n" }.joined().utf8)
        #expect(try line.peer.receive(expected.count) == expected)
        try await writer.value
        await line.end()
    }

    @Test("AX4, SD1: when the reactor stops, whatever is awaited throws, and all that follows")
    func reactorStops() async throws {
        let line = try await AsyncLine(buffer: 4_096)
        let stream = line.stream
        let handle = line.handle
        let reader = Task { try await stream.read() }
        let inside = Task(executorPreference: handle.taskExecutor) {
            try await stream.read(toLength: 9)
        }
        let writer = Task { try await stream.write([UInt8](repeating: 1, count: 8 << 20)) }
        while try await handle.submit({ $0.figures.sentBytes }) == 0 {}
        await line.end()
        for task in [reader, inside] {
            await #expect(throws: SocketError.reactorStopped) { try await task.value }
        }
        await #expect(throws: SocketError.reactorStopped) { try await writer.value }
        await #expect(throws: SocketError.reactorStopped) { try await stream.read() }
        await #expect(throws: SocketError.reactorStopped) { try await stream.write("x") }
        await stream.close()
        await #expect(throws: ReactorError.reactorStopped) {
            _ = try await AsyncStreamSocket.connect(to: .ipv4(.loopback, port: 1), on: handle)
        }
    }

    @Test("AX4: a connect that fails, or is cancelled, throws, and leaves nothing open")
    func failedConnect() async throws {
        let handle = try Reactor.start(Reactor())
        let listener = try BlockingListener()
        let address = listener.address
        listener.close()
        await #expect(throws: SocketError.self) {
            _ = try await AsyncStreamSocket.connect(to: address, on: handle)
        }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await AsyncStreamSocket.connect(to: address, on: handle)
        }
        await #expect(throws: (any Error).self) { try await task.value }
        while try await handle.submit({ $0.figures.openSockets }) > 0 {}
        handle.stop()
        await handle.ended()
    }

    @Test("AX4: a connect that is cancelled at any moment leaves nothing open")
    func cancelledConnect() async throws {
        let handle = try Reactor.start(Reactor())
        let listener = try BlockingListener()
        let address = listener.address
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await AsyncStreamSocket.connect(to: address, on: handle)
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        for hops in 0..<30 {
            let task = Task { _ = try await AsyncStreamSocket.connect(to: address, on: handle) }
            for _ in 0..<hops % 6 { await Task.yield() }
            task.cancel()
            _ = await task.result
        }
        #expect(try await isEmpty(handle), "it is open, and nobody has it")
        handle.stop()
        await handle.ended()
    }

    private func isEmpty(_ handle: ReactorHandle) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < deadline {
            if try await handle.submit({ $0.figures.openSockets }) == 0 { return true }
        }
        return false
    }

    @Test("AX4: a connect that is refused by the call keeps nothing alive")
    func refusedConnect() async throws {
        /// Looks whether the reactor is there.
        final class Place: @unchecked Sendable {
            // Touched on the reactor's thread, and behind its end.
            weak var reactor: Reactor?
        }
        let place = Place()
        let handle = try Reactor.start(Reactor())
        try await handle.submit { place.reactor = $0 }
        await #expect(throws: SocketError.self) {
            _ = try await AsyncStreamSocket.connect(to: .ipv4(.loopback, port: 0), on: handle)
        }
        handle.stop()
        await handle.ended()
        #expect(holds { place.reactor == nil })
    }

    @Test("AX4: a host is connected to by name; who is refused hears with whom")
    func namedHost() async throws {
        let handle = try Reactor.start(Reactor())
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        let stream = try await AsyncStreamSocket.connect(
            toHost: "localhost",
            port: port,
            on: handle
        )
        let peer = try listener.accept()
        #expect(stream.remoteAddress == listener.address)
        try await talk(stream, peer)
        await stream.close()
        listener.close()
        let byName = await #expect(throws: SocketError.self) {
            _ = try await AsyncStreamSocket.connect(toHost: "localhost", port: port, on: handle)
        }
        let refusal = "failed: connection refused (ECONNREFUSED)"
        #expect(byName?.description == "connect to localhost:\(port) \(refusal)")
        let byAddress = await #expect(throws: SocketError.self) {
            _ = try await AsyncStreamSocket.connect(to: listener.address, on: handle)
        }
        #expect(byAddress?.description == "connect to 127.0.0.1:\(port) \(refusal)")
        handle.stop()
        await handle.ended()
    }

    @Test("AX4, L6: a connection that nobody holds any more closes behind its writes")
    func dropped() async throws {
        let handle = try Reactor.start(Reactor())
        let listener = try BlockingListener()
        var stream: AsyncStreamSocket? = try await AsyncStreamSocket.connect(
            to: listener.address,
            on: handle
        )
        let peer = try listener.accept()
        try await stream?.write("last words")
        stream = nil
        #expect(try peer.receiveUntilEnd() == Array("last words".utf8))
        handle.stop()
        await handle.ended()
    }

    @Test("AX2: an echo on the reactor's executor wakes nobody and leaves the thread for no call")
    func noWakes() async throws {
        let line = try await AsyncLine()
        let stream = line.stream
        let handle = line.handle
        let peer = line.peer
        let echo = Task(executorPreference: handle.taskExecutor) {
            for _ in 0..<1_000 { try await stream.write(stream.read()) }
        }
        try peer.send("x")
        #expect(try peer.receive(1) == [UInt8(ascii: "x")])
        let before = try await handle.submit { $0.figures }
        for _ in 0..<999 {
            try peer.send("x")
            #expect(try peer.receive(1).count == 1)
        }
        try await echo.value
        let after = try await handle.submit { $0.figures }
        // What asked for the figures, and the end of the task that is awaited here.
        #expect(after.wakesWritten - before.wakesWritten <= 2)
        #expect(after.jobsRun - before.jobsRun < 1_010, "one piece of the task an echo")
        await line.end()
    }
}

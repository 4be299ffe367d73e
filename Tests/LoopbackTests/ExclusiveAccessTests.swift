import Glibc
import TestSupport
import Testing
import Towline

/// An actor on a reactor, which has connections there to itself.
private actor Host {
    private let handle: ReactorHandle

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        handle.serialExecutor.asUnownedSerialExecutor()
    }

    init(on handle: ReactorHandle) {
        self.handle = handle
    }

    /// Echoes by every kind of read, then gives back what comes next.
    func converse(_ stream: AsyncStreamSocket) async throws -> [UInt8] {
        try await stream.use { connection in
            for _ in 0..<100 { try await connection.write(connection.read()) }
            assertIsolated()
            try await connection.write(connection.read(to: .crlf))
            try await connection.write(connection.read(toLength: 3))
            try await connection.write(connection.read(maxLength: 1))
            try await connection.write("text")
            assertIsolated()
            return try await connection.readToEnd(maxLength: 10)
        }
    }

    func echo(_ stream: AsyncStreamSocket) async throws {
        try await stream.use { connection in
            while true { try await connection.write(connection.read()) }
        }
    }
}

@Suite("Connections that one task has to itself") struct ExclusiveAccessTests {
    /// Who awaits within `use`: a task of an actor on the reactor, one that prefers the reactor,
    /// both, or any other.
    private enum User: CaseIterable {
        case isolated, preferring, isolatedAndPreferring, other

        func run<Value: Sendable>(
            _ line: AsyncLine,
            _ isolated: @escaping @Sendable (Host) async throws -> Value,
            _ free: @escaping @Sendable () async throws -> Value
        ) -> Task<Value, any Error> {
            let host = Host(on: line.handle)
            let executor = line.handle.taskExecutor
            return switch self {
            case .isolated: Task { try await isolated(host) }
            case .preferring: Task(executorPreference: executor) { try await free() }
            case .isolatedAndPreferring:
                Task(executorPreference: executor) { try await isolated(host) }
            case .other: Task { try await free() }
            }
        }
    }

    @Test("AX1, AX4: who has a connection to itself reads and writes, and it is closed behind")
    func conversation() async throws {
        for user in User.allCases {
            let line = try await AsyncLine()
            let stream = line.stream
            let task = user.run(line) {
                try await $0.converse(stream)
            } _: {
                try await Self.converse(stream)
            }
            let peer = line.peer
            let heard = BackgroundWork {
                for number in 100..<200 {
                    try peer.send("\(number)")
                    guard try peer.receive(3) == Array("\(number)".utf8) else { return [UInt8]() }
                }
                try peer.send("text\r\nabc!the end")
                let bytes = try peer.receive(14)
                peer.finishSending()
                return bytes + (try peer.receiveUntilEnd())
            }
            #expect(try await task.value == Array("the end".utf8), "\(user)")
            #expect(try heard.value() == Array("text\r\nabc!text".utf8), "\(user)")
            _ = try await stream.ended()
            await line.end()
        }
    }

    private static func converse(_ stream: AsyncStreamSocket) async throws -> [UInt8] {
        try await stream.use { connection in
            for _ in 0..<100 { try await connection.write(connection.read(toLength: 3)) }
            try await connection.write(connection.read(to: .crlf))
            try await connection.write(connection.read(toLength: 3))
            try await connection.write(connection.read(maxLength: 1))
            try await connection.write("text")
            return try await connection.readToEnd(maxLength: 10)
        }
    }

    @Test("AX2: an echo by an actor on the reactor is one piece of its task, and wakes nobody")
    func cost() async throws {
        let line = try await AsyncLine()
        let stream = line.stream
        let host = Host(on: line.handle)
        let echo = Task { try await host.echo(stream) }
        try line.peer.send("x")
        #expect(try await line.talk { try $0.receive(1) }.count == 1)
        let before = try await line.handle.submit { $0.figures }
        try await line.talk { peer in
            for _ in 0..<1_000 {
                try peer.send("x")
                _ = try peer.receive(1)
            }
        }
        let after = try await line.handle.submit { $0.figures }
        #expect(after.wakesWritten - before.wakesWritten <= 1)
        #expect(after.jobsRun - before.jobsRun < 1_010)
        line.peer.close()
        await #expect(throws: SocketError.closedByPeer) { try await echo.value }
        await line.end()
    }

    @Test("AX4: arrays that were given away stay as they are, whatever comes behind them")
    func keptArrays() async throws {
        let line = try await AsyncLine()
        let texts = ["one", "two", "three", "12345", "6"]
        let stream = line.stream
        let task = Task(executorPreference: line.handle.taskExecutor) {
            try await stream.use { connection in
                var all: [[UInt8]] = []
                for _ in texts {
                    all.append(try await connection.read())
                    try await connection.write("x")
                }
                return all
            }
        }
        for text in texts {
            try line.peer.send(text)
            _ = try await line.talk { try $0.receive(1) }
        }
        #expect(try await task.value == texts.map { Array($0.utf8) })
        await line.end()
    }

    @Test("AX4: cancelling ends what is awaited, and each further call; it is closed behind")
    func cancelled() async throws {
        for user in User.allCases {
            let line = try await AsyncLine()
            let stream = line.stream
            let task = user.run(line) { _ in
                try await Self.useUntilCancelled(stream)
            } _: {
                try await Self.useUntilCancelled(stream)
            }
            try line.peer.send("x")
            while try await line.handle.submit({ $0.figures.receivedBytes }) < 1 {}
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await line.talk { try $0.receiveUntilEnd() }.isEmpty, "closed behind it")
            await line.end()
        }
    }

    private static func useUntilCancelled(_ stream: AsyncStreamSocket) async throws {
        try await stream.use { connection in
            _ = try await connection.read()
            for _ in 0..<2 {
                do {
                    _ = try await connection.read(to: .lf)
                    Issue.record("it was cancelled")
                } catch {
                    #expect(error is CancellationError)
                }
            }
            do {
                try await connection.write("x")
                Issue.record("it was cancelled")
            } catch {
                #expect(error is CancellationError)
            }
            do {
                try await connection.shutdownWrite()
                Issue.record("it was cancelled")
            } catch {
                #expect(error is CancellationError)
            }
            try Task.checkCancellation()
        }
    }

    @Test("AX4, W4: a write that stalls is waited for; its rest is sent if the task is cancelled")
    func stalledWrite() async throws {
        for user in User.allCases {
            let line = try await AsyncLine(buffer: 4_096)
            let stream = line.stream
            let count = 4 << 20
            let use: @Sendable () async throws -> Void = {
                try await stream.use { connection in
                    let piece = [UInt8](repeating: 1, count: 5_000)
                    for _ in 0..<100 { try await connection.write(piece) }
                    try await connection.write([UInt8](repeating: 2, count: count))
                }
            }
            let task = user.run(line) { _ in
                try await use()
            } _: {
                try await use()
            }
            let start = try await line.talk { try $0.receive(500_000) }
            #expect(start.allSatisfy { $0 == 1 })
            // The large one has begun.
            #expect(try await line.talk { try $0.receive(1) } == [2])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await line.talk { try $0.receiveUntilEnd() }.count == count - 1)
            await line.end()
        }
    }

    @Test("AX4, SD1: the peer's end, an abort and the reactor's end reach who waits")
    func ends() async throws {
        for user in User.allCases {
            let line = try await AsyncLine()
            let stream = line.stream
            let free: @Sendable () async throws -> Void = {
                try await stream.use { connection in
                    while true { try await connection.write(connection.read()) }
                }
            }
            let first = user.run(line) {
                try await $0.echo(stream)
            } _: {
                try await free()
            }
            try line.peer.send("x")
            #expect(try await line.talk { try $0.receive(1) }.count == 1)
            line.peer.close()
            await #expect(throws: SocketError.closedByPeer) { try await first.value }
            await #expect(throws: SocketError.closedByPeer) { try await free() }
            await line.end()

            let aborted = try await AsyncLine()
            let itsStream = aborted.stream
            let second = user.run(aborted) {
                try await $0.echo(itsStream)
            } _: {
                try await itsStream.use { _ = try await $0.read() }
            }
            while try await aborted.handle.submit({ reactor in
                reactor.streamSocket(itsStream.id)?.currentRead == nil
            }) {}
            aborted.stream.abort()
            await #expect(throws: SocketError.notConnected) { try await second.value }
            await aborted.end()

            let stopped = try await AsyncLine()
            let lastStream = stopped.stream
            let third = user.run(stopped) {
                try await $0.echo(lastStream)
            } _: {
                try await lastStream.use { while true { try await $0.write($0.read()) } }
            }
            try stopped.peer.send("x")
            #expect(try await stopped.talk { try $0.receive(1) }.count == 1)
            await stopped.end()
            await #expect(throws: SocketError.reactorStopped) { try await third.value }
        }
    }

    @Test("AX3: a task whose bytes come does not overtake pieces of tasks that wait")
    func order() async throws {
        /// What was done, on the reactor's thread.
        final class Record: @unchecked Sendable {
            var steps: [String] = []
        }
        let line = try await AsyncLine()
        let stream = line.stream
        let executor = line.handle.taskExecutor
        let record = Record()
        let waiting = Task(executorPreference: executor) {
            try await stream.use { connection in
                _ = try await connection.read()
                record.steps.append("let on")
            }
        }
        while try await line.handle.submit({ $0.streamSocket(stream.id)?.currentRead == nil }) {}
        let peer = line.peer
        let piece = try await line.handle.submit { _ in
            // The turn of this job finds the bytes, with the piece still to be run.
            try peer.send("x")
            return Task(executorPreference: executor) { record.steps.append("posted before") }
        }
        try await waiting.value
        await piece.value
        #expect(record.steps == ["posted before", "let on"])
        await line.end()
    }

    @Test("AX4: meanwhile calls of the socket are refused, and a second use; an end is not")
    func inUse() async throws {
        let line = try await AsyncLine()
        let stream = line.stream
        let user = Task(executorPreference: line.handle.taskExecutor) {
            try await stream.use { connection in
                try await connection.write("begun")
                _ = try await connection.read()
            }
        }
        #expect(try await line.talk { try $0.receive(5) } == Array("begun".utf8))
        await #expect(throws: SocketError.inUse) { _ = try await stream.read() }
        await #expect(throws: SocketError.inUse) { try await stream.write("x") }
        await #expect(throws: SocketError.inUse) { try await stream.shutdownWrite() }
        await #expect(throws: SocketError.inUse) { try await stream.use { _ in } }
        await stream.close()
        await #expect(throws: SocketError.notConnected) { try await user.value }
        await line.end()
    }

    @Test("AX4, O2: what was asked for before a use comes first")
    func earlierReads() async throws {
        let line = try await AsyncLine()
        let stream = line.stream
        let early = Task(executorPreference: line.handle.taskExecutor) {
            try await stream.read(toLength: 2)
        }
        while try await line.handle.submit({ $0.streamSocket(stream.id)?.currentRead == nil }) {}
        let user = Task(executorPreference: line.handle.taskExecutor) {
            try await stream.use { connection in
                try await connection.write("x")
                return try await connection.read(toLength: 2)
            }
        }
        #expect(try await line.talk { try $0.receive(1) }.count == 1)
        try line.peer.send("1234")
        #expect(try await early.value == Array("12".utf8))
        #expect(try await user.value == Array("34".utf8))
        await line.end()
    }

    /// Takes a connection over.
    private final class Successor: StreamSocketDelegate {
        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
            try socket.write(bytes)
        }
    }

    @Test("AX4: another delegate takes the connection over, and whoever awaits it hears so")
    func takenOver() async throws {
        for isExclusive in [true, false] {
            let line = try await AsyncLine()
            let stream = line.stream
            let reader = Task {
                if !isExclusive { return try await stream.read() }
                return try await stream.use { try await $0.read() }
            }
            let ender = Task { try await stream.ended() }
            while try await line.handle.submit({ $0.streamSocket(stream.id)?.currentRead == nil }) {
            }
            try await line.handle.submit { reactor in
                let socket = try #require(reactor.streamSocket(stream.id))
                socket.keep(Successor())
            }
            await #expect(throws: SocketError.takenOver) { _ = try await reader.value }
            await #expect(throws: SocketError.takenOver) { _ = try await ender.value }
            await #expect(throws: SocketError.takenOver) { _ = try await stream.read() }
            try line.peer.send("echo")
            #expect(try await line.talk { try $0.receive(4) } == Array("echo".utf8))
            await line.end()
        }
    }

    @Test("AX4: what others cancel or ask of the socket leaves nobody waiting for ever")
    func foreignCalls() async throws {
        for isExclusive in [true, false] {
            let line = try await AsyncLine()
            let stream = line.stream
            let reader = Task(executorPreference: line.handle.taskExecutor) {
                if !isExclusive { return try await stream.read() }
                return try await stream.use { try await $0.read() }
            }
            while try await line.handle.submit({ $0.streamSocket(stream.id)?.currentRead == nil }) {
            }
            try await line.handle.submit { reactor in
                reactor.streamSocket(stream.id)?.cancelAllReads()
            }
            await #expect(throws: CancellationError.self) { try await reader.value }
            await line.end()

            // Reads that are not the async style's are answered, and nobody takes their bytes.
            let other = try await AsyncLine()
            let itsStream = other.stream
            try await other.handle.submit { reactor in
                _ = try reactor.streamSocket(itsStream.id)?.read(toLength: 3)
            }
            let next = Task(executorPreference: other.handle.taskExecutor) {
                if !isExclusive { return try await itsStream.read(toLength: 3) }
                return try await itsStream.use { try await $0.read(toLength: 3) }
            }
            try other.peer.send("abcdef")
            #expect(try await next.value == Array("def".utf8))
            await other.end()
        }
    }
}

import Synchronization
import TestSupport
import Testing

@testable import Towline

@Suite("Executors of a reactor") struct ReactorExecutorTests {
    /// Numbers that any thread may note.
    private final class Numbers: Sendable {
        private let list = Mutex<[Int]>([])

        var all: [Int] { list.withLock { $0 } }

        func append(_ number: Int) {
            list.withLock { $0.append(number) }
        }
    }

    /// Lives on a reactor, and is a delegate there.
    private actor Room: @preconcurrency StreamSocketDelegate {
        let handle: ReactorHandle
        private(set) var lines: [String] = []
        private var sockets: [StreamSocket] = []
        private var farewell: CheckedContinuation<Void, Never>?

        nonisolated var unownedExecutor: UnownedSerialExecutor {
            handle.serialExecutor.asUnownedSerialExecutor()
        }

        init(_ handle: ReactorHandle) {
            self.handle = handle
        }

        func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
            sockets.append(socket)
            try socket.write("hello\n")
            try socket.read(to: .lf)
        }

        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
            lines.append(String(decoding: bytes))
            sockets.first?.disconnect()
        }

        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            lines.append("\(report.error.map { "\($0)" } ?? "end")")
            farewell?.resume()
            farewell = nil
        }

        func waitForFarewell() async {
            if lines.count < 2 { await withCheckedContinuation { farewell = $0 } }
        }

        func add(_ number: Int) -> Int { number + 1 }

        func note(_ number: Int, in numbers: Numbers) { numbers.append(number) }

        /// How many jobs the reactor runs for so many calls of another actor.
        func jobsForCalls(of other: Room, count: Int) async throws -> Int {
            let before = try await handle.submit { $0.figures.jobsRun }
            var sum = 0
            for _ in 0..<count { sum = await other.add(sum) }
            #expect(sum == count)
            return try await handle.submit { $0.figures.jobsRun } - before
        }
    }

    @Test("An actor on the reactor is a delegate there, and may keep its sockets (AX2)")
    func actorAsDelegate() async throws {
        let listener = try BlockingListener()
        let handle = try Reactor.start(Reactor())
        let room = Room(handle)
        try await handle.submit { reactor in
            try StreamSocket(reactor: reactor, delegate: room).connect(to: listener.address)
        }
        let peer = try listener.accept()
        #expect(try peer.receive(6) == Array("hello\n".utf8))
        try peer.send("welcome\n")
        await room.waitForFarewell()
        #expect(await room.lines == ["welcome\n", "end"])
        handle.stop()
        await handle.ended()
    }

    @Test("Calls between actors of one reactor, and of its tasks, do not hop (AX1)")
    func noHop() async throws {
        let handle = try Reactor.start(Reactor())
        let room = Room(handle)
        let other = Room(handle)
        let count = 1_000
        // Two submissions, and what resumes behind them.
        #expect(try await room.jobsForCalls(of: other, count: count) < 8)
        let jobs = try await Task(executorPreference: handle.taskExecutor) {
            let before = try await handle.submit { $0.figures.jobsRun }
            for _ in 0..<count { await nothing() }
            return try await handle.submit { $0.figures.jobsRun } - before
        }.value
        #expect(jobs < 8)
        handle.stop()
        await handle.ended()
    }

    /// Not isolated, so it runs where its task prefers to.
    private func nothing() async {}

    @Test("What runs on the reactor posts without a wake, and a job budget bounds it (AX2, AX3)")
    func ownThread() async throws {
        var configuration = Reactor.Configuration()
        configuration.budget.jobs = 10
        let handle = try Reactor.start(Reactor(configuration))
        let wakes = try await Task(executorPreference: handle.taskExecutor) {
            let before = try await handle.submit { $0.figures }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask(executorPreference: handle.taskExecutor) {
                        #expect(handle.jobs.isTurningHere)
                    }
                }
            }
            let after = try await handle.submit { $0.figures }
            #expect(after.jobsRun - before.jobsRun >= 100)
            #expect(after.turns - before.turns >= 10, "ten a turn")
            return after.wakesWritten - before.wakesWritten + after.wakesSaved - before.wakesSaved
        }.value
        #expect(wakes == 0)
        handle.stop()
        await handle.ended()
    }

    @Test("Tasks of one thread begin in their order (WK2, AX3)")
    func order() async throws {
        let handle = try Reactor.start(Reactor())
        let numbers = Numbers()
        for number in 0..<100 {
            Task(executorPreference: handle.taskExecutor) { numbers.append(number) }
        }
        try await handle.submit { _ in }
        #expect(numbers.all == Array(0..<100))
        handle.stop()
        await handle.ended()
    }

    @Test("The executor knows whether it is its thread that asks (AX2)")
    func isolation() async throws {
        let handle = try Reactor.start(Reactor())
        let executor = handle.serialExecutor
        #expect(executor.isIsolatingCurrentContext() == false)
        let room = Room(handle)
        try await handle.submit { _ in
            #expect(executor.isIsolatingCurrentContext() == true)
            executor.checkIsolated()
            #expect(room.assumeIsolated { room in room.handle === handle })
        }
        handle.stop()
        await handle.ended()
        #expect(executor.isIsolatingCurrentContext() == false)
    }

    @Test("An isolation that is claimed on another thread stops the process (AX2)")
    func falseClaim() async {
        await #expect(processExitsWith: .failure) {
            let reactor = try Reactor()
            reactor.handle.serialExecutor.checkIsolated()
        }
    }

    @Test("What actors and tasks have to do when the reactor has ended is done, in order (AX4)")
    func behindTheEnd() async throws {
        let handle = try Reactor.start(Reactor())
        let room = Room(handle)
        #expect(await room.add(1) == 2)
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let task = Task(executorPreference: handle.taskExecutor) {
            for await _ in stream {}
            return await room.add(10)
        }
        handle.stop()
        await handle.ended()
        #expect(await room.add(2) == 3)
        continuation.finish()
        #expect(await task.value == 11)
        let numbers = Numbers()
        let tasks = (0..<100).map { number in
            Task { await room.note(number, in: numbers) }
        }
        for task in tasks { await task.value }
        #expect(numbers.all.sorted() == Array(0..<100))
    }

    @Test("Behind the end an actor's sockets are idle, and their calls throw, on any thread (AX4)")
    func socketsBehindTheEnd() async throws {
        let handle = try Reactor.start(Reactor())
        let keeper = Keeper(handle)
        try await handle.submit { reactor in
            nonisolated(unsafe) let given = reactor
            keeper.assumeIsolated {
                $0.socket = StreamSocket(reactor: given)
                $0.timer = given.schedule(after: .seconds(100)) {}
            }
        }
        handle.stop()
        await handle.ended()
        #expect(await keeper.connect() == .reactorStopped)
        #expect(await keeper.isIdle)
    }

    /// Has a socket for longer than there is a reactor.
    private actor Keeper {
        private let handle: ReactorHandle
        var socket: StreamSocket?
        var timer: Reactor.Timer?

        nonisolated var unownedExecutor: UnownedSerialExecutor {
            handle.serialExecutor.asUnownedSerialExecutor()
        }

        init(_ handle: ReactorHandle) {
            self.handle = handle
        }

        var isIdle: Bool {
            timer?.cancel()
            timer?.reschedule(after: .zero)
            socket?.disconnect()
            socket?.halfClosePolicy = .keepOpen
            return socket?.state == .idle && socket?.pendingWriteBytes == 0
        }

        func connect() -> SocketError? {
            do throws(SocketError) {
                try socket?.connect(to: .ipv4(.loopback, port: 1))
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("Tasks that wait for each other while the reactor ends all end (AX4, SD1)")
    func amidTheEnd() async throws {
        for round in 0..<100 {
            let handle = try Reactor.start(Reactor())
            let room = Room(handle)
            async let sum = withTaskGroup(of: Int.self) { group in
                for number in 0..<20 {
                    group.addTask(executorPreference: handle.taskExecutor) {
                        await Task.yield()
                        return await room.add(number)
                    }
                }
                return await group.reduce(0, +)
            }
            if round % 2 == 0 { _ = await room.add(0) }
            handle.stop()
            #expect(await sum == 20 * 21 / 2)
            await handle.ended()
        }
    }
}

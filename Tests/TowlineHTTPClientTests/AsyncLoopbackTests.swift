import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient

@Suite("The async client over loopback, from many threads") struct AsyncLoopbackTests {
    /// A client on a thread of its own, and a server on another.
    private struct Pair {
        let server: LoopbackServer
        let handle: ReactorHandle
        let client: AsyncHTTPClient

        init(_ change: (inout HTTPClient.Configuration) -> Void = { _ in }) async throws {
            var configuration = HTTPClient.Configuration()
            configuration.socketOptions.receiveBufferSize = 128 * 1024
            change(&configuration)
            server = try await LoopbackServer()
            handle = try Reactor.start(Reactor())
            client = AsyncHTTPClient(on: handle, configuration: configuration)
        }

        func get(_ path: String) async throws -> AsyncHTTPResponse {
            try await client.send(HTTPRequest(.get, server.url(path)))
        }

        /// Waits until no connection is left, then ends both reactors.
        func end() async throws {
            client.closeIdleConnections()
            while try await handle.submit({ $0.figures.openSockets }) > 0 { await Task.yield() }
            #expect(try await handle.submit { $0.figures.timers } == 0)
            while try await server.connectionCount() > 0 { await Task.yield() }
            handle.stop()
            await handle.ended()
            await server.end()
        }
    }

    @Test("A hundred tasks send a hundred requests each over a few connections")
    func many() async throws {
        let pair = try await Pair { $0.connectionsPerKey = 8 }
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<100 {
                let talk = {
                    @Sendable () async throws -> Int in
                    var count = 0
                    for _ in 0..<100 { count += try await pair.get("/small").collect().count }
                    return count
                }
                let executor = number % 2 == 0 ? pair.handle.taskExecutor : nil
                group.addTask(executorPreference: executor, operation: talk)
            }
            return try await group.reduce(0, +)
        }
        #expect(total == 50_000)
        #expect(try await pair.server.connectionCount() <= 8)
        try await pair.end()
    }

    @Test("A task that prefers the reactor sends without waking anybody, and stays there")
    func hops() async throws {
        let pair = try await Pair()
        let handle = pair.handle
        _ = try await pair.get("/small").collect()
        let task = Task(executorPreference: handle.taskExecutor) {
            let before = try await handle.submit { $0.figures }
            for _ in 0..<10 {
                let response = try await pair.get("/small")
                #expect(handle.serialExecutor.isIsolatingCurrentContext() == true)
                for try await part in response.body {
                    #expect(part.count == 5)
                    #expect(handle.serialExecutor.isIsolatingCurrentContext() == true)
                }
            }
            let after = try await handle.submit { $0.figures }
            return (after.wakesWritten + after.wakesSaved)
                - (before.wakesWritten + before.wakesSaved)
        }
        #expect(try await task.value == 0)
        try await pair.end()
    }

    @Test("64 MiB through a reader that stops: what waits is bounded, and all arrives")
    func slowReader() async throws {
        let pair = try await Pair()
        let size = 64 << 20
        let response = try await pair.get("/big/\(size)")
        // Until the server is stuck: nothing has moved for many looks.
        var last = -1
        var quietLooks = 0
        while quietLooks < 50 {
            let sent = pair.server.sentByteCount
            quietLooks = sent == last ? quietLooks + 1 : 0
            last = sent
            _ = try await pair.handle.submit { $0.figures.turns }
            await Task.yield()
        }
        #expect(last < 4 << 20)
        var count = 0
        var most = 0
        var largest = 0
        for try await part in response.body {
            count += part.count
            largest = max(largest, part.count)
            most = max(most, pair.server.sentByteCount - count)
        }
        #expect(count == size)
        #expect(largest <= 128 * 1024)
        #expect(most < 4 << 20)
        try await pair.end()
    }

    @Test("When the reactor stops, whatever is awaited ends, once")
    func reactorStops() async throws {
        for stopsServer in [false, true] {
            let pair = try await Pair()
            let firstsDone = SharedCount()
            let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        do {
                            _ = try await pair.get("/small").collect()
                            firstsDone.add(1)
                            let path = ["/never", "/big/9999999", "/small"][number % 3]
                            while true {
                                for try await _ in try await pair.get(path).body {}
                            }
                        } catch HTTPError.cancelled {
                            return "cancelled"
                        } catch let error as HTTPError {
                            return "\(error)"
                        }
                    }
                }
                while firstsDone.value < 10 { await Task.yield() }
                (stopsServer ? pair.server.handle : pair.handle).stop()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count == 40)
            if !stopsServer { #expect(outcomes.allSatisfy { $0 == "cancelled" }, "\(outcomes)") }
            pair.handle.stop()
            await pair.handle.ended()
            await pair.server.end()
        }
    }

    @Test("Tasks that cancel, leave early and let go at random leave nothing behind")
    func storm() async throws {
        let pair = try await Pair()
        let seed = UInt64.random(in: 0...UInt64.max)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask {
                    var numbers = SeededNumbers(seed: seed &+ UInt64(number))
                    for _ in 0..<20 {
                        let choice = numbers.number(in: 0..<6)
                        let task = Task { try await Self.use(pair, choice) }
                        if numbers.number(in: 0..<2) == 0 {
                            for _ in 0..<numbers.number(in: 0..<40) { await Task.yield() }
                            task.cancel()
                        } else if choice == 0 {
                            task.cancel()
                        }
                        _ = await task.result
                    }
                }
            }
        }
        // The client is as good as new.
        let last = try await pair.get("/small").collect()
        #expect(last == Array("hello".utf8), "seed \(seed)")
        try await pair.end()
    }

    private static func use(_ pair: Pair, _ choice: Int) async throws {
        switch choice {
        case 0: _ = try await pair.get("/never")
        case 1: _ = try await pair.get("/small").collect()
        case 2: _ = try await pair.get("/big/500000")
        case 3: for try await _ in try await pair.get("/big/500000").body { break }
        case 4: _ = try await pair.get("/cut").collect()
        default: _ = try await pair.get("/big/300000").collect()
        }
    }
}

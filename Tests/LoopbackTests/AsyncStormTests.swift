import TestSupport
import Testing
import Towline

/// Tasks that are cancelled, dropped and stopped at any moment: each of them comes back.
///
/// A continuation that is resumed twice ends the process, a lost one hangs.
@Suite("Storms in the async style") struct AsyncStormTests {
    private static let clientCount = 40

    @Test(
        "AX4, SD1: whatever is awaited comes back once, whoever cancels, closes or stops meanwhile",
        .timeLimit(.minutes(10)),
        arguments: 1...12
    )
    func storm(seed: UInt64) async throws {
        let handle = try Reactor.start(Reactor())
        let listener = try await AsyncStreamListener.listen(
            on: .ipv4(.loopback, port: 0),
            on: handle
        )
        let address = try #require(listener.localAddress)
        let server = Task { await Self.serve(listener, handle) }
        let clients = (0..<Self.clientCount).map { number in
            let numbers = SeededNumbers(seed: seed &* 1_000 &+ UInt64(number))
            // On the reactor's thread, and elsewhere.
            return Task(executorPreference: number % 2 == 0 ? handle.taskExecutor : nil) {
                await Self.talk(address, handle, numbers)
            }
        }
        if seed % 3 == 0 {
            for _ in 0..<seed * 10 { await Task.yield() }
            handle.stop()
        }
        for client in clients { await client.value }
        listener.stop()
        await server.value
        if seed % 3 != 0 {
            let deadline = ContinuousClock.now + .seconds(10)
            while try await handle.submit({ $0.figures.openSockets }) > 0 {
                try #require(ContinuousClock.now < deadline, "connections are left")
            }
        }
        handle.stop()
        await handle.ended()
    }

    /// Echoes to whoever comes; some are let go of at once.
    private static func serve(_ listener: AsyncStreamListener, _ handle: ReactorHandle) async {
        await withDiscardingTaskGroup { group in
            var count = 0
            do {
                for try await client in listener.connections {
                    count += 1
                    if count % 7 == 0 { continue }
                    group.addTask(executorPreference: handle.taskExecutor) {
                        do {
                            while true { try await client.write(client.read()) }
                        } catch {
                            await client.close()
                        }
                    }
                }
            } catch {
                // The reactor has stopped.
            }
        }
    }

    private static func talk(
        _ address: SocketAddress,
        _ handle: ReactorHandle,
        _ numbers: SeededNumbers
    ) async {
        var numbers = numbers
        for _ in 0..<6 {
            do {
                let connecting = Task {
                    try await AsyncStreamSocket.connect(to: address, on: handle)
                }
                await cancelSome(connecting, &numbers)
                let stream = try await connecting.value
                for _ in 0..<numbers.number(in: 1..<8) { await use(stream, &numbers) }
                switch numbers.number(in: 0..<4) {
                case 0: await stream.close()
                case 1: stream.abort()
                case 2:
                    stream.abort()
                    _ = try await stream.ended()
                default: break
                }
            } catch {
                // Cancelled, or ended: it has come back.
            }
        }
    }

    /// Several operations at once, some of them cancelled.
    private static func use(_ stream: AsyncStreamSocket, _ numbers: inout SeededNumbers) async {
        let size = 1 << numbers.number(in: 0..<18)
        let writer = Task { try await stream.write([UInt8](repeating: 1, count: size)) }
        let reader = Task { try await stream.read(toLength: size) }
        let ender = Task { try await stream.ended() }
        await cancelSome(reader, &numbers)
        await cancelSome(writer, &numbers)
        if numbers.number(in: 0..<20) == 0 { await stream.close() }
        _ = await writer.result
        // What other readers have taken, and a cancelled writer has not sent, never comes.
        reader.cancel()
        _ = await reader.result
        ender.cancel()
        _ = await ender.result
    }

    private static func cancelSome<Value, Failure>(
        _ task: Task<Value, Failure>,
        _ numbers: inout SeededNumbers
    ) async {
        guard numbers.number(in: 0..<2) == 0 else { return }
        for _ in 0..<numbers.number(in: 0..<6) { await Task.yield() }
        task.cancel()
    }
}

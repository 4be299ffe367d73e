import TestSupport
import Testing
import Towline

@Suite("Listeners in the async style") struct AsyncStreamListenerTests {
    private let handle: ReactorHandle
    private let listener: AsyncStreamListener
    private let address: SocketAddress

    init() async throws {
        handle = try Reactor.start(Reactor())
        listener = try await AsyncStreamListener.listen(on: .ipv4(.loopback, port: 0), on: handle)
        address = try #require(listener.localAddress)
    }

    private func next(_ listener: AsyncStreamListener) async throws -> AsyncStreamSocket? {
        var iterator = listener.connections.makeAsyncIterator()
        return try await iterator.next()
    }

    private func end() async {
        handle.stop()
        await handle.ended()
    }

    @Test("AX4: connections come one after the other, until the listener is stopped")
    func connections() async throws {
        let server = Task(executorPreference: handle.taskExecutor) { [listener] in
            var count = 0
            for try await client in listener.connections {
                count += 1
                try await client.write("\(count)")
                await client.close()
            }
            return count
        }
        for number in 1...20 {
            let peer = try BlockingPeer(connectingTo: address)
            #expect(try peer.receiveUntilEnd() == Array("\(number)".utf8))
            peer.close()
        }
        listener.stop()
        #expect(try await server.value == 20)
        #expect(try await next(listener) == nil)
        await end()
    }

    @Test("AX4: who does not ask accepts nobody, and who asks once accepts one")
    func backPressure() async throws {
        let peers = try (0..<10).map { _ in try BlockingPeer(connectingTo: address) }
        for _ in 0..<20 { try await handle.submit { _ in } }
        #expect(try await handle.submit { $0.figures.accepted } == 0)
        var iterator = listener.connections.makeAsyncIterator()
        let client = try await iterator.next()
        for _ in 0..<20 { try await handle.submit { _ in } }
        #expect(try await handle.submit { $0.figures.accepted } == 1)
        #expect(client?.remoteAddress == peers[0].localAddress)
        await end()
    }

    @Test("AX4: a task that is cancelled accepts nobody any more; the next one does")
    func cancelled() async throws {
        let listener = listener
        let task = Task { try await next(listener) }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        let peer = try BlockingPeer(connectingTo: address)
        let client = try await next(listener)
        #expect(client?.remoteAddress == peer.localAddress)
        await end()
    }

    @Test("AX4, SD1: when the reactor stops, whoever waits for a connection hears so")
    func reactorStops() async throws {
        let listener = listener
        let task = Task { try await next(listener) }
        for _ in 0..<20 { try await handle.submit { _ in } }
        await end()
        await #expect(throws: SocketError.reactorStopped) { _ = try await task.value }
        await #expect(throws: SocketError.reactorStopped) {
            _ = try await next(listener)
        }
    }

    @Test("AX4: a listener that nobody holds ends; a port that is taken is refused")
    func endings() async throws {
        let address = address
        let handle = handle
        await #expect(throws: SocketError.self) {
            try await AsyncStreamListener.listen(on: address, on: handle)
        }
        var other: AsyncStreamListener? = try await .listen(onPort: 0, on: handle)
        #expect(other?.localAddress?.port != 0)
        other = nil
        while try await handle.submit({ $0.figures.listeners }) > 1 {}
        await end()
    }

    @Test("AX4: who asks for connections holds the listener")
    func heldBySequence() async throws {
        func listen() async throws -> (AsyncStreamListener.Connections, SocketAddress?) {
            let listener = try await AsyncStreamListener.listen(onPort: 0, on: handle)
            return (listener.connections, listener.localAddress)
        }
        var (connections, address): (_?, _) = try await listen()
        for _ in 0..<5 { try await handle.submit { _ in } }
        var iterator = connections?.makeAsyncIterator()
        connections = nil
        let port = try #require(address?.port)
        let peer = try BlockingPeer(connectingTo: .ipv4(.loopback, port: port))
        let client = try await iterator?.next()
        #expect(client?.remoteAddress?.port == peer.localAddress?.port)
        iterator = nil
        while try await handle.submit({ $0.figures.listeners }) > 1 {}
        await end()
    }
}

import TestSupport
import Testing
import Towline
import TowlineTLS

@Suite("Securing in the async style", .timeLimit(.minutes(10))) struct AsyncSecuringTests {
    /// A reactor with a listener, and both ends of a connection.
    private struct Ends {
        let handle: ReactorHandle
        let client: AsyncStreamSocket
        let server: AsyncStreamSocket

        init() async throws {
            handle = try Reactor.start(Reactor())
            let address = SocketAddress.ipv4(.loopback, port: 0)
            let listener = try await AsyncStreamListener.listen(on: address, on: handle)
            let place = try #require(listener.localAddress)
            var connections = listener.connections.makeAsyncIterator()
            client = try await AsyncStreamSocket.connect(to: place, on: handle)
            server = try #require(try await connections.next())
        }

        func end() async {
            handle.stop()
            await handle.ended()
        }
    }

    @Test("AX4, S1: both ends are awaited until they are secured, and speak")
    func conversation() async throws {
        let ends = try await Ends()
        let (clientTLS, serverTLS) = (try TestTLS.client(), try TestTLS.server())
        async let secured: Void = ends.server.startTLS(serverTLS, timeout: .seconds(9))
        #expect(await ends.client.tlsInfo == nil)
        try await ends.client.startTLS(clientTLS)
        try await secured
        let info = try #require(await ends.client.tlsInfo)
        #expect(info.version == .tls13 && info.peerChain.count == 2)
        #expect(info.keyingMaterial(label: "x", context: nil, count: 9) == nil, "another thread")
        try await ends.client.write("hello\r\n")
        #expect(try await ends.server.read(to: .crlf) == Array("hello\r\n".utf8))
        try await ends.server.write("goodbye")
        await ends.server.close()
        #expect(try await ends.client.readToEnd(maxLength: 100) == Array("goodbye".utf8))
        await ends.client.close()
        #expect(await ends.client.tlsInfo == nil)
        await ends.end()
    }

    @Test("AX4, TV1: a server that is not who was wanted is the error of the call")
    func refusal() async throws {
        let ends = try await Ends()
        var clientTLS = try TestTLS.client()
        clientTLS.serverName = .name("other.test")
        let serverTLS = try TestTLS.server()
        let secured = Task { try await ends.server.startTLS(serverTLS) }
        do {
            try await ends.client.startTLS(clientTLS)
            Issue.record("a wrong name is refused")
        } catch let error as SocketError {
            guard case .untrusted? = error.tls else {
                Issue.record("\(error)")
                return
            }
        }
        await #expect(throws: SocketError.self) { try await secured.value }
        await #expect(throws: SocketError.self) { try await ends.client.write("x") }
        await ends.end()
    }

    @Test("AX4, S6: a handshake has the time that its call gives it")
    func time() async throws {
        let ends = try await Ends()
        let clientTLS = try TestTLS.client()
        do {
            try await ends.client.startTLS(clientTLS, timeout: .milliseconds(20))
            Issue.record("nobody answers")
        } catch let error as SocketError {
            #expect(error.tls == .timedOut(.hello), "\(error)")
        }
        await #expect(throws: SocketError.self) {
            try await ends.server.startTLS(clientTLS, timeout: .seconds(-1))
        }
        await ends.end()
    }

    @Test("AX4, SD1: cancelled while it waits for the peer, and when the reactor stops")
    func cancelling() async throws {
        let ends = try await Ends()
        let clientTLS = try TestTLS.client()
        let task = Task { try await ends.client.startTLS(clientTLS) }
        // The hello is there: the task waits for an answer.
        _ = try await ends.server.read(maxLength: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        _ = try await ends.client.ended()

        let others = try await Ends()
        let waiting = Task { try await others.client.startTLS(clientTLS) }
        _ = try await others.server.read(maxLength: 1)
        await others.end()
        await #expect(throws: SocketError.reactorStopped) { try await waiting.value }
        await ends.end()
    }
}

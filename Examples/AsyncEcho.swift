// The echo server in the `async` style: everything runs on the reactor's thread, until SIGTERM.

import Glibc
import Towline

/// Lives on the reactor's thread, so that none of its calls leaves it.
actor EchoService {
    private let handle: ReactorHandle

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        handle.serialExecutor.asUnownedSerialExecutor()
    }

    init(on handle: ReactorHandle) {
        self.handle = handle
    }

    func serve() async {
        do {
            let address = SocketAddress.ipv4(.loopback, port: 0)
            let listener = try await AsyncStreamListener.listen(on: address, on: handle)
            if let address = listener.localAddress { print("listening on \(address)") }
            fflush(nil)
            for try await client in listener.connections {
                Task { await echo(client) }
            }
        } catch SocketError.reactorStopped {
            // SIGTERM.
        } catch {
            complain("\(error)")
            handle.stop()
        }
    }

    private func echo(_ client: AsyncStreamSocket) async {
        do {
            try await client.use { connection in
                while true { try await connection.write(connection.read()) }
            }
        } catch SocketError.closedByPeer, SocketError.reactorStopped {
            // The usual ends.
        } catch {
            complain("\(error)")
        }
    }
}

func complain(_ text: String) {
    let line = Array("async-echo: \(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
}

do {
    let reactor = try Reactor()
    let handle = reactor.handle
    let signals = try SignalSource(reactor: reactor, signals: [SIGTERM, SIGINT]) { _ in
        handle.stop()
    }
    let service = EchoService(on: handle)
    // Top-level code is the main actor's, whose thread runs the reactor.
    Task.detached { await service.serve() }
    try reactor.run()
    withExtendedLifetime(signals) {}
} catch {
    complain("\(error)")
    exit(1)
}

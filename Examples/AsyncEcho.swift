// The echo server in the `async` style: everything runs on the reactor's thread, until SIGTERM.

import Glibc
import Towline

func echo(_ client: AsyncStreamSocket) async {
    do {
        while true { try await client.write(client.read()) }
    } catch SocketError.closedByPeer {
        // The usual end.
    } catch {
        complain("\(error)")
    }
}

func serve(on handle: ReactorHandle) async {
    do {
        let address = SocketAddress.ipv4(.loopback, port: 0)
        let listener = try await AsyncStreamListener.listen(on: address, on: handle)
        if let address = listener.localAddress { print("listening on \(address)") }
        fflush(nil)
        for try await client in listener.connections {
            Task(executorPreference: handle.taskExecutor) { await echo(client) }
        }
    } catch SocketError.reactorStopped {
        // SIGTERM.
    } catch {
        complain("\(error)")
        handle.stop()
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
    Task(executorPreference: handle.taskExecutor) { await serve(on: handle) }
    try reactor.run()
    withExtendedLifetime(signals) {}
} catch {
    complain("\(error)")
    exit(1)
}

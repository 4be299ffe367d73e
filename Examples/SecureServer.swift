import Towline
import TowlineTLS

let tls = try TLSConfiguration.server(certificateFile: "server.pem", privateKeyFile: "server.key")
let reactor = try Reactor.start(Reactor())
let listener = try await AsyncStreamListener.listen(onPort: 8443, on: reactor)
for try await client in listener.connections {
    Task(executorPreference: reactor.taskExecutor) {
        do {
            try await client.startTLS(tls)
            while true { try await client.write(client.read()) }
        } catch { if error as? SocketError != .closedByPeer { print(error) } }
    }
}

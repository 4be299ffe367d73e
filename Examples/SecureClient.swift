import Towline
import TowlineTLS

let tls = TLSConfiguration.client(trusting: try .anchors(file: "server.pem"))
let reactor = try Reactor.start(Reactor())
let server = try await AsyncStreamSocket.connect(toHost: "localhost", port: 8443, on: reactor)
try await server.startTLS(tls)
try await server.write("HELLO\r\n")
print(String(decoding: try await server.read(to: .crlf, maxLength: 512), as: UTF8.self))
await server.close()

import Towline
import TowlineTLS

final class Echo: StreamListenerDelegate, StreamSocketDelegate {
    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.delegate = self
        try socket.read()
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try socket.write(bytes)
        try socket.read()
    }
}

let identity = try Identity(certificateFile: "server.pem", privateKeyFile: "server.key")
let reactor = try Reactor()
let echo = Echo()
let listener = StreamListener(reactor: reactor, delegate: echo)
try listener.replaceTLS(.server(identity))
try listener.listen(onPort: 8443)
for address in listener.localAddresses { print("listening on \(address)") }
try reactor.run()

import Towline
import TowlineTLS

final class Greeter: StreamSocketDelegate {
    let reactor: Reactor

    init(reactor: Reactor) { self.reactor = reactor }

    func socketDidSecure(_ socket: StreamSocket) throws {
        if let info = socket.tlsInfo { print("secured: \(info.version), \(info.cipherSuite)") }
        try socket.write("HELLO\r\n")
        try socket.read(to: .crlf, maxLength: 512, timeout: .seconds(5))
    }

    func socket(_ socket: StreamSocket, didRead line: RawSpan, tag: Int) {
        print("answered: \(String(decoding: line))")
        socket.disconnect(.afterWrites)
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        print(report)
        reactor.stop()
    }
}

var configuration = TLSConfiguration.client
configuration.trust = .anchors(try Certificate.certificates(file: "server.pem"))
let reactor = try Reactor()
let greeter = Greeter(reactor: reactor)
let socket = StreamSocket(reactor: reactor, delegate: greeter)
try socket.connect(toHost: "localhost", port: 8443)
try socket.startTLS(configuration)
try reactor.run()

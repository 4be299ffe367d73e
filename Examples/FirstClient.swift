import Towline

final class Greeter: StreamSocketDelegate {
    let reactor: Reactor

    init(reactor: Reactor) { self.reactor = reactor }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        print("connected to \(address), saying HELLO")
        try socket.write("HELLO\r\n")
        try socket.read(to: .crlf, maxLength: 512, timeout: .seconds(5), tag: 1)
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

let reactor = try Reactor()
let greeter = Greeter(reactor: reactor)
let socket = StreamSocket(reactor: reactor, delegate: greeter)
try socket.connect(to: .ipv4(.loopback, port: 8080))
try reactor.run()

import Glibc
import TestSupport
import Testing
import Towline
import TowlineTestKit

/// The question before each address, in both worlds.
@Suite("The question before a connect") struct WillConnectTests {
    /// Answers as a test says, and hears what a recorder hears.
    private final class Chooser: StreamSocketDelegate {
        var asked: [SocketAddress] = []
        var descriptors: [CInt] = []
        var connected: [SocketAddress] = []
        var reports: [DisconnectReport] = []
        /// Where to connect instead, once.
        var turnsTo: SocketAddress?
        var answer: (StreamSocket, SocketAddress, CInt) -> Bool = { _, _, _ in true }

        func socket(
            _ socket: StreamSocket,
            willConnectTo address: SocketAddress,
            descriptor: CInt
        ) -> Bool {
            asked.append(address)
            descriptors.append(descriptor)
            if let next = turnsTo.take() {
                socket.disconnect(notifyingDelegate: false)
                #expect(throws: Never.self) { try socket.connect(to: next) }
            }
            return answer(socket, address, descriptor)
        }

        func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) {
            connected.append(address)
        }

        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            reports.append(report)
        }
    }

    private let network = SimulatedNetwork(seed: 1)
    private let chooser = Chooser()
    private static let four = SocketAddress.ipv4(.loopback, port: 80)
    private static let six = SocketAddress.ipv6(.loopback, port: 80)

    private func turn(_ reactor: Reactor, until condition: () -> Bool) throws {
        for _ in 0..<200 where !condition() { try reactor.turn(waitingAtMost: .milliseconds(50)) }
        #expect(condition())
    }

    private func end(_ reactor: Reactor) throws {
        reactor.stop()
        try reactor.run()
    }

    @Test("T2 The delegate is asked in a turn, never inside the call")
    func notInTheCall() throws {
        let reactor = try network.makeReactor()
        let socket = StreamSocket(reactor: reactor, delegate: chooser)
        try socket.connect(to: Self.four)
        #expect(chooser.asked == [])
        try reactor.turn(waitingAtMost: .zero)
        #expect(chooser.asked == [Self.four] && chooser.descriptors == [-1])
        try end(reactor)
    }

    @Test("A refused address is left out, and is no failure")
    func veto() throws {
        let reactor = try network.makeReactor()
        let server = try #require(network.listen(at: Self.four))
        network.names["box.test"] = [.ipv6(.loopback), .ipv4(.loopback)]
        chooser.answer = { _, address, _ in address.addressFamily == .ipv4 }
        let socket = StreamSocket(reactor: reactor, delegate: chooser)
        try socket.connect(toHost: "box.test", port: 80)
        try turn(reactor) { !chooser.connected.isEmpty }
        #expect(chooser.asked == [Self.six, Self.four] && chooser.connected == [Self.four])
        socket.disconnect()
        try turn(reactor) { !chooser.reports.isEmpty }
        #expect(chooser.reports[0].attempts.isEmpty)
        #expect(reactor.figures.openSockets == 0)
        try end(reactor)
        withExtendedLifetime(server) {}
    }

    @Test("Where every address is refused the connect is cancelled", arguments: [1, 2])
    func vetoOfAll(_ count: Int) throws {
        let reactor = try network.makeReactor()
        chooser.answer = { _, _, _ in false }
        let socket = StreamSocket(reactor: reactor, delegate: chooser)
        try socket.connect(toAnyOf: Array([Self.four, Self.six].prefix(count)))
        try turn(reactor) { !chooser.reports.isEmpty }
        #expect(chooser.reports[0].error == .cancelled && chooser.asked.count == count)
        try turn(reactor) { reactor.figures.openSockets == 0 }
        try end(reactor)
    }

    @Test("The question may end the connect, or begin another", arguments: [1, 2])
    func endWithin(_ count: Int) throws {
        let reactor = try network.makeReactor()
        let server = try #require(network.listen(at: Self.six))
        chooser.answer = { socket, _, _ in
            socket.disconnect()
            return true
        }
        let addresses = Array([Self.four, Self.six].prefix(count))
        let socket = StreamSocket(reactor: reactor, delegate: chooser)
        try socket.connect(toAnyOf: addresses)
        try turn(reactor) { !chooser.reports.isEmpty }
        #expect(chooser.reports[0].error == nil && chooser.asked.count == 1)
        chooser.answer = { _, _, _ in true }
        chooser.turnsTo = Self.six
        try socket.connect(toAnyOf: addresses)
        try turn(reactor) { !chooser.connected.isEmpty }
        #expect(chooser.connected == [Self.six] && chooser.reports.count == 1)
        #expect(reactor.figures.openSockets == 1)
        try end(reactor)
        withExtendedLifetime(server) {}
    }

    @Test("The descriptor is the one that connects: an option set on it is there afterwards")
    func descriptor() throws {
        let reactor = try Reactor(.init(backend: .epoll))
        let listener = try BlockingListener()
        chooser.answer = { _, _, descriptor in
            var mark: CInt = 7
            let length = socklen_t(MemoryLayout<CInt>.size)
            let result = setsockopt(descriptor, SOL_SOCKET, SO_PRIORITY, &mark, length)
            return result == 0
        }
        let socket = StreamSocket(reactor: reactor, delegate: chooser)
        let dead = SocketAddress.ipv6(.loopback, port: try #require(listener.address.port))
        try socket.connect(toAnyOf: [dead, listener.address])
        try turn(reactor) { !chooser.connected.isEmpty }
        #expect(chooser.connected == [listener.address] && chooser.asked.count == 2)
        var priority: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        getsockopt(chooser.descriptors[1], SOL_SOCKET, SO_PRIORITY, &priority, &length)
        #expect(priority == 7)
        try end(reactor)
    }

    @Test("A delegate that takes no bytes is asked like any other, and the log says so once")
    func withoutReads() throws {
        let reactor = try network.makeReactor()
        var lines: [String] = []
        reactor.log = { lines.append($0.message) }
        let server = try #require(network.listen(at: Self.four) { $0.send("unwanted") })
        let socket = StreamSocket(reactor: reactor, delegate: chooser)
        for count in 1...3 {
            try socket.connect(to: Self.four)
            try socket.read()
            try turn(reactor) { reactor.figures.receivedBytes == 8 * count }
            socket.disconnect()
            try turn(reactor) { chooser.reports.count == count }
            #expect(chooser.asked.count == count)
        }
        #expect(lines == ["bytes were read, and nobody takes them"])
        try end(reactor)
        withExtendedLifetime(server) {}
    }

    @Test("The log speaks of untaken bytes also where nobody wants to be asked")
    func unaskedWithoutReads() throws {
        final class Idler: StreamSocketDelegate {}
        let idler = Idler()
        let reactor = try network.makeReactor()
        var lines: [String] = []
        reactor.log = { lines.append($0.message) }
        let server = try #require(network.listen(at: Self.four) { $0.send("unwanted") })
        let socket = StreamSocket(reactor: reactor, delegate: idler)
        try socket.connect(to: Self.four)
        try socket.read()
        try turn(reactor) { !lines.isEmpty }
        #expect(lines == ["bytes were read, and nobody takes them"])
        try end(reactor)
        withExtendedLifetime(server) {}
    }
}

import Glibc
import TestSupport
import Towline
@testable import TowlineTestKit

/// One random run on a simulated network: connections that read, write and end as chance has it, on
/// a network that cuts, delays and fails, with everything that must hold looked at all the time.
final class Storm {
    let seed: UInt64
    private(set) var complaints: [String] = []
    var numbers: SeededNumbers
    let network: SimulatedNetwork
    let backend: SimulatedBackend
    let reactor: Reactor
    private var parties: [Party] = []
    private let listenAddress = SocketAddress.ipv4(.loopback, port: 7_000)

    init(seed: UInt64) throws {
        self.seed = seed
        numbers = SeededNumbers(seed: seed)
        network = SimulatedNetwork(
            seed: seed ^ 0x5EED,
            conditions: Self.drawConditions(&numbers)
        )
        var configuration = Reactor.Configuration()
        configuration.receiveBufferSize = [4_096, 65_536, 262_144].randomElement(using: &numbers)!
        configuration.budget.callbacksPerSocket = numbers.number(in: 1..<64)
        configuration.budget.receivesPerSocket = numbers.number(in: 1..<16)
        configuration.budget.closings = numbers.number(in: 1..<8)
        backend = network.makeBackend(configuration)
        reactor = try network.makeReactor(configuration, on: backend)
    }

    private static func drawConditions(_ numbers: inout SeededNumbers) -> NetworkConditions {
        var conditions = NetworkConditions()
        let milliseconds = numbers.number(in: 0..<20)
        conditions.delay = .zero ... .milliseconds(milliseconds)
        conditions.bytesPerSegment = 1...numbers.number(in: 1..<5_000)
        if Bool.random(using: &numbers) { conditions.bytesPerReceive = 1...3_000 }
        if Bool.random(using: &numbers) { conditions.bytesPerSend = 1...3_000 }
        conditions.windowByteCount = numbers.number(in: 1..<20_000)
        conditions.interruptedShare = Double.random(in: 0..<0.3, using: &numbers)
        conditions.blockedShare = Double.random(in: 0..<0.3, using: &numbers)
        conditions.shufflesEvents = Bool.random(using: &numbers)
        conditions.timePerWait = .microseconds(numbers.number(in: 1..<500))
        return conditions
    }

    func complain(_ text: String) {
        complaints.append(text)
    }

    // MARK: Running

    /// Runs it to its end; what was wrong.
    func run() throws -> [String] {
        let acceptor = StormAcceptor(self)
        let listener = StreamListener(reactor: reactor, delegate: acceptor)
        try listener.listen(on: listenAddress)
        var servers: [SimulatedServer] = []
        for number in 0..<numbers.number(in: 1..<6) {
            let party = Party(number, self)
            parties.append(party)
            // A port of its own tells whose connection it is.
            let address = SocketAddress.ipv4(.loopback, port: UInt16(8_000 + number))
            if Bool.random(using: &numbers) {
                guard let server = network.listen(at: address, welcome: { party.attach($0) }) else {
                    complain("\(address) is taken")
                    continue
                }
                servers.append(server)
                try party.connect(to: address, on: reactor, in: network)
            } else {
                acceptor.expected[address] = party
                party.attach(network.connect(to: listenAddress, from: address))
            }
        }
        if numbers.number(in: 0..<3) == 0 { injectFaults() }
        try turn()
        reactor.stop()
        try reactor.turn()
        lookAtTheEnd()
        withExtendedLifetime((acceptor, listener, servers)) {}
        return complaints
    }

    private func injectFaults() {
        let calls: [SimulatedCall] = [.receive, .send, .accept, .connect, .watch, .socket]
        for _ in 0..<numbers.number(in: 1..<4) {
            let call = calls.randomElement(using: &numbers)!
            let number = call.errnos.randomElement(using: &numbers)!
            network.inject(number, into: call, after: numbers.number(in: 0..<20))
        }
    }

    private func turn() throws {
        for _ in 0..<3_000 {
            try reactor.turn(waitingAtMost: .milliseconds(5))
            complaints += backend.inspect()
            for socket in parties.compactMap(\.socket) {
                complaints += SocketInspector.inspect(socket, on: reactor)
            }
            for party in parties where numbers.number(in: 0..<8) == 0 { party.act() }
            guard complaints.isEmpty else { return }
            if parties.allSatisfy(\.isOver) { return }
        }
        // Whoever is still there is ended by the stop.
    }

    private func lookAtTheEnd() {
        for party in parties { party.lookAtTheEnd() }
        complaints += backend.inspect()
        let figures = reactor.figures
        if figures.openSockets != 0 { complain("\(figures.openSockets) sockets left in the table") }
        if figures.timers != 0 { complain("\(figures.timers) timers left without an owner") }
    }
}

/// Hands accepted sockets to the parties that wait for one.
private final class StormAcceptor: StreamListenerDelegate {
    unowned let storm: Storm
    var expected: [SocketAddress: Party] = [:]

    init(_ storm: Storm) { self.storm = storm }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        guard let address = socket.remoteAddress, let party = expected.removeValue(forKey: address)
        else { return storm.complain("accepted somebody unknown") }
        party.begin(with: socket)
    }
}

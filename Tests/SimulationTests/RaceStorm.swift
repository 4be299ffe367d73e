import Glibc
import TestSupport
import Towline
@testable import TowlineTestKit

/// One random run of connects, by name and by several addresses: they are given up, begun anew and
/// refused by the kernel in every phase, and from inside their own callbacks; nothing may be left.
final class RaceStorm {
    let seed: UInt64
    var complaints: [String] = []
    var numbers: SeededNumbers
    let network: SimulatedNetwork
    let backend: SimulatedBackend
    let reactor: Reactor
    private var racers: [Racer] = []
    private var sockets: [StreamSocket] = []

    init(seed: UInt64) throws {
        self.seed = seed
        numbers = SeededNumbers(seed: seed)
        var conditions = NetworkConditions()
        conditions.delay = .zero ... .milliseconds(numbers.number(in: 0..<20))
        conditions.shufflesEvents = Bool.random(using: &numbers)
        conditions.timePerWait = .microseconds(numbers.number(in: 1..<500))
        if numbers.number(in: 0..<3) == 0 {
            conditions.descriptorLimit = numbers.number(in: 6..<30)
        }
        network = SimulatedNetwork(seed: seed ^ 0x5EED, conditions: conditions)
        var configuration = Reactor.Configuration()
        configuration.budget.closings = numbers.number(in: 1..<8)
        backend = network.makeBackend(configuration)
        reactor = try network.makeReactor(configuration, on: backend)
    }

    func chance(_ one: Int) -> Bool { numbers.number(in: 0..<one) == 0 }

    /// Runs it to its end; what was wrong.
    func run() throws -> [String] {
        let servers = makeServers()
        for number in 0..<numbers.number(in: 1..<6) {
            let racer = Racer(number, self)
            racers.append(racer)
            sockets.append(racer.socket)
            racer.start()
        }
        try turn(times: 300) { self.act() }
        for socket in sockets { socket.disconnect(notifyingDelegate: false) }
        racers.forEach { $0.isSilenced = true }
        if !reactor.handle.execute({ _ in }) { return complaints }
        // Those that were told to end before may still wait for their peers' ends.
        try turn(times: 60) {}
        lookAtTheEnd()
        // The last act may have stopped it already.
        if reactor.handle.execute({ $0.stop() }) { try reactor.turn() }
        lookAtTheEnd()
        withExtendedLifetime(servers) {}
        return complaints
    }

    private func makeServers() -> [SimulatedServer] {
        var servers: [SimulatedServer] = []
        for address in Self.places {
            switch numbers.number(in: 0..<3) {
            case 0: network.silence(address)
            case 1:
                let closes = chance(2)
                let server = network.listen(at: address, backlog: numbers.number(in: 1..<3)) {
                    if closes { $0.finishSending() }
                }
                if let server { servers.append(server) }
            default: break
            }
        }
        return servers
    }

    static let places: [SocketAddress] = (1...6).flatMap {
        [.ipv4(.loopback, port: $0), .ipv6(.loopback, port: $0)]
    }

    private func turn(times count: Int, _ act: () -> Void) throws {
        for _ in 0..<count where complaints.isEmpty && reactor.handle.execute({ _ in }) {
            try reactor.turn(waitingAtMost: .milliseconds(100))
            complaints += backend.inspect()
            for socket in sockets { complaints += SocketInspector.inspect(socket, on: reactor) }
            act()
        }
    }

    private func act() {
        if chance(10) {
            let calls: [SimulatedCall] = [.socket, .setOption, .bind, .connect, .watch]
            if let call = calls.randomElement(using: &numbers),
                let number = call.errnos.randomElement(using: &numbers)
            {
                network.inject(number, into: call, after: numbers.number(in: 0..<4))
            }
        }
        if chance(100), !racers.isEmpty { racers.removeLast() }
        if chance(1_000) { reactor.handle.stop() }
        for racer in racers where chance(4) { racer.act() }
    }

    private func lookAtTheEnd() {
        complaints += backend.inspect()
        let figures = reactor.figures
        if figures.openSockets != 0 { complaints.append("\(figures.openSockets) sockets left") }
        if figures.timers != 0 { complaints.append("\(figures.timers) timers left") }
    }
}

/// A socket of a storm, and what it decides by chance.
final class Racer: StreamSocketDelegate {
    struct Refusal: Error {}

    let socket: StreamSocket
    private let number: Int
    private unowned let storm: RaceStorm
    private var isStarted = false
    private var farewellIsDue = false
    var isSilenced = false

    init(_ number: Int, _ storm: RaceStorm) {
        self.number = number
        self.storm = storm
        socket = StreamSocket(reactor: storm.reactor)
        socket.delegate = self
    }

    private func complain(_ text: String) { storm.complaints.append("racer \(number): \(text)") }

    /// Begins a connect, however.
    func start() {
        guard !isSilenced else { return }
        if storm.chance(3) { socket.connectionAttemptDelay = .zero }
        socket.options.localPort = storm.chance(3) ? 999 : 0
        let timeout: Duration? = storm.chance(3) ? .milliseconds(30) : .seconds(20)
        let count = storm.numbers.number(in: 1..<20)
        let places = (0..<count).compactMap { _ in
            RaceStorm.places.randomElement(using: &storm.numbers)
        }
        do throws(SocketError) {
            if storm.chance(2) {
                try socket.connect(toAnyOf: places, timeout: timeout)
            } else {
                let port = UInt16(storm.numbers.number(in: 1..<7))
                try socket.connect(toHost: prepareName(), port: port, timeout: timeout)
            }
            if isStarted { complain("started twice without an end") }
            isStarted = true
            farewellIsDue = true
        } catch {
            guard error != .reactorStopped else { return }
            if case .idle = socket.state { complain("refused with \(error)") }
        }
        if storm.chance(4) { use() }
    }

    private func prepareName() -> String {
        let name = "racer\(number).test"
        let answers: [SimulatedNames.Answer] = [
            .addresses([.ipv6(.loopback), .ipv4(.loopback)]), .addresses([.ipv4(.loopback)]),
            .addresses([]), .failure(.temporaryFailure), .silence,
        ]
        storm.network.names.answer(
            name,
            with: answers.randomElement(using: &storm.numbers) ?? .silence,
            after: .milliseconds(storm.numbers.number(in: 0..<10)),
            repeats: storm.numbers.number(in: 1..<3)
        )
        return name
    }

    private func use() {
        do throws(SocketError) {
            switch storm.numbers.number(in: 0..<5) {
            case 0: try socket.read()
            case 1: try socket.write("bytes")
            case 2: try socket.shutdownWrite()
            case 3: socket.cancelAllReads()
            default: try socket.setIdleTimeout(both: .milliseconds(50))
            }
        } catch {
            // It is idle, or ends.
        }
    }

    /// Ends or uses the socket, in whatever phase it is.
    func act() {
        guard !isSilenced else { return }
        switch storm.numbers.number(in: 0..<9) {
        case 0: socket.disconnect()
        case 1: socket.abort()
        case 2:
            socket.disconnect(notifyingDelegate: false)
            isStarted = false
            if storm.chance(2) { start() }
        case 3: socket.disconnect(.afterWrites)
        case 4: if socket.state == .idle { start() }
        default: use()
        }
    }

    func socket(
        _ socket: StreamSocket,
        willConnectTo address: SocketAddress,
        descriptor: CInt
    ) -> Bool {
        if !isStarted { complain("asked about an address of an earlier connect") }
        if storm.chance(6) { act() }
        return !storm.chance(8)
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        if !isStarted { complain("an earlier connect is told of") }
        if storm.chance(3) { act() }
        if storm.chance(8) { throw Refusal() }
    }

    func socketDidIdle(_ socket: StreamSocket, direction: IdleDirection) throws {
        if storm.chance(2) { act() }
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        if !isStarted { complain("a farewell without a start: \(report)") }
        isStarted = false
        if storm.chance(2) { start() }
    }
}

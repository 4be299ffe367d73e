import Glibc
import Synchronization
import TestSupport
import Towline

/// Makes and stops reactors one after the other, each on a thread of its own, with something of
/// everything open when it stops.
enum ReactorRounds {
    /// Reactors that make what there is one of.
    private static let warmUpCount = 10
    private static let connectionCount = 8

    static func run(_ plan: Plan) throws -> CInt {
        var complaints: [String] = []
        for round in 0..<warmUpCount { complaints += try makeOne(seed: UInt64(round)) }
        let before = Belongings()
        for round in 0..<plan.reactors { complaints += try makeOne(seed: UInt64(round)) }
        let after = settledBelongings(since: before)
        print("\(plan.reactors) reactors; \(before) -> \(after)")
        if !plan.isTolerant { complaints += after.complaints(since: before) }
        complaints.prefix(20).forEach { print("soak: \($0)") }
        return complaints.isEmpty ? 0 : 1
    }

    /// What there is when the kernel has done away with threads that have ended, 2 s at most.
    private static func settledBelongings(since before: Belongings) -> Belongings {
        var now = Belongings()
        _ = holds(within: .seconds(2)) {
            now = Belongings()
            return now.threads <= before.threads && now.descriptors <= before.descriptors
        }
        return now
    }

    /// One reactor's life.
    ///
    /// - Parameter seed: What its clients' numbers follow from.
    /// - Returns: What was wrong.
    /// - Throws: What the kernel refuses.
    private static func makeOne(seed: UInt64) throws -> [String] {
        try BackgroundWork { () throws -> [String] in
            let tally = Tally()
            let reactor = try Reactor(Reactor.Configuration(backend: .epoll))
            let server = SoakServer(tally)
            let listener = StreamListener(reactor: reactor, delegate: server)
            try listener.listen(on: .ipv4(.loopback, port: 0))
            guard let address = listener.localAddress else { throw SocketError.notConnected }
            var seeds = SeededNumbers(seed: seed)
            let work = Work(remaining: connectionCount)
            let file = try SoakFile(seeds.bytes(1 << 16))
            let clients = (0..<2).map { _ in
                SoakClient(reactor, address, work, tally, file, SeededNumbers(seed: seeds.next()))
            }
            clients.forEach { $0.start() }
            let rest = OpenRest(reactor)
            try rest.open(to: address)
            let isDone = try turn(reactor) { clients.allSatisfy(\.isDone) && rest.isReady }
            if !isDone { tally.wrong("a reactor's work is not done within 20 s") }
            reactor.stop()
            try reactor.run()
            clients.forEach { $0.retire() }
            if rest.farewells != rest.sockets.count { tally.wrong("a farewell is missing") }
            if tally.accepted != tally.acceptedFarewells {
                tally.wrong("\(tally.accepted) accepted, \(tally.acceptedFarewells) farewells")
            }
            withExtendedLifetime(server) {}
            let errors = tally.errors.filter { $0.key != "\(SocketError.reactorStopped)" }
            return tally.complaints + errors.map { "\($0.value) times: \($0.key)" }
        }.value()
    }

    private static func turn(_ reactor: Reactor, until isDone: () -> Bool) throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(20)
        while !isDone() {
            guard ContinuousClock.now < deadline else { return false }
            try reactor.turn(waitingAtMost: .milliseconds(10))
        }
        return true
    }
}

/// What is open when a reactor stops: connections with reads, timers, and threads that look up.
private final class OpenRest: StreamSocketDelegate {
    let sockets: [StreamSocket]
    private(set) var farewells = 0

    private let reactor: Reactor
    private let isAnswered = Answer()
    private var connectedCount = 0
    private var ticks = 0

    private final class Answer: Sendable {
        let isThere = Atomic(false)
    }

    init(_ reactor: Reactor) {
        self.reactor = reactor
        sockets = (0..<4).map { _ in StreamSocket(reactor: reactor) }
    }

    var isReady: Bool {
        connectedCount == sockets.count && ticks > 0 && isAnswered.isThere.load(ordering: .relaxed)
    }

    func open(to address: SocketAddress) throws {
        for socket in sockets {
            socket.delegate = self
            try socket.connect(to: address)
            try socket.read(timeout: .seconds(60))
        }
        reactor.schedule(every: .milliseconds(1)) { [unowned self] in ticks += 1 }
        reactor.schedule(after: .seconds(3_600)) {}
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8($0) }, as: UTF8.self)
        reactor.resolver.resolve(host, port: 80) { [isAnswered] _ in
            isAnswered.isThere.store(true, ordering: .relaxed)
        }
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) {
        connectedCount += 1
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        farewells += 1
    }
}

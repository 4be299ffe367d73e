import Glibc
import TestSupport
import Towline

// Connects, talks and ends, again and again, in one process: what is left behind afterwards is a
// leak, what is heard twice or never is a bug. `--tolerant` lets connections fail, for runs in
// which the kernel is made to refuse calls; a wrong byte is never let pass.

struct Plan {
    static let usage = """
        usage: soak [--cycles COUNT] [--clients COUNT] [--seconds LIMIT] [--tolerant] [--quiet]
               soak --reactors COUNT [--tolerant]
               soak --handshakes COUNT
               soak --exchanges COUNT
               soak --mebibytes COUNT

          --cycles COUNT    connections in all, 1 or more; 10000
          --clients COUNT   sockets that connect again and again, 1 or more; 16
          --seconds LIMIT   the longest it may take, 1 or more; 300
          --reactors COUNT  reactors made and stopped instead, one after the other, 1 or more
          --handshakes COUNT
                            handshakes that fail instead, beside a connection that is busy
          --exchanges COUNT HTTP exchanges instead, half of which fail, in ten ways
          --mebibytes COUNT bodies of that size instead, up and down, in clear and secured
          --tolerant        connections may fail
          --quiet           one line at the end

        The seed is taken from TOWLINE_SEED. Ends with 0 if all is well, 1 if something is wrong.
        """

    var cycles = 10_000
    var clients = 16
    var seconds = 300
    var reactors = 0
    var handshakes = 0
    var exchanges = 0
    var mebibytes = 0
    var isTolerant = false
    var isQuiet = false

    init?(_ words: [String]) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--tolerant": isTolerant = true
            case "--quiet": isQuiet = true
            case "--cycles", "--clients", "--seconds", "--reactors", "--handshakes",
                "--exchanges", "--mebibytes":
                guard let number = words.popFirst().flatMap({ Int($0) }), number >= 1 else {
                    return nil
                }
                switch word {
                case "--cycles": cycles = number
                case "--clients": clients = number
                case "--reactors": reactors = number
                case "--handshakes": handshakes = number
                case "--exchanges": exchanges = number
                case "--mebibytes": mebibytes = number
                default: seconds = number
                }
            default: return nil
            }
        }
    }
}

@main
enum Soak {
    static func main() {
        guard let plan = Plan(Array(CommandLine.arguments.dropFirst())) else {
            print(Plan.usage)
            exit(2)
        }
        do {
            if plan.mebibytes > 0 { exit(try Transfers.run(plan)) }
            if plan.exchanges > 0 { exit(try Exchanges.run(plan)) }
            if plan.handshakes > 0 { exit(try FailedHandshakes.run(plan)) }
            exit(try plan.reactors > 0 ? ReactorRounds.run(plan) : run(plan))
        } catch {
            print("soak: \(error)")
            // What the kernel refuses before anything runs is no fault of ours.
            exit(plan.isTolerant ? 0 : 1)
        }
    }

    static func run(_ plan: Plan) throws -> CInt {
        // The first connections make what there is one of; only then is counted.
        let warmUp = Tally()
        try serve(plan, count: min(plan.cycles, 200), warmUp)
        let before = Belongings()
        let tally = Tally()
        try serve(plan, count: plan.cycles, tally)
        let after = Belongings()
        if !plan.isQuiet {
            tally.errors.sorted { $0.key < $1.key }.forEach { print($0.value, $0.key) }
        }
        print("\(tally); \(before) -> \(after)")
        var complaints = tally.complaints + warmUp.complaints
        if !plan.isTolerant { complaints += tally.errors.map { "\($0.value) times: \($0.key)" } }
        complaints += after.complaints(since: before)
        complaints.forEach { print("soak: \($0)") }
        return complaints.isEmpty ? 0 : 1
    }

    /// Makes so many connections on a reactor of their own.
    private static func serve(_ plan: Plan, count: Int, _ tally: Tally) throws {
        let reactor = try Reactor(.init(backend: .epoll))
        let server = SoakServer(tally)
        let listener = StreamListener(reactor: reactor, delegate: server)
        try listener.listen(on: .ipv4(.loopback, port: 0))
        guard let address = listener.localAddress else { throw SocketError.notConnected }
        var seeds = SeededNumbers(for: plan.isQuiet ? "soak" : "soak of \(count)")
        let work = Work(remaining: count)
        let file = try SoakFile(seeds.bytes(1 << 16))
        let clients = (0..<min(plan.clients, count)).map { _ in
            SoakClient(reactor, address, work, tally, file, SeededNumbers(seed: seeds.next()))
        }
        clients.forEach { $0.start() }
        let deadline = ContinuousClock.now + .seconds(plan.seconds)
        while !clients.allSatisfy(\.isDone), ContinuousClock.now < deadline {
            try reactor.turn(waitingAtMost: .milliseconds(100))
        }
        if !clients.allSatisfy(\.isDone) {
            tally.wrong("connections hang: \(work.remaining) to go")
        }
        listener.stop()
        reactor.stop()
        try reactor.run()
        clients.forEach { $0.retire() }
        withExtendedLifetime(server) {}
    }
}

/// How many connections are still to be made.
final class Work {
    var remaining: Int

    init(remaining: Int) {
        self.remaining = remaining
    }
}

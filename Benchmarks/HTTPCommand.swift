internal import CBareEcho
internal import CBareHTTP
internal import Glibc

/// `Benchmarks http`: what a GET over a kept connection costs a client, against others.
///
/// Every client is a process of its own, which is measured whole; what its start costs is taken off
/// by a run with one request a connection.
enum HTTPCommand {
    static let name = "http"

    private static let usage = """
        usage: Benchmarks http [--rounds N] [--requests N] [--connections N] [--url-session]

        Compares the processor time of a GET over kept connections, 13 bytes of body, in clients
        that are processes of their own on one core, with a bare server on another: the least that
        a client can do in C, which is the limit, HTTPClient with a delegate, and libcurl's multi
        interface where its headers were when this was built. Every round runs each client once, in
        an order that rotates.

          --rounds N       rounds, 1 through 100; 5
          --requests N     requests of a client in a round, 1000 through 10000000; 100000
          --connections N  connections, 1 through 1000; 32
          --url-session    Foundation's URLSession as well, with a twentieth of the requests

        Exit codes: 0, all ran; 1, a run failed or a response was wrong; 2, the command line is
        wrong.
        """

    /// What the command line asks for.
    private struct Options {
        var rounds = 5
        var requests = 100_000
        var connections = 32
        var clients: [ClientKind] = [.bare, .towline, .libcurl]
    }

    static func run(_ words: ArraySlice<String>) throws {
        guard !words.contains("--help") else {
            print(usage)
            return
        }
        let options = try parse(words)
        let cores = CorePlan.current
        let server = try startServer(cores)
        let line = try server.readLine(within: .seconds(10))
        guard let port = line.split(separator: " ").first.flatMap({ UInt16($0) }) else {
            throw RunFailure("the server announced no port: \(line)")
        }
        print(head(options, cores))
        let base = try baselines(options, port, cores)
        var figures: [ClientKind: [Double]] = [:]
        for round in 0..<options.rounds {
            let shift = round % options.clients.count
            for kind in options.clients[shift...] + options.clients[..<shift] {
                let count = options.requests / kind.divisor
                let whole = try measure(kind, port, options.connections, count, cores)
                let cost = whole - (base[kind] ?? 0)
                figures[kind, default: []].append(cost / Double(count - options.connections))
            }
        }
        print(table(figures, options))
        _ = try server.end(within: .seconds(5))
    }

    private static func parse(_ words: ArraySlice<String>) throws(UsageError) -> Options {
        var options = Options()
        if !benchmark_has_libcurl_headers() { options.clients.removeAll { $0 == .libcurl } }
        var words = words
        while let option = words.popFirst() {
            if option == "--url-session" {
                options.clients.append(.urlSession)
                continue
            }
            guard let number = words.popFirst().flatMap({ Int($0) }) else {
                throw UsageError("\(option) needs a number", usage: usage)
            }
            switch (option, number) {
            case ("--rounds", 1...100): options.rounds = number
            case ("--requests", 1_000...10_000_000): options.requests = number
            case ("--connections", 1...1_000): options.connections = number
            default: throw UsageError("\(option) \(number): not valid", usage: usage)
            }
        }
        return options
    }

    private static func startServer(_ cores: CorePlan) throws(RunFailure) -> ChildProcess {
        var arguments = [ServeCommand.name, ServerKind.http.rawValue]
        if let separate = cores.separate { arguments.append("\(separate.server)") }
        return try ChildProcess("/proc/self/exe", arguments)
    }

    /// What each client costs that sends one request a connection.
    private static func baselines(
        _ options: Options,
        _ port: UInt16,
        _ cores: CorePlan
    ) throws(RunFailure) -> [ClientKind: Double] {
        var costs: [ClientKind: Double] = [:]
        for kind in options.clients {
            let count = options.connections
            let first = try measure(kind, port, count, count, cores)
            costs[kind] = min(first, try measure(kind, port, count, count, cores))
        }
        return costs
    }

    /// The processor time of one client process, in microseconds.
    private static func measure(
        _ kind: ClientKind,
        _ port: UInt16,
        _ connections: Int,
        _ requests: Int,
        _ cores: CorePlan
    ) throws(RunFailure) -> Double {
        var arguments = [ClientCommand.name, kind.rawValue, "\(port)", "\(connections)"]
        arguments.append("\(requests)")
        if let separate = cores.separate { arguments.append("\(separate.load)") }
        let before = childTime()
        let process = try ChildProcess("/proc/self/exe", arguments)
        let line = try process.readLine(within: .seconds(600))
        guard line == "\(requests) 0" else { throw RunFailure("\(kind.title): \(line)") }
        guard try process.end(within: .seconds(10)) == 0 else {
            throw RunFailure("\(kind.title) did not end in order")
        }
        return childTime() - before
    }

    /// What all processes have used that were started and have ended, in microseconds.
    private static func childTime() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        let microseconds: (timeval) -> Double = { Double($0.tv_sec) * 1e6 + Double($0.tv_usec) }
        return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
    }

    private static func head(_ options: Options, _ cores: CorePlan) -> String {
        let conditions =
            Condition.ofThisBuild + Condition.ofThisMachine + [
                Condition("cores", cores.description)
            ]
        return """
            HTTP: processor time of the client, from \(options.rounds) rounds of \
            \(options.requests.grouped) requests over \(options.connections) connections

            \(conditions.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))

            Each figure is a median, with minimum and maximum of the rounds in parentheses.

            """
    }

    private static func table(_ figures: [ClientKind: [Double]], _ options: Options) -> String {
        let reference = figures[.bare] ?? []
        return options.clients.map { kind in
            let costs = figures[kind] ?? []
            let ratios = zip(costs, reference).map { $0 / $1 }
            let name = kind.title + String(repeating: " ", count: max(1, 24 - kind.title.count))
            return "\(name)\(Spread(costs).text(\.hundredths)) µs a request, "
                + "\(Spread(ratios).text(\.hundredths)) of the least"
        }.joined(separator: "\n")
    }
}

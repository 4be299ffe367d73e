/// What the command line of a comparison asks for.
struct RunOptions {
    /// What is common to the comparisons, behind what is a comparison's own.
    static func usage(of suite: Suite) -> String {
        let introduction =
            switch suite {
            case .echo:
                """
                Compares the processor time of an echo on three servers, each a process of its own
                on one core, with the load on another: a delegate on Towline's epoll backend, a bare
                epoll loop in C, which is the limit, and Dispatch sources.
                """
            case .tls:
                """
                Compares the processor time of an echo over TLS 1.3 on three servers, each a process
                of its own on one core, with the load on another: a delegate that calls startTLS,
                and OpenSSL driven by hand on a bare epoll loop in C, through memory BIOs and
                through the socket. The load verifies the server's certificate.
                """
            }
        let connections = suite.pingPongConnections.map { "\($0)" }.joined(separator: ",")
        let kinds = suite.kinds.map(\.rawValue).joined(separator: ", ")
        return """
            usage: Benchmarks \(suite.rawValue) [--rounds N] [--seconds S] [--connections LIST]
                                   [--workloads LIST] [--quick] [--json]

            \(introduction) Every round runs each server once, in an order that rotates. Every byte
            that comes back is compared with the one that was sent.

              --rounds N          rounds of each workload, 1 through 100; 5
              --seconds S         measured time of a server in a round, 0.1 through 60; 2
              --connections LIST  connection counts of the ping-pong, each 1 through 20000;
                                  \(connections)
              --workloads LIST    of \(kinds); all of them
              --quick             3 rounds of 1 s of three workloads, half a minute in all; options
                                  that stand behind it change that
              --json              prints one JSON object instead of tables

            Exit codes: 0, all ran; 1, a run failed or a byte was wrong; 2, the command line is
            wrong.
            """
    }

    /// Load before the measured time begins, so that it measures no start.
    static let warmupSeconds = 0.2

    private(set) var rounds = 5
    private(set) var seconds = 2.0
    private(set) var printsJSON = false
    let suite: Suite
    private var pingPongConnections: [Int]
    private var kinds: [Workload.Kind]

    init(_ suite: Suite, _ words: ArraySlice<String>) throws(UsageError) {
        self.suite = suite
        pingPongConnections = suite.pingPongConnections
        kinds = suite.kinds
        let usage = Self.usage(of: suite)
        var words = words
        while let option = words.popFirst() {
            switch option {
            case "--json":
                printsJSON = true
            case "--quick":
                beQuick()
            case "--rounds", "--seconds", "--connections", "--workloads":
                guard let value = words.popFirst() else {
                    throw UsageError("\(option) needs a value", usage: usage)
                }
                guard set(option, to: value) else {
                    throw UsageError("\(option) \(value): not valid", usage: usage)
                }
            default:
                throw UsageError("\(option) is not known", usage: usage)
            }
        }
    }

    /// What is run, in this order.
    var workloads: [Workload] {
        kinds.flatMap { kind -> [Workload] in
            switch kind {
            case .pingPong: pingPongConnections.map { Workload.pingPong(connectionCount: $0) }
            case .pipelined: [.pipelined]
            case .bulk: [.bulk]
            case .connect: [.connect]
            case .record: [.record]
            case .handshake, .resumption: [.handshake(kind)]
            }
        }
    }

    /// Descriptors that the load, or a server, has open at most.
    var descriptorCount: Int {
        let others = 64
        return others + (workloads.map(\.connectionCount).max() ?? 0)
    }

    /// How long it all takes.
    var estimatedSeconds: Int {
        let runCount = workloads.count * rounds * suite.servers.count
        return Int((Double(runCount) * (seconds + Self.warmupSeconds)).rounded(.up))
    }

    private mutating func beQuick() {
        rounds = 3
        seconds = 1
        pingPongConnections = [64]
        kinds = suite.quickKinds
    }

    /// Whether the value is one that the option takes.
    private mutating func set(_ option: String, to value: String) -> Bool {
        switch option {
        case "--rounds":
            guard let number = Int(value), (1...100).contains(number) else { return false }
            rounds = number
        case "--seconds":
            guard let number = Double(value), (0.1...60).contains(number) else { return false }
            seconds = number
        case "--connections":
            let numbers = Self.list(value).map { Int($0).flatMap { 1...20_000 ~= $0 ? $0 : nil } }
            guard !numbers.contains(nil) else { return false }
            pingPongConnections = numbers.compactMap(\.self)
        case "--workloads":
            let chosen = Self.list(value).map { Workload.Kind(rawValue: String($0)) }
            guard chosen.allSatisfy({ $0.map(suite.kinds.contains) ?? false }) else { return false }
            kinds = suite.kinds.filter { chosen.contains($0) }
        default:
            preconditionFailure("\(option) takes no value")
        }
        return true
    }

    private static func list(_ text: String) -> [Substring] {
        text.split(separator: ",", omittingEmptySubsequences: false)
    }
}

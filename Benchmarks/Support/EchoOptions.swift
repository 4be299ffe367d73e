/// What the command line of `Benchmarks echo` asks for.
struct EchoOptions {
    static let usage = """
        usage: Benchmarks echo [--rounds N] [--seconds S] [--connections LIST] [--workloads LIST]
                               [--quick] [--json]

        Compares the processor time of an echo on three servers, each a process of its own on one
        core, with the load on another: a delegate on Towline's epoll backend, a bare epoll loop in
        C, which is the limit, and Dispatch sources. Every round runs each server once, in an order
        that rotates. Every byte that comes back is compared with the one that was sent.

          --rounds N          rounds of each workload, 1 through 100; 5
          --seconds S         measured time of a server in a round, 0.1 through 60; 2
          --connections LIST  connection counts of the ping-pong, each 1 through 20000; 64,1000,1
          --workloads LIST    of ping-pong, pipelined, bulk, connect; all of them
          --quick             3 rounds of 1 s of three workloads, half a minute in all; options
                              that stand behind it change that
          --json              prints one JSON object instead of tables

        Exit codes: 0, all ran; 1, a run failed or a byte was wrong; 2, the command line is wrong.
        """

    /// Load before the measured time begins, so that it measures no start.
    static let warmupSeconds = 0.2

    private(set) var rounds = 5
    private(set) var seconds = 2.0
    private(set) var printsJSON = false
    private var pingPongConnections = [64, 1_000, 1]
    private var kinds = Workload.Kind.allCases

    init(_ words: ArraySlice<String>) throws(UsageError) {
        var words = words
        while let option = words.popFirst() {
            switch option {
            case "--json":
                printsJSON = true
            case "--quick":
                beQuick()
            case "--rounds", "--seconds", "--connections", "--workloads":
                guard let value = words.popFirst() else {
                    throw UsageError("\(option) needs a value", usage: Self.usage)
                }
                guard set(option, to: value) else {
                    throw UsageError("\(option) \(value): not valid", usage: Self.usage)
                }
            default:
                throw UsageError("\(option) is not known", usage: Self.usage)
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
        let runCount = workloads.count * rounds * EchoServerKind.allCases.count
        return Int((Double(runCount) * (seconds + Self.warmupSeconds)).rounded(.up))
    }

    private mutating func beQuick() {
        rounds = 3
        seconds = 1
        pingPongConnections = [64]
        kinds = [.pingPong, .pipelined, .bulk]
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
            guard !chosen.contains(nil) else { return false }
            kinds = Workload.Kind.allCases.filter { chosen.contains($0) }
        default:
            preconditionFailure("\(option) takes no value")
        }
        return true
    }

    private static func list(_ text: String) -> [Substring] {
        text.split(separator: ",", omittingEmptySubsequences: false)
    }
}

internal import Glibc

/// What all servers measured in all rounds of one workload.
struct WorkloadResult {
    let workload: Workload
    /// By server, a measurement for each round.
    let measurements: [ServerKind: [Measurement]]

    func microseconds(of kind: ServerKind) -> [Double] {
        values(of: kind, \.microsecondsPerOperation)
    }

    func operationsPerSecond(of kind: ServerKind) -> [Double] {
        values(of: kind, \.operationsPerSecond)
    }

    /// Processor time against that of another server in the same round, so that what slows a whole
    /// round down cancels.
    func ratios(of kind: ServerKind, to reference: ServerKind) -> [Double] {
        zip(microseconds(of: kind), microseconds(of: reference)).map { $0 / $1 }
    }

    private func values(
        of kind: ServerKind,
        _ value: KeyPath<Measurement, Double>
    ) -> [Double] {
        guard let measurements = measurements[kind] else {
            preconditionFailure("every server is measured in every round")
        }
        return measurements.map { $0[keyPath: value] }
    }
}

/// The servers, each in its process, and the rounds in which they take turns.
final class Comparison {
    private struct Server {
        let kind: ServerKind
        let process: ChildProcess
        let port: UInt16
        let description: String
    }

    private static let startLimit = Duration.seconds(10)
    private static let endLimit = Duration.seconds(5)

    private let options: RunOptions
    private let cores: CorePlan
    private let servers: [Server]

    /// Starts the servers, and keeps this process on the load's core.
    init(_ options: RunOptions, _ cores: CorePlan) throws(RunFailure) {
        self.options = options
        self.cores = cores
        var servers: [Server] = []
        for kind in options.suite.servers { servers.append(try Self.start(kind, cores)) }
        self.servers = servers
        if let separate = cores.separate { try CorePlan.pin(to: separate.load) }
    }

    private static func start(
        _ kind: ServerKind,
        _ cores: CorePlan
    ) throws(RunFailure) -> Server {
        var arguments = [ServeCommand.name, kind.rawValue]
        if let separate = cores.separate { arguments.append("\(separate.server)") }
        // This very program, wherever it lies and whatever has become of its file.
        let process = try ChildProcess("/proc/self/exe", arguments)
        let line = try process.readLine(within: startLimit)
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let port = UInt16(words[0]) else {
            throw RunFailure("\(kind.title) announced no port: \(line)")
        }
        return Server(kind: kind, process: process, port: port, description: String(words[1]))
    }

    /// What the figures are got under.
    func conditions(descriptorLimit: Int) -> [Condition] {
        Condition.ofThisBuild + Condition.ofThisMachine + [
            Condition("cores", cores.description),
            Condition("descriptors", "\(descriptorLimit.grouped) a process"),
        ] + servers.map { Condition($0.kind.title, $0.description) }
    }

    /// Runs all rounds of a workload.
    ///
    /// - Throws: The first thing that goes wrong, with server, workload and round.
    func measure(_ workload: Workload) throws(RunFailure) -> WorkloadResult {
        var measurements: [ServerKind: [Measurement]] = [:]
        for round in 0..<options.rounds {
            let first = round % servers.count
            // Rotated, so that no server always follows the same one.
            for server in servers[first...] + servers[..<first] {
                do {
                    let measurement = try run(workload, on: server)
                    measurements[server.kind, default: []].append(measurement)
                } catch {
                    let place = "\(server.kind.title), \(workload.title), round \(round + 1)"
                    throw RunFailure("\(place): \(error)")
                }
            }
        }
        return WorkloadResult(workload: workload, measurements: measurements)
    }

    private func run(_ workload: Workload, on server: Server) throws(RunFailure) -> Measurement {
        let (port, process) = (server.port, server.process.id)
        switch options.suite {
        case .echo:
            return try EchoLoad.run(workload, port: port, server: process, seconds: options.seconds)
        case .tls:
            return try TLSLoad.run(workload, port: port, server: process, seconds: options.seconds)
        }
    }

    /// Ends the servers.
    ///
    /// - Throws: If one has crashed, or does not end.
    func end() throws(RunFailure) {
        for server in servers {
            let code = try server.process.end(within: Self.endLimit)
            guard code == 0 else {
                let how = code.map { "with exit code \($0)" } ?? "by a signal"
                throw RunFailure("\(server.kind.title) ended \(how)")
            }
        }
    }
}

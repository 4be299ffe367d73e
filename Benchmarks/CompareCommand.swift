internal import CBareEcho
internal import Glibc

/// `Benchmarks echo` and `Benchmarks tls`: compare the delegate with the limit and the usual way.
enum CompareCommand {
    static func run(_ suite: Suite, _ words: ArraySlice<String>) throws {
        guard !words.contains("--help") else {
            print(RunOptions.usage(of: suite))
            return
        }
        let options = try RunOptions(suite, words)
        if suite == .tls { try TLSCredentials.make() }
        let descriptorLimit = Int(benchmark_raise_descriptor_limit())
        guard options.descriptorCount <= descriptorLimit else {
            throw RunFailure(
                "\(options.descriptorCount) descriptors are needed and \(descriptorLimit) allowed;"
                    + " raise the limit (ulimit -n) or ask for fewer --connections"
            )
        }
        let cores = CorePlan.current
        let comparison = try Comparison(options, cores)
        let report = Report(
            options: options,
            conditions: comparison.conditions(descriptorLimit: descriptorLimit)
        )
        Benchmarks.complain("this takes about \(options.estimatedSeconds) s")
        if !options.printsJSON { print(report.head) }
        var results: [WorkloadResult] = []
        for workload in options.workloads {
            let result = try comparison.measure(workload)
            if !options.printsJSON { print(report.table(of: result)) }
            fflush(nil)
            results.append(result)
        }
        try comparison.end()
        if options.printsJSON { print(report.json(of: results)) }
    }
}

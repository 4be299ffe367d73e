/// The same figures as text and as JSON.
struct Report {
    let options: RunOptions
    let conditions: [Condition]

    // MARK: Text

    /// What stands above the tables.
    var head: String {
        let width = (conditions.map(\.name.count).max() ?? 0) + 2
        let lines = conditions.map { padded($0.name, to: width) + $0.value }
        let heading = options.suite.heading
        let times = options.rounds == 1 ? "1 round" : "\(options.rounds) rounds"
        return """
            \(heading): processor time of the server, from \(times) of \(options.seconds) s for each

            \(lines.joined(separator: "\n"))

            Each figure is a median, with minimum and maximum of the rounds in parentheses.
            """
    }

    /// The table of one workload.
    func table(of result: WorkloadResult) -> String {
        var rows = [
            [
                "", "CPU µs an operation", "CPU against \(options.suite.reference)",
                "operations a second",
            ]
        ]
        for kind in options.suite.servers {
            rows.append([
                kind.title,
                Spread(result.microseconds(of: kind)).text(\.hundredths),
                Spread(result.ratios(of: kind, to: options.suite.servers[0])).text(\.hundredths),
                Spread(result.operationsPerSecond(of: kind)).text { Int($0.rounded()).grouped },
            ])
        }
        let widths = rows[0].indices.map { column in
            (rows.map { $0[column].count }.max() ?? 0) + 3
        }
        let lines = rows.map { row in
            var line = "  "
            for (cell, width) in zip(row, widths) { line += padded(cell, to: width) }
            return line.trimmingTrailingSpaces
        }
        return "\n\(result.workload.title)\n" + lines.joined(separator: "\n")
    }

    private func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    // MARK: JSON

    /// All workloads, with every round of every server.
    func json(of results: [WorkloadResult]) -> JSON {
        .object([
            ("benchmark", .string(options.suite.rawValue)),
            ("conditions", .object(conditions.map { ($0.name, .string($0.value)) })),
            ("rounds", .integer(options.rounds)),
            ("seconds", .number(options.seconds)),
            ("warmupSeconds", .number(RunOptions.warmupSeconds)),
            ("workloads", .array(results.map(json))),
        ])
    }

    private func json(of result: WorkloadResult) -> JSON {
        let workload = result.workload
        return .object([
            ("title", .string(workload.title)),
            ("kind", .string(workload.kind.rawValue)),
            ("connections", .integer(workload.connectionCount)),
            ("depth", .integer(workload.depth)),
            ("messageBytes", .integer(workload.messageByteCount)),
            ("servers", .array(options.suite.servers.map { json(of: $0, in: result) })),
        ])
    }

    private func json(of kind: ServerKind, in result: WorkloadResult) -> JSON {
        .object([
            ("name", .string(kind.title)),
            ("cpuMicrosecondsPerOperation", json(of: result.microseconds(of: kind))),
            (
                "cpuAgainstReference",
                json(of: result.ratios(of: kind, to: options.suite.servers[0]))
            ),
            ("operationsPerSecond", json(of: result.operationsPerSecond(of: kind))),
        ])
    }

    private func json(of values: [Double]) -> JSON {
        let spread = Spread(values)
        return .object([
            ("median", .number(spread.median)),
            ("minimum", .number(spread.minimum)),
            ("maximum", .number(spread.maximum)),
            ("rounds", .array(values.map { .number($0) })),
        ])
    }
}

extension String {
    fileprivate var trimmingTrailingSpaces: String {
        guard let last = lastIndex(where: { $0 != " " }) else { return "" }
        return String(self[...last])
    }
}

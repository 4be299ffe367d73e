internal import Glibc

/// `fetch`: what a URL has, from the command line, with the options and the exit codes of curl.
@main enum Fetch {
    static let version = "0.1"

    static func main() {
        holdStandardDescriptors()
        exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Fills the places of standard descriptors that are closed, so that no connection gets one of
    /// their numbers; writing to what is put there fails.
    private static func holdStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is this one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    static func run(_ arguments: [String]) -> ExitCode {
        do throws(UsageError) {
            let draft = try ArgumentParser.parse(arguments)
            if draft.globals.showsHelp || draft.globals.showsVersion {
                show(draft.globals.showsHelp ? help : versionText)
                return .success
            }
            var plans: [TransferPlan] = []
            for operation in draft.operations {
                plans += try TransferPlan.all(of: operation, from: plans.count)
            }
            return run(plans, draft.globals)
        } catch {
            StandardError.write("fetch: \(error.message)\n")
            if error.code == .usage {
                StandardError.write("fetch: try 'fetch --help' for more information\n")
            }
            return error.code
        }
    }

    private static func run(_ plans: [TransferPlan], _ globals: GlobalSettings) -> ExitCode {
        do {
            return try Runner(plans, globals).run()
        } catch {
            StandardError.write("fetch: \(error)\n")
            return .usage
        }
    }

    private static func show(_ text: String) {
        do throws(FetchFailure) {
            try OutputFile(path: nil).write(text)
        } catch {
            StandardError.write("fetch: \(error.message)\n")
        }
    }

    private static let versionText = """
        fetch \(version) (Towline)
        Protocols: http https

        """

    private static var help: String {
        let names = OptionTable.rows.filter(\.isThere).map { row in
            let short = row.short.map { "-\($0), " } ?? "    "
            return " \(short)--\(row.name)\(row.takesValue ? " <value>" : "")"
        }
        return "Usage: fetch [options...] <url>...\nDocs/Fetch.md says what differs from curl.\n"
            + names.joined(separator: "\n") + "\n"
    }
}

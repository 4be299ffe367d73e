internal import Glibc

/// A program of the command line: help, complaints, exit codes.
///
/// It ends with 0, or with 1 if it failed, or with 2 if its words make no sense; then with a line
/// on standard error that begins with its name.
struct Program {
    let name: String
    let usage: String
    let options: [String]

    /// Describes a program.
    ///
    /// - Parameters:
    ///   - name: How it is called.
    ///   - usage: What `--help` prints.
    ///   - options: Its options; each has a value.
    init(_ name: String, usage: String, options: [String]) {
        self.name = name
        self.usage = usage
        self.options = options
    }

    /// Runs the program to its end.
    ///
    /// - Parameter body: What it does with its options.
    func main(_ body: (Options) throws -> Void) -> Never {
        exit(run(Array(CommandLine.arguments.dropFirst()), body))
    }

    /// Writes a line to standard error.
    func complain(_ text: String) {
        let line = Array("\(name): \(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    private func run(_ words: [String], _ body: (Options) throws -> Void) -> CInt {
        if words.contains("--help") {
            print(usage)
            return 0
        }
        do {
            try body(Options(words, known: options))
            return 0
        } catch let error as UsageError {
            complain("\(error.description)\n\(usage)")
            return 2
        } catch {
            complain("\(error)")
            return 1
        }
    }
}

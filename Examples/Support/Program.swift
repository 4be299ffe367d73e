internal import Glibc

/// A program of the command line: help, complaints, exit codes.
///
/// It ends with 0, with 1 or another code if it failed, and with 2 if its words make no sense; then
/// with a line on standard error that begins with its name.
public struct Program {
    let name: String
    let usage: String
    let options: [String]
    let flags: [String]
    let words: [String]

    /// Describes a program.
    ///
    /// - Parameters:
    ///   - name: How it is called.
    ///   - usage: What `--help` prints.
    ///   - options: Its options; each has a value.
    ///   - flags: Those that have none.
    ///   - words: What the words in front of them are.
    public init(
        _ name: String,
        usage: String,
        options: [String],
        flags: [String] = [],
        words: [String] = []
    ) {
        self.name = name
        self.usage = usage
        self.options = options
        self.flags = flags
        self.words = words
    }

    /// Runs the program to its end.
    ///
    /// - Parameter body: What it does with its options.
    public func main(_ body: (Options) throws -> Void) -> Never {
        exit(run(Array(CommandLine.arguments.dropFirst()), body))
    }

    /// Writes a line to standard error.
    public func complain(_ text: String) {
        let line = Array("\(name): \(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    private func run(_ words: [String], _ body: (Options) throws -> Void) -> CInt {
        if words.contains("--help") {
            print(usage)
            return 0
        }
        do {
            try body(Options(words, known: options, flags: flags, first: self.words))
            return 0
        } catch let error as UsageError {
            complain("\(error.description)\n\(usage)")
            return 2
        } catch let error as ExitCode {
            complain(error.text)
            return error.code
        } catch {
            complain("\(error)")
            return 1
        }
    }
}

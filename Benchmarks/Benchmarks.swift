internal import Glibc

/// Runs one benchmark, named by the first word of the command line.
///
/// Exit codes: 0, it ran; 1, it failed, with a sentence on standard error; 2, the command line is
/// wrong.
@main
enum Benchmarks {
    static let usage = """
        usage: Benchmarks echo|tls|http|parser [OPTION]...

          echo    an echo through the delegate, against a bare epoll loop and Dispatch sources
          tls     the same over TLS, and handshakes, against OpenSSL driven by hand
          http    a GET over kept connections, against the least client in C and libcurl
          parser  responses of HTTP/1, and how many bytes of them a core parses

        "Benchmarks echo --help" has its options. Nothing but the loopback interface is used.
        """

    static func main() {
        do {
            try run(CommandLine.arguments.dropFirst())
        } catch let error as UsageError {
            complain("\(error.description)\n\(error.usage)")
            exit(2)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    private static func run(_ words: ArraySlice<String>) throws {
        if let suite = words.first.flatMap(Suite.init(rawValue:)) {
            try CompareCommand.run(suite, words.dropFirst())
            return
        }
        switch words.first {
        case HTTPCommand.name:
            try HTTPCommand.run(words.dropFirst())
        case ClientCommand.name:
            try ClientCommand.run(words.dropFirst())
        case ServeCommand.name:
            try ServeCommand.run(words.dropFirst())
        case ParserCommand.name:
            try ParserCommand.run(words.dropFirst())
        case "--help":
            print(usage)
        case let word?:
            throw UsageError("\(word) is no benchmark", usage: usage)
        case nil:
            throw UsageError("name a benchmark", usage: usage)
        }
    }

    /// Writes a line to standard error: progress and complaints, never a result.
    static func complain(_ text: String) {
        let line = Array("Benchmarks: \(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}

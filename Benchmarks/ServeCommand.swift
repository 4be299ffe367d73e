internal import CBareEcho
internal import CBareTLS
internal import Glibc

/// The hidden command that a benchmark runs its servers with, each in a process of its own.
///
///     Benchmarks serve NAME [CORE]
///
/// Prints one line, the port and what the server stands on, and ends with exit code 0 when its
/// standard input does, so that none outlives whoever started it; or by SIGTERM.
enum ServeCommand {
    static let name = "serve"

    static func run(_ words: ArraySlice<String>) throws {
        let names = ServerKind.allCases.map(\.rawValue).joined(separator: "|")
        let usage = "usage: Benchmarks serve \(names) [CORE]"
        var words = words
        guard let name = words.popFirst(), let kind = ServerKind(rawValue: name) else {
            throw UsageError("name a server", usage: usage)
        }
        if let word = words.popFirst() {
            guard let core = CInt(word), core >= 0 else {
                throw UsageError("\(word) is no core", usage: usage)
            }
            // Before any thread is made: threads inherit it.
            try CorePlan.pin(to: core)
        }
        _ = benchmark_raise_descriptor_limit()
        try endWithStandardInput()
        switch kind {
        case .bare: try BareEcho.serve()
        case .towline: try TowlineEcho.serve()
        case .dispatch: try DispatchEcho.serve()
        case .tlsMemory: try BareTLS.serve(benchmark_tls_memory, "memory BIOs")
        case .tlsSocket: try BareTLS.serve(benchmark_tls_socket, "the socket's BIO, read-ahead")
        case .tlsTowline: try TowlineEcho.serveTLS()
        case .http: try BareHTTP.serve()
        }
    }

    /// The line that tells whoever started the server that it listens.
    static func announce(port: UInt16, _ description: String) {
        print("\(port) \(description)")
        fflush(nil)
    }

    /// Has a thread of its own sleep in `read`, so that no server's loop has anything added to it.
    private static func endWithStandardInput() throws(RunFailure) {
        let awaitEnd: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { _ in
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) > 0 {}
            _exit(0)
        }
        var thread = pthread_t()
        let error = pthread_create(&thread, nil, awaitEnd, nil)
        guard error == 0 else { throw RunFailure("pthread_create", errno: error) }
    }
}

internal import CBareHTTP
internal import Glibc

/// The hidden command that a benchmark runs a client with, in a process of its own.
///
///     Benchmarks client NAME PORT CONNECTIONS REQUESTS [CORE]
///
/// Prints how many responses came and how many of them were wrong.
enum ClientCommand {
    static let name = "client"

    static func run(_ words: ArraySlice<String>) throws {
        let names = ClientKind.allCases.map(\.rawValue).joined(separator: "|")
        let usage = "usage: Benchmarks client \(names) PORT CONNECTIONS REQUESTS [CORE]"
        let words = Array(words)
        guard words.count >= 4, let kind = ClientKind(rawValue: words[0]),
            let port = UInt16(words[1]), let connections = Int(words[2]), connections > 0,
            let requests = Int(words[3]), requests >= connections
        else { throw UsageError("a client, a port and two numbers", usage: usage) }
        // Before any thread is made: threads inherit it.
        if words.count > 4, let core = CInt(words[4]) { try CorePlan.pin(to: core) }
        let load = HTTPLoad(port: port, connections: connections, requests: requests)
        let result = try load.run(kind)
        print("\(result.done) \(result.bad)")
    }
}

/// A client that a benchmark measures.
enum ClientKind: String, CaseIterable {
    case bare
    case towline
    case libcurl
    case urlSession = "url-session"

    var title: String {
        switch self {
        case .bare: "least client, C"
        case .towline: "HTTPClient, delegate"
        case .libcurl: "libcurl, multi"
        case .urlSession: "URLSession"
        }
    }

    /// How many times fewer requests it sends, so that slow ones do not take minutes.
    var divisor: Int { self == .urlSession ? 20 : 1 }
}

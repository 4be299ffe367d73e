/// Why a reactor could not be made, or refused a call.
@nonexhaustive
public enum ReactorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kernel refused a call that the reactor cannot do without.
    case system(SystemCallError)

    /// The backend that was asked for cannot be had; the report says why.
    case backendRefused(BackendReport)

    /// A value of the configuration is out of its range.
    case invalidConfiguration(String)

    /// A turn was asked for inside a turn: from a callback, a job or a timer.
    case nestedTurn

    /// The reactor belongs to another thread.
    case wrongThread

    /// The reactor has ended.
    case reactorStopped

    /// The error as one line.
    public var description: String {
        switch self {
        case .system(let error):
            "reactor failed: \(error)"
        case .backendRefused(let report):
            "reactor refused: \(report)"
        case .invalidConfiguration(let reason):
            "reactor refused: \(reason)"
        case .nestedTurn:
            "turn refused: a turn is running, and this was called from within it"
        case .wrongThread:
            "call refused: the reactor belongs to another thread"
        case .reactorStopped:
            "call refused: the reactor has ended"
        }
    }
}

/// Which backend a reactor runs on, and why no other.
public struct BackendReport: Sendable, Hashable, CustomStringConvertible {
    /// The backend in use, such as `epoll`; `nil` if none could be had.
    public let chosen: String?

    /// Each backend that was not taken, with the reason in words.
    public let refused: [String: String]

    package init(chosen: String?, refused: [String: String] = [:]) {
        self.chosen = chosen
        self.refused = refused
    }

    /// The report as one line.
    public var description: String {
        let reasons = refused.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let choice = chosen.map { "backend \($0)" } ?? "no backend"
        return ([choice] + reasons).joined(separator: "; ")
    }
}

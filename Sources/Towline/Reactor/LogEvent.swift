internal import Glibc

/// Something that the framework has to say to whoever reads logs.
///
/// At `info` a healthy connection says nothing.
public struct LogEvent: Sendable, CustomStringConvertible {
    /// How much it matters, from least to most.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Each step.
        case trace
        /// For finding a fault.
        case debug
        /// A fact worth keeping.
        case info
        /// Something unusual that is in order.
        case notice
        /// Something that may become a fault.
        case warning
        /// Something failed.
        case error
        /// A bug of the program or of the framework.
        case critical

        /// Whether `left` matters less.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// How much it matters.
    public let level: Level

    /// What happened, in fixed words.
    public let message: String

    /// The facts of this case by name, such as `socket`, `peer`, `error`.
    public let fields: [String: String]

    init(_ level: Level, _ message: String, _ fields: [String: String] = [:]) {
        self.level = level
        self.message = message
        self.fields = fields
    }

    /// Level, message and fields as one line.
    public var description: String {
        let facts = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        return "\(level) \(message)\(facts.joined())"
    }

    /// For what must be heard although nobody has set a log.
    func writeToStandardError() {
        let line = Array("towline: \(self)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}

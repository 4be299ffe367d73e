internal import Towline

/// The received bytes of one connection, from which lines are taken; an empty one holds no memory.
public struct LineBuffer {
    /// The most bytes of a line, with its end.
    public let byteLimit: Int

    private var bytes: [UInt8] = []

    /// An empty buffer for lines of so many bytes at most.
    public init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// How many more bytes belong in here; with no line to take, 0 says that one is too long.
    public var room: Int { byteLimit - bytes.count }

    /// Puts received bytes behind those that are there.
    public mutating func append(_ received: RawSpan) {
        bytes += [UInt8](received)
    }

    /// Takes the first line, which ends with LF or with CR and LF.
    ///
    /// - Returns: Its text without its end, and without what would move somebody's cursor; `nil` if
    ///   no line is complete.
    public mutating func takeLine() -> String? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        bytes = Array(bytes[(end + 1)...])
        var shown = String.UnicodeScalarView()
        shown.append(
            contentsOf: text.unicodeScalars.filter { $0.properties.generalCategory != .control }
        )
        return String(shown)
    }
}

/// Whether what follows the size of a chunk is well-formed, byte by byte.
///
///     blank* ; blank* name [ blank* = blank* ( token | "quoted" ) ]      again and again
///
/// Source: RFC 9112 section 7.1.1, `chunk-ext`.
struct ChunkExtensions {
    private enum State {
        /// Behind the size, or behind blanks that only a semicolon may follow.
        case end
        case blanksAtEnd
        case nameStart
        case name
        case blanksBehindName
        case valueStart
        case value
        case quoted
        case escaped
        case quotedEnd
    }

    private var state = State.end

    /// Whether the line may end here.
    var mayEnd: Bool {
        switch state {
        case .end, .name, .value, .quotedEnd: true
        case .blanksAtEnd, .nameStart, .blanksBehindName, .valueStart, .quoted, .escaped: false
        }
    }

    /// Takes a byte, and says whether it may stand there.
    mutating func take(_ byte: UInt8) -> Bool {
        guard let next = state(behind: byte) else { return false }
        state = next
        return true
    }

    private func state(behind byte: UInt8) -> State? {
        switch state {
        case .end, .blanksAtEnd, .quotedEnd:
            if Grammar.isBlank(byte) { return .blanksAtEnd }
            return byte == UInt8(ascii: ";") ? .nameStart : nil
        case .nameStart:
            if Grammar.isBlank(byte) { return .nameStart }
            return Grammar.isToken(byte) ? .name : nil
        case .name, .blanksBehindName:
            if Grammar.isToken(byte), state == .name { return .name }
            if Grammar.isBlank(byte) { return .blanksBehindName }
            if byte == UInt8(ascii: "=") { return .valueStart }
            return byte == UInt8(ascii: ";") ? .nameStart : nil
        case .valueStart:
            if Grammar.isBlank(byte) { return .valueStart }
            if byte == UInt8(ascii: "\"") { return .quoted }
            return Grammar.isToken(byte) ? .value : nil
        case .value:
            if Grammar.isToken(byte) { return .value }
            if Grammar.isBlank(byte) { return .blanksAtEnd }
            return byte == UInt8(ascii: ";") ? .nameStart : nil
        case .quoted:
            if byte == UInt8(ascii: "\"") { return .quotedEnd }
            if byte == UInt8(ascii: "\\") { return .escaped }
            return byte == Grammar.tab || !Grammar.isControl(byte) ? .quoted : nil
        case .escaped:
            return byte == Grammar.tab || !Grammar.isControl(byte) ? .quoted : nil
        }
    }
}

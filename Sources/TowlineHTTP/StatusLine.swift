/// Reads a status line, and the empty lines in front of it that some servers leave behind.
///
/// Source: RFC 9112 section 4, and 2.2 for the empty lines.
struct StatusLine {
    private enum State {
        /// In front of a line that may be empty.
        case start
        /// Behind the carriage return of an empty line.
        case emptyLineFeed
        /// Within `HTTP/1.1 200`, whose bytes have fixed places.
        case fixed
        /// Behind the status code.
        case codeEnd
        case reason
        /// Behind the carriage return of the line.
        case lineFeed
    }

    /// The most empty lines that are skipped.
    private static let emptyLineLimit = 2

    private var state = State.start
    private var emptyLineCount = 0

    /// How many bytes of the line are read, its end included.
    private(set) var byteCount = 0

    /// What came of the reason in earlier pieces.
    private var gathered: [UInt8] = []

    private(set) var minorVersion: UInt8 = 0
    private(set) var status = 0
    private(set) var reason = ""
    private(set) var hasBareLineFeed = false

    /// Whether what came so far may still be an answer of HTTP/0.9, which begins with anything
    /// else.
    private(set) var isUndecided = true

    /// What the line begins with, whatever the version.
    private static let name: StaticString = "HTTP/"

    /// Reads on.
    ///
    /// - Parameters:
    ///   - text: The next piece.
    ///   - offset: Where in it to begin; moved behind what is read.
    ///   - origin: The offset in the message of the first byte of `text`.
    ///   - room: How many bytes the line may have by the limit of heads.
    ///   - rules: The profile and the limits.
    /// - Returns: Whether the line has ended.
    /// - Throws: What is wrong with the first byte that cannot be accepted.
    mutating func read(
        in text: RawSpan,
        from offset: inout Int,
        origin: Int,
        room: Int,
        rules: HTTP1Rules
    ) throws(HTTP1Fault) -> Bool {
        let limit = min(room, rules.limits.line)
        skipUsualBeginning(of: text, from: &offset, limit: limit)
        while offset < text.byteCount {
            guard byteCount < limit else {
                throw room <= rules.limits.line
                    ? .limit(.head, rules.limits.head) : .limit(.line, rules.limits.line)
            }
            if state == .reason {
                let end = min(text.byteCount, offset + limit - byteCount)
                try readReason(in: text.extracting(0..<end), from: &offset, origin: origin)
                guard offset < end else { continue }
            }
            let isEnd = try take(text.byte(at: offset), at: origin + offset, rules)
            offset += 1
            if isEnd { return true }
        }
        return false
    }

    /// Takes the first twelve bytes at once, if they are there and right.
    @inline(__always)
    private mutating func skipUsualBeginning(
        of text: RawSpan,
        from offset: inout Int,
        limit: Int
    ) {
        guard state == .start, text.byteCount - offset >= 16, limit >= 12 else { return }
        // `HTTP/1.`, whose last byte is in the highest place but one, and any digit behind it.
        let name = text.word(at: offset)
        let minor = UInt8(truncatingIfNeeded: name >> 56) &- 0x30
        guard name & 0x00FF_FFFF_FFFF_FFFF == 0x2E_312F_5054_5448, minor < 10 else { return }
        // A space and three digits, the first one not 0.
        let code = UInt32(truncatingIfNeeded: text.word(at: offset + 8))
        let digits = (code >> 8) &- 0x30_3030
        guard code & 0xFF == 0x20, code & 0xF0F0_F000 == 0x3030_3000, digits & 0xFF != 0,
            (digits &+ 0x06_0606) & 0xF0_F0F0 == 0
        else { return }
        minorVersion = minor
        status = Int((digits & 0xF) * 100 + (digits >> 8 & 0xF) * 10 + digits >> 16)
        byteCount = 12
        offset += 12
        isUndecided = false
        state = .codeEnd
    }

    /// Takes a byte that stands outside of the reason, and says whether it ends the line.
    private mutating func take(
        _ byte: UInt8,
        at place: Int,
        _ rules: HTTP1Rules
    ) throws(HTTP1Fault) -> Bool {
        switch state {
        case .start:
            try takeFirst(byte, at: place, rules)
        case .emptyLineFeed:
            guard byte == Grammar.lineFeed else { throw .bareCarriageReturn(offset: place - 1) }
            try endEmptyLine(at: place)
        case .fixed:
            byteCount += 1
            try takeFixed(byte, at: place)
        case .codeEnd, .reason:
            byteCount += 1
            return try takeSeparator(byte, at: place, rules)
        case .lineFeed:
            guard byte == Grammar.lineFeed else { throw .bareCarriageReturn(offset: place - 1) }
            byteCount += 1
            return true
        }
        return false
    }

    private mutating func takeFirst(
        _ byte: UInt8,
        at place: Int,
        _ rules: HTTP1Rules
    ) throws(HTTP1Fault) {
        if byte == Grammar.carriageReturn {
            state = .emptyLineFeed
        } else if byte == Grammar.lineFeed {
            guard !rules.isStrict else { throw .bareLineFeed(offset: place) }
            hasBareLineFeed = true
            try endEmptyLine(at: place)
        } else {
            state = .fixed
            byteCount = 1
            try takeFixed(byte, at: place)
        }
    }

    private mutating func endEmptyLine(at place: Int) throws(HTTP1Fault) {
        emptyLineCount += 1
        guard emptyLineCount <= Self.emptyLineLimit else { throw .statusLine(offset: place) }
        state = .start
    }

    /// Takes one of the first twelve bytes, each as soon as it is there.
    private mutating func takeFixed(_ byte: UInt8, at place: Int) throws(HTTP1Fault) {
        let digit = byte &- 0x30
        switch byteCount - 1 {
        case let index where index < 5:
            guard byte == Self.name.utf8Start[index] else { throw .statusLine(offset: place) }
            if index == 4 { isUndecided = false }
        case 5:
            guard digit < 10 else { throw .statusLine(offset: place) }
            guard digit == 1 else { throw .version(major: Int(digit)) }
        case 6:
            guard byte == UInt8(ascii: ".") else { throw .statusLine(offset: place) }
        case 7:
            guard digit < 10 else { throw .statusLine(offset: place) }
            minorVersion = digit
        case 8:
            guard byte == Grammar.space else { throw .statusLine(offset: place) }
        default:
            // The first of three digits is not 0.
            guard digit < 10, status > 0 || digit > 0 else { throw .statusLine(offset: place) }
            status = status * 10 + Int(digit)
            if byteCount == 12 { state = .codeEnd }
        }
    }

    /// Takes what ends the code or the reason.
    private mutating func takeSeparator(
        _ byte: UInt8,
        at place: Int,
        _ rules: HTTP1Rules
    ) throws(HTTP1Fault) -> Bool {
        switch byte {
        case Grammar.carriageReturn:
            state = .lineFeed
            return false
        case Grammar.lineFeed:
            guard !rules.isStrict else { throw .bareLineFeed(offset: place) }
            hasBareLineFeed = true
            return true
        case Grammar.space where state == .codeEnd:
            state = .reason
            return false
        default:
            throw .statusLine(offset: place)
        }
    }

    /// Reads the reason as far as it goes: any bytes but CR, LF and NUL.
    private mutating func readReason(
        in text: RawSpan,
        from offset: inout Int,
        origin: Int
    ) throws(HTTP1Fault) {
        var end = offset
        while true {
            end = Grammar.firstControl(in: text, from: end, to: text.byteCount)
            guard end < text.byteCount else { break }
            let byte = text.byte(at: end)
            guard byte != 0 else { throw .statusLine(offset: origin + end) }
            if byte == Grammar.carriageReturn || byte == Grammar.lineFeed { break }
            end += 1
        }
        let piece = text.extracting(offset..<end)
        byteCount += piece.byteCount
        offset = end
        if end < text.byteCount, gathered.isEmpty {
            reason = piece.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        } else {
            piece.withUnsafeBytes { gathered.append(contentsOf: $0) }
            if end < text.byteCount { reason = String(decoding: gathered, as: UTF8.self) }
        }
    }
}

/// Finds the fields of a head or of a trailer section, up to the empty line behind them.
///
/// It is shown the section from its first byte on, again and again with more bytes behind, and goes
/// on where it stopped, so that the time it takes is linear. It keeps places, no bytes.
///
///     lineStart ──▶ name ──▶ value ──▶ lineFeed ──▶ lineStart
///         └───────▶ lastLineFeed ──▶ (ended)
///
/// Source: RFC 9112 section 5.
struct FieldSection {
    /// What the section belongs to.
    enum Kind {
        case head
        case trailers
    }

    private enum State {
        case lineStart
        case name
        case value
        /// Behind the carriage return of a field's line.
        case lineFeed
        /// Behind the carriage return of the empty line.
        case lastLineFeed
    }

    /// Room that is made for fields before the first one is there.
    private static let usualFieldCount = 24

    private let kind: Kind
    private let rules: HTTP1Rules

    /// The offset in the message of the section's first byte.
    private let origin: Int

    /// How many bytes the section may have.
    private let room: Int

    private var state = State.lineStart

    /// How many bytes of the section are read.
    private(set) var position = 0

    private var lineStart = 0
    private var nameEnd = 0

    /// Where the value, or this line's part of it, begins.
    private var valueStart = 0

    private var places: [HTTPHeaders.Place] = []

    /// Whether this line goes on with the value of the line above it.
    private var isContinuation = false
    private var hasContinuations = false
    private(set) var hasBareLineFeed = false

    init(_ kind: Kind, origin: Int, room: Int, rules: HTTP1Rules) {
        self.kind = kind
        self.origin = origin
        self.room = room
        self.rules = rules
    }

    /// Reads on.
    ///
    /// - Parameter text: The section from its first byte on, as far as it is there.
    /// - Returns: Whether the section has ended; ``position`` is behind it then.
    /// - Throws: What is wrong with the first byte that cannot be accepted.
    mutating func read(_ text: RawSpan) throws(HTTP1Fault) -> Bool {
        while position < text.byteCount {
            if state == .lineStart { readPlainLines(in: text) }
            guard position < text.byteCount else { break }
            let end = min(text.byteCount, lineStart &+ rules.limits.line, room)
            guard position < end else { throw passedLimit }
            switch state {
            case .lineStart:
                if try beginLine(with: text.byte(at: position)) { return true }
            case .name:
                try readName(in: text, to: end)
            case .value:
                try readValue(in: text, to: end)
            case .lineFeed, .lastLineFeed:
                guard text.byte(at: position) == Grammar.lineFeed else {
                    throw .bareCarriageReturn(offset: origin + position - 1)
                }
                position &+= 1
                if state == .lastLineFeed { return true }
                state = .lineStart
                lineStart = position
            }
        }
        return false
    }

    /// Reads lines that are whole and have nothing odd about them, as most are, and stops in front
    /// of any other: that one is read state by state.
    private mutating func readPlainLines(in text: RawSpan) {
        var start = position
        let end = min(text.byteCount, room)
        var places = self.places
        self.places = []
        if places.isEmpty { places.reserveCapacity(Self.usualFieldCount) }
        let isStrict = rules.isStrict
        let (fieldLimit, lineLimit) = (rules.limits.fieldCount, rules.limits.line)
        while places.count < fieldLimit {
            let end = min(end, start &+ lineLimit)
            let nameEnd = Grammar.nameEnd(in: text, from: start, to: end)
            guard nameEnd > start, nameEnd < end, text.byte(at: nameEnd) == UInt8(ascii: ":") else {
                break
            }
            // Two calls, so that the loop of each knows what it looks for.
            let valueStart = nameEnd &+ 1
            let valueEnd =
                isStrict
                ? Grammar.firstControl(in: text, from: valueStart, to: end, findsDelete: true)
                : Grammar.firstControl(in: text, from: valueStart, to: end)
            guard end &- valueEnd >= 2, text.byte(at: valueEnd) == Grammar.carriageReturn,
                text.byte(at: valueEnd &+ 1) == Grammar.lineFeed
            else { break }
            let value = Grammar.trimming(valueStart..<valueEnd, of: text)
            places.append(HTTPHeaders.Place(name: start..<nameEnd, value: value))
            start = valueEnd &+ 2
        }
        self.places = places
        position = start
        lineStart = start
    }

    /// Takes the first byte of a line, and says whether it ends the section.
    private mutating func beginLine(with byte: UInt8) throws(HTTP1Fault) -> Bool {
        if Grammar.isToken(byte) {
            guard places.count < rules.limits.fieldCount else {
                throw .limit(.fieldCount, rules.limits.fieldCount)
            }
            isContinuation = false
            state = .name
            position &+= 1
            return false
        }
        return try beginOddLine(with: byte)
    }

    @inline(never)
    private mutating func beginOddLine(with byte: UInt8) throws(HTTP1Fault) -> Bool {
        switch byte {
        case Grammar.carriageReturn:
            state = .lastLineFeed
        case Grammar.lineFeed:
            try acceptBareLineFeed()
            position += 1
            return true
        case Grammar.space, Grammar.tab:
            guard !places.isEmpty else {
                throw .continuationOfNothing(offset: origin + position)
            }
            isContinuation = true
            hasContinuations = true
            state = .value
            valueStart = position
        default:
            throw .fieldName(offset: origin + position)
        }
        position += 1
        return false
    }

    private mutating func readName(in text: RawSpan, to end: Int) throws(HTTP1Fault) {
        let index = Grammar.nameEnd(in: text, from: position, to: end)
        position = index
        guard index < end else { return }
        switch text.byte(at: index) {
        case UInt8(ascii: ":"):
            nameEnd = index
            position = index &+ 1
            valueStart = position
            state = .value
        case Grammar.carriageReturn, Grammar.lineFeed:
            throw .missingColon(offset: origin + index)
        default:
            throw .fieldName(offset: origin + index)
        }
    }

    private mutating func readValue(in text: RawSpan, to end: Int) throws(HTTP1Fault) {
        var index = position
        while true {
            index = Grammar.firstControl(
                in: text,
                from: index,
                to: end,
                findsDelete: rules.isStrict
            )
            position = index
            guard index < end else { return }
            let byte = text.byte(at: index)
            if byte == Grammar.carriageReturn {
                endValue(at: index, in: text)
                state = .lineFeed
                position = index &+ 1
                return
            }
            if byte == Grammar.lineFeed {
                try acceptBareLineFeed()
                endValue(at: index, in: text)
                state = .lineStart
                position = index &+ 1
                lineStart = position
                return
            }
            guard byte == Grammar.tab || byte != 0 && !rules.isStrict else {
                throw .fieldValue(offset: origin + index)
            }
            index &+= 1
        }
    }

    private mutating func endValue(at end: Int, in text: RawSpan) {
        let value = Grammar.trimming(valueStart..<end, of: text)
        guard isContinuation else {
            places.append(HTTPHeaders.Place(name: lineStart..<nameEnd, value: value))
            return
        }
        // A line of blanks adds nothing.
        guard !value.isEmpty else { return }
        let last = places.count - 1
        places[last].value = places[last].value.lowerBound..<value.upperBound
    }

    private mutating func acceptBareLineFeed() throws(HTTP1Fault) {
        // RFC 9112 section 2.2 allows it for heads alone.
        guard !rules.isStrict, kind == .head else {
            throw .bareLineFeed(offset: origin + position)
        }
        hasBareLineFeed = true
    }

    private var passedLimit: HTTP1Fault {
        guard position >= room else { return .limit(.line, rules.limits.line) }
        return switch kind {
        case .head: .limit(.head, rules.limits.head)
        case .trailers: .limit(.trailers, rules.limits.trailers)
        }
    }

    /// The fields of a section that has ended, which is all of `bytes`.
    func headers(from bytes: [UInt8]) -> HTTPHeaders {
        var headers = HTTPHeaders(places: places, in: bytes)
        if hasContinuations { headers.joinContinuations() }
        return headers
    }
}

/// Reads a section of fields: where it lies if one piece has it, and else from its pieces together.
struct SectionReader {
    /// How many bytes are added to those that are kept before the section is looked at again: what
    /// follows it in the same piece is copied for nothing.
    private static let stepByteCount = 1024

    private(set) var section: FieldSection
    private var gathered: [UInt8] = []

    init(_ section: FieldSection) {
        self.section = section
    }

    /// Reads on.
    ///
    /// - Parameters:
    ///   - text: The next piece.
    ///   - offset: Where in it to begin; moved behind what is read.
    /// - Returns: The fields, if the section has ended.
    /// - Throws: What is wrong with the first byte that cannot be accepted.
    mutating func read(
        in text: RawSpan,
        from offset: inout Int
    ) throws(HTTP1Fault) -> HTTPHeaders? {
        if gathered.isEmpty {
            let rest = text.extracting(offset..<text.byteCount)
            let hasEnded = try section.read(rest)
            let bytes = rest.extracting(first: section.position).withUnsafeBytes { [UInt8]($0) }
            offset += bytes.count
            if hasEnded { return section.headers(from: bytes) }
            gathered = bytes
            return nil
        }
        while offset < text.byteCount {
            let byteCount = min(Self.stepByteCount, text.byteCount - offset)
            let piece = text.extracting(offset..<offset + byteCount)
            piece.withUnsafeBytes { gathered.append(contentsOf: $0) }
            offset += byteCount
            guard try readGathered() else { continue }
            let excess = gathered.count - section.position
            offset -= excess
            gathered.removeLast(excess)
            defer { gathered = [] }
            return section.headers(from: gathered)
        }
        return nil
    }
    private mutating func readGathered() throws(HTTP1Fault) -> Bool {
        // The section changes while the bytes are looked at, so they are held apart from it.
        let bytes = gathered
        return try section.read(bytes.span.bytes)
    }
}

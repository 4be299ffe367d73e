/// Finds the bytes of a body between whatever frames them; it keeps none of them.
///
/// A chunked body's states, each entered with the next byte:
///
///     size ──▶ extensions ──▶ sizeLineFeed ──▶ data ──▶ dataReturn ──▶ dataLineFeed ──▶ size
///       └────────────────────────▲  └──▶ trailers ──▶ ended
///
/// Source: RFC 9112 sections 6 and 7.1.
struct BodyDecoder {
    private enum State {
        /// `remaining` bytes are left of a body of known length.
        case counted
        case untilClose
        case size
        /// Behind the size, of which blanks may be a part that means nothing.
        case sizeEnd
        case extensions
        case sizeLineFeed
        /// `remaining` bytes are left of a chunk.
        case data
        case dataReturn
        case dataLineFeed
        case trailers
        case ended
    }

    private let rules: HTTP1Rules
    let length: HTTP1BodyLength
    private var state: State

    /// How many bytes are left of the body or the chunk; while a size is read, what it is so far.
    private var remaining = 0

    /// How many bytes of the body were found.
    private(set) var byteCount = 0

    private var hasDigit = false
    private var lineByteCount = 0
    private var extensionByteCount = 0
    private var extensions = ChunkExtensions()
    private var trailers: SectionReader?

    init(_ length: HTTP1BodyLength, rules: HTTP1Rules) {
        self.length = length
        self.rules = rules
        switch length {
        case .known(let byteCount):
            state = .counted
            remaining = byteCount
        case .chunked:
            state = .size
        case .untilClose:
            state = .untilClose
        }
    }

    /// Reads on, up to the next event.
    ///
    /// - Parameters:
    ///   - text: The next piece.
    ///   - offset: Where in it to begin; moved behind what is read.
    ///   - origin: The offset in the message of the first byte of `text`.
    /// - Returns: `nil` if the piece is at its end.
    /// - Throws: What is wrong with the first byte that cannot be accepted.
    mutating func next(
        in text: RawSpan,
        from offset: inout Int,
        origin: Int
    ) throws(HTTP1Fault) -> HTTP1Event? {
        while true {
            switch state {
            case .counted:
                guard remaining > 0 else { return end() }
                return takeData(in: text, from: &offset)
            case .untilClose:
                remaining = text.byteCount - offset
                return takeData(in: text, from: &offset)
            case .ended:
                return end()
            case .data:
                guard offset < text.byteCount else { return nil }
                let data = takeData(in: text, from: &offset)
                if remaining == 0 { state = .dataReturn }
                return data
            case .trailers:
                guard let fields = try trailers?.read(in: text, from: &offset) else { return nil }
                trailers = nil
                state = .ended
                let allowed = fields.removingAll { TrailerRules.isBanned($0.name) }
                if !allowed.isEmpty { return .trailers(allowed) }
            case .extensions:
                guard try skipExtensions(in: text, from: &offset, origin: origin) else {
                    return nil
                }
            case .size, .sizeEnd, .sizeLineFeed, .dataReturn, .dataLineFeed:
                skipUsualFrame(in: text, from: &offset)
                guard state != .data, state != .trailers else {
                    if state == .trailers { beginTrailers(at: origin + offset) }
                    continue
                }
                guard offset < text.byteCount else { return nil }
                try take(text.byte(at: offset), at: origin + offset)
                offset += 1
                if state == .trailers { beginTrailers(at: origin + offset) }
            }
        }
    }

    /// Takes note of bytes of the body that were found elsewhere.
    mutating func count(earlierByteCount: Int) {
        byteCount += earlierByteCount
    }

    private mutating func end() -> HTTP1Event {
        state = .ended
        return .end
    }

    private mutating func takeData(in text: RawSpan, from offset: inout Int) -> HTTP1Event? {
        let found = min(remaining, text.byteCount - offset)
        guard found > 0 else { return nil }
        let range = offset..<offset + found
        offset += found
        remaining -= found
        byteCount &+= found
        return .body(range)
    }

    private mutating func beginTrailers(at origin: Int) {
        let room = rules.limits.trailers
        trailers = SectionReader(FieldSection(.trailers, origin: origin, room: room, rules: rules))
    }

    /// Reads the line end behind a chunk and the size line of the next one at once, as far as they
    /// are there and are digits alone; what is not, is left to be taken byte by byte.
    @inline(__always)
    private mutating func skipUsualFrame(in text: RawSpan, from offset: inout Int) {
        if state == .dataReturn, text.byteCount - offset >= 2,
            text.byte(at: offset) == Grammar.carriageReturn,
            text.byte(at: offset + 1) == Grammar.lineFeed
        {
            offset += 2
            beginChunk()
        }
        guard state == .size, lineByteCount == 0, rules.limits.line >= 18 else { return }
        var end = offset
        let last = min(text.byteCount, offset + 15)
        var size = 0
        while end < last {
            let digit = Grammar.hexValue(text.byte(at: end))
            guard digit < 16 else { break }
            size = size << 4 | digit
            end += 1
        }
        guard end > offset, text.byteCount - end >= 2,
            text.byte(at: end) == Grammar.carriageReturn,
            text.byte(at: end + 1) == Grammar.lineFeed
        else { return }
        offset = end + 2
        remaining = size
        state = size > 0 ? .data : .trailers
    }

    private mutating func beginChunk() {
        state = .size
        hasDigit = false
        lineByteCount = 0
        if rules.isStrict { extensions = ChunkExtensions() }
    }

    /// Takes a byte that is neither data nor part of an extension.
    private mutating func take(_ byte: UInt8, at place: Int) throws(HTTP1Fault) {
        switch state {
        case .size:
            let digit = Grammar.hexValue(byte)
            guard digit < 16 else {
                guard hasDigit else { throw Self.fault(byte, at: place, .chunkSize(offset: place)) }
                state = .sizeEnd
                return try takeSizeEnd(byte, at: place)
            }
            try countLineByte()
            guard remaining <= Int.max >> 4 else { throw .chunkSize(offset: place) }
            remaining = remaining << 4 | digit
            hasDigit = true
        case .sizeEnd:
            try takeSizeEnd(byte, at: place)
        case .sizeLineFeed:
            guard byte == Grammar.lineFeed else { throw .bareCarriageReturn(offset: place - 1) }
            try countLineByte()
            state = remaining > 0 ? .data : .trailers
        case .dataReturn:
            guard byte == Grammar.carriageReturn else {
                throw byte == Grammar.lineFeed
                    ? .bareLineFeed(offset: place) : .chunkEnd(offset: place)
            }
            state = .dataLineFeed
        case .dataLineFeed:
            guard byte == Grammar.lineFeed else { throw .bareCarriageReturn(offset: place - 1) }
            beginChunk()
        case .counted, .untilClose, .extensions, .data, .trailers, .ended:
            preconditionFailure("these states have functions of their own")
        }
    }

    /// Takes what follows the digits of a size, up to the semicolon of an extension.
    private mutating func takeSizeEnd(_ byte: UInt8, at place: Int) throws(HTTP1Fault) {
        switch byte {
        case Grammar.carriageReturn:
            try endSizeLine(at: place)
        case Grammar.space, Grammar.tab, UInt8(ascii: ";"):
            try countLineByte()
            try countExtensionByte()
            if rules.isStrict, !extensions.take(byte) { throw .chunkExtension(offset: place) }
            if byte == UInt8(ascii: ";") { state = .extensions }
        default:
            throw Self.fault(byte, at: place, .chunkSize(offset: place))
        }
    }

    private mutating func endSizeLine(at place: Int) throws(HTTP1Fault) {
        guard !rules.isStrict || extensions.mayEnd else { throw .chunkExtension(offset: place) }
        try countLineByte()
        state = .sizeLineFeed
    }

    /// Skips extensions up to the end of their line, and says whether it is there.
    private mutating func skipExtensions(
        in text: RawSpan,
        from offset: inout Int,
        origin: Int
    ) throws(HTTP1Fault) -> Bool {
        while offset < text.byteCount {
            let byte = text.byte(at: offset)
            let place = origin + offset
            if byte == Grammar.carriageReturn {
                try endSizeLine(at: place)
                offset += 1
                return true
            }
            guard byte != 0, byte != Grammar.lineFeed else {
                throw Self.fault(byte, at: place, .chunkExtension(offset: place))
            }
            try countLineByte()
            try countExtensionByte()
            if rules.isStrict, !extensions.take(byte) { throw .chunkExtension(offset: place) }
            offset += 1
        }
        return false
    }

    private mutating func countLineByte() throws(HTTP1Fault) {
        guard lineByteCount < rules.limits.line else { throw .limit(.line, rules.limits.line) }
        lineByteCount += 1
    }

    private mutating func countExtensionByte() throws(HTTP1Fault) {
        guard extensionByteCount < rules.limits.chunkExtensions else {
            throw .limit(.chunkExtensions, rules.limits.chunkExtensions)
        }
        extensionByteCount += 1
    }

    /// What is wrong with a byte in a chunk's line: a line feed is told apart.
    private static func fault(_ byte: UInt8, at place: Int, _ other: HTTP1Fault) -> HTTP1Fault {
        byte == Grammar.lineFeed ? .bareLineFeed(offset: place) : other
    }
}

extension HTTPHeaders {
    /// These fields without those that this says so of.
    fileprivate func removingAll(where shouldRemove: (Field) -> Bool) -> HTTPHeaders {
        var headers = self
        headers.removeAll(where: shouldRemove)
        return headers
    }
}

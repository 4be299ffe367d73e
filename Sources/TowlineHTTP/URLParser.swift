/// Takes a URL apart, as the URL standard says: of any scheme as far as a reference may lead there,
/// of http and https in full.
///
/// The standard's machine is written as what it does: where a part ends is looked for, and the part
/// is handed to whoever knows it. No byte is looked at more than a few times.
///
/// Source: URL Standard section 4.4.
struct URLParser {
    private let input: ArraySlice<UInt8>
    private let base: URLRecord?
    private let keepsDotSegments: Bool
    private var position: Int
    private var record = URLRecord()

    /// Parses bytes that have neither tabs nor line ends.
    ///
    /// - Parameters:
    ///   - text: The bytes; controls and spaces around them are not heeded.
    ///   - base: What a reference is relative to.
    ///   - keepsDotSegments: Whether `.` and `..` stay in the path as they are.
    /// - Returns: The parts.
    /// - Throws: What is wrong, and where in `text`.
    static func parse(
        _ text: [UInt8],
        relativeTo base: URLRecord?,
        keepsDotSegments: Bool = false
    ) throws(HTTPURLError) -> URLRecord {
        let first = text.firstIndex { $0 > 0x20 } ?? text.endIndex
        let last = text.lastIndex { $0 > 0x20 } ?? first
        let trimmed = first == text.endIndex ? text[first...] : text[first...last]
        var parser = URLParser(trimmed, base, keepsDotSegments)
        try parser.parse()
        return parser.record
    }

    private init(_ input: ArraySlice<UInt8>, _ base: URLRecord?, _ keepsDotSegments: Bool) {
        self.input = input
        self.base = base
        self.keepsDotSegments = keepsDotSegments
        position = input.startIndex
    }

    private mutating func parse() throws(HTTPURLError) {
        guard let scheme = takeScheme() else {
            guard let base else { throw .missingScheme }
            record.scheme = base.scheme
            return try parseRelative(to: base)
        }
        record.scheme = scheme
        if scheme == "file" { return try parseFile() }
        if record.isSpecial {
            let hasTwoSlashes = peek == UInt8(ascii: "/") && peek(1) == UInt8(ascii: "/")
            if let base, base.scheme == scheme, !hasTwoSlashes {
                return try parseRelative(to: base)
            }
            return try parseAuthorityBehindSlashes()
        }
        if peek == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "/") {
            position += 2
            return try parseAuthority()
        }
        if peek == UInt8(ascii: "/") { return parsePath() }
        parseOpaquePath()
    }

    /// Lower-case, if the text begins with one; the position is behind its colon then.
    private mutating func takeScheme() -> String? {
        guard let first = peek, ASCII.isLetter(first) else { return nil }
        let end = input.firstIndex {
            !(ASCII.isLetter($0) || Grammar.isDigit($0) || "+-.".utf8.contains($0))
        }
        guard let end, input[end] == UInt8(ascii: ":") else { return nil }
        position = end + 1
        return String(decoding: input[..<end].map(ASCII.lower), as: UTF8.self)
    }

    /// The relative and relative slash states.
    private mutating func parseRelative(to base: URLRecord) throws(HTTPURLError) {
        if isSlash(peek) {
            if isSlash(peek(1)) { return try parseAuthorityBehindSlashes() }
            copyAuthority(of: base)
            return parsePath()
        }
        copyAuthority(of: base)
        record.path = base.path
        record.query = base.query
        guard let next = peek else { return }
        if next == UInt8(ascii: "?") || next == UInt8(ascii: "#") { return parseQueryAndFragment() }
        record.query = nil
        record.shortenPath()
        parsePath()
    }

    private mutating func copyAuthority(of base: URLRecord) {
        record.username = base.username
        record.password = base.password
        record.host = base.host
        record.port = base.port
    }

    /// A path of a file, which nobody here opens: no drive letters.
    private mutating func parseFile() throws(HTTPURLError) {
        record.host = .name("")
        if isSlash(peek), isSlash(peek(1)) {
            position += 2
            let end = endOfPart()
            if position < end {
                record.host = try parseHost(position..<end)
                position = end
            }
        }
        parsePath()
    }

    private mutating func parseAuthorityBehindSlashes() throws(HTTPURLError) {
        while isSlash(peek) { position += 1 }
        try parseAuthority()
    }

    /// User info, host and port, and whatever follows.
    private mutating func parseAuthority() throws(HTTPURLError) {
        let end = endOfPart()
        if let at = input[position..<end].lastIndex(of: UInt8(ascii: "@")) {
            parseUserInfo(input[position..<at])
            position = at + 1
            guard position < end else { throw .missingHost(offset: position) }
        }
        let colon = firstColonOutsideBrackets(before: end)
        let hostEnd = colon ?? end
        if position == hostEnd, colon != nil || record.isSpecial {
            throw .missingHost(offset: position)
        }
        record.host = position == hostEnd ? .name("") : try parseHost(position..<hostEnd)
        if let colon { try parsePort(input[(colon + 1)..<end]) }
        position = end
        parsePath()
    }

    private mutating func parseUserInfo(_ bytes: ArraySlice<UInt8>) {
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        record.username = PercentEncoding.encode(bytes[..<colon], .userInfo)
        record.password = PercentEncoding.encode(bytes[colon...].dropFirst(), .userInfo)
    }

    private func firstColonOutsideBrackets(before end: Int) -> Int? {
        var isInside = false
        for index in position..<end {
            switch input[index] {
            case UInt8(ascii: "["): isInside = true
            case UInt8(ascii: "]"): isInside = false
            case UInt8(ascii: ":") where !isInside: return index
            default: break
            }
        }
        return nil
    }

    private func parseHost(_ range: Range<Int>) throws(HTTPURLError) -> HTTPURL.Host {
        do throws(HTTPURLError.HostFault) {
            return try HostParser.parse(input[range], isSpecial: record.isSpecial)
        } catch {
            let text = String(decoding: input[range], as: UTF8.self)
            throw .invalidHost(text, error, offset: range.lowerBound)
        }
    }

    private mutating func parsePort(_ digits: ArraySlice<UInt8>) throws(HTTPURLError) {
        guard !digits.isEmpty else { return }
        var port: UInt32 = 0
        for byte in digits {
            guard Grammar.isDigit(byte) else { throw invalidPort(digits) }
            port = port * 10 + UInt32(byte - 0x30)
            guard port <= 65_535 else { throw invalidPort(digits) }
        }
        let number = UInt16(port)
        record.port = number == URLRecord.defaultPort(of: record.scheme) ? nil : number
    }

    private func invalidPort(_ digits: ArraySlice<UInt8>) -> HTTPURLError {
        .invalidPort(String(decoding: digits, as: UTF8.self), offset: digits.startIndex)
    }

    /// The path start and path states, and what follows a path.
    private mutating func parsePath() {
        if isSlash(peek) {
            position += 1
        } else if !record.isSpecial, peek.map({ $0 == 0x3F || $0 == 0x23 }) ?? true {
            return parseQueryAndFragment()
        }
        while true {
            let end = input[position...].firstIndex {
                isSlash($0) || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
            }
            let segment = input[position..<(end ?? input.endIndex)]
            let isLast = !isSlash(end.map { input[$0] })
            append(segment, isLast: isLast)
            position = segment.endIndex
            if isLast { return parseQueryAndFragment() }
            position += 1
        }
    }

    private mutating func append(_ segment: ArraySlice<UInt8>, isLast: Bool) {
        let dots = keepsDotSegments ? nil : dotCount(of: segment)
        if dots == 2 { record.shortenPath() }
        if dots != nil, !isLast { return }
        record.path.append(UInt8(ascii: "/"))
        if dots != nil { return }
        PercentEncoding.append(segment, encoding: .path, to: &record.path)
    }

    /// 1 or 2 if the segment is nothing but as many dots, each perhaps as `%2E`.
    private func dotCount(of segment: ArraySlice<UInt8>) -> Int? {
        guard segment.count <= 6 else { return nil }
        var rest = segment
        var count = 0
        while let byte = rest.first {
            if byte == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if byte == UInt8(ascii: "%"), rest.count >= 3,
                rest[rest.startIndex + 1] == UInt8(ascii: "2"),
                ASCII.lower(rest[rest.startIndex + 2]) == UInt8(ascii: "e")
            {
                rest = rest.dropFirst(3)
            } else {
                return nil
            }
            count += 1
        }
        return count == 1 || count == 2 ? count : nil
    }

    private mutating func parseOpaquePath() {
        record.isOpaque = true
        let end = input[position...].firstIndex {
            $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
        let path = input[position..<(end ?? input.endIndex)]
        PercentEncoding.append(path, encoding: .controls, to: &record.path)
        position = path.endIndex
        parseQueryAndFragment()
    }

    /// What is left begins with `?` or `#`, or is nothing.
    private mutating func parseQueryAndFragment() {
        if peek == UInt8(ascii: "?") {
            let start = position + 1
            let end = input[start...].firstIndex(of: UInt8(ascii: "#")) ?? input.endIndex
            let set = record.isSpecial ? PercentEncodeSet.specialQuery : .query
            record.query = PercentEncoding.encode(input[start..<end], set)
            position = end
        }
        if peek == UInt8(ascii: "#") {
            record.fragment = PercentEncoding.encode(input[(position + 1)...], .fragment)
        }
    }

    /// Where an authority ends: at a slash, a question mark, a number sign, or with the text.
    private func endOfPart() -> Int {
        input[position...].firstIndex {
            isSlash($0) || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        } ?? input.endIndex
    }

    private var peek: UInt8? { peek(0) }

    private func peek(_ distance: Int) -> UInt8? {
        position + distance < input.endIndex ? input[position + distance] : nil
    }

    private func isSlash(_ byte: UInt8?) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") && record.isSpecial
    }
}

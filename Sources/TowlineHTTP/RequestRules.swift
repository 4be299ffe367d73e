/// What may not be sent: every check on a request's head, made on the values that go out.
///
/// Source: RFC 9110 sections 5 and 8.6, RFC 9112 sections 3 and 6.
enum RequestRules {
    /// What the checks found out that the writer has to know.
    struct Findings {
        /// Which field is `Host`, and so comes first.
        var hostIndex: Int?
        /// How many bytes of the fields' storage are the lines as they are sent, if all are in it.
        var wireByteCount: Int?
        /// The line that says how long the body is, if no field says so already.
        var addedLine: AddedLine = .none
    }

    /// A field that is ours to add.
    enum AddedLine {
        case none
        case contentLength(UInt64)
        case chunked
    }

    /// Checks a head.
    ///
    /// - Parameters:
    ///   - head: What is to be sent.
    ///   - body: How much follows.
    ///   - hasHost: Whether `Host` is sent already, and so must not be among the fields.
    /// - Returns: What the writer has to know.
    /// - Throws: The first thing that must not be sent.
    static func check(
        _ head: HTTPRequestHead,
        _ body: HTTPBodyLength,
        hasHost: Bool
    ) throws(HTTPRequestFault) -> Findings {
        // Most ask for something, and GET is a token.
        let method = head.method.rawValue
        guard head.method == .get || !method.isEmpty && method.utf8.allSatisfy(Grammar.isToken)
        else {
            throw .method(method)
        }
        guard head.version == .http11 || head.version == .http10 else {
            throw .version(head.version)
        }
        try checkTarget(of: head)
        var findings = Findings()
        var length: Int?
        var coding: Int?
        // How far the lines lie in the storage as they are sent; nil behind one that does not.
        var wireEnd: Int? = 0
        for index in head.headers.indices {
            switch try checkField(at: index, of: head.headers, wireEnd: &wireEnd) {
            case .host: try note(index, in: &findings.hostIndex, head.headers)
            case .contentLength: try note(index, in: &length, head.headers)
            case .transferEncoding: try note(index, in: &coding, head.headers)
            case .other: break
            }
        }
        if let host = findings.hostIndex, hasHost {
            throw .repeatedField(head.headers[host].name)
        }
        // A host that is not the first has its own place.
        if (findings.hostIndex ?? 0) == 0 { findings.wireByteCount = wireEnd }
        if length != nil, coding != nil { throw .twoLengths }
        findings.addedLine = try addedLine(
            for: head,
            lengthOf(body, head.method),
            length: length.map { value(at: $0, of: head.headers) },
            coding: coding.map { value(at: $0, of: head.headers) }
        )
        return findings
    }

    /// Checks the fields that are to stand behind a body.
    static func checkTrailers(_ trailers: HTTPHeaders) throws(HTTPRequestFault) {
        for field in trailers where TrailerRules.isBanned(field.name) {
            throw .trailer(field.name)
        }
    }

    /// Checks fields that many heads have in common, and says which is `Host`.
    static func checkCommon(_ headers: HTTPHeaders) throws(HTTPRequestFault) -> Int? {
        var host: Int?
        var wireEnd: Int?
        for index in headers.indices {
            switch try checkField(at: index, of: headers, wireEnd: &wireEnd) {
            case .host: try note(index, in: &host, headers)
            case .contentLength: throw .contentLength(value(at: index, of: headers))
            case .transferEncoding: throw .transferEncoding(value(at: index, of: headers))
            case .other: break
            }
        }
        return host
    }

    /// Checks names and values of fields that may be any.
    static func checkFields(_ headers: HTTPHeaders) throws(HTTPRequestFault) {
        var wireEnd: Int?
        for index in headers.indices {
            _ = try checkField(at: index, of: headers, wireEnd: &wireEnd)
        }
    }

    private static func note(
        _ index: Int,
        in place: inout Int?,
        _ headers: HTTPHeaders
    ) throws(HTTPRequestFault) {
        guard place == nil else { throw .repeatedField(headers[index].name) }
        place = index
    }

    /// No body where an empty one means nothing.
    private static func lengthOf(
        _ body: HTTPBodyLength,
        _ method: HTTPMethod
    ) throws(HTTPRequestFault) -> HTTPBodyLength {
        guard body != .none, method == .trace || method == .connect else { return body }
        guard body == .known(0) else { throw .bodyNotAllowed(method) }
        return .none
    }

    /// Whether a server may expect a body unless it is told that there is none.
    ///
    /// Source: RFC 9110 section 8.6.
    private static func expectsBody(_ method: HTTPMethod) -> Bool {
        method != .get && (method == .post || method == .put || method == .patch)
    }

    private static func addedLine(
        for head: HTTPRequestHead,
        _ body: HTTPBodyLength,
        length: String?,
        coding: String?
    ) throws(HTTPRequestFault) -> AddedLine {
        switch body {
        case .unknown:
            guard head.version != .http10 else { throw .unknownLengthOnOldVersion }
            if let length { throw .contentLength(length) }
            guard let coding else { return .chunked }
            guard coding.lowercased() == "chunked" else { throw .transferEncoding(coding) }
            return .none
        case .known(let count):
            if let coding { throw .transferEncoding(coding) }
            guard let length else { return .contentLength(count) }
            guard length == String(count) else { throw .contentLength(length) }
            return .none
        case .none:
            if let coding { throw .transferEncoding(coding) }
            guard let length else {
                return expectsBody(head.method) ? .contentLength(0) : .none
            }
            guard length == "0" else { throw .contentLength(length) }
            return .none
        }
    }
}

extension RequestRules {
    private enum Kind {
        case host
        case contentLength
        case transferEncoding
        case other
    }

    /// Checks a field's bytes where they lie, and says which of those that matter it is.
    ///
    /// - Parameters:
    ///   - index: Which field.
    ///   - headers: All fields.
    ///   - wireEnd: Where the line above it ends, if that and those above it are as they are sent;
    ///     moved to the end of this one.
    /// - Returns: Which of those that matter it is.
    /// - Throws: What must not be sent of it.
    private static func checkField(
        at index: Int,
        of headers: HTTPHeaders,
        wireEnd: inout Int?
    ) throws(HTTPRequestFault) -> Kind {
        let place = headers.places[index]
        let (name, value) = (place.name, place.value)
        let bytes = headers.storage.span.bytes
        let nameEnd = Grammar.nameEnd(in: bytes, from: name.lowerBound, to: name.upperBound)
        guard nameEnd == name.upperBound, !name.isEmpty else {
            throw .fieldName(headers[index].name)
        }
        if let refused = firstRefused(in: bytes, value) {
            let field = headers[index]
            throw .fieldValue(name: field.name, byte: field.value[refused], offset: refused)
        }
        if let start = wireEnd {
            let isLine = start == name.lowerBound && isLine(name, value, in: bytes)
            wireEnd = isLine ? value.upperBound + 2 : nil
        }
        switch name.count {
        case 4: return Self.name(at: place, of: headers, is: "host") ? .host : .other
        case 14:
            let isLength = Self.name(at: place, of: headers, is: "content-length")
            return isLength ? .contentLength : .other
        case 17:
            let isCoding = Self.name(at: place, of: headers, is: "transfer-encoding")
            return isCoding ? .transferEncoding : .other
        default: return .other
        }
    }

    /// The offset in a value of the first byte that must not be sent.
    private static func firstRefused(in bytes: RawSpan, _ value: Range<Int>) -> Int? {
        var index = value.lowerBound
        while true {
            index = Grammar.firstControl(
                in: bytes,
                from: index,
                to: value.upperBound,
                findsDelete: true
            )
            guard index < value.upperBound else { return nil }
            guard bytes.byte(at: index) == Grammar.tab else { return index - value.lowerBound }
            index += 1
        }
    }

    /// Whether a name and a value lie in the bytes as they are sent: a colon and one space between
    /// them, no blank around the value, and a line end behind it.
    private static func isLine(_ name: Range<Int>, _ value: Range<Int>, in bytes: RawSpan) -> Bool {
        guard value.lowerBound == name.upperBound + 2, value.upperBound + 2 <= bytes.byteCount,
            bytes.byte(at: name.upperBound) == UInt8(ascii: ":"),
            bytes.byte(at: name.upperBound + 1) == Grammar.space,
            bytes.byte(at: value.upperBound) == Grammar.carriageReturn,
            bytes.byte(at: value.upperBound + 1) == Grammar.lineFeed
        else { return false }
        return value.isEmpty
            || !Grammar.isBlank(bytes.byte(at: value.lowerBound))
                && !Grammar.isBlank(bytes.byte(at: value.upperBound - 1))
    }

    /// Compares with a lower-case name of the same length.
    private static func name(
        at place: HTTPHeaders.Place,
        of headers: HTTPHeaders,
        is name: StaticString
    ) -> Bool {
        zip(place.name, 0..<name.utf8CodeUnitCount).allSatisfy {
            // The offset is below the count of the literal's bytes, which live for ever.
            ASCII.lower(headers.storage[$0]) == name.utf8Start[$1]
        }
    }

    private static func value(at index: Int, of headers: HTTPHeaders) -> String {
        let range = HTTP1Writer.trimmed(headers.places[index].value, of: headers.storage)
        return String(decoding: headers.storage[range], as: UTF8.self)
    }
}

extension RequestRules {
    private static func checkTarget(of head: HTTPRequestHead) throws(HTTPRequestFault) {
        let target = head.target.utf8
        guard !target.isEmpty else { throw .emptyTarget }
        var offset = 0
        for byte in target {
            if byte <= 0x20 || byte > 0x7E || byte == UInt8(ascii: "#") {
                throw .targetByte(byte, offset: offset)
            }
            offset += 1
        }
        let isRight =
            switch head.method {
            case .connect: isAuthority(target)
            case .options: isPath(target) || isWhole(target) || head.target == "*"
            default: isPath(target) || isWhole(target)
            }
        guard isRight else { throw .targetForm(head.target, head.method) }
    }

    private static func isPath(_ target: String.UTF8View) -> Bool {
        target.first == UInt8(ascii: "/")
    }

    /// Whether a target is a URL with a host and without user info.
    private static func isWhole(_ target: String.UTF8View) -> Bool {
        let scheme = target.prefix {
            ASCII.isLetter($0) || Grammar.isDigit($0) || "+-.".utf8.contains($0)
        }
        let rest = target[scheme.endIndex...]
        guard let first = scheme.first, ASCII.isLetter(first), rest.starts(with: "://".utf8) else {
            return false
        }
        let authority = rest.dropFirst(3).prefix { !"/?\\".utf8.contains($0) }
        return !authority.isEmpty && !authority.contains(UInt8(ascii: "@"))
    }

    /// Whether a target is a host and a port.
    private static func isAuthority(_ target: String.UTF8View) -> Bool {
        guard let colon = target.lastIndex(of: UInt8(ascii: ":")) else { return false }
        let port = target[colon...].dropFirst()
        let host = target[..<colon]
        let isBracketed = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
        return !host.isEmpty && !host.contains { "/?@\\".utf8.contains($0) }
            && (isBracketed || !host.contains(UInt8(ascii: ":")))
            && (1...5).contains(port.count) && port.allSatisfy(Grammar.isDigit)
    }
}

/// What may not be sent: every check on a request's head, made on the values that go out.
///
/// Source: RFC 9110 sections 5 and 8.6, RFC 9112 sections 3 and 6.
enum RequestRules {
    /// What the checks found out that the writer has to know.
    struct Findings {
        /// Which field is `Host`, and so comes first.
        var hostIndex: Int?
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
    static func check(
        _ head: HTTPRequestHead,
        _ body: HTTPBodyLength
    ) throws(HTTPRequestFault) -> Findings {
        guard !head.method.rawValue.isEmpty, head.method.rawValue.utf8.allSatisfy(Grammar.isToken)
        else {
            throw .method(head.method.rawValue)
        }
        guard head.version == .http11 || head.version == .http10 else {
            throw .version(head.version)
        }
        try checkTarget(of: head)
        var findings = Findings()
        var length: Int?
        var coding: Int?
        for index in head.headers.indices {
            switch try checkField(at: index, of: head.headers) {
            case .host: try note(index, in: &findings.hostIndex, head.headers)
            case .contentLength: try note(index, in: &length, head.headers)
            case .transferEncoding: try note(index, in: &coding, head.headers)
            case .other: break
            }
        }
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

    /// Checks names and values of fields that may be any.
    static func checkFields(_ headers: HTTPHeaders) throws(HTTPRequestFault) {
        for index in headers.indices { _ = try checkField(at: index, of: headers) }
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
        guard method == .trace || method == .connect else { return body }
        switch body {
        case .none, .known(0): return .none
        case .known, .unknown: throw .bodyNotAllowed(method)
        }
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
                let expectsBody = [HTTPMethod.post, .put, .patch].contains(head.method)
                return expectsBody ? .contentLength(0) : .none
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
    private static func checkField(
        at index: Int,
        of headers: HTTPHeaders
    ) throws(HTTPRequestFault) -> Kind {
        let place = headers.places[index]
        // Offsets of the loops below are within the place, which is within the storage.
        let (isToken, refused) = headers.storage.withUnsafeBufferPointer { storage in
            let name = UnsafeBufferPointer(rebasing: storage[place.name])
            let value = UnsafeBufferPointer(rebasing: storage[place.value])
            return (name.allSatisfy(Grammar.isToken), value.firstIndex(where: isRefusedInValues))
        }
        guard isToken, !place.name.isEmpty else { throw .fieldName(headers[index].name) }
        if let refused {
            let field = headers[index]
            throw .fieldValue(name: field.name, byte: field.value[refused], offset: refused)
        }
        switch place.name.count {
        case 4: return name(at: place, of: headers, is: "host") ? .host : .other
        case 14: return name(at: place, of: headers, is: "content-length") ? .contentLength : .other
        case 17:
            let isCoding = name(at: place, of: headers, is: "transfer-encoding")
            return isCoding ? .transferEncoding : .other
        default: return .other
        }
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

    private static func isRefusedInValues(_ byte: UInt8) -> Bool {
        Grammar.isControl(byte) && byte != Grammar.tab
    }
}

extension RequestRules {
    private static func checkTarget(of head: HTTPRequestHead) throws(HTTPRequestFault) {
        let target = head.target.utf8
        guard !target.isEmpty else { throw .emptyTarget }
        let refused = target.enumerated().first {
            $0.element <= 0x20 || $0.element > 0x7E || $0.element == UInt8(ascii: "#")
        }
        if let refused { throw .targetByte(refused.element, offset: refused.offset) }
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

/// How long the body of a response is.
public enum HTTP1BodyLength: Sendable, Hashable {
    /// So many bytes; 0 where there is no body.
    case known(Int)
    /// As long as its chunks are.
    case chunked
    /// All that comes until the peer closes the connection.
    case untilClose
}

/// How the message behind a head ends, and whether the connection may carry another one then.
struct BodyFraming {
    enum Body {
        case length(HTTP1BodyLength)
        /// The bytes behind the head are of another protocol.
        case upgrade
    }

    var body: Body

    /// Whether neither the fields nor their faults say that the connection ends with the message.
    var keepsConnection: Bool

    /// Decides by the final head of a response.
    ///
    /// The fields are left as they came: whoever reads them is told the length apart.
    ///
    /// Source: RFC 9112 section 6.3, step by step; section 9.3 for the connection.
    init(
        of head: HTTPResponseHead,
        for expectation: HTTP1Parser.Expectation,
        isStrict: Bool
    ) throws(HTTP1Fault) {
        let fields = FramingFields(head.headers)
        let isOld = head.version < .http11
        keepsConnection = !fields.saysClose && (!isOld || fields.saysKeepAlive)
        // Such framing is faulty, however the message ends (RFC 9112 section 6.1).
        if fields.coding != nil, isOld || fields.length != nil { keepsConnection = false }

        // 1. Some responses have no body, whatever their fields say.
        if expectation.method == .head || head.status == 204 || head.status == 304 {
            body = .length(.known(0))
            return
        }

        // 2. A tunnel or another protocol has no body either: the stream changes hands.
        if head.status == 101 {
            guard expectation.isUpgrade else { throw .unexpectedUpgrade }
            body = .upgrade
            return
        }
        if expectation.method == .connect, head.status < 300 {
            body = .upgrade
            return
        }

        // 3., 4. A transfer coding counts more than a length.
        if let coding = fields.coding {
            guard !isStrict || !isOld else { throw .codingInHTTP10 }
            guard !isStrict || fields.length == nil else { throw .lengthBesideCoding }
            switch coding {
            case .chunked:
                body = .length(.chunked)
            case .identity:
                body = .length(.untilClose)
                keepsConnection = false
            case .other:
                throw .transferCoding(head.headers.values(of: "Transfer-Encoding").joined(by: ","))
            }
            return
        }

        // 5., 6. A length, if all of them are one number.
        switch fields.length {
        case .number(let length)?:
            body = .length(.known(length))
        case .conflict(let first, let second)?:
            throw .conflictingContentLength(first, second)
        case .malformed?:
            throw .contentLength(head.headers.values(of: "Content-Length").joined(by: ","))
        case nil:
            // 7., 8. Nothing is said, so the end of the connection says it.
            body = .length(.untilClose)
            keepsConnection = false
        }
    }
}

extension [String] {
    /// The values of several fields as that of one, cut to what is good to read.
    fileprivate func joined(by separator: String) -> String {
        String(joined(separator: separator).prefix(100))
    }
}

/// What the fields say of a message's framing, gathered in one pass over them.
struct FramingFields {
    /// All transfer codings together.
    enum Coding {
        case chunked
        case identity
        case other
    }

    /// All lengths together.
    enum Length: Equatable {
        case number(Int)
        case conflict(Int, Int)
        case malformed
    }

    private(set) var coding: Coding?
    private(set) var length: Length?
    private(set) var saysClose = false
    private(set) var saysKeepAlive = false

    private var codingCount = 0

    init(_ headers: HTTPHeaders) {
        let bytes = headers.storage.span.bytes
        for place in headers.places {
            // Three lengths of names that count, so that most fields cost one comparison.
            switch place.nameCount {
            case 10 where Self.isName(bytes, place.name, "connection"):
                readConnection(place.value, of: bytes)
            case 14 where Self.isName(bytes, place.name, "content-length"):
                readLength(place.value, of: bytes)
            case 17 where Self.isName(bytes, place.name, "transfer-encoding"):
                readCoding(place.value, of: bytes)
            default:
                break
            }
        }
    }

    private mutating func readConnection(_ value: Range<Int>, of bytes: RawSpan) {
        var elements = Elements(of: value)
        while let element = elements.next(in: bytes) {
            if Self.isEqual(bytes, element, "close") { saysClose = true }
            if Self.isEqual(bytes, element, "keep-alive") { saysKeepAlive = true }
        }
    }

    /// Equal numbers count once, however they are written.
    private mutating func readLength(_ value: Range<Int>, of bytes: RawSpan) {
        var elements = Elements(of: value)
        while let element = elements.next(in: bytes) {
            guard let number = Self.number(bytes, element) else { return length = .malformed }
            switch length {
            case nil: length = .number(number)
            case .number(number), .conflict, .malformed: break
            case .number(let other): length = .conflict(other, number)
            }
        }
    }

    private mutating func readCoding(_ value: Range<Int>, of bytes: RawSpan) {
        // A field without a coding is none that anybody knows.
        if coding == nil { coding = .other }
        var elements = Elements(of: value)
        while let element = elements.next(in: bytes) {
            guard !element.isEmpty else { continue }
            codingCount += 1
            if codingCount == 1, Self.isEqual(bytes, element, "chunked") {
                coding = .chunked
            } else if codingCount == 1 || coding == .identity,
                Self.isEqual(bytes, element, "identity")
            {
                coding = .identity
            } else {
                coding = .other
            }
        }
    }

    /// Whether a token of eight bytes or more is this one, which is given in small letters.
    @inline(__always)
    private static func isName(_ bytes: RawSpan, _ range: Range<Int>, _ name: StaticString) -> Bool
    {
        // A bit more makes a token's letters small, and leaves its hyphens as they are.
        let start = bytes.word(at: range.lowerBound) | 0x2020_2020_2020_2020
        let wanted = UnsafeRawPointer(name.utf8Start).loadUnaligned(as: UInt64.self)
        return start == UInt64(littleEndian: wanted) && isEqual(bytes, range, name)
    }

    /// Whether these bytes are a word, which is given in small letters.
    private static func isEqual(_ bytes: RawSpan, _ range: Range<Int>, _ word: StaticString) -> Bool
    {
        guard range.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<range.count
        where ASCII.lower(bytes.byte(at: range.lowerBound + index)) != word.utf8Start[index] {
            return false
        }
        return true
    }

    /// A number of digits alone, of any count of them, up to 2^63−1.
    private static func number(_ bytes: RawSpan, _ range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return nil }
        var number = 0
        for index in range {
            let byte = bytes.byte(at: index)
            guard Grammar.isDigit(byte) else { return nil }
            let (tens, hasOverflown) = number.multipliedReportingOverflow(by: 10)
            let (sum, hasOverflownToo) = tens.addingReportingOverflow(Int(byte &- 0x30))
            guard !hasOverflown, !hasOverflownToo else { return nil }
            number = sum
        }
        return number
    }
}

/// The places between the commas of a list, without blanks around, empty ones included.
private struct Elements {
    private var rest: Range<Int>?

    init(of value: Range<Int>) {
        rest = value
    }

    mutating func next(in bytes: RawSpan) -> Range<Int>? {
        guard let range = rest else { return nil }
        var end = range.lowerBound
        while end < range.upperBound, bytes.byte(at: end) != UInt8(ascii: ",") { end += 1 }
        rest = end < range.upperBound ? end + 1..<range.upperBound : nil
        return Grammar.trimming(range.lowerBound..<end, of: bytes)
    }
}

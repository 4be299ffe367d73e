internal import TowlineHTTP

/// Whether a part of a content is the one that was asked for.
///
/// Source: RFC 9110 sections 14.1.2, 14.4 and 15.3.7.
enum RangeRules {
    /// Checks a response to a request for one range of bytes; of several, nothing is checked.
    ///
    /// - Parameters:
    ///   - head: The response's head.
    ///   - request: The request.
    /// - Throws: ``HTTPError/range(asked:answered:)`` for another part than that.
    static func check(_ head: HTTPResponseHead, _ request: HTTPRequest) throws(HTTPError) {
        guard head.status == 206, request.method != .head,
            let field = request.headers["Range"], let asked = AskedRange(field)
        else { return }
        let fields = head.headers.values(of: "Content-Range")
        let lengths = Set(head.headers.elements(of: "Content-Length"))
        guard fields.count == 1, let part = ContentRange(fields[0]), part.answers(asked),
            lengths.isEmpty || lengths == ["\(part.bounds.count)"]
        else { throw .range(asked: field, answered: fields.first) }
    }
}

/// One range of bytes, as a request asks for it.
private enum AskedRange {
    case from(UInt64, through: UInt64?)
    case last(UInt64)

    init?(_ field: String) {
        let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let bounds = parts[1].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        switch (UInt64(bounds[0]), UInt64(bounds[1])) {
        case (let first?, let last?): self = .from(first, through: last)
        case (let first?, nil) where bounds[1].isEmpty: self = .from(first, through: nil)
        case (nil, let count?) where bounds[0].isEmpty: self = .last(count)
        default: return nil
        }
    }
}

/// What a response says of the part that it has.
struct ContentRange {
    /// The bytes that follow.
    let bounds: ClosedRange<UInt64>
    /// The size of the whole, if the server knows it.
    let size: UInt64?

    init?(_ field: String) {
        guard field.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = field.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let numbers = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard numbers.count == 2, let first = UInt64(numbers[0]), let last = UInt64(numbers[1]),
            first <= last, last < .max
        else { return nil }
        bounds = first...last
        size = UInt64(parts[1])
        guard size.map({ $0 > last }) ?? (parts[1] == "*") else { return nil }
    }

    /// The size of the whole, as a response says it that has no part of it: `bytes */1234`.
    static func wholeSize(_ field: String?) -> UInt64? {
        guard let field, field.lowercased().hasPrefix("bytes */") else { return nil }
        return UInt64(field.dropFirst(8))
    }

    fileprivate func answers(_ asked: AskedRange) -> Bool {
        switch asked {
        case .from(let first, let last):
            return bounds.lowerBound == first && bounds.upperBound <= last ?? .max
        case .last(let count):
            guard UInt64(bounds.count) <= count else { return false }
            return size.map { bounds.upperBound == $0 - 1 } ?? true
        }
    }
}

internal import TowlineBytes

/// One read that was asked for.
struct ReadRequest {
    enum Kind: UInt8 {
        case any
        case length
        case delimiter
        /// Everything up to the peer's end.
        case end
    }

    var kind: Kind
    /// Its bytes go into a buffer of the caller's.
    var hasTarget = false
    var tag: Int
    var id: OperationID
    /// The exact number of bytes for `length`, the most of them for the others.
    var limit: Int
    /// Nanoseconds; `Int64.max` for none.
    var timeout: Int64
    var delimiter: Delimiter?

    /// An `any` read that takes whatever comes, and waits for ever.
    var isPlain: Bool { kind == .any && limit == .max && timeout == .max && !hasTarget }

    /// The bytes in all, where that is known.
    var total: Int? { kind == .length ? limit : nil }
}

/// The reads asked for, matched in order with the bytes at hand; it owns no byte itself.
struct ReadQueue {
    /// What the bytes at hand mean for the current read.
    enum Match: Equatable {
        /// The first `count` bytes complete it.
        case complete(Int)
        /// It takes them all and more are needed, at least so many.
        case incomplete
        /// What would complete it is not within the read's limit.
        case tooLong
    }

    private var first = ReadRequest(
        kind: .any,
        tag: 0,
        id: OperationID(rawValue: 0),
        limit: .max,
        timeout: .max,
        delimiter: nil
    )
    private var rest: FIFO<ReadRequest>?
    private(set) var count = 0

    /// Whether the current read is a plain one; `false` without one.
    private(set) var isPlain = false

    /// How many of the bytes at hand the current delimiter read has looked at, and how much of the
    /// delimiter they end with.
    private var searchedCount = 0
    private var matchedCount = 0

    /// Whether the current read has not been matched with any bytes yet.
    var isUnmatched: Bool { count > 0 && !isMatched }
    private var isMatched = false

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    /// The current read's kind; `nil` without one.
    var currentKind: ReadRequest.Kind? { count == 0 ? nil : first.kind }

    var current: ReadRequest? { count == 0 ? nil : first }

    /// The current read's timeout in nanoseconds, `Int64.max` without one.
    var currentTimeout: Int64 { count == 0 ? .max : first.timeout }

    /// All tags, the current one first.
    var tags: [Int] {
        guard count > 0 else { return [] }
        guard let rest, !rest.isEmpty else { return [first.tag] }
        return [first.tag] + rest.all.map(\.tag)
    }

    /// The tag of the first one that takes whatever comes; `nil` if none does.
    var openEndedTag: Int? {
        guard count > 0 else { return nil }
        return first.kind == .any ? first.tag : rest?.all.first { $0.kind == .any }?.tag
    }

    /// Adds a read that takes whatever comes, and waits for ever, to an empty queue.
    @inline(__always)
    mutating func appendFirstPlain(tag: Int, id: OperationID) {
        // An empty queue's `first` has neither delimiter nor target, so that no more is to be done.
        first.kind = .any
        first.tag = tag
        first.id = id
        first.limit = .max
        first.timeout = .max
        count = 1
        isPlain = true
    }

    mutating func append(_ request: ReadRequest) {
        count += 1
        if count == 1 {
            makeCurrent(request)
        } else {
            if rest == nil { rest = FIFO() }
            rest?.append(request)
        }
    }

    /// Ends the current plain read; its tag.
    @inline(__always)
    mutating func takePlain() -> Int {
        let tag = first.tag
        if count == 1 {
            count = 0
            isPlain = false
        } else {
            removeFirst()
        }
        return tag
    }

    /// Ends the current read, whatever came of it, and makes the next one current.
    mutating func removeFirst() {
        precondition(count > 0, "there is a current read")
        count -= 1
        if count > 0, let next = rest?.removeFirst() {
            makeCurrent(next)
        } else {
            first.delimiter = nil
            first.hasTarget = false
            isPlain = false
            rest = nil
        }
    }

    func contains(_ id: OperationID) -> Bool {
        count > 0 && (first.id == id || placeInRest(of: id) != nil)
    }

    /// Forgets a read, as if it had never been asked for.
    ///
    /// - Returns: Its place, 0 for the current read; `nil` if it is not in the queue.
    mutating func remove(_ id: OperationID) -> Int? {
        guard count > 0 else { return nil }
        guard first.id != id else {
            removeFirst()
            return 0
        }
        guard let index = placeInRest(of: id) else { return nil }
        _ = rest?.remove(at: index)
        count -= 1
        return index + 1
    }

    /// Finds a read by halving: their numbers rise.
    private func placeInRest(of id: OperationID) -> Int? {
        guard let rest else { return nil }
        var range = 0..<rest.count
        while let middle = range.isEmpty ? nil : (range.lowerBound + range.upperBound) / 2 {
            let found = rest[middle].id
            if found == id { return middle }
            range =
                found.rawValue < id.rawValue
                ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    mutating func removeAll() {
        guard count > 0 else { return }
        count = 0
        isPlain = false
        first.delimiter = nil
        first.hasTarget = false
        rest = nil
    }

    /// Other bytes stand in front of those that the current read was matched with.
    mutating func beginMatchingAnew() {
        searchedCount = 0
        matchedCount = 0
        isMatched = false
    }

    private mutating func makeCurrent(_ request: ReadRequest) {
        first = request
        isPlain = request.isPlain
        beginMatchingAnew()
    }

    /// Matches the current read with bytes at hand: the ones from before, and more behind them.
    ///
    /// - Parameters:
    ///   - bytes: The bytes at hand.
    ///   - isAll: Whether the peer's end is right behind them.
    /// - Returns: What they mean for it.
    mutating func match(_ bytes: RawSpan, isAll: Bool = false) -> Match {
        precondition(count > 0, "there is a current read")
        isMatched = true
        switch first.kind {
        case .any:
            return bytes.isEmpty ? .incomplete : .complete(min(bytes.byteCount, first.limit))
        case .length:
            return bytes.byteCount >= first.limit ? .complete(first.limit) : .incomplete
        case .delimiter:
            return matchDelimiter(bytes)
        case .end:
            guard bytes.byteCount <= first.limit else { return .tooLong }
            return isAll ? .complete(bytes.byteCount) : .incomplete
        }
    }

    /// Takes bytes for the current read that come behind `count` of its own, which lie elsewhere.
    ///
    /// - Returns: How many it takes, and what they mean for it.
    mutating func take(
        _ bytes: RawSpan,
        behind count: Int,
        isAll: Bool
    ) -> (count: Int, match: Match) {
        precondition(self.count > 0, "there is a current read")
        isMatched = true
        let inReach = bytes.extracting(first: first.limit - count)
        let reached = count + inReach.byteCount
        switch first.kind {
        case .any:
            return (inReach.byteCount, inReach.isEmpty ? .incomplete : .complete(reached))
        case .length:
            return (inReach.byteCount, reached == first.limit ? .complete(reached) : .incomplete)
        case .end:
            if bytes.byteCount > inReach.byteCount { return (inReach.byteCount, .tooLong) }
            return (inReach.byteCount, isAll ? .complete(reached) : .incomplete)
        case .delimiter:
            guard let pattern = first.delimiter?.pattern else {
                preconditionFailure("a delimiter read has its delimiter")
            }
            if let end = pattern.firstEnd(in: inReach, from: 0, matched: &matchedCount) {
                return (end, .complete(count + end))
            }
            return (inReach.byteCount, reached >= first.limit ? .tooLong : .incomplete)
        }
    }

    private mutating func matchDelimiter(_ bytes: RawSpan) -> Match {
        guard let pattern = first.delimiter?.pattern else {
            preconditionFailure("a delimiter read has its delimiter")
        }
        // Nothing behind the limit counts, so nothing behind it is looked at.
        let inReach = bytes.extracting(first: first.limit)
        if let end = pattern.firstEnd(in: inReach, from: searchedCount, matched: &matchedCount) {
            return .complete(end)
        }
        searchedCount = inReach.byteCount
        return bytes.byteCount >= first.limit ? .tooLong : .incomplete
    }
}

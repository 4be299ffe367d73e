import TestSupport
import Testing

@testable import Towline

@Suite("Read queue") struct ReadQueueTests {
    @Test("An empty queue has no current read and no tags")
    func emptyQueue() {
        let queue = ReadQueue()
        #expect(queue.isEmpty)
        #expect(queue.current == nil)
        #expect(queue.tags == [])
        #expect(!queue.isPlain)
        #expect(queue.currentTimeout == .max)
    }

    @Test("Reads become current in the order they were asked for (O2)")
    func order() {
        var queue = ReadQueue()
        for tag in 1...4 { queue.append(.any(tag: tag)) }
        #expect(queue.tags == [1, 2, 3, 4])
        for tag in 1...4 {
            #expect(queue.current?.tag == tag)
            queue.removeFirst()
        }
        #expect(queue.isEmpty)
        #expect(queue.tags == [])
    }

    @Test("Removing all leaves nothing, of none, one or many reads")
    func removingAll() {
        for count in 0..<4 {
            var queue = ReadQueue()
            for tag in 0..<count { queue.append(.delimiter("\n", tag: tag)) }
            queue.removeAll()
            #expect(queue.isEmpty)
            #expect(queue.current == nil)
            #expect(queue.tags == [])
            queue.append(.length(1, tag: 7))
            #expect(queue.tags == [7])
            expect(&queue, [1], .complete(1), "nothing of the old reads is left")
        }
    }

    // MARK: The three kinds

    @Test("An any read takes what is there, at least a byte, at most its limit (R3)")
    func anyReads() {
        var queue = ReadQueue()
        queue.append(.any(tag: 1))
        expect(&queue, [], .incomplete)
        expect(&queue, [1], .complete(1))
        expect(&queue, [1, 2, 3], .complete(3))
        queue.removeFirst()
        queue.append(.any(limit: 2, tag: 2))
        expect(&queue, [], .incomplete)
        expect(&queue, [1], .complete(1))
        expect(&queue, [1, 2], .complete(2), "reaching the limit is success")
        expect(&queue, [1, 2, 3], .complete(2))
    }

    @Test("A length read takes exactly its length, and the rest belongs to the next (R5)")
    func lengthReads() {
        var queue = ReadQueue()
        queue.append(.length(3, tag: 1))
        expect(&queue, [], .incomplete)
        expect(&queue, [1, 2], .incomplete)
        expect(&queue, [1, 2, 3], .complete(3))
        expect(&queue, [1, 2, 3, 4], .complete(3))
        #expect(queue.current?.total == 3)
    }

    @Test("A delimiter read takes up to the first occurrence, the delimiter included (R5)")
    func delimiterReads() {
        var queue = ReadQueue()
        queue.append(.delimiter("\r\n", tag: 1))
        expect(&queue, "a\r\nb\r\n", .complete(3))
        queue.removeFirst()
        queue.append(.delimiter("\r\n", tag: 2))
        expect(&queue, "a\r", .incomplete)
        expect(&queue, "a\rb\r", .incomplete)
        expect(&queue, "a\rb\r\nc", .complete(5))
        #expect(queue.current?.total == nil)
    }

    @Test("A delimiter that ends exactly at the limit is found, one byte later is too late (R3)")
    func delimiterLimit() {
        for limit in 2...6 {
            for end in 2...6 {
                let text = Array(repeating: UInt8(97), count: end - 2) + [13, 10]
                var queue = ReadQueue()
                queue.append(.delimiter("\r\n", limit: limit, tag: 1))
                let match = queue.match(text + [98])
                #expect(match == (end <= limit ? .complete(end) : .tooLong))
            }
        }
    }

    @Test("A read gives up at its limit, not a byte before it (R3)")
    func delimiterLimitByteByByte() {
        var queue = ReadQueue()
        queue.append(.delimiter("\r\n", limit: 4, tag: 1))
        expect(&queue, "abc", .incomplete)
        expect(&queue, "abc\r", .tooLong)
    }

    @Test("Bytes behind the limit are not looked at, though they complete the delimiter (R3)")
    func delimiterAcrossLimit() {
        var queue = ReadQueue()
        queue.append(.delimiter("\r\n", limit: 4, tag: 1))
        expect(&queue, "abc\r\n", .tooLong)
    }

    // MARK: Straddling

    @Test("`aab` is found in `aaab`, wherever the text is cut once or twice (R4, Wish 36)")
    func everyPairOfCuts() {
        let cases = [("aab", "aaab"), ("\r\n.\r\n", "a\r\r\n.\r\r\n.\r\n"), ("aa", "aa")]
        for (delimiter, text) in cases {
            let bytes = Array(text.utf8)
            for first in 0...bytes.count {
                for second in first...bytes.count {
                    var queue = ReadQueue()
                    queue.append(.delimiter(delimiter, tag: 1))
                    var match = queue.match(Array(bytes[..<first]))
                    if match == .incomplete { match = queue.match(Array(bytes[..<second])) }
                    if match == .incomplete { match = queue.match(bytes) }
                    let words: Comment = "\(delimiter) cut at \(first) and \(second)"
                    #expect(match == .complete(bytes.count), words)
                }
            }
        }
    }

    @Test("A read that follows begins its own search, with nothing of the last one (R4, R5)")
    func successiveDelimiters() {
        var queue = ReadQueue()
        queue.append(.delimiter("aab", tag: 1))
        queue.append(.delimiter("aab", tag: 2))
        expect(&queue, "xaa", .incomplete)
        expect(&queue, "xaabaa", .complete(4))
        queue.removeFirst()
        expect(&queue, "aa", .incomplete)
        expect(&queue, "aab", .complete(3))
    }

    @Test("A read that is dropped in mid-search leaves no trace in the next (R4)")
    func droppedSearch() {
        var queue = ReadQueue()
        queue.append(.delimiter("ab", tag: 1))
        expect(&queue, "xa", .incomplete)
        queue.removeFirst()
        queue.append(.delimiter("ab", tag: 2))
        expect(&queue, "b", .incomplete)
        expect(&queue, "bab", .complete(3))
    }

    @Test("Any sequence of reads cuts a stream alike, however the stream is cut (R3, R4, R5)")
    func everySplit() {
        var numbers = SeededNumbers()
        for _ in 0..<60 {
            let stream = numbers.bytes(numbers.number(in: 1..<24), of: 97...98)
            let requests = (0..<numbers.number(in: 1..<6)).map { tag -> ReadRequest in
                guard numbers.number(in: 0..<2) == 0 else {
                    return .length(numbers.number(in: 1..<6), tag: tag)
                }
                let delimiter = ["b", "ab", "aab"][numbers.number(in: 0..<3)]
                return .delimiter(delimiter, limit: 8, tag: tag)
            }
            let whole = cut(stream, [stream.count], by: requests)
            let byteByByte = cut(stream, Array(1...stream.count), by: requests)
            #expect(byteByByte == whole, "\(stream), seed \(numbers.seed)")
            for place in 0...stream.count {
                let inTwo = cut(stream, [place, stream.count], by: requests)
                #expect(inTwo == whole, "\(stream) cut at \(place), seed \(numbers.seed)")
            }
        }
    }

    @Test("A line of 1 MiB that comes byte by byte is searched once (R4)")
    func linearSearch() {
        // Looked through from its beginning each time, it would take hours.
        let text = Array(repeating: UInt8(97), count: 1 << 20)
        var queue = ReadQueue()
        queue.append(.delimiter("aab", limit: 1 << 21, tag: 1))
        var incompleteCount = 0
        for count in 1...text.count {
            let bytes = text.span.bytes.extracting(first: count)
            if queue.match(bytes) == .incomplete { incompleteCount += 1 }
        }
        #expect(incompleteCount == 1 << 20)
        expect(&queue, text + [98], .complete(1 << 20 + 1))
    }

    @Test("Thousands of queued reads cost no more each than a few (R8)")
    func manyReads() {
        var queue = ReadQueue()
        for tag in 0..<100_000 { queue.append(.length(1, tag: tag)) }
        var isOrdered = true
        for tag in 0..<100_000 {
            isOrdered = isOrdered && queue.current?.tag == tag
            queue.removeFirst()
        }
        #expect(isOrdered)
        #expect(queue.isEmpty)
    }

    // MARK: The fast path

    @Test("A read that waits for anything, for ever, is plain; no other is")
    func plainReads() {
        #expect(ReadRequest.any(tag: 1).isPlain)
        #expect(!ReadRequest.any(limit: 9, tag: 1).isPlain)
        #expect(!ReadRequest.any(timeout: 9, tag: 1).isPlain)
        #expect(!ReadRequest.length(9, tag: 1).isPlain)
        #expect(!ReadRequest.delimiter("\n", tag: 1).isPlain)
    }

    @Test("The flag says of the current read, and of no other, that it is plain")
    func plainFlag() {
        var queue = ReadQueue()
        queue.append(.length(1, tag: 1))
        queue.append(.any(tag: 2))
        queue.append(.any(limit: 1, tag: 3))
        queue.append(.any(tag: 4))
        for isPlain in [false, true, false, true] {
            #expect(queue.isPlain == isPlain)
            queue.removeFirst()
        }
        #expect(!queue.isPlain, "there is none")
    }

    @Test("The fast calls and the general ones leave the same queue, in every combination")
    func fastAndGeneralCalls() {
        for appendsFast in [true, false] {
            for takesFast in [true, false] {
                for rest in [[], [ReadRequest.any(tag: 8)], [.delimiter("\n", limit: 5, tag: 8)]] {
                    var queue = ReadQueue()
                    // Once around, so that whatever the first read leaves behind is there.
                    queue.append(.delimiter("ab", limit: 9, timeout: 3, tag: 1))
                    _ = queue.match("a")
                    queue.removeFirst()
                    if appendsFast {
                        queue.appendFirstPlain(tag: 7, id: OperationID(rawValue: 7))
                    } else {
                        queue.append(.any(tag: 7))
                    }
                    for request in rest { queue.append(request) }
                    #expect(queue.isPlain)
                    #expect(queue.count == 1 + rest.count)
                    #expect(queue.current?.tag == 7)
                    #expect(queue.current?.limit == .max)
                    #expect(queue.currentTimeout == .max)
                    expect(&queue, [1, 2], .complete(2))
                    if takesFast {
                        let tag = queue.takePlain()
                        #expect(tag == 7)
                    } else {
                        queue.removeFirst()
                    }
                    #expect(queue.count == rest.count)
                    #expect(queue.tags == rest.map(\.tag))
                    #expect(queue.isPlain == (rest.first?.isPlain ?? false))
                    queue.append(.delimiter("b", tag: 9))
                    while queue.count > 1 { queue.removeFirst() }
                    expect(&queue, "ab", .complete(2))
                }
            }
        }
    }

    // MARK: Helpers

    private func expect(
        _ queue: inout ReadQueue,
        _ bytes: [UInt8],
        _ expected: ReadQueue.Match,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let match = queue.match(bytes)
        #expect(match == expected, comment, sourceLocation: sourceLocation)
    }

    private func expect(
        _ queue: inout ReadQueue,
        _ text: String,
        _ expected: ReadQueue.Match,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expect(&queue, Array(text.utf8), expected, sourceLocation: sourceLocation)
    }

    /// What the reads get of a stream that is seen up to each of `ends` in turn.
    private func cut(_ stream: [UInt8], _ ends: [Int], by requests: [ReadRequest]) -> [String] {
        var queue = ReadQueue()
        for request in requests { queue.append(request) }
        var start = 0
        var results: [String] = []
        for end in ends {
            while let read = queue.current {
                switch queue.match(Array(stream[start..<end])) {
                case .complete(let count):
                    results.append("\(read.tag): \(stream[start..<start + count])")
                    start += count
                    queue.removeFirst()
                    continue
                case .tooLong:
                    return results + ["\(read.tag): too long"]
                case .incomplete:
                    break
                }
                break
            }
        }
        return results
    }
}

extension ReadQueue {
    fileprivate mutating func match(_ text: String) -> Match { match(Array(text.utf8)) }

    fileprivate mutating func match(_ bytes: [UInt8]) -> Match { match(bytes.span.bytes) }
}

extension ReadRequest {
    fileprivate static func any(
        limit: Int = .max,
        timeout: Int64 = .max,
        tag: Int
    ) -> ReadRequest {
        ReadRequest(.any, limit, nil, timeout, tag)
    }

    fileprivate static func length(_ length: Int, tag: Int) -> ReadRequest {
        ReadRequest(.length, length, nil, .max, tag)
    }

    fileprivate static func delimiter(
        _ delimiter: String,
        limit: Int = 1 << 24,
        timeout: Int64 = .max,
        tag: Int
    ) -> ReadRequest {
        ReadRequest(.delimiter, limit, Delimiter(delimiter), timeout, tag)
    }

    private init(
        _ kind: Kind,
        _ limit: Int,
        _ delimiter: Delimiter?,
        _ timeout: Int64,
        _ tag: Int
    ) {
        self.init(
            kind: kind,
            tag: tag,
            id: OperationID(rawValue: UInt64(tag)),
            limit: limit,
            timeout: timeout,
            delimiter: delimiter
        )
    }
}

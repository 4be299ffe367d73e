/// One write that was asked for and whose last byte is not reported yet.
struct WriteRequest {
    var tag: Int
    var id: OperationID
    /// Where it ends in the stream of all bytes ever written.
    var end: Int
    /// How many bytes it has.
    var count: Int
    /// Nanoseconds; `Int64.max` for none.
    var timeout: Int64
    /// Its bytes, until they are handed over; `nil` for gathered ones, which lie elsewhere, and for
    /// ``HeldOutput``.
    var bytes: [UInt8]?
}

/// The writes asked for: which byte ends which write, and what is not handed over yet.
///
/// Places are counted in the stream of all bytes ever written:
///
///     ├── finished ──┼── handed over ──┼── queued ──┤
///     0        finishedEnd         handedEnd     acceptedEnd
struct WriteQueue {
    /// Requests whose callbacks have not run, the first one apart so that one at a time costs no
    /// memory of its own.
    private var first = WriteRequest(
        tag: 0,
        id: OperationID(rawValue: 0),
        end: 0,
        count: 0,
        timeout: .max
    )
    private var rest: FIFO<WriteRequest>?
    private(set) var count = 0

    private(set) var acceptedEnd = 0
    private(set) var handedEnd = 0
    private(set) var finishedEnd = 0

    /// Up to where progress was told.
    private var toldEnd = 0

    /// How many of the requests, from the first, are handed over.
    private(set) var handedCount = 0

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    /// Bytes that the kernel has not taken yet.
    var pendingBytes: Int { acceptedEnd - finishedEnd }

    /// Whether some bytes are handed over and not finished.
    var isSending: Bool { handedEnd > finishedEnd }

    /// Whether the backend holds more than the bytes that are only gathered.
    func isSendingBeyond(_ gatheredCount: Int) -> Bool {
        handedEnd - finishedEnd > gatheredCount
    }

    /// Whether some requests are not handed over.
    var hasQueued: Bool { handedCount < count }

    /// The first request that is not reported; `nil` if there is none.
    var current: WriteRequest? { count == 0 ? nil : first }

    subscript(index: Int) -> WriteRequest {
        get {
            if index == 0 { return first }
            guard let rest else { preconditionFailure("a further request is in the rest") }
            return rest[index - 1]
        }
        set {
            if index == 0 {
                first = newValue
            } else {
                rest?[index - 1] = newValue
            }
        }
    }

    // MARK: Asking

    /// Adds a request whose bytes lie in the gather buffer, to an empty queue.
    @inline(__always)
    mutating func appendFirstGathered(tag: Int, id: OperationID, count byteCount: Int) {
        acceptedEnd &+= byteCount
        handedEnd = acceptedEnd
        first.tag = tag
        first.id = id
        first.end = acceptedEnd
        first.count = byteCount
        first.timeout = .max
        count = 1
        handedCount = 1
    }

    /// Counts bytes that were sent without being queued, by an empty queue.
    @inline(__always)
    mutating func notePassing(_ byteCount: Int) {
        acceptedEnd &+= byteCount
        handedEnd = acceptedEnd
        finishedEnd = acceptedEnd
    }

    /// Adds a request behind the others; gathered ones are handed over by the next flush.
    mutating func append(_ request: WriteRequest, isGathered: Bool) {
        var request = request
        acceptedEnd += request.count
        request.end = acceptedEnd
        if count == 0 {
            first = request
        } else {
            if rest == nil { rest = FIFO() }
            rest?.append(request)
        }
        count += 1
        if isGathered {
            precondition(handedCount == count - 1, "gathered bytes never overtake queued ones")
            handedCount = count
            handedEnd = acceptedEnd
        }
    }

    /// Takes the bytes of the first request that is not handed over.
    mutating func handOver() -> [UInt8] {
        precondition(hasQueued, "there is something to hand over")
        let bytes = self[handedCount].bytes ?? []
        self[handedCount].bytes = nil
        handedEnd = self[handedCount].end
        handedCount += 1
        return bytes
    }

    /// The number of bytes of the first request that is not handed over.
    var nextCount: Int { self[handedCount].count }

    /// Whether what that request sends is ``HeldOutput``, which is kept elsewhere.
    var isNextHeldApart: Bool { self[handedCount].bytes == nil }

    /// The name of that request.
    var nextID: OperationID { self[handedCount].id }

    // MARK: Answers

    /// Counts bytes that the kernel has taken.
    @inline(__always)
    mutating func acknowledge(_ byteCount: Int) {
        finishedEnd &+= byteCount
    }

    /// The first request if all its bytes are finished and no other is in front of it.
    var finished: WriteRequest? {
        guard count > 0, handedCount > 0, first.end <= finishedEnd else { return nil }
        return first
    }

    /// Takes the next piece of progress of the first request; `nil` if there is none.
    mutating func takeProgress() -> IOProgress? {
        guard count > 0, handedCount > 0 else { return nil }
        let start = first.end - first.count
        let reached = min(finishedEnd, first.end)
        let told = max(toldEnd, start)
        guard reached > told else { return nil }
        toldEnd = reached
        return IOProgress(newBytes: reached - told, bytesDone: reached - start, total: first.count)
    }

    /// Forgets the one request of the queue, which is finished.
    @inline(__always)
    mutating func removeOnlyRequest() {
        count = 0
        handedCount = 0
    }

    /// Forgets the first request.
    mutating func removeFirst() {
        count -= 1
        if handedCount > 0 { handedCount -= 1 }
        if count > 0, let next = rest?.removeFirst() {
            first = next
        } else {
            first.bytes = nil
            rest = nil
        }
    }

    /// The first request that is not finished, whose time runs; `nil` if there is none.
    ///
    /// Found by halving, since thousands may be finished and not reported yet.
    var unfinishedIndex: Int? {
        var range = 0..<handedCount
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            if self[middle].end > finishedEnd {
                range = range.lowerBound..<middle
            } else {
                range = middle + 1..<range.upperBound
            }
        }
        return range.lowerBound < count ? range.lowerBound : nil
    }

    // MARK: Cancelling

    /// The place of a request, found by halving since their numbers rise; `nil` if it is not here.
    func index(of id: OperationID) -> Int? {
        var range = 0..<count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            let found = self[middle].id
            if found == id { return middle }
            range =
                found.rawValue < id.rawValue
                ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    /// The first request of which no byte is finished, so that it and all behind it can still be
    /// taken back; `count` if there is none.
    var untouchedIndex: Int {
        guard let index = unfinishedIndex else { return count }
        return isUntouched(at: index) ? index : index + 1
    }

    /// Whether a request is not finished, and not even begun.
    func isUntouched(at index: Int) -> Bool {
        let request = self[index]
        if index < handedCount, request.end <= finishedEnd { return false }
        return request.end - request.count >= finishedEnd
    }

    /// Forgets a request that is untouched, as if it had never been asked for.
    mutating func cancel(at index: Int) {
        precondition(isUntouched(at: index), "nothing of it has been sent")
        let byteCount = self[index].count
        if index < handedCount {
            handedCount -= 1
            handedEnd -= byteCount
        }
        acceptedEnd -= byteCount
        count -= 1
        if index > 0 {
            _ = rest?.remove(at: index - 1)
        } else if count > 0, let next = rest?.removeFirst() {
            first = next
        } else {
            first.bytes = nil
        }
        if count <= 1 { rest = nil }
        guard byteCount > 0 else { return }
        for later in index..<max(count, index) { self[later].end -= byteCount }
    }

    /// Forgets all requests from a place on, which are untouched.
    mutating func cancelAll(from index: Int) {
        guard index < count else { return }
        precondition(isUntouched(at: index), "nothing of them has been sent")
        acceptedEnd = self[index].end - self[index].count
        handedEnd = min(handedEnd, acceptedEnd)
        handedCount = min(handedCount, index)
        if index == 0 { first.bytes = nil }
        if index <= 1 {
            rest = nil
        } else {
            rest?.removeLast(count - index)
        }
        count = index
    }

    /// The first request that is not finished, and how far it has come.
    var progress: OperationProgress? {
        guard let index = unfinishedIndex else { return nil }
        let request = self[index]
        let missing = min(request.count, request.end - finishedEnd)
        return OperationProgress(
            tag: request.tag,
            bytesDone: request.count - missing,
            total: request.count
        )
    }

    /// What is not finished: tag, bytes finished, bytes in all.
    var incomplete: [IncompleteWrite] {
        guard count > 0 else { return [] }
        return (0..<count).compactMap { index in
            let request = self[index]
            guard request.end > finishedEnd || index >= handedCount else { return nil }
            let missing = min(request.count, request.end - finishedEnd)
            return IncompleteWrite(
                tag: request.tag,
                bytesWritten: request.count - missing,
                total: request.count
            )
        }
    }

    /// Drops everything and begins a new stream.
    mutating func reset() {
        first.bytes = nil
        rest = nil
        count = 0
        acceptedEnd = 0
        handedEnd = 0
        finishedEnd = 0
        toldEnd = 0
        handedCount = 0
    }
}

/// Which plaintext is finished once so much ciphertext is with the kernel.
///
/// Ciphertext is counted in the stream of all that was ever handed over. Some of it carries bytes
/// of writes, some answers what the peer has sent; the latter is counted apart, since it is the
/// peer who decides how much of it there is.
struct CipherLedger {
    /// Ciphertext up to a place, and what it carries.
    private struct Entry {
        var end: Int
        var plaintextCount: Int
        var replyCount: Int
    }

    private var entries = FIFO<Entry>()
    private var handedEnd = 0
    private var sentEnd = 0

    /// Bytes of answers that the kernel has not taken.
    private(set) var waitingReplies = 0

    /// Bytes that the kernel has not taken.
    var waiting: Int { handedEnd - sentEnd }

    /// Adds ciphertext that carries so many bytes of writes.
    mutating func append(_ byteCount: Int, carrying plaintextCount: Int) {
        handedEnd += byteCount
        entries.append(Entry(end: handedEnd, plaintextCount: plaintextCount, replyCount: 0))
    }

    /// Adds ciphertext that answers the peer, or greets it.
    mutating func append(reply byteCount: Int) {
        handedEnd += byteCount
        waitingReplies += byteCount
        let last = entries.count - 1
        if last >= 0, entries[last].plaintextCount == 0 {
            entries[last].end = handedEnd
            entries[last].replyCount += byteCount
        } else {
            entries.append(Entry(end: handedEnd, plaintextCount: 0, replyCount: byteCount))
        }
    }

    /// Counts ciphertext that the kernel has taken.
    ///
    /// - Returns: How many bytes of writes are finished by that.
    mutating func acknowledge(_ byteCount: Int) -> Int {
        sentEnd += byteCount
        var finished = 0
        while let first = entries.first, first.end <= sentEnd {
            finished += first.plaintextCount
            waitingReplies -= first.replyCount
            _ = entries.removeFirst()
        }
        return finished
    }
}

internal import Glibc

/// Bytes in the order they came: appended behind, lent and consumed in front.
///
///     ├── consumed ──┼──── lent ────┼── room ──┤
///     0            head           tail      capacity
///
/// Nothing is moved while the room behind suffices. When it does not, and at least half of the
/// store is consumed, the bytes are moved down instead of the store growing; so each byte is moved
/// at most once for each byte consumed, and appending stays linear.
package final class ByteBuffer {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var head = 0
    private var tail = 0

    /// How many loans run in which bytes may not be moved, and how many of the first bytes are
    /// consumed when the outer one ends.
    private var loanCount = 0
    private var lentCount = 0

    /// What was put in front during a loan.
    private var aside: ByteBuffer?

    /// The most bytes of store that an empty buffer keeps; what exceeds it is given back.
    private let keptCapacity: Int

    /// An empty buffer, which owns no memory yet.
    ///
    /// - Parameter keptCapacity: Bytes of store to keep while empty; 0 gives all of it back.
    package init(keptCapacity: Int = 0) {
        self.keptCapacity = keptCapacity
    }

    deinit {
        base?.deallocate()
    }

    /// The number of bytes that are there and not consumed.
    @inline(__always)
    package var count: Int { tail &- head }

    package var isEmpty: Bool { head == tail }

    /// Bytes of memory that the buffer owns.
    package var ownedCapacity: Int { capacity }

    /// Lends everything that is there, for the length of the call.
    ///
    /// The buffer must not be changed within it.
    package func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let base else { return try body(RawSpan()) }
        // `head..<tail` is initialised and lies within the store.
        let bytes = UnsafeRawBufferPointer(start: base + head, count: tail - head)
        return try body(RawSpan(_unsafeBytes: bytes))
    }

    // MARK: Loans

    /// Lends the first bytes, and consumes them when `body` has returned.
    ///
    /// Within it, bytes may be put in front: they will be behind the ones that are lent, and in
    /// front of all others. Nothing else may be changed.
    ///
    /// - Parameters:
    ///   - byteCount: 0 through ``count``.
    ///   - body: What to do with them.
    package func lendFirst(_ byteCount: Int, _ body: (RawSpan) -> Void) {
        precondition(loanCount == 0, "what is to be consumed is lent once")
        lentCount = byteCount
        lend(0..<byteCount, body)
    }

    /// Lends all bytes but those that are lent already, to be consumed.
    ///
    /// The same may be done within `body` as for ``lendFirst(_:_:)``.
    package func lendWaiting<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try lend(lentCount..<count, body)
    }

    private func lend<Result, Failure: Error>(
        _ range: Range<Int>,
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        loanCount += 1
        defer { endLoan() }
        return try withBytes { bytes throws(Failure) in try body(bytes.extracting(range)) }
    }

    private func endLoan() {
        loanCount -= 1
        guard loanCount == 0 else { return }
        consume(lentCount)
        lentCount = 0
        guard let front = aside else { return }
        aside = nil
        front.withBytes { prepend($0) }
    }

    /// The number of bytes that are neither consumed nor lent to be.
    package var waitingCount: Int { count - lentCount + (aside?.count ?? 0) }

    /// Whether those bytes lie together.
    package var isContiguous: Bool { aside == nil }

    /// Those bytes.
    package var waitingBytes: [UInt8] {
        let front = aside?.withBytes { $0.withUnsafeBytes { [UInt8]($0) } } ?? []
        return withBytes { bytes in
            bytes.extracting(lentCount..<bytes.byteCount).withUnsafeBytes { front + $0 }
        }
    }

    // MARK: Changes

    /// Copies `bytes` behind what is there.
    package func append(_ bytes: RawSpan) {
        let added = bytes.byteCount
        guard added > 0 else { return }
        let target = makeRoom(for: added)
        bytes.withUnsafeBytes {
            // `makeRoom` made sure of `added` bytes behind `tail`.
            target.copyMemory(from: $0.baseAddress.unsafelyUnwrapped, byteCount: added)
        }
        tail += added
    }

    /// Puts `bytes` in front of what is there, to be lent first.
    package func prepend(_ bytes: RawSpan) {
        let added = bytes.byteCount
        guard added > 0 else { return }
        guard loanCount == 0 else {
            let front = aside ?? ByteBuffer()
            aside = front
            front.prepend(bytes)
            return
        }
        if head < added {
            let waiting = count
            let target = makeRoom(for: added)
            // Moves what waits up behind the room for the new bytes; both lie within the store.
            memmove(target - waiting + added, target - waiting, waiting)
            head = tail - waiting + added
            tail = head + waiting
        }
        guard let base else { preconditionFailure("a buffer with bytes has a store") }
        head -= added
        bytes.withUnsafeBytes {
            (base + head).copyMemory(from: $0.baseAddress.unsafelyUnwrapped, byteCount: added)
        }
    }

    /// Drops the first `byteCount` bytes.
    ///
    /// - Parameter byteCount: 0 through ``count``.
    package func consume(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= count, "only what is there can be consumed")
        head += byteCount
        guard head == tail else { return }
        head = 0
        tail = 0
        if capacity > keptCapacity { releaseStore() }
    }

    /// Drops everything, and the store with it.
    package func removeAll() {
        head = 0
        tail = 0
        releaseStore()
    }

    private func releaseStore() {
        base?.deallocate()
        base = nil
        capacity = 0
    }

    /// Makes sure of `added` bytes of room and returns where they begin.
    private func makeRoom(for added: Int) -> UnsafeMutableRawPointer {
        if let base, capacity - tail >= added { return base + tail }
        let waiting = count
        if let base, head >= capacity / 2, capacity - waiting >= added {
            memmove(base, base + head, waiting)
        } else {
            grow(toHold: waiting + added)
        }
        head = 0
        tail = waiting
        guard let base else { preconditionFailure("a store was just made") }
        return base + waiting
    }

    private func grow(toHold needed: Int) {
        let newCapacity = max(needed, capacity * 2, 64)
        let store = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        if let base {
            store.copyMemory(from: base + head, byteCount: count)
            base.deallocate()
        }
        base = store
        capacity = newCapacity
    }
}

/// Memory of the caller's that a read's bytes go into, with one owner at a time.
///
/// It is handed over with the read and comes back with its callback, so that nobody can touch it in
/// between:
///
///     try socket.read(into: ReadBuffer(count: 4_096), toLength: 4_096)
///
///     func socket(
///         _ socket: StreamSocket,
///         didRead buffer: consuming ReadBuffer,
///         range: Range<Int>,
///         tag: Int
///     ) throws {
///         …                                   // look at the bytes of `range`
///         try socket.read(into: buffer, toLength: 4_096)
///     }
public struct ReadBuffer: ~Copyable, @unchecked Sendable {
    // Sendable since the memory has one owner, who gives it away with the value.
    private var base: UnsafeMutableRawPointer

    /// How many bytes it has.
    public private(set) var count: Int

    /// How many bytes it can have before it moves.
    public private(set) var capacity: Int

    /// A buffer of zeros.
    ///
    /// - Parameters:
    ///   - count: How many bytes, 0 or more.
    ///   - capacity: For how many there is to be room.
    public init(count: Int = 0, capacity: Int = 0) {
        precondition(count >= 0, "a buffer has 0 bytes or more")
        self.count = count
        self.capacity = max(count, capacity)
        base = .allocate(byteCount: max(1, self.capacity), alignment: 16)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: self.capacity)
    }

    /// A buffer with a copy of these bytes.
    public init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count)
        UnsafeMutableRawBufferPointer(start: base, count: count).copyBytes(from: bytes)
    }

    deinit {
        base.deallocate()
    }

    /// Lends the bytes for the length of the call.
    ///
    /// - Parameter body: What to do with them.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public borrowing func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The first `count` bytes are initialised.
        try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: base, count: count)))
    }

    /// Lends the bytes for the length of the call, to be changed.
    ///
    /// - Parameter body: What to do with them.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public mutating func withUnsafeMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: base, count: count))
    }

    /// The byte at a place, 0 through ``count`` less 1.
    public subscript(index: Int) -> UInt8 {
        get {
            precondition(index >= 0 && index < count, "a place in the buffer")
            return base.load(fromByteOffset: index, as: UInt8.self)
        }
        set {
            precondition(index >= 0 && index < count, "a place in the buffer")
            base.storeBytes(of: newValue, toByteOffset: index, as: UInt8.self)
        }
    }

    /// Drops bytes behind, or adds zeros.
    ///
    /// - Parameter newCount: How many bytes it is to have, 0 or more.
    public mutating func resize(to newCount: Int) {
        precondition(newCount >= 0, "a buffer has 0 bytes or more")
        makeRoom(for: newCount)
        if newCount > count {
            // Within the room that was just made.
            memoryBehind.initializeMemory(as: UInt8.self, repeating: 0, count: newCount - count)
        }
        count = newCount
    }

    /// Copies bytes over those from `offset` on, which is at most ``count``; those that do not fit
    /// make it longer.
    mutating func store(_ bytes: RawSpan, at offset: Int) {
        precondition(offset >= 0 && offset <= count, "no gap in front")
        guard !bytes.isEmpty else { return }
        let end = offset + bytes.byteCount
        makeRoom(for: end)
        let target = base + offset
        bytes.withUnsafeBytes {
            // Not empty, so there is a base; and room up to `end` by the line above.
            target.copyMemory(from: $0.baseAddress.unsafelyUnwrapped, byteCount: $0.count)
        }
        count = max(count, end)
    }

    private var memoryBehind: UnsafeMutableRawPointer { base + count }

    private mutating func makeRoom(for needed: Int) {
        guard needed > capacity else { return }
        let newCapacity = max(needed, capacity * 2, 64)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        larger.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = larger
        capacity = newCapacity
    }
}

/// A caller's buffer on its way through a read.
final class ReadTarget: @unchecked Sendable {
    // Sendable since only the reactor's thread uses it until it lies in a report, behind its lock.
    var id = OperationID(rawValue: 0)
    private var buffer: ReadBuffer?
    private let offset: Int

    /// How many bytes of the read it has.
    private(set) var count = 0

    init(_ buffer: consuming ReadBuffer, at offset: Int) {
        self.buffer = consume buffer
        self.offset = offset
    }

    /// Where the bytes of the read lie.
    var range: Range<Int> { offset..<offset + count }

    func append(_ bytes: RawSpan) {
        buffer?.store(bytes, at: offset + count)
        count += bytes.byteCount
    }

    /// Forgets the bytes of the read, but for a copy.
    func removeAll() -> [UInt8] {
        let bytes = collected
        count = 0
        return bytes
    }

    /// A copy of the bytes of the read.
    var collected: [UInt8] {
        guard count > 0 else { return [] }
        return buffer?.withBytes { $0.extracting(range).withUnsafeBytes { [UInt8]($0) } } ?? []
    }

    /// Gives the buffer up, once.
    func take() -> ReadBuffer? { buffer.take() }
}

/// The buffers of reads that a connection's end has left incomplete, in the order of the reads.
final class ReturnedReadBuffers: Sendable {
    private let targets: Locked<[ReadTarget]>

    init(_ targets: [ReadTarget]) {
        self.targets = Locked(targets)
    }

    /// The next one that nobody has taken.
    func take() -> ReadBuffer? {
        targets.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.take()
    }
}

/// Bytes in their order: appended behind, taken in front.
struct ByteQueue {
    private var storage: [UInt8] = []
    private var head = 0

    var count: Int { storage.count - head }
    var isEmpty: Bool { head == storage.count }

    mutating func append(_ bytes: some Collection<UInt8>) {
        storage.append(contentsOf: bytes)
    }

    /// Lends the first bytes, at most `limit` of them; `consume(_:)` then takes them.
    func withFirst<Result>(
        atMost limit: Int,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        storage.withUnsafeBytes { bytes in
            let end = head + min(limit, bytes.count - head)
            return body(UnsafeRawBufferPointer(rebasing: bytes[head..<end]))
        }
    }

    mutating func consume(_ byteCount: Int) {
        head += byteCount
        if head == storage.count {
            removeAll()
        } else if head > storage.count / 2 {
            // Each byte is moved at most once for each byte consumed.
            storage.removeFirst(head)
            head = 0
        }
    }

    mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
        head = 0
    }
}

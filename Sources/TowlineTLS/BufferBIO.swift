internal import COpenSSL
internal import Synchronization
internal import Towline

/// The two ends of a session's wire: where the library's next bytes come from, and where those that
/// it makes go to.
///
/// It lies in memory of its own, so that what the library calls reaches it without asking anybody.
struct Wire {
    /// What has come before the library could be shown it; first in line.
    private var kept: UnsafeMutableRawBufferPointer?
    private var keptOffset = 0

    /// What the socket lends for the call that runs.
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)

    /// Where bytes for the peer go, for the call that runs.
    private var output: Unmanaged<SecurityOutput>?

    /// How many bytes the library has taken since the counter was last set back.
    var takenByteCount = 0

    /// So many bytes may be taken; where they are, what follows is no record, and ends the session.
    var takenByteLimit = Int.max

    /// Whether the library is shown nothing, whatever there is.
    var isWithheld = false

    /// Whether the peer has ended.
    var hasEnded = false

    /// Whether a copy is made of what the library takes.
    var isRecording = false

    private var recording: [UInt8] = []

    /// Whether the limit was reached.
    private(set) var isOverLimit = false

    /// A header that fits no record: TLS 1.3 answers it by `unexpected_message`.
    private static let noRecord: [UInt8] = [22, 3, 3, 0, 1]

    /// Whether nothing is left for the library to read.
    var isEmpty: Bool { input.isEmpty && kept == nil }

    /// How many bytes are left for the library to read.
    var pendingByteCount: Int { (kept?.count ?? 0) - keptOffset + input.count }

    /// How many bytes of the library's have not been handed on.
    var unsentByteCount: Int { output?._withUnsafeGuaranteedRef { $0.count } ?? 0 }

    /// What is left of the bytes that were lent.
    var rest: UnsafeRawBufferPointer { input }

    /// Lends bytes and an output until ``endLoan()``.
    mutating func lend(_ bytes: UnsafeRawBufferPointer, _ output: SecurityOutput) {
        input = bytes
        self.output = .passUnretained(output)
    }

    /// Forgets what was lent.
    mutating func endLoan() {
        input = UnsafeRawBufferPointer(start: nil, count: 0)
        output = nil
    }

    /// Takes all that was lent, for nobody.
    mutating func skipLent() {
        input = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Gives away the copy of what the library has taken, and makes no more of it.
    mutating func takeRecording() -> [UInt8] {
        defer { recording = [] }
        isRecording = false
        return recording
    }

    /// Puts a copy of bytes in front of those that are lent.
    mutating func keep(_ bytes: [UInt8]) {
        dropKept()
        guard !bytes.isEmpty else { return }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyBytes(from: bytes)
        kept = copy
    }

    /// Frees what was kept.
    mutating func dropKept() {
        kept?.deallocate()
        kept = nil
        keptOffset = 0
    }

    /// Moves as many bytes as there are, `room` at most, to where the library wants them.
    mutating func take(into target: UnsafeMutableRawPointer, room: Int) -> Int {
        guard !isWithheld, !isOverLimit else { return 0 }
        // The library asks for a header first, and for nothing of its length else.
        if takenByteCount > takenByteLimit, room == Self.noRecord.count {
            isOverLimit = true
            let count = room
            Self.noRecord.withUnsafeBytes { bytes in
                // `room` bytes are the library's word, and as many as the literal has.
                if let first = bytes.baseAddress {
                    target.copyMemory(from: first, byteCount: count)
                }
            }
            return count
        }
        let count = kept == nil ? takeLent(into: target, room) : takeKept(into: target, room)
        takenByteCount += count
        if isRecording {
            recording.append(contentsOf: UnsafeRawBufferPointer(start: target, count: count))
        }
        return count
    }

    private mutating func takeLent(into target: UnsafeMutableRawPointer, _ room: Int) -> Int {
        guard let first = input.baseAddress, !input.isEmpty else { return 0 }
        let count = min(room, input.count)
        target.copyMemory(from: first, byteCount: count)
        // Within the bytes that were lent by the line above.
        input = UnsafeRawBufferPointer(start: first + count, count: input.count &- count)
        return count
    }

    private mutating func takeKept(into target: UnsafeMutableRawPointer, _ room: Int) -> Int {
        guard let kept, let first = kept.baseAddress else { return 0 }
        let count = min(room, kept.count - keptOffset)
        target.copyMemory(from: first + keptOffset, byteCount: count)
        keptOffset += count
        if keptOffset == kept.count { dropKept() }
        return count
    }

    /// Adds to the output; what is made while none is lent goes nowhere.
    ///
    /// Mutating, since otherwise a copy would be made of all this.
    mutating func put(_ bytes: UnsafeRawPointer, count: Int) {
        guard let output else { return }
        output._withUnsafeGuaranteedRef { $0.append(bytes, count: count) }
    }
}

/// What the library reads from and writes to instead of a socket.
///
/// It accepts everything that is written, so that no write is ever left half done.
///
/// Source: BIO_meth_new(3), BIO_read(3), BIO_ctrl(3).
enum BufferBIO {
    /// How many there are at the moment, in the whole process.
    static var liveCount: Int { count.load(ordering: .relaxed) }

    fileprivate static let count = Atomic(0)

    /// The library's table of functions; one for all.
    private nonisolated(unsafe) static let method: OpaquePointer = {
        // Filled here once, and only read afterwards.
        let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = BIO_meth_new(type, "towline") else {
            preconditionFailure("out of memory")
        }
        BIO_meth_set_read_ex(method, readFromWire)
        BIO_meth_set_write_ex(method, writeToWire)
        BIO_meth_set_ctrl(method, controlWire)
        BIO_meth_set_destroy(method, destroyWire)
        return method
    }()

    /// Makes one that reads from and writes to a wire, which has to live for as long.
    static func make(for wire: UnsafeMutablePointer<Wire>) -> OpaquePointer? {
        guard let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, wire)
        BIO_set_init(bio, 1)
        count.add(1, ordering: .relaxed)
        return bio
    }
}

private func wire(of bio: OpaquePointer?) -> UnsafeMutablePointer<Wire>? {
    // Set in `make`, and never to anything else.
    BIO_get_data(bio)?.assumingMemoryBound(to: Wire.self)
}

@inline(__always)
private func readFromWire(
    _ bio: OpaquePointer?,
    _ target: UnsafeMutablePointer<CChar>?,
    _ room: Int,
    _ taken: UnsafeMutablePointer<Int>?
) -> CInt {
    towline_BIO_clear_retry_flags(bio)
    guard let wire = wire(of: bio), let target, let taken else { return 0 }
    let count = wire.pointee.take(into: target, room: room)
    taken.pointee = count
    if count > 0 { return 1 }
    if !wire.pointee.hasEnded { towline_BIO_set_retry_read(bio) }
    return 0
}

@inline(__always)
private func writeToWire(
    _ bio: OpaquePointer?,
    _ bytes: UnsafePointer<CChar>?,
    _ count: Int,
    _ written: UnsafeMutablePointer<Int>?
) -> CInt {
    towline_BIO_clear_retry_flags(bio)
    guard let wire = wire(of: bio), let bytes, let written else { return 0 }
    wire.pointee.put(bytes, count: count)
    written.pointee = count
    return 1
}

@inline(__always)
private func controlWire(
    _ bio: OpaquePointer?,
    _ command: CInt,
    _ number: CLong,
    _ pointer: UnsafeMutableRawPointer?
) -> CLong {
    switch command {
    case BIO_CTRL_FLUSH:
        // Without a yes, no flight of a handshake is done.
        return 1
    case BIO_CTRL_EOF:
        guard let wire = wire(of: bio) else { return 1 }
        return wire.pointee.hasEnded && wire.pointee.isEmpty ? 1 : 0
    case BIO_CTRL_PENDING:
        return CLong(wire(of: bio)?.pointee.pendingByteCount ?? 0)
    case BIO_CTRL_WPENDING:
        return CLong(wire(of: bio)?.pointee.unsentByteCount ?? 0)
    default:
        return 0
    }
}

private func destroyWire(_ bio: OpaquePointer?) -> CInt {
    BufferBIO.count.subtract(1, ordering: .relaxed)
    return 1
}

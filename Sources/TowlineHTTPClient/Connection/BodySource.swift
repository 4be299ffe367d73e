internal import Towline
internal import TowlineHTTP

/// The body of a request, piece by piece.
struct BodySource {
    /// What is sent next.
    enum Piece {
        case bytes([UInt8])
        case file(OpenFile, Range<Int>)

        var count: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .file(_, let range): range.count
            }
        }
    }

    /// What there is to do about it.
    enum Step {
        case send(Piece)
        /// The producer has to bring some.
        case ask
        /// It was asked, and has not answered.
        case wait
        case end
        /// The producer has brought another number of bytes than promised.
        case wrongLength(supplied: UInt64)
    }

    /// How many bytes of a file, or of an array, are handed over at once.
    static let stepByteCount = 256 * 1024

    let length: HTTPBodyLength
    /// What it is by itself; a request may say otherwise.
    let contentType: String?
    let producer: (@Sendable (HTTPExchange) -> Void)?

    private var pieces: [Piece] = []
    private var index = 0
    private var offset = 0

    /// Bytes taken out of it so far.
    private(set) var takenByteCount: UInt64 = 0
    private var isAsked = false
    private var isFinished = false

    /// Opens what a body names.
    init(_ body: HTTPBody) throws(HTTPError) {
        if case .stream(let length, let producer) = body {
            self.length = length.map { .known($0) } ?? .unknown
            self.producer = producer
            contentType = nil
            return
        }
        producer = nil
        isFinished = true
        let form: FormSource?
        switch body {
        case .form(let fields): form = FormSource(fields: fields)
        case .multipart(let parts): form = try FormSource(parts: parts)
        default: form = nil
        }
        contentType = form?.contentType
        for piece in form?.pieces ?? [body] { try Self.collect(piece, into: &pieces) }
        length = body.isNone ? .none : .known(pieces.reduce(0) { $0 + UInt64($1.count) })
    }

    private static func collect(_ body: HTTPBody, into pieces: inout [Piece]) throws(HTTPError) {
        switch body {
        case .none: break
        case .bytes(let bytes): pieces.append(.bytes(bytes))
        case .openFile(let file, let range): pieces.append(.file(file, range))
        case .file(let path):
            do throws(SocketError) {
                let file = try OpenFile(path: path)
                pieces.append(.file(file, 0..<(try file.byteCount())))
            } catch {
                throw .unreadableBody(error)
            }
        case .pieces(let inner):
            for piece in inner { try collect(piece, into: &pieces) }
        case .stream, .form, .multipart:
            // What is brought cannot be mixed with what is there, nor a form be within another.
            throw .bodyNotReplayable
        }
    }

    /// All of it, if it is one array of at most that many bytes; taken out then.
    mutating func takeSmall(limit: Int) -> [UInt8]? {
        guard pieces.count == 1, index == 0, offset == 0, case .bytes(let bytes) = pieces[0],
            bytes.count <= limit
        else { return nil }
        index = 1
        takenByteCount = UInt64(bytes.count)
        return bytes
    }

    /// What there is to do next.
    mutating func next() -> Step {
        while index < pieces.count {
            let piece = pieces[index]
            let count = min(piece.count - offset, Self.stepByteCount)
            if count == 0 {
                index += 1
                offset = 0
                continue
            }
            if let wrong = exceeding(count) { return wrong }
            let range = offset..<(offset + count)
            offset += count
            takenByteCount += UInt64(count)
            switch piece {
            case .bytes(let bytes):
                return .send(.bytes(range.count == bytes.count ? bytes : Array(bytes[range])))
            case .file(let file, let whole):
                let start = whole.lowerBound + range.lowerBound
                return .send(.file(file, start..<(start + count)))
            }
        }
        if isFinished { return ending() }
        pieces.removeAll(keepingCapacity: true)
        index = 0
        if isAsked { return .wait }
        isAsked = true
        return .ask
    }

    /// The producer brings bytes; false if nobody asked.
    mutating func supply(_ bytes: [UInt8]) -> Bool {
        guard isAsked, !isFinished else { return false }
        isAsked = false
        if !bytes.isEmpty { pieces.append(.bytes(bytes)) }
        return true
    }

    /// The producer has no more.
    mutating func finish() {
        isFinished = true
    }

    /// One byte too many is not sent.
    private func exceeding(_ count: Int) -> Step? {
        guard case .known(let promised) = length, producer != nil else { return nil }
        let supplied = takenByteCount + UInt64(count)
        return supplied > promised ? .wrongLength(supplied: supplied) : nil
    }

    private func ending() -> Step {
        guard case .known(let promised) = length, takenByteCount != promised else { return .end }
        return .wrongLength(supplied: takenByteCount)
    }
}

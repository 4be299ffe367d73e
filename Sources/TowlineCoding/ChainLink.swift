/// A stage of a chain, and the one buffer that it decodes into.
///
/// The buffer is filled again only when all of it was taken; so it never grows, and nothing is
/// moved in it.
final class ChainLink {
    private let coding: ContentCoding
    private let stage: any CodingStage

    private let buffer: UnsafeMutableRawBufferPointer
    private var head = 0
    private var tail = 0

    /// Whether the stage may have more to give without further input.
    private var hasMore = false

    /// What the stage found wrong behind the bytes that wait.
    private var failure: CodingError?

    private var takenCount = 0

    /// All that the stage has made so far, in bytes.
    private(set) var madeCount = 0

    /// - Throws: ``CodingError/notBuiltIn(_:)`` and ``CodingError/outOfMemory(_:)``.
    init(_ coding: ContentCoding, bufferByteCount: Int) throws(CodingError) {
        self.coding = coding
        let made: (any CodingStage)?
        do throws(StageFailure) {
            made = try Self.makeStage(coding)
        } catch {
            throw error.error(in: coding, offset: 0)
        }
        guard let made else { throw .notBuiltIn(coding) }
        stage = made
        buffer = .allocate(byteCount: bufferByteCount, alignment: 16)
    }

    private static func makeStage(
        _ coding: ContentCoding
    ) throws(StageFailure) -> (any CodingStage)? {
        switch coding {
        case .gzip: try InflateStage(.gzip)
        case .deflate: try InflateStage(.deflate)
        case .brotli: try BrotliStage.make()
        case .zstd: try ZstdStage.make()
        case .identity: CopyStage()
        }
    }

    deinit {
        buffer.deallocate()
    }

    /// Whether the next has taken all that was made.
    var isDrained: Bool { head == tail }

    /// What was made and not taken.
    var waiting: UnsafeRawBufferPointer {
        // `head...tail` lies within the buffer, and up to `tail` the stage has written.
        UnsafeRawBufferPointer(rebasing: buffer[head..<tail])
    }

    func take(_ byteCount: Int) {
        head += byteCount
    }

    func takeAll() {
        head = tail
    }

    /// Whether a step would get anywhere.
    func canRun(hasInput: Bool) -> Bool {
        isDrained && (hasInput || hasMore || failure != nil)
    }

    /// One step into the buffer, which is drained.
    ///
    /// What is wrong is told of when all in front of it was taken.
    ///
    /// - Returns: How many bytes of `input` were taken.
    func run(_ input: UnsafeRawBufferPointer) throws(CodingError) -> Int {
        if let failure { throw failure }
        var step = CodingStep()
        do throws(StageFailure) {
            try stage.decode(input, into: buffer, &step)
        } catch {
            failure = error.error(in: coding, offset: takenCount + step.takenCount)
        }
        head = 0
        tail = step.madeCount
        hasMore = step.madeCount == buffer.count
        takenCount += step.takenCount
        madeCount += step.madeCount
        return step.takenCount
    }

    /// Makes sure that what was taken is whole.
    func finish() throws(CodingError) {
        if let failure { throw failure }
        guard stage.isComplete else { throw .cutShort(coding, offset: takenCount) }
    }
}

/// Undoes a chain of content codings, in steps whose output and memory are bounded.
///
///     while try decoder.step(bytes, from: &offset) {
///         decoder.withDecoded { use($0) }
///     }
///
/// A caller that has enough may leave the loop and come back later with what is left of its bytes.
/// When the last of them were taken and ``step(_:from:)`` has answered `false`,
/// ``finish()`` says whether the content was whole.
///
/// A chain owns one buffer for each coding, which it keeps, and beside it what each library needs:
/// for gzip and deflate 40 KiB, for the others their window. No step allocates but the first ones,
/// and those that begin a frame with a larger window. It is used by one thread at a time.
///
/// Source: RFC 9110 section 8.4.
public final class ContentDecoder {
    /// The most codings of a chain.
    public static let codingLimit = 5

    /// The most bytes that a step decodes, unless another limit is asked for: 64 KiB.
    public static let stepByteCount = 65_536

    /// After so many runs of its stages a step ends, with or without output, so that no content
    /// keeps a caller waiting.
    private static let runLimit = 16

    /// In the order in which they are undone.
    private let links: [ChainLink]
    private let last: ChainLink
    private var isLending = false

    /// A decoder for a content.
    ///
    /// - Parameters:
    ///   - codings: In the order in which they were applied, as `Content-Encoding` lists them: the
    ///     last is undone first. Without any, the bytes are only brought into steps.
    ///   - stepByteCount: The most bytes that a step decodes, and of each coding's buffer, at least
    ///     1.
    /// - Throws: ``CodingError/tooManyCodings(count:)`` beyond ``codingLimit``;
    ///   ``CodingError/notBuiltIn(_:)``; ``CodingError/outOfMemory(_:)``.
    public init(
        _ codings: [ContentCoding],
        stepByteCount: Int = ContentDecoder.stepByteCount
    ) throws(CodingError) {
        precondition(stepByteCount > 0, "a step decodes at least one byte")
        guard codings.count <= Self.codingLimit else {
            throw .tooManyCodings(count: codings.count)
        }
        var links: [ChainLink] = []
        let applied = codings.filter { $0 != .identity }
        for coding in applied.dropFirst().reversed() {
            links.append(try ChainLink(coding, bufferByteCount: stepByteCount))
        }
        last = try ChainLink(applied.first ?? .identity, bufferByteCount: stepByteCount)
        self.links = links + [last]
    }

    /// How many bytes the content was decoded to so far.
    public var decodedByteCount: Int { last.madeCount }

    /// The most bytes that any coding of the chain was decoded to so far.
    ///
    /// A limit on what a content may grow to has to look at this: between two codings there may be
    /// any amount of which nothing comes in the end.
    public var expandedByteCount: Int { links.reduce(0) { max($0, $1.madeCount) } }

    /// Decodes some of `bytes`; ``withDecoded(_:)`` lends what came of it, until the next step.
    ///
    /// - Parameters:
    ///   - bytes: Bytes of the content, following those that were taken before.
    ///   - offset: Where in them to begin, and afterwards where the next step has to.
    /// - Returns: Whether to call again, with whatever is left of `bytes`, even if that is nothing.
    ///   `false` means that all of `bytes` was taken and that nothing was decoded; `true` says
    ///   neither.
    /// - Throws: ``CodingError``, when all that was decoded in front of what is wrong was lent; any
    ///   further step throws it again.
    public func step(_ bytes: RawSpan, from offset: inout Int) throws(CodingError) -> Bool {
        precondition(!isLending, "there is no step while decoded bytes are lent")
        last.takeAll()
        for _ in 0..<Self.runLimit {
            guard let index = nextToRun(hasInput: offset < bytes.byteCount) else { return false }
            if index == 0 {
                let first = links[0]
                offset += try bytes.extracting(droppingFirst: offset)
                    .withUnsafeBytes { input throws(CodingError) in try first.run(input) }
            } else {
                let source = links[index - 1]
                source.take(try links[index].run(source.waiting))
            }
            if !last.isDrained { return true }
        }
        return true
    }

    /// The link nearest to the end that gets anywhere, so that all its sources wait for it.
    private func nextToRun(hasInput: Bool) -> Int? {
        for index in links.indices.reversed() {
            let hasInput = index == 0 ? hasInput : !links[index - 1].isDrained
            if links[index].canRun(hasInput: hasInput) { return index }
        }
        return nil
    }

    /// Lends what the last step decoded, which may be nothing, for the length of the call.
    ///
    /// The decoder may be let go of within it, but no step be made.
    public func withDecoded<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        isLending = true
        defer { isLending = false }
        return try body(RawSpan(_unsafeBytes: last.waiting))
    }

    /// Makes sure that the content was whole, once all its bytes were given and
    /// ``step(_:from:)`` has answered `false`.
    ///
    /// A content of no bytes at all is whole, and decodes to nothing.
    ///
    /// - Throws: ``CodingError/cutShort(_:offset:)``, or what a step threw before.
    public func finish() throws(CodingError) {
        for link in links { try link.finish() }
    }
}

internal import Towline
internal import TowlineHTTP

extension AsyncHTTPClient {
    /// Writes the body of a successful response to a file.
    ///
    ///     let response = try await client.download(request, to: "manual.pdf")
    ///     guard response.isSuccess else { … }
    ///
    /// The file is written under a temporary name in the same folder and renamed at the end, so
    /// that a file of that name is whole, or the one that was there before; nothing is left behind
    /// by a failure or a cancelled task. A response whose status is not 200 through 299 is returned
    /// with its body unread, and no file is written.
    ///
    /// Bytes are written where the caller runs, a part at a time: on the reactor that is a part a
    /// turn.
    ///
    /// - Parameters:
    ///   - request: What to ask.
    ///   - path: The file, in a folder that exists.
    ///   - options: As for ``send(_:options:)``.
    ///   - resumeLimit: How often a transfer that breaks off is taken up where it broke off, if the
    ///     server says which version of the content it sends; 0 or more. Content is not asked for
    ///     in coded form then.
    ///   - progress: Hears how many bytes are in the file, of how many if that is known.
    /// - Returns: The response; of one that was taken up, the first.
    /// - Throws: ``HTTPError``, with ``HTTPError/unwritableFile(_:)`` where the file is the reason;
    ///   `CancellationError`.
    ///
    /// Source: RFC 9110 sections 13.1.5 and 14.
    @discardableResult
    public nonisolated(nonsending) func download(
        _ request: HTTPRequest,
        to path: String,
        options: AsyncHTTPOptions = .init(),
        resumeLimit: Int = 0,
        progress: (@Sendable (UInt64, UInt64?) -> Void)? = nil
    ) async throws -> AsyncHTTPResponse {
        var resumption = Resumption(request, limit: resumeLimit)
        let first = try await send(resumption.request, options: options)
        guard first.isSuccess else { return first }
        let file = try DownloadFile(path: path)
        var total = first.contentLength
        var response = first
        resumption.note(first)
        transfer: while true {
            do {
                for try await part in response.body {
                    try file.write(part)
                    progress?(file.byteCount, total)
                }
                break
            } catch let error as HTTPError {
                guard let next = resumption.request(after: error, at: file.byteCount) else {
                    throw error
                }
                do {
                    response = try await send(next, options: options)
                } catch HTTPError.range {
                    throw error
                }
                switch resumption.meaning(of: response, at: file.byteCount) {
                case .rest: break
                case .nothing: break transfer
                case .whole:
                    try file.removeAll()
                    resumption.note(response)
                    total = response.contentLength
                case .neither: throw error
                }
            }
        }
        try Task.checkCancellation()
        try file.finish()
        return first
    }
}

/// How a transfer that broke off is taken up.
///
/// Source: RFC 9110 sections 13.1.5, 14.2 and 14.4.
struct Resumption {
    /// What a response to a request for the rest is.
    enum Meaning {
        case rest
        case nothing
        case whole
        case neither
    }

    /// The request as it is sent first.
    let request: HTTPRequest

    private var attemptsLeft: Int
    /// Names the version of the content.
    private var validator: String?
    private var total: UInt64?

    init(_ request: HTTPRequest, limit: Int) {
        let isPlain =
            request.method == .get && !request.headers.contains("Range")
            && !request.headers.contains("If-Range")
        attemptsLeft = isPlain ? max(0, limit) : 0
        var request = request
        if attemptsLeft > 0 { request.decodesContent = false }
        self.request = request
    }

    /// Keeps what names the version of the content, if that changes with every byte of it.
    mutating func note(_ response: AsyncHTTPResponse) {
        guard response.status == 200, !response.isDecoded else { return }
        total = response.contentLength
        let tag = response.headers["ETag"]
        validator = tag?.hasPrefix("\"") == true ? tag : nil
    }

    /// What asks for the rest; `nil` if that is of no use.
    mutating func request(after error: HTTPError, at offset: UInt64) -> HTTPRequest? {
        guard attemptsLeft > 0, let validator else { return nil }
        switch error {
        case .truncated, .timeout(.bodyStall): break
        default: return nil
        }
        attemptsLeft -= 1
        var next = request
        guard offset > 0 else { return next }
        next.headers.add("Range", "bytes=\(offset)-")
        next.headers.add("If-Range", validator)
        return next
    }

    /// Whether a response has the rest, the whole once more, or something else.
    func meaning(of response: AsyncHTTPResponse, at offset: UInt64) -> Meaning {
        switch response.status {
        case 200: return .whole
        case 206: return isRest(response.headers["Content-Range"], offset) ? .rest : .neither
        // What broke off was the end alone, behind the last byte.
        case 416:
            return ContentRange.wholeSize(response.headers["Content-Range"]) == offset
                && total ?? offset == offset ? .nothing : .neither
        default: return .neither
        }
    }

    /// Whether a field says that the bytes from an offset to the end of the same content follow.
    private func isRest(_ field: String?, _ offset: UInt64) -> Bool {
        guard let field, let part = ContentRange(field), part.bounds.lowerBound == offset else {
            return false
        }
        guard let size = part.size else { return total == nil }
        return part.bounds.upperBound + 1 == size && (total == nil || total == size)
    }
}

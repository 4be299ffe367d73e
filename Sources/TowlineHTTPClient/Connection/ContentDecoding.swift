internal import Towline
internal import TowlineCoding
internal import TowlineHTTP

/// Decodes the content of one response, step by step, and counts what comes out.
final class ContentDecoding {
    private let decoder: ContentDecoder
    private let limit: UInt64?

    /// Bytes that were decoded so far.
    var decodedByteCount: UInt64 { UInt64(decoder.decodedByteCount) }

    /// Whether a response is decoded that has these fields: if it is coded, and all its codings are
    /// known here.
    ///
    /// - Throws: ``HTTPError/limit(_:)`` for too many codings.
    init?(_ headers: HTTPHeaders, limit: UInt64?) throws(HTTPError) {
        let names = headers.elements(of: "Content-Encoding")
        let most = ContentDecoder.codingLimit
        guard names.count <= most else { throw .limit(.codings(most)) }
        var codings: [ContentCoding] = []
        for name in names {
            guard let coding = ContentCoding(name: name) else { return nil }
            codings.append(coding)
        }
        guard codings.contains(where: { $0 != .identity }) else { return nil }
        do throws(CodingError) {
            decoder = try ContentDecoder(codings)
        } catch {
            throw .decode(error)
        }
        self.limit = limit
    }

    /// Hands out what coded bytes mean, until there is no more or `body` says stop.
    ///
    /// - Parameters:
    ///   - bytes: The next coded bytes.
    ///   - body: Takes decoded bytes, never none; returns whether it takes more.
    /// - Returns: How many of the coded bytes were used up; all, unless `body` said stop.
    /// - Throws: What is wrong with them.
    func decode(_ bytes: RawSpan, _ body: (RawSpan) -> Bool) throws(HTTPError) -> Int {
        var offset = 0
        var goesOn = true
        do throws(CodingError) {
            while goesOn, try decoder.step(bytes, from: &offset) {
                if let limit, UInt64(decoder.expandedByteCount) > limit { break }
                goesOn = decoder.withDecoded { $0.isEmpty || body($0) }
            }
        } catch {
            throw .decode(error)
        }
        if let limit, UInt64(decoder.expandedByteCount) > limit { throw .limit(.content(limit)) }
        return offset
    }

    /// The content has ended; it has to be complete.
    func finish() throws(HTTPError) {
        do throws(CodingError) {
            try decoder.finish()
        } catch {
            throw .decode(error)
        }
    }
}

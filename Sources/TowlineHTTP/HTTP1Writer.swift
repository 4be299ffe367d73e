/// Puts requests into bytes, and refuses those that must not be sent.
///
/// It is a function of what it is given: nothing is kept, and nothing is sent from here. All checks
/// are made on the values that go out, so that nothing which is put together from a URL, a cookie
/// or a peer's redirect can end a line early.
///
/// Source: RFC 9112 sections 2, 3, 5, 6 and 7.
public enum HTTP1Writer {
    /// The bytes of a head, up to and with its empty line.
    ///
    /// `Host` comes first, the other fields in their order. `Content-Length` or `Transfer-Encoding`
    /// is added as the body wants it; fields of these names are let pass only if they say the same.
    /// Values are trimmed of spaces and tabs.
    ///
    /// - Parameters:
    ///   - head: What is asked.
    ///   - body: How much follows. Without a body, POST, PUT and PATCH say that none comes.
    /// - Returns: One array, allocated once.
    /// - Throws: ``HTTPRequestFault`` for the first thing that must not be sent.
    public static func head(
        _ head: HTTPRequestHead,
        body: HTTPBodyLength
    ) throws(HTTPRequestFault) -> [UInt8] {
        let findings = try RequestRules.check(head, body)
        let headers = head.headers
        var output: [UInt8] = []
        // A colon, a space and a line end for each field, and what the longest added line needs.
        output.reserveCapacity(
            head.method.rawValue.utf8.count + head.target.utf8.count + headers.storage.count
                + 4 * headers.count + 64
        )
        output.append(contentsOf: head.method.rawValue.utf8)
        output.append(0x20)
        output.append(contentsOf: head.target.utf8)
        output.append(
            contentsOf: head.version == .http11 ? " HTTP/1.1\r\n".utf8 : " HTTP/1.0\r\n".utf8
        )
        if let index = findings.hostIndex { append(headers, index, to: &output) }
        for index in headers.indices where index != findings.hostIndex {
            append(headers, index, to: &output)
        }
        switch findings.addedLine {
        case .none: break
        case .contentLength(let count):
            output.append(contentsOf: "Content-Length: ".utf8)
            appendNumber(count, radix: 10, to: &output)
            output.append(contentsOf: "\r\n".utf8)
        case .chunked: output.append(contentsOf: "Transfer-Encoding: chunked\r\n".utf8)
        }
        output.append(contentsOf: "\r\n".utf8)
        return output
    }

    /// What stands in front of a chunk's bytes.
    ///
    /// - Parameter byteCount: How many bytes the chunk has, at least one: none would end the body.
    /// - Returns: The size and a line end.
    public static func chunkPrefix(byteCount: Int) -> [UInt8] {
        precondition(byteCount > 0, "a chunk without bytes ends the body; that is lastChunk")
        var output: [UInt8] = []
        output.reserveCapacity(18)
        appendNumber(UInt64(byteCount), radix: 16, to: &output)
        output.append(contentsOf: "\r\n".utf8)
        return output
    }

    /// What stands behind a chunk's bytes.
    public static let chunkSuffix: [UInt8] = [0x0D, 0x0A]

    /// What ends a body that was sent in chunks.
    ///
    /// - Parameter trailers: Fields that follow the body.
    /// - Returns: The bytes, up to and with the empty line.
    /// - Throws: ``HTTPRequestFault`` for a field that must not be sent, or not there.
    public static func lastChunk(
        trailers: HTTPHeaders = [:]
    ) throws(HTTPRequestFault) -> [UInt8] {
        try RequestRules.checkTrailers(trailers)
        return Array("0\r\n".utf8) + (try fields(trailers))
    }

    /// Fields without a head, and the empty line behind them.
    static func fields(_ headers: HTTPHeaders) throws(HTTPRequestFault) -> [UInt8] {
        try RequestRules.checkFields(headers)
        var output: [UInt8] = []
        output.reserveCapacity(headers.storage.count + 4 * headers.count + 2)
        for index in headers.indices { append(headers, index, to: &output) }
        output.append(contentsOf: "\r\n".utf8)
        return output
    }

    private static func append(_ headers: HTTPHeaders, _ index: Int, to output: inout [UInt8]) {
        let place = headers.places[index]
        output.append(contentsOf: headers.storage[place.name])
        output.append(contentsOf: ": ".utf8)
        output.append(contentsOf: headers.storage[trimmed(place.value, of: headers.storage)])
        output.append(contentsOf: "\r\n".utf8)
    }

    /// The range without spaces and tabs at its ends.
    static func trimmed(_ range: Range<Int>, of bytes: [UInt8]) -> Range<Int> {
        var range = range
        while let first = range.first, bytes[first] == 0x20 || bytes[first] == 0x09 {
            range = (first + 1)..<range.upperBound
        }
        while let last = range.last, bytes[last] == 0x20 || bytes[last] == 0x09 {
            range = range.lowerBound..<last
        }
        return range
    }

    private static func appendNumber(_ number: UInt64, radix: UInt64, to output: inout [UInt8]) {
        let start = output.count
        var rest = number
        repeat {
            let digit = UInt8(rest % radix)
            output.append(digit < 10 ? 0x30 + digit : 0x41 + digit - 10)
            rest /= radix
        } while rest > 0
        output[start...].reverse()
    }
}

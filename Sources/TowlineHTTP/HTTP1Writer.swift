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
    ///   - common: Fields that go in front of the head's own.
    ///   - body: How much follows. Without a body, POST, PUT and PATCH say that none comes.
    /// - Returns: One array, allocated once.
    /// - Throws: ``HTTPRequestFault`` for the first thing that must not be sent.
    public static func head(
        _ head: HTTPRequestHead,
        behind common: HTTPCommonFields? = nil,
        body: HTTPBodyLength
    ) throws(HTTPRequestFault) -> [UInt8] {
        let findings = try RequestRules.check(head, body, hasHost: common?.hasHost ?? false)
        let headers = head.headers
        // A colon, a space and a line end for each field, and what the longest added line needs.
        let fields = findings.wireByteCount ?? headers.storage.count + 4 * headers.count
        let most =
            head.method.rawValue.utf8.count + head.target.utf8.count + fields
            + (common?.lines.count ?? 0) + 64
        return [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            var output = HeadWriter(buffer)
            output.append(head.method.rawValue)
            output.append(" ")
            output.append(head.target)
            output.append(head.version == .http11 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n")
            // A host of the head's own goes in front of what others have in common with it.
            if let index = findings.hostIndex, common != nil || findings.wireByteCount == nil {
                output.append(headers, index)
            }
            if let common { output.append(common.lines[...]) }
            if let byteCount = findings.wireByteCount, common == nil || findings.hostIndex == nil {
                output.append(headers.storage[..<byteCount])
            } else {
                for index in headers.indices where index != findings.hostIndex {
                    output.append(headers, index)
                }
            }
            switch findings.addedLine {
            case .none: break
            case .contentLength(let byteCount): output.append("Content-Length: \(byteCount)\r\n")
            case .chunked: output.append("Transfer-Encoding: chunked\r\n")
            }
            output.append("\r\n")
            count = output.count
        }
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

    /// The lines of fields that many heads have in common, and whether `Host` is one of them.
    static func commonLines(
        _ headers: HTTPHeaders
    ) throws(HTTPRequestFault) -> (lines: [UInt8], hasHost: Bool) {
        let hostIndex = try RequestRules.checkCommon(headers)
        let most = headers.storage.count + 4 * headers.count
        let lines = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            var output = HeadWriter(buffer)
            if let hostIndex { output.append(headers, hostIndex) }
            for index in headers.indices where index != hostIndex {
                output.append(headers, index)
            }
            count = output.count
        }
        return (lines, hostIndex != nil)
    }

    /// Fields without a head, and the empty line behind them.
    static func fields(_ headers: HTTPHeaders) throws(HTTPRequestFault) -> [UInt8] {
        try RequestRules.checkFields(headers)
        let most = headers.storage.count + 4 * headers.count + 2
        return [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            var output = HeadWriter(buffer)
            for index in headers.indices { output.append(headers, index) }
            output.append("\r\n")
            count = output.count
        }
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

/// Puts a head into memory that was made for it.
private struct HeadWriter {
    private let buffer: UnsafeMutableBufferPointer<UInt8>

    /// How many bytes are written.
    private(set) var count = 0

    init(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
        self.buffer = buffer
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        precondition(bytes.count <= buffer.count - count, "room was made for all of it")
        guard let source = bytes.baseAddress, let target = buffer.baseAddress else { return }
        // The memory is there for nothing else, and has room, as was just checked.
        (target + count).update(from: source, count: bytes.count)
        count += bytes.count
    }

    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    @_disfavoredOverload
    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    /// A field's line.
    mutating func append(_ headers: HTTPHeaders, _ index: Int) {
        let place = headers.places[index]
        append(headers.storage[place.name])
        append(": ")
        append(headers.storage[HTTP1Writer.trimmed(place.value, of: headers.storage)])
        append("\r\n")
    }
}

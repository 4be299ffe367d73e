/// Why the bytes of a connection are not, or not all of, a response.
///
/// Offsets count bytes from the first one behind the ``HTTP1Parser/begin(_:)`` of the message, all
/// interim heads included. Prints as one sentence.
@nonexhaustive
public enum HTTP1Fault: Error, Sendable, Hashable {
    /// The connection ended before one byte had come.
    case emptyReply

    /// The connection ended within a message: so many bytes of its body came, of so many that were
    /// promised, if any number was.
    case truncated(received: Int, expected: Int?)

    /// There are bytes that answer no request.
    case unexpectedBytes

    /// The first line is no status line, which shows at this byte.
    case statusLine(offset: Int)

    /// The status line names a version of the protocol with another major number.
    case version(major: Int)

    /// The peer changes the protocol, which it was not asked to.
    case unexpectedUpgrade

    /// A line ends without a carriage return where it needs one.
    case bareLineFeed(offset: Int)

    /// No line feed follows this carriage return.
    case bareCarriageReturn(offset: Int)

    /// A blank begins the first line behind the status line, so that there is nothing to continue.
    case continuationOfNothing(offset: Int)

    /// The name of a field is empty or holds a byte that it must not, such as the blank in front of
    /// a colon.
    case fieldName(offset: Int)

    /// A line in the place of a field has no colon.
    case missingColon(offset: Int)

    /// A field's value holds a control byte: NUL, or any in the strict profile.
    case fieldValue(offset: Int)

    /// A `Content-Length` is no number from 0 through 2^63−1.
    case contentLength(String)

    /// Two values of `Content-Length` differ.
    case conflictingContentLength(Int, Int)

    /// The codings of `Transfer-Encoding` together are neither `chunked` nor `identity`.
    case transferCoding(String)

    /// There is a length beside a transfer coding, in the strict profile.
    case lengthBesideCoding

    /// HTTP/1.0 has no transfer codings, says the strict profile.
    case codingInHTTP10

    /// A chunk's size is no hexadecimal number up to 2^63−1, or something follows it that must not.
    case chunkSize(offset: Int)

    /// A chunk's extension is ill-formed.
    case chunkExtension(offset: Int)

    /// More bytes follow a chunk's data where its line end should be.
    case chunkEnd(offset: Int)

    /// The peer went beyond a limit, whose value this is.
    case limit(Limit, Int)

    /// What a limit is set to.
    public enum Limit: Sendable, Hashable {
        /// Bytes of all heads of one exchange.
        case head
        /// Bytes of one line.
        case line
        /// The number of fields of one head or trailer section.
        case fieldCount
        /// Bytes of the trailer section.
        case trailers
        /// Bytes of all chunk extensions of one body.
        case chunkExtensions
    }
}

extension HTTP1Fault: CustomStringConvertible {
    /// What is wrong, as a sentence.
    public var description: String {
        switch self {
        case .emptyReply: "the peer closed the connection without an answer"
        case .truncated(let received, let expected?):
            "the connection ended after \(received) of \(expected) bytes of the body"
        case .truncated(let received, nil):
            "the connection ended within the message, after \(received) bytes of its body"
        case .unexpectedBytes: "the peer sent bytes that nobody asked for"
        case .statusLine(let offset): "byte \(offset) belongs to no status line of HTTP/1"
        case .version(let major): "the peer answers in version \(major) of HTTP"
        case .unexpectedUpgrade: "the peer changes the protocol without having been asked to"
        case .bareLineFeed(let offset): "the line feed at byte \(offset) has no carriage return"
        case .bareCarriageReturn(let offset):
            "no line feed follows the carriage return at byte \(offset)"
        case .continuationOfNothing(let offset):
            "the blank at byte \(offset) continues a field, and there is none"
        case .fieldName(let offset): "the byte at \(offset) is not allowed in a field's name"
        case .missingColon(let offset): "the line that ends at byte \(offset) has no colon"
        case .fieldValue(let offset): "the control byte at \(offset) is not allowed there"
        case .contentLength(let text): "\"\(text)\" is no length of a body"
        case .conflictingContentLength(let first, let second):
            "the body cannot be \(first) and \(second) bytes long"
        case .transferCoding(let text): "\"\(text)\" is no transfer coding that was asked for"
        case .lengthBesideCoding: "there is a Content-Length beside a Transfer-Encoding"
        case .codingInHTTP10: "there is a Transfer-Encoding in a message of HTTP/1.0"
        case .chunkSize(let offset): "the byte at \(offset) is not allowed in a chunk's size"
        case .chunkExtension(let offset):
            "the byte at \(offset) is not allowed in a chunk's extension"
        case .chunkEnd(let offset): "the chunk's data goes on at byte \(offset)"
        case .limit(let limit, let value): "\(limit.text) more than \(value)"
        }
    }
}

extension HTTP1Fault.Limit {
    fileprivate var text: String {
        switch self {
        case .head: "the bytes of the heads are"
        case .line: "the bytes of a line are"
        case .fieldCount: "the fields are"
        case .trailers: "the bytes of the trailer section are"
        case .chunkExtensions: "the bytes of the chunk extensions are"
        }
    }
}

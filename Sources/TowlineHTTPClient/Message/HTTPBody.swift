public import Towline

/// What is sent behind a request's head.
public enum HTTPBody: Sendable {
    /// Nothing.
    case none

    /// These bytes.
    case bytes([UInt8])

    /// A file, which is opened when the request is started and sent without being read into memory.
    case file(path: String)

    /// A part of a file that is open; the range's bounds are byte offsets.
    case openFile(OpenFile, Range<Int>)

    /// Several pieces, one behind the other, such as those of a form with files.
    case pieces([HTTPBody])

    /// Names and values in one line, as browsers send forms.
    ///
    /// `Content-Type` says so unless the request has one.
    ///
    /// Source: URL Standard section 5.2.
    case form([(String, String)])

    /// A form in parts, whose files are sent without being read into memory.
    ///
    /// What parts them is made by chance each time that it is sent, and said in `Content-Type`,
    /// which a request with such a body must not have.
    ///
    /// Source: RFC 7578.
    case multipart([HTTPFormPart])

    /// What is brought while it is sent.
    ///
    /// `producer` is called on the reactor, each time the connection can take more, and answers by
    /// ``HTTPExchange/supply(_:)``, ``HTTPExchange/finishBody()`` or
    /// ``HTTPExchange/failBody(_:)``, at once or later on the same thread. It is called again only
    /// after it has answered.
    ///
    /// - `length`: How many bytes there will be; fewer or more end the exchange. `nil` where nobody
    ///   knows: the body is then sent in chunks, which HTTP/1.0 cannot.
    case stream(length: UInt64?, producer: @Sendable (HTTPExchange) -> Void)

    /// The UTF-8 of a text.
    public static func text(_ text: String) -> HTTPBody {
        .bytes(Array(text.utf8))
    }

    /// Whether it can be sent again, to another place or over another connection.
    var isReplayable: Bool {
        switch self {
        case .none, .bytes, .file, .openFile, .form: true
        case .multipart(let parts): parts.allSatisfy(\.content.isReplayable)
        case .pieces(let pieces): pieces.allSatisfy(\.isReplayable)
        case .stream: false
        }
    }

    /// Whether there is nothing to send, and nothing to say about it.
    var isNone: Bool {
        if case .none = self { true } else { false }
    }
}

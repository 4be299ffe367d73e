/// Why a request was refused before a byte of it was sent.
///
/// Each is a mistake of whoever made the request, or of a peer whose words were put into it, such
/// as the name of a redirect.
@nonexhaustive
public enum HTTPRequestFault: Error, Sendable, Hashable {
    /// The method is empty, or has a byte that no token has.
    case method(String)

    /// HTTP/1.0 and HTTP/1.1 are written; this is another version.
    case version(HTTPVersion)

    /// The target has no byte.
    case emptyTarget

    /// The target has a control byte, a space, a `#` or a byte beyond ASCII at this offset.
    case targetByte(UInt8, offset: Int)

    /// The target has none of the forms that go with the method: a path, a whole URL without user
    /// info, `*` for `OPTIONS`, host and port for `CONNECT`.
    case targetForm(String, HTTPMethod)

    /// The name of a field is empty, or has a byte that no token has.
    case fieldName(String)

    /// The value of a field has a control byte other than a tab at this offset.
    case fieldValue(name: String, byte: UInt8, offset: Int)

    /// There are several fields of a name of which there may be one.
    case repeatedField(String)

    /// `Content-Length` says something else than the length of the body.
    case contentLength(String)

    /// `Transfer-Encoding` is not ours to send: it is anything but `chunked`, or the length is
    /// known.
    case transferEncoding(String)

    /// There are `Content-Length` and `Transfer-Encoding` both.
    case twoLengths

    /// HTTP/1.0 has no way to send a body whose length is not known.
    case unknownLengthOnOldVersion

    /// A request of this method has no body.
    case bodyNotAllowed(HTTPMethod)

    /// A field of this name may not stand behind a body.
    case trailer(String)

    /// The boundary of a form is not 24 through 70 letters, digits, `-`, `_` or `.`.
    case boundary(String)

    /// A user name, password or token cannot be sent; the text says why, and not what it is.
    case credential(String)
}

extension HTTPRequestFault: CustomStringConvertible {
    /// One line that says what is wrong.
    public var description: String {
        switch self {
        case .method(let name): "the method \(quoted(name)) is no token"
        case .version(let version): "\(version) cannot be written; 1.0 and 1.1 can"
        case .emptyTarget: "the target of the request is empty"
        case .targetByte(let byte, let offset):
            "the target of the request has the byte \(hexadecimal(byte)) at offset \(offset)"
        case .targetForm(let target, let method):
            "the target \(quoted(target)) has no form that goes with \(method)"
        case .fieldName(let name): "the field name \(quoted(name)) is no token"
        case .fieldValue(let name, let byte, let offset):
            "the value of the field \(name) has the byte \(hexadecimal(byte)) at offset \(offset)"
        case .repeatedField(let name): "there is more than one field \(name)"
        case .contentLength(let value):
            "Content-Length says \(quoted(value)), which is not the length of the body"
        case .transferEncoding(let value):
            "Transfer-Encoding \(quoted(value)) does not go with this body"
        case .twoLengths: "there are both Content-Length and Transfer-Encoding"
        case .unknownLengthOnOldVersion: "a body of unknown length cannot be sent by HTTP/1.0"
        case .bodyNotAllowed(let method): "a \(method) request has no body"
        case .trailer(let name): "the field \(quoted(name)) may not stand behind a body"
        case .boundary(let text): "the boundary \(quoted(text)) is no 24 to 70 letters and digits"
        case .credential(let reason): reason
        }
    }
}

/// In quotes, with what would not print escaped.
private func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { $0.escaped(asASCII: true) }
    return "\"\(escaped.joined())\""
}

/// Such as `0x0A`.
private func hexadecimal(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16, uppercase: true)
    return text.count == 1 ? "0x0\(text)" : "0x\(text)"
}

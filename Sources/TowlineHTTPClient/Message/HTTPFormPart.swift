public import TowlineHTTP

/// One field of a form that is sent in parts.
public struct HTTPFormPart: Sendable {
    /// Its name.
    public var name: String

    /// What is in it; files are sent without being read into memory.
    ///
    /// Anything but ``HTTPBody/stream(length:producer:)`` and another form.
    public var content: HTTPBody

    /// The name of the file that it is made of, which makes it a file.
    public var fileName: String?

    /// Its media type; a file has `application/octet-stream` without one.
    public var contentType: String?

    /// More fields of the part.
    public var headers: HTTPHeaders = [:]

    /// A part.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - content: What is in it.
    ///   - fileName: The name of the file that it is made of.
    ///   - contentType: Its media type.
    public init(
        _ name: String,
        _ content: HTTPBody,
        fileName: String? = nil,
        contentType: String? = nil
    ) {
        self.name = name
        self.content = content
        self.fileName = fileName
        self.contentType = contentType
    }

    /// A part with a text.
    public init(_ name: String, value: String) {
        self.init(name, .text(value))
    }

    /// A part with a file, which is opened when the request is started.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - path: The file.
    ///   - fileName: What the server is told; `nil`, the end of the path.
    ///   - contentType: Its media type.
    public init(
        _ name: String,
        file path: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) {
        let bytes = path.utf8
        let last = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes.index(after: $0) }
        self.init(
            name,
            .file(path: path),
            fileName: fileName ?? String(path[(last ?? path.startIndex)...]),
            contentType: contentType
        )
    }
}

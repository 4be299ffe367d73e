/// A form as `multipart/form-data`: what stands between its parts, and how long the whole is.
///
/// Bytes that the form does not have, such as those of a file, are left to whoever sends it:
/// ``pieces()`` says where they go.
///
/// Source: RFC 7578; HTML Standard section 4.10.21.8 for the escapes.
public struct MultipartForm: Sendable, Hashable {
    /// One field of the form.
    public struct Part: Sendable, Hashable {
        /// Its name.
        public var name: String
        /// The name of the file that it is made of, which makes it a file.
        public var fileName: String?
        /// Its media type; a file has `application/octet-stream` without one.
        public var contentType: String?
        /// More fields of the part.
        public var headers: [HTTPHeaders.Field]
        /// What is in it.
        public var content: Content

        /// A part with this content.
        public init(
            name: String,
            fileName: String? = nil,
            contentType: String? = nil,
            headers: [HTTPHeaders.Field] = [],
            content: Content
        ) {
            self.name = name
            self.fileName = fileName
            self.contentType = contentType
            self.headers = headers
            self.content = content
        }

        /// A part with a text.
        public init(name: String, value: String) {
            self.init(name: name, content: .bytes(Array(value.utf8)))
        }
    }

    /// What is in a part.
    public enum Content: Sendable, Hashable {
        /// These bytes.
        case bytes([UInt8])
        /// Bytes that whoever sends the form has, and how many, if that is known.
        case external(byteCount: UInt64?)
    }

    /// What is sent next.
    public enum Piece: Sendable, Hashable {
        /// These bytes.
        case bytes([UInt8])
        /// The external content of the part with this index.
        case content(partIndex: Int, byteCount: UInt64?)
    }

    /// What parts the parts: it must not occur in any of them.
    public let boundary: String

    /// The parts.
    public var parts: [Part]

    /// A form of these parts.
    ///
    /// - Parameters:
    ///   - boundary: 24 through 70 letters, digits, `-`, `_` or `.`, not to be guessed by whoever
    ///     wrote the parts: ``makeBoundary(using:)``.
    ///   - parts: The parts.
    /// - Throws: ``HTTPRequestFault/boundary(_:)``.
    public init(boundary: String, parts: [Part] = []) throws(HTTPRequestFault) {
        let isRight = boundary.utf8.allSatisfy {
            ASCII.isLetter($0) || Grammar.isDigit($0) || "-_.".utf8.contains($0)
        }
        guard isRight, (24...70).contains(boundary.utf8.count) else { throw .boundary(boundary) }
        self.boundary = boundary
        self.parts = parts
    }

    /// A boundary of 40 characters, 142 bits of them by chance.
    public static func makeBoundary(using generator: inout some RandomNumberGenerator) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var boundary = Array("----TowlineForm-".utf8)
        for _ in 0..<24 { boundary.append(letters[Int.random(in: 0..<62, using: &generator)]) }
        return String(decoding: boundary, as: UTF8.self)
    }

    /// The value of the field `Content-Type`.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// What is to be sent, in order; bytes that follow each other are one piece.
    ///
    /// - Returns: The pieces, of which the last is bytes.
    /// - Throws: ``HTTPRequestFault/fieldName(_:)`` and
    ///   ``HTTPRequestFault/fieldValue(name:byte:offset:)`` for what may not stand in the fields of
    ///   a part; of names, that is any control byte but CR and LF, which are escaped, and tabs.
    public func pieces() throws(HTTPRequestFault) -> [Piece] {
        var pieces: [Piece] = []
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            bytes += "--\(boundary)\r\n".utf8
            bytes += try head(of: part)
            switch part.content {
            case .bytes(let content): bytes += content
            case .external(let byteCount):
                pieces += [.bytes(bytes), .content(partIndex: index, byteCount: byteCount)]
                bytes = []
            }
            bytes += "\r\n".utf8
        }
        bytes += "--\(boundary)--\r\n".utf8
        return pieces + [.bytes(bytes)]
    }

    /// How many bytes the pieces have.
    ///
    /// - Parameter pieces: What ``pieces()`` has said.
    /// - Returns: Their sum, unless one is not known.
    public static func byteCount(of pieces: [Piece]) -> HTTPBodyLength {
        var sum: UInt64 = 0
        for piece in pieces {
            let next: UInt64? =
                switch piece {
                case .bytes(let bytes): UInt64(bytes.count)
                case .content(_, let byteCount): byteCount
                }
            guard let next else { return .unknown }
            let (longer, isTooLong) = sum.addingReportingOverflow(next)
            guard !isTooLong else { return .unknown }
            sum = longer
        }
        return .known(sum)
    }

    /// The fields of a part, and the empty line.
    private func head(of part: Part) throws(HTTPRequestFault) -> [UInt8] {
        var headers = HTTPHeaders()
        var disposition = "form-data; name=\"\(Self.escaped(part.name))\""
        if let name = part.fileName { disposition += "; filename=\"\(Self.escaped(name))\"" }
        headers.add("Content-Disposition", disposition)
        if let type = part.contentType {
            headers.add("Content-Type", type)
        } else if part.fileName != nil {
            headers.add("Content-Type", "application/octet-stream")
        }
        for field in part.headers { headers.add(field.name, field.value) }
        return try HTTP1Writer.fields(headers)
    }

    private static func escaped(_ name: String) -> String {
        var output: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "\""): output += "%22".utf8
            case 0x0D: output += "%0D".utf8
            case 0x0A: output += "%0A".utf8
            default: output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

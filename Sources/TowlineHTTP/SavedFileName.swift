/// The name of a file that a body is saved to: one that a peer cannot use to reach outside of the
/// folder, or to hide what it has sent.
///
/// Whatever it is made from, it is a single name of 1 through 200 bytes without slashes,
/// backslashes and control characters, and does not begin with a dot.
///
/// Source: RFC 6266 section 4.3.
public struct SavedFileName: Sendable, Hashable, CustomStringConvertible {
    /// The most bytes that a name has: room is left for what is put behind it while it is written.
    public static let byteLimit = 200

    /// The name.
    public let text: String

    /// The name.
    public var description: String { text }

    /// What is left of a name that a peer suggests; nil if that is nothing.
    public init?(_ suggestion: String) {
        let isSlash: (Unicode.Scalar) -> Bool = { $0 == "/" || $0 == "\\" }
        let scalars = suggestion.unicodeScalars
        let start = scalars.lastIndex(where: isSlash).map { scalars.index(after: $0) }
        let name = scalars[(start ?? scalars.startIndex)...]
            .filter { $0.properties.generalCategory != .control && !Self.turnsText($0) }
            .drop { $0 == "." || $0 == " " }
        let kept = Self.shortened(String(String.UnicodeScalarView(name)))
        let end = kept.unicodeScalars.lastIndex { $0 != " " }
        guard let end else { return nil }
        text = String(kept.unicodeScalars[...end])
    }

    /// The last segment of a URL's path; nil if it ends with a slash.
    ///
    /// - Parameters:
    ///   - url: What was asked for.
    ///   - isDecoded: Whether `%XX` become the bytes that they stand for.
    public init?(_ url: HTTPURL, isDecoded: Bool = false) {
        let segment = url.path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false).last
        guard let segment else { return nil }
        let bytes = isDecoded ? PercentEncoding.decode(segment) : Array(segment)
        self.init(String(decoding: bytes, as: UTF8.self))
    }

    /// The name that the field `Content-Disposition` suggests; nil if there is none to be used.
    public init?(contentDisposition value: [UInt8]) {
        guard let name = ContentDisposition(value).fileName else { return nil }
        self.init(name)
    }

    /// A name by URL and media type: that of the URL, or `index`, with an ending that goes with the
    /// type.
    ///
    /// - Parameters:
    ///   - url: What was asked for.
    ///   - mediaType: The value of `Content-Type`.
    public init(_ url: HTTPURL, mediaType: String?) {
        let name = SavedFileName(url, isDecoded: true) ?? SavedFileName(checked: "index")
        let endings = mediaType.map(MediaTypeEndings.endings) ?? []
        let fits = endings.isEmpty || name.ending.map { endings.contains($0.lowercased()) } ?? false
        self = fits ? name : name.with(ending: endings[0])
    }

    private init(checked text: String) {
        self.text = text
    }

    /// The same, with the ending of the media type if there is none yet, and the type is known.
    public func withEnding(forMediaType mediaType: String) -> SavedFileName {
        guard ending == nil, let first = MediaTypeEndings.endings(of: mediaType).first else {
            return self
        }
        return with(ending: first)
    }

    /// What stands behind the last dot, if it is one to ten letters and digits.
    private var ending: Substring? {
        guard let dot = text.lastIndex(of: "."), dot != text.startIndex else { return nil }
        let ending = text[dot...].dropFirst()
        let isRight = ending.utf8.allSatisfy { ASCII.isLetter($0) || Grammar.isDigit($0) }
        return isRight && (1...10).contains(ending.utf8.count) ? ending : nil
    }

    private func with(ending: String) -> SavedFileName {
        let room = Self.byteLimit - ending.utf8.count - 1
        return SavedFileName(checked: "\(Self.prefix(of: text, byteCount: room)).\(ending)")
    }

    /// A name that is too long keeps its ending.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > byteLimit else { return name }
        let short = SavedFileName(checked: prefix(of: name, byteCount: byteLimit))
        guard let ending = SavedFileName(checked: name).ending else { return short.text }
        return short.with(ending: String(ending)).text
    }

    /// The whole characters of the first bytes.
    private static func prefix(of text: String, byteCount: Int) -> String {
        var count = 0
        let scalars = text.unicodeScalars.prefix {
            count += UTF8.width($0)
            return count <= byteCount
        }
        return String(scalars)
    }

    /// Marks that have what follows shown from right to left, so that an ending seems another.
    private static func turnsText(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

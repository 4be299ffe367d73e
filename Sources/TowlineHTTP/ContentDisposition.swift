/// What `Content-Disposition` says about a body that is to be saved.
///
/// Source: RFC 6266; RFC 8187 for names beyond ASCII.
struct ContentDisposition {
    /// The file name that the peer suggests, which may be anything, a path included.
    var fileName: String?

    init(_ value: [UInt8]) {
        var scanner = FieldScanner(value)
        _ = scanner.take { $0 == UInt8(ascii: ";") }
        var plain: String?
        while scanner.take(";") {
            scanner.skipBlanks()
            let name = scanner.takeToken().map(ASCII.lower)
            scanner.skipBlanks()
            guard scanner.take("=") else {
                _ = scanner.take { $0 == UInt8(ascii: ";") }
                continue
            }
            scanner.skipBlanks()
            let value = scanner.takeQuoted() ?? Self.trimmed(scanner.take { $0 == 0x3B })
            _ = scanner.take { $0 == UInt8(ascii: ";") }
            // The first of each counts, and the extended one before the other.
            if name.elementsEqual("filename*".utf8) {
                fileName = fileName ?? Self.extended(value)
            } else if name.elementsEqual("filename".utf8) {
                plain = plain ?? String(decoding: value, as: UTF8.self)
            }
        }
        fileName = fileName ?? plain
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let last = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return [] }
        return Array(bytes[...last])
    }

    /// A charset, a language and percent-encoded bytes, with `'` between them.
    private static func extended(_ value: [UInt8]) -> String? {
        let parts = value.split(
            separator: UInt8(ascii: "'"),
            maxSplits: 2,
            omittingEmptySubsequences: false
        )
        guard parts.count == 3 else { return nil }
        let bytes = PercentEncoding.decode(parts[2])
        switch String(decoding: parts[0].map(ASCII.lower), as: UTF8.self) {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

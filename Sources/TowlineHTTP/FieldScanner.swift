/// Goes through a field's value from token to token.
///
/// Source: RFC 9110 section 5.6.
struct FieldScanner {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    var isAtEnd: Bool { position >= bytes.count }

    /// Passes spaces and tabs.
    mutating func skipBlanks() {
        while next == 0x20 || next == 0x09 { position += 1 }
    }

    /// Passes a byte, if it is the next one.
    mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        position += 1
        return true
    }

    /// The bytes up to one of these, or to the end.
    mutating func take(upTo isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let rest = bytes[position...].prefix { !isEnd($0) }
        position = rest.endIndex
        return rest
    }

    /// A token; empty where none begins.
    mutating func takeToken() -> ArraySlice<UInt8> {
        take { !Grammar.isToken($0) }
    }

    /// What is in quotes, with backslashes undone; nil where no quotes begin.
    ///
    /// Quotes that are never closed hold all to the end.
    mutating func takeQuoted() -> [UInt8]? {
        guard take("\"") else { return nil }
        var output: [UInt8] = []
        while let byte = next {
            position += 1
            if byte == UInt8(ascii: "\"") { return output }
            if byte == UInt8(ascii: "\\"), let escaped = next {
                position += 1
                output.append(escaped)
            } else {
                output.append(byte)
            }
        }
        return output
    }

    /// Goes back to where it was.
    mutating func rewind(to position: Int) {
        self.position = position
    }
}

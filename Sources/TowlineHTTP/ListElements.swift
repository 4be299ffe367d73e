/// Parts a field's value that holds a list.
///
/// Source: RFC 9110 section 5.6.1.
enum ListElements {
    /// The elements between commas outside of quotes, blanks trimmed, empty ones left out.
    static func split(_ value: String) -> [String] {
        var elements: [String] = []
        var current: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in value.utf8 {
            if byte == UInt8(ascii: ","), !isQuoted {
                append(current, to: &elements)
                current = []
                continue
            }
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
            current.append(byte)
        }
        append(current, to: &elements)
        return elements
    }

    private static func append(_ bytes: [UInt8], to elements: inout [String]) {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let trimmed = bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        guard !trimmed.isEmpty else { return }
        elements.append(String(decoding: Array(trimmed), as: UTF8.self))
    }
}

/// A text in JSON, as far as answers of services need it.
///
/// Source: RFC 8259.
enum JSONValue: Equatable {
    case null
    case boolean(Bool)
    /// A whole number, as near as it can be held.
    case integer(Int)
    /// Any other number, whose value nobody asks for.
    case otherNumber
    case string(String)
    case array([JSONValue])
    /// The members in their order; of equal names the last counts.
    case object([String: JSONValue])

    /// A whole text; `nil` if it is none, or is nested more than `depth` deep.
    init?(_ bytes: [UInt8], depth: Int = 16) {
        var reader = JSONReader(bytes: bytes)
        guard let value = reader.value(depth: depth), reader.isAtEnd else { return nil }
        self = value
    }

    subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var integer: Int? { if case .integer(let number) = self { number } else { nil } }
    var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
}

private struct JSONReader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether nothing but blanks follows.
    var isAtEnd: Bool {
        mutating get {
            skipBlanks()
            return index == bytes.count
        }
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            index += 1
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func take(word: StaticString) -> Bool {
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.count, bytes[index..<end].elementsEqual("\(word)".utf8) else {
            return false
        }
        index = end
        return true
    }

    mutating func value(depth: Int) -> JSONValue? {
        skipBlanks()
        switch next {
        case UInt8(ascii: "{"): return depth > 0 ? object(depth: depth - 1) : nil
        case UInt8(ascii: "["): return depth > 0 ? array(depth: depth - 1) : nil
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return take(word: "true") ? .boolean(true) : nil
        case UInt8(ascii: "f"): return take(word: "false") ? .boolean(false) : nil
        case UInt8(ascii: "n"): return take(word: "null") ? .null : nil
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> JSONValue? {
        index += 1
        var members: [String: JSONValue] = [:]
        skipBlanks()
        if take("}") { return .object(members) }
        while true {
            skipBlanks()
            guard next == UInt8(ascii: "\""), let name = string() else { return nil }
            skipBlanks()
            guard take(":"), let value = value(depth: depth) else { return nil }
            members[name] = value
            skipBlanks()
            if take("}") { return .object(members) }
            guard take(",") else { return nil }
        }
    }

    private mutating func array(depth: Int) -> JSONValue? {
        index += 1
        var values: [JSONValue] = []
        skipBlanks()
        if take("]") { return .array(values) }
        while true {
            guard let value = value(depth: depth) else { return nil }
            values.append(value)
            skipBlanks()
            if take("]") { return .array(values) }
            guard take(",") else { return nil }
        }
    }

    private mutating func string() -> String? {
        index += 1
        var units: [UInt8] = []
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: units, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                units.append(contentsOf: String(scalar).utf8)
            case 0..<0x20: return nil
            default: units.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        index += 1
        switch byte {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            return Unicode.Scalar(byte)
        case UInt8(ascii: "u"): break
        default: return nil
        }
        guard let high = hexadecimal() else { return nil }
        guard high >> 10 == 0xD800 >> 10 else { return Unicode.Scalar(high) }
        guard take("\\"), take("u"), let low = hexadecimal(), low >> 10 == 0xDC00 >> 10 else {
            return nil
        }
        return Unicode.Scalar(0x10000 + (high & 0x3FF) << 10 + (low & 0x3FF))
    }

    private mutating func hexadecimal() -> UInt32? {
        guard bytes.count - index >= 4 else { return nil }
        var value: UInt32 = 0
        for byte in bytes[index..<(index + 4)] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        index += 4
        return value
    }

    private mutating func digits() -> ArraySlice<UInt8> {
        let start = index
        while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
        return bytes[start..<index]
    }

    private mutating func number() -> JSONValue? {
        let isNegative = take("-")
        let whole = digits()
        guard let first = whole.first, first != 0x30 || whole.count == 1 else { return nil }
        var isWhole = true
        if take(".") {
            isWhole = false
            guard !digits().isEmpty else { return nil }
        }
        if take("e") || take("E") {
            isWhole = false
            if !take("+") { _ = take("-") }
            guard !digits().isEmpty else { return nil }
        }
        guard isWhole else { return .otherNumber }
        var value = 0
        for byte in whole {
            let (product, isBeyond) = value.multipliedReportingOverflow(by: 10)
            let (sum, isFar) = product.addingReportingOverflow(Int(byte - 0x30))
            if isBeyond || isFar { return .integer(isNegative ? .min : .max) }
            value = sum
        }
        return .integer(isNegative ? -value : value)
    }
}

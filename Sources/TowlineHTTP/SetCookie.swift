/// The field `Set-Cookie`, taken apart, before anybody asks whether the server may say so.
///
/// Source: RFC 6265bis section 5.6.
struct SetCookie {
    /// No cookie is kept for longer: 400 days.
    static let longestAge: Int64 = 400 * 86_400
    /// The most bytes of name and value together.
    static let byteLimit = 4096
    /// The most bytes of an attribute's value.
    static let attributeByteLimit = 1024

    var name: [UInt8]
    var value: [UInt8]
    var domain: [UInt8] = []
    var path: [UInt8] = []
    var expires: Int64?
    var isSecure = false
    var isHTTPOnly = false
    var sameSite: HTTPCookie.SameSite?
    private var hasMaxAge = false

    init(_ field: [UInt8], now: Int64) throws(CookieFault) {
        let isRefused: (UInt8) -> Bool = { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
        guard !field.contains(where: isRefused) else { throw .malformed }
        var parts = field.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        let pair = parts.removeFirst()
        if pair.contains(UInt8(ascii: "=")) {
            (name, value) = Self.split(pair)
        } else {
            (name, value) = ([], Self.trimmed(pair))
        }
        guard !name.isEmpty || !value.isEmpty else { throw .malformed }
        guard name.count + value.count <= Self.byteLimit else { throw .tooLong }
        for part in parts { take(part, now: now) }
    }

    private mutating func take(_ attribute: ArraySlice<UInt8>, now: Int64) {
        let (name, value) = Self.split(attribute)
        guard value.count <= Self.attributeByteLimit else { return }
        switch String(decoding: name.map(ASCII.lower), as: UTF8.self) {
        case "expires":
            guard !hasMaxAge, let date = HTTPDate.seconds(of: value) else { return }
            expires = min(date, now + Self.longestAge)
        case "max-age":
            guard let age = Self.age(value) else { return }
            hasMaxAge = true
            expires = age <= 0 ? .min : now + min(age, Self.longestAge)
        case "domain":
            domain = value.first == UInt8(ascii: ".") ? Array(value.dropFirst()) : value
        case "path": path = value
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite":
            let word = String(decoding: value.map(ASCII.lower), as: UTF8.self)
            sameSite = HTTPCookie.SameSite(rawValue: word)
        default: break
        }
    }

    /// Digits, perhaps with a minus in front; more of them than fit count as very many.
    private static func age(_ value: [UInt8]) -> Int64? {
        let digits = value.first == UInt8(ascii: "-") ? value.dropFirst() : value[...]
        guard !value.isEmpty, digits.allSatisfy(Grammar.isDigit) else { return nil }
        let isNegative = digits.count < value.count
        let age = digits.reduce(Int64(0)) { min($0 * 10 + Int64($1 - 0x30), longestAge) }
        return isNegative ? -1 : age
    }

    private static func split(_ part: ArraySlice<UInt8>) -> (name: [UInt8], value: [UInt8]) {
        let middle = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
        return (trimmed(part[..<middle]), trimmed(part[middle...].dropFirst()))
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        return Array(bytes[HTTP1Writer.trimmed(0..<bytes.count, of: bytes)])
    }
}

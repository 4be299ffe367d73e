/// Bytes as text of 64 characters.
///
/// Source: RFC 4648, section 4.
package enum Base64 {
    /// The digits of the bytes, with `=` to fill up the last four.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var digits: [UInt8] = []
        digits.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                let digit = alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)]
                digits.append(place > group.count ? UInt8(ascii: "=") : digit)
            }
        }
        return digits
    }

    /// The bytes of whole groups of four digits; `nil` for anything else.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let digits = text.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        guard text.count - digits.count <= 2 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        for (index, digit) in digits.enumerated() {
            guard let value = values[Int(digit)] else { return nil }
            bits = bits << 6 | value
            // Each digit but the first of four completes a byte.
            let spare = UInt32(6 - 2 * (index % 4))
            if index % 4 != 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> spare)) }
        }
        // What the last digit says beyond the last byte has to be nothing.
        let spare = UInt32(digits.count % 4 == 0 ? 0 : 8 - 2 * (digits.count % 4))
        return bits & ((1 << spare) - 1) == 0 ? bytes : nil
    }

    /// What each character stands for.
    private static let values: [UInt32?] = {
        var values = [UInt32?](repeating: nil, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt32(value) }
        return values
    }()

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
}

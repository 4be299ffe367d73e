/// Which ASCII bytes of a part of a URL are written as `%XX`; all others above 0x7E are, too.
///
/// Source: URL Standard section 1.3.
struct PercentEncodeSet: Sendable {
    private let low: UInt64
    private let high: UInt64

    private init(_ base: PercentEncodeSet?, _ added: String) {
        var low = base?.low ?? 0xFFFF_FFFF
        var high = base?.high ?? 1 << 63
        for byte in added.utf8 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        self.low = low
        self.high = high
    }

    /// The C0 controls and DEL.
    static let controls = PercentEncodeSet(nil, "")
    /// What would end a fragment, or be taken for markup.
    static let fragment = PercentEncodeSet(controls, " \"<>`")
    /// The query of a scheme that is not special.
    static let query = PercentEncodeSet(controls, " \"#<>")
    /// The query of http and https.
    static let specialQuery = PercentEncodeSet(query, "'")
    /// A segment of a path.
    static let path = PercentEncodeSet(query, "?^`{}")
    /// A user name or a password.
    static let userInfo = PercentEncodeSet(path, "/:;=@[\\]|")
    /// One component, whatever it is put into.
    static let component = PercentEncodeSet(userInfo, "$%&+,")
    /// A name or value of a form; a space becomes `+` there.
    static let form = PercentEncodeSet(component, "!'()~")
    /// What has a meaning in some part of a URL, or might.
    static let allButUnreserved = PercentEncodeSet(component, "!'()*")

    func contains(_ byte: UInt8) -> Bool {
        if byte < 64 { return low >> UInt64(byte) & 1 != 0 }
        return byte > 0x7F || high >> UInt64(byte - 64) & 1 != 0
    }
}

/// Bytes to `%XX` and back.
enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Appends bytes, those of the set encoded.
    static func append(
        _ bytes: some Sequence<UInt8>,
        encoding set: PercentEncodeSet,
        to output: inout [UInt8]
    ) {
        for byte in bytes { append(byte, encoding: set, to: &output) }
    }

    /// Appends one byte, encoded if it is of the set.
    static func append(_ byte: UInt8, encoding set: PercentEncodeSet, to output: inout [UInt8]) {
        guard set.contains(byte) else { return output.append(byte) }
        output.append(UInt8(ascii: "%"))
        output.append(digits[Int(byte >> 4)])
        output.append(digits[Int(byte & 15)])
    }

    /// Bytes as text, those of the set encoded; with a set all is ASCII that remains.
    static func encode(_ bytes: some Collection<UInt8>, _ set: PercentEncodeSet) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        append(bytes, encoding: set, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Each `%` with two hexadecimal digits behind it as the byte they name, all else as it is.
    static func decode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            bytes.formIndex(after: &index)
            let rest = bytes[index...].prefix(2)
            if byte == UInt8(ascii: "%"), rest.count == 2,
                let first = rest.first.flatMap(ASCII.hexadecimal),
                let second = rest.dropFirst().first.flatMap(ASCII.hexadecimal)
            {
                output.append(first << 4 | second)
                bytes.formIndex(&index, offsetBy: 2)
            } else {
                output.append(byte)
            }
        }
        return output
    }
}

extension ASCII {
    /// Whether a byte is a letter.
    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    /// What a hexadecimal digit of either case stands for.
    static func hexadecimal(_ byte: UInt8) -> UInt8? {
        if Grammar.isDigit(byte) { return byte - 0x30 }
        let letter = byte | 0x20
        return letter &- 0x61 < 6 ? letter - 0x61 + 10 : nil
    }
}

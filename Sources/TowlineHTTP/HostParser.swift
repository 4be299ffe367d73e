/// A host's text into the host that it names.
///
/// Source: URL Standard section 3.5.
enum HostParser {
    /// Takes a text that is not empty.
    static func parse(
        _ text: ArraySlice<UInt8>,
        isSpecial: Bool
    ) throws(HTTPURLError.HostFault) -> HTTPURL.Host {
        if text.first == UInt8(ascii: "[") {
            guard text.last == UInt8(ascii: "]"),
                let address = IPv6Text.parse(text.dropFirst().dropLast())
            else { throw .invalidIPv6 }
            return .ipv6(IPv6Text.serialize(address))
        }
        guard isSpecial else { return .name(try opaque(text)) }
        let name = try domain(PercentEncoding.decode(text))
        guard endsInNumber(name) else { return .name(String(decoding: name, as: UTF8.self)) }
        guard let address = IPv4Text.parse(name) else { throw .invalidIPv4 }
        return .ipv4(IPv4Text.serialize(address))
    }

    /// The name in lower-case ASCII, without anything that no name may have.
    private static func domain(_ bytes: [UInt8]) throws(HTTPURLError.HostFault) -> [UInt8] {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        let isASCII = bytes.allSatisfy { $0 < 0x80 }
        let name = isASCII ? bytes.map(ASCII.lower) : try InternationalName.ascii(of: text)
        if let byte = name.first(where: { isForbidden($0) || isForbiddenInNames($0) }) {
            throw .forbiddenCharacter(Unicode.Scalar(byte))
        }
        guard !name.isEmpty else { throw .invalidInternationalName(reason: "nothing is left") }
        return name
    }

    private static func opaque(_ text: ArraySlice<UInt8>) throws(HTTPURLError.HostFault) -> String {
        if let byte = text.first(where: isForbidden) {
            throw .forbiddenCharacter(Unicode.Scalar(byte))
        }
        return PercentEncoding.encode(text, .controls)
    }

    /// Forbidden host code points.
    private static func isForbidden(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00, 0x09, 0x0A, 0x0D: true
        default: " #/:<>?@[\\]^|".utf8.contains(byte)
        }
    }

    /// What else is forbidden in a domain.
    private static func isForbiddenInNames(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "%")
    }

    /// Whether the last label is a number, so that the whole has to be an address.
    private static func endsInNumber(_ name: [UInt8]) -> Bool {
        var labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.last?.isEmpty == true {
            guard labels.count > 1 else { return false }
            labels.removeLast()
        }
        guard let last = labels.last, !last.isEmpty else { return false }
        return last.allSatisfy(Grammar.isDigit) || IPv4Text.number(last) != nil
    }
}

/// Addresses of IPv4 in all the ways that they may be written, and in the one in which we do.
enum IPv4Text {
    /// Takes one to four numbers, decimal, octal or hexadecimal; the last fills what is left.
    ///
    /// Source: URL Standard section 3.5, the IPv4 parser.
    static func parse(_ name: [UInt8]) -> UInt32? {
        var parts = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
        guard parts.count <= 4 else { return nil }
        var address: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let value = number(part) else { return nil }
            let isLast = index == parts.count - 1
            let bitCount = isLast ? UInt64(8 * (5 - parts.count)) : 8
            guard value < 1 << bitCount else { return nil }
            address = address << bitCount | value
        }
        return UInt32(address)
    }

    /// A number in any base; one that is too large for any address as `UInt64.max`.
    static func number(_ text: ArraySlice<UInt8>) -> UInt64? {
        guard let first = text.first else { return nil }
        var digits = text
        var radix: UInt64 = 10
        if first == UInt8(ascii: "0"), text.count > 1 {
            let isHexadecimal = ASCII.lower(text[text.startIndex + 1]) == UInt8(ascii: "x")
            radix = isHexadecimal ? 16 : 8
            digits = text.dropFirst(isHexadecimal ? 2 : 1)
        }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = ASCII.hexadecimal(byte), digit < radix else { return nil }
            let isTooLarge = value > UInt64(UInt32.max)
            value = isTooLarge ? .max : value * radix + UInt64(digit)
        }
        return value
    }

    static func serialize(_ address: UInt32) -> String {
        "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
    }
}

/// Addresses of IPv6, without brackets.
enum IPv6Text {
    /// The eight pieces of an address.
    ///
    /// Source: URL Standard section 3.5, the IPv6 parser.
    static func parse(_ text: ArraySlice<UInt8>) -> [UInt16]? {
        var pieces: [UInt16] = []
        var compressed: Int?
        var rest = text
        if rest.starts(with: "::".utf8) {
            rest = rest.dropFirst(2)
            compressed = 0
        } else if rest.first == UInt8(ascii: ":") {
            return nil
        }
        while let first = rest.first {
            guard pieces.count < 8 else { return nil }
            if first == UInt8(ascii: ":") {
                guard compressed == nil else { return nil }
                compressed = pieces.count
                rest = rest.dropFirst()
                continue
            }
            let digits = rest.prefix(4).prefix { ASCII.hexadecimal($0) != nil }
            let behind = rest[digits.endIndex...]
            if behind.first == UInt8(ascii: ".") {
                guard pieces.count <= 6, let address = dotted(rest) else { return nil }
                pieces += [UInt16(address >> 16), UInt16(address & 0xFFFF)]
                break
            }
            pieces.append(digits.reduce(0) { $0 << 4 | UInt16(ASCII.hexadecimal($1) ?? 0) })
            rest = behind
            guard let next = rest.first else { break }
            // A colon with nothing behind it ends no address, and no digits are no piece.
            guard next == UInt8(ascii: ":"), rest.count > 1, !digits.isEmpty else { return nil }
            rest = rest.dropFirst()
        }
        guard let compressed else { return pieces.count == 8 ? pieces : nil }
        guard pieces.count < 8 else { return nil }
        let zeros = [UInt16](repeating: 0, count: 8 - pieces.count)
        return Array(pieces[..<compressed]) + zeros + pieces[compressed...]
    }

    /// Four decimal numbers without leading zeros.
    private static func dotted(_ text: ArraySlice<UInt8>) -> UInt32? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy(Grammar.isDigit),
                part.count == 1 || part.first != UInt8(ascii: "0")
            else { return nil }
            let value = part.reduce(0) { $0 * 10 + UInt32($1 - 0x30) }
            guard value <= 255 else { return nil }
            address = address << 8 | value
        }
        return address
    }

    /// Lower-case, the first of the longest runs of two or more zeros left out.
    static func serialize(_ pieces: [UInt16]) -> String {
        let run = longestRun(of: pieces)
        var text = ""
        var index = 0
        while index < pieces.count {
            if let run, index == run.lowerBound {
                text += index == 0 ? "::" : ":"
                index = run.upperBound
                continue
            }
            text += String(pieces[index], radix: 16)
            if index < pieces.count - 1 { text += ":" }
            index += 1
        }
        return text
    }

    private static func longestRun(of pieces: [UInt16]) -> Range<Int>? {
        var longest: Range<Int>?
        var start = 0
        while start < pieces.count {
            let end = pieces[start...].firstIndex { $0 != 0 } ?? pieces.endIndex
            if end - start > max(longest?.count ?? 0, 1) { longest = start..<end }
            start = end + 1
        }
        return longest
    }
}

/// A URL that stands for several: `{one,two}`, `[1-10]`, `[001-100:5]`, `[a-z]`.
///
/// Source: curl(1), "GLOBBING".
struct URLGlob: Sendable {
    /// What one place of the text may be.
    private enum Piece: Sendable {
        case text(String)
        case choice([String])
    }

    private var pieces: [Piece] = []

    /// One of the URLs, and what stood for each of its places.
    struct Match: Sendable, Hashable {
        let url: String
        let values: [String]
    }

    init(_ text: String) throws(UsageError) {
        var rest = Substring(text)
        var plain = ""
        while let character = rest.popFirst() {
            switch character {
            case "\\" where rest.first.map { "{}[]".contains($0) } == true:
                plain.append(rest.removeFirst())
            case "{":
                finish(&plain)
                pieces.append(.choice(try Self.list(&rest, text)))
            case "[":
                if let literal = Self.addressLiteral(rest) {
                    plain.append("[" + literal)
                    rest = rest.dropFirst(literal.count)
                } else {
                    finish(&plain)
                    pieces.append(.choice(try Self.range(&rest, text)))
                }
            case "}", "]":
                throw Self.fault("unmatched close brace/bracket", text)
            default: plain.append(character)
            }
        }
        finish(&plain)
    }

    private mutating func finish(_ plain: inout String) {
        if !plain.isEmpty { pieces.append(.text(plain)) }
        plain = ""
    }

    /// How many URLs there are.
    var count: Int {
        pieces.reduce(1) { count, piece in
            if case .choice(let values) = piece { count * values.count } else { count }
        }
    }

    /// All of them; the last place changes first.
    var matches: [Match] {
        var matches = [Match(url: "", values: [])]
        for piece in pieces {
            switch piece {
            case .text(let text):
                matches = matches.map { Match(url: $0.url + text, values: $0.values) }
            case .choice(let values):
                matches = matches.flatMap { match in
                    values.map { Match(url: match.url + $0, values: match.values + [$0]) }
                }
            }
        }
        return matches
    }

    /// A file name in which `#1` stands for what the first place is, and so on.
    static func fill(_ name: String, with values: [String]) -> String {
        var output = ""
        var rest = Substring(name)
        while let character = rest.popFirst() {
            guard character == "#" else {
                output.append(character)
                continue
            }
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            if let number = Int(digits), (1...values.count + 1).contains(number),
                number <= values.count
            {
                output += values[number - 1]
                rest = rest.dropFirst(digits.count)
            } else {
                output.append("#")
            }
        }
        return output
    }

    /// The rest of an address of IPv6 in brackets, which is no range.
    private static func addressLiteral(_ rest: Substring) -> Substring? {
        guard let end = rest.firstIndex(of: "]") else { return nil }
        let inner = rest[..<end]
        let isAddress =
            inner.contains(":")
            && inner.allSatisfy {
                $0.isHexDigit || ":.%".contains($0)
            } && !inner.contains("-")
        return isAddress ? rest[...end] : nil
    }

    private static func list(
        _ rest: inout Substring,
        _ text: String
    ) throws(UsageError) -> [String] {
        var values = [""]
        while let character = rest.popFirst() {
            switch character {
            case "}": return values
            case ",": values.append("")
            case "{", "[": throw fault("nested brace", text)
            case "\\" where rest.first != nil: values[values.count - 1].append(rest.removeFirst())
            default: values[values.count - 1].append(character)
            }
        }
        throw fault("unmatched brace", text)
    }

    private static func range(
        _ rest: inout Substring,
        _ text: String
    ) throws(UsageError) -> [String] {
        guard let end = rest.firstIndex(of: "]") else { throw fault("bad range", text) }
        let parts = rest[..<end].split(separator: ":", omittingEmptySubsequences: false)
        rest = rest[rest.index(after: end)...]
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        let step = parts.count == 2 ? Int(parts[1]) : 1
        guard parts.count <= 2, bounds.count == 2, let step, step > 0 else {
            throw fault("bad range", text)
        }
        let values = letters(bounds, step) ?? numbers(bounds, step)
        guard let values, !values.isEmpty else { throw fault("bad range", text) }
        return values
    }

    private static func letters(_ bounds: [Substring], _ step: Int) -> [String]? {
        guard let first = letter(bounds[0]), let last = letter(bounds[1]), first <= last,
            (first < 0x61) == (last < 0x61)
        else { return nil }
        return stride(from: Int(first), through: Int(last), by: step).map {
            String(decoding: [UInt8($0)], as: UTF8.self)
        }
    }

    private static func letter(_ text: Substring) -> UInt8? {
        guard text.utf8.count == 1, let byte = text.utf8.first, (byte | 0x20) &- 0x61 < 26
        else { return nil }
        return byte
    }

    private static func numbers(_ bounds: [Substring], _ step: Int) -> [String]? {
        let isNumber: (Substring) -> Bool = { !$0.isEmpty && $0.allSatisfy { ("0"..."9") ~= $0 } }
        guard bounds.allSatisfy(isNumber), let first = Int(bounds[0]), let last = Int(bounds[1]),
            first <= last, (last - first) / step < 100_000
        else { return nil }
        let width = bounds[0].hasPrefix("0") ? bounds[0].count : 0
        return stride(from: first, through: last, by: step).map {
            let digits = String($0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
    }

    private static func fault(_ reason: String, _ text: String) -> UsageError {
        UsageError("\(reason) in URL: \(text)", code: .malformedURL)
    }
}

/// A Swift file, taken apart as far as these tests need it.
struct SourceFile {
    let path: String

    /// The lines as they are.
    let lines: [String]

    /// The lines without comments and without what stands in string literals, as many as `lines`.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        code = Self.code(of: Array(text.utf8))
    }

    var name: String { String(path.split(separator: "/").last ?? "") }

    /// The number of lines; the empty piece behind the last newline is none.
    var lineCount: Int { lines.last == "" ? lines.count - 1 : lines.count }

    /// The words of the code, each once: names, keywords and numbers.
    var words: Set<String> {
        Set(
            code.flatMap { $0.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init) }
        )
    }

    /// The modules that the file imports.
    var imports: [String] {
        code.compactMap { line in
            let words = line.split(separator: " ")
            guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
                words[..<place].allSatisfy({ Self.beforeImport.contains($0) || $0.hasPrefix("@") })
            else { return nil }
            return String(words[place + 1])
        }
    }

    private static let beforeImport: Set<Substring> = [
        "internal", "package", "public", "private", "fileprivate",
    ]

    /// The names of the types that are declared outside of all others in this file, and not for
    /// this file alone.
    var declaredTypes: Set<String> {
        var names: Set<String> = []
        for line in code where line.first?.isWhitespace == false {
            let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
            guard !words.contains("private"), !words.contains("fileprivate"),
                let place = words.firstIndex(where: { Self.typeKeywords.contains($0) }),
                place + 1 < words.count
            else { continue }
            names.insert(words[place + 1])
        }
        return names
    }

    private static let typeKeywords: Set<String> = [
        "struct", "class", "enum", "protocol", "actor", "typealias",
    ]

    /// The functions and initialisers with their numbers of lines.
    var functions: [(line: Int, length: Int)] {
        var functions: [(line: Int, length: Int)] = []
        for (number, line) in code.enumerated()
        where line.contains("func ") || line.contains("init") {
            let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            guard words.contains("func") || words.contains("init") || words.contains("deinit"),
                !line.contains(".init"), let end = endOfBody(from: number)
            else { continue }
            functions.append((number + 1, end - number + 1))
        }
        return functions
    }

    /// The line of the brace that closes what is declared at `start`; `nil` without a body.
    private func endOfBody(from start: Int) -> Int? {
        var depth = 0
        var isOpen = false
        for number in start..<code.count {
            for character in code[number].utf8 {
                switch character {
                case UInt8(ascii: "{"):
                    depth += 1
                    isOpen = true
                case UInt8(ascii: "}"):
                    depth -= 1
                default:
                    continue
                }
                if depth < 0 { return nil }
                if depth == 0 { return number }
            }
            // A requirement of a protocol ends with a line of nothing, or with its protocol.
            if !isOpen, code[number].allSatisfy({ $0 == " " }) { return nil }
        }
        return nil
    }

    /// Blanks comments and what stands in string literals, and keeps the newlines.
    private static func code(of text: [UInt8]) -> [String] {
        var scanner = CodeScanner(text)
        return String(decoding: scanner.scan(), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}

/// Goes once through the bytes of a Swift file, and leaves out what is no code.
private struct CodeScanner {
    private let text: [UInt8]
    private var index = 0
    private var result: [UInt8] = []

    init(_ text: [UInt8]) {
        self.text = text
    }

    mutating func scan() -> [UInt8] {
        let newline: [UInt8] = [10]
        let quote: [UInt8] = [34]
        let quotes: [UInt8] = [34, 34, 34]
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "/") where starts([47, 47]):
                skip(until: newline, honouringEscapes: false)
            case UInt8(ascii: "/") where starts([47, 42]):
                skip(until: [42, 47], honouringEscapes: false)
                index += 2
            case UInt8(ascii: "\""):
                let end = starts(quotes) ? quotes : quote
                index += end.count
                skip(until: end, honouringEscapes: true)
                index += end.count
                result += quote + quote
            default:
                result.append(text[index])
                index += 1
            }
        }
        return result
    }

    private func starts(_ bytes: [UInt8]) -> Bool {
        index + bytes.count <= text.count
            && bytes.indices.allSatisfy { text[index + $0] == bytes[$0] }
    }

    private mutating func skip(until end: [UInt8], honouringEscapes: Bool) {
        while index < text.count, text[index] != end[0] || !starts(end) {
            if honouringEscapes, text[index] == UInt8(ascii: "\\"), index + 1 < text.count {
                index += 1
            }
            if text[index] == UInt8(ascii: "\n") { result.append(text[index]) }
            index += 1
        }
    }
}

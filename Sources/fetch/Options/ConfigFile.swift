/// Options out of a file: one a line, as on the command line or without the dashes, its value
/// behind a space, `=` or `:`, in quotes if need be.
///
/// Source: curl(1), `--config`.
enum ConfigFile {
    static func apply(_ draft: inout Draft, _ path: String) throws(UsageError) {
        let text = String(decoding: try draft.files.read(path), as: UTF8.self)
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in lines.enumerated() {
            do throws(UsageError) {
                try ArgumentParser.parse(try arguments(of: line), into: &draft)
            } catch {
                throw UsageError("\(path):\(number + 1): \(error.message)", code: error.code)
            }
        }
    }

    /// What a line would be on the command line.
    static func arguments(of line: Substring) throws(UsageError) -> [String] {
        let blank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
        var rest = line.drop(while: blank)
        while let last = rest.last, blank(last) { rest = rest.dropLast() }
        guard let first = rest.first, first != "#" else { return [] }
        let isShort = first == "-" && !rest.hasPrefix("--")
        let end = rest.firstIndex { blank($0) || (!isShort && ($0 == "=" || $0 == ":")) }
        var name = String(rest[..<(end ?? rest.endIndex)])
        if first != "-" { name = "--" + name }
        var value = rest[(end ?? rest.endIndex)...].drop(while: blank)
        if !isShort, value.first == "=" || value.first == ":" {
            value = value.dropFirst().drop(while: blank)
        }
        if value.isEmpty { return [name] }
        return [name, value.first == "\"" ? unquoted(value.dropFirst()) : String(value)]
    }

    private static func unquoted(_ text: Substring) -> String {
        var output = ""
        var rest = text
        while let character = rest.popFirst(), character != "\"" {
            guard character == "\\", let escaped = rest.popFirst() else {
                output.append(character)
                continue
            }
            switch escaped {
            case "t": output.append("\t")
            case "n": output.append("\n")
            case "r": output.append("\r")
            default: output.append(escaped)
            }
        }
        return output
    }
}

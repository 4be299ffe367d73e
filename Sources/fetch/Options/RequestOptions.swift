/// What those options do that do more than set one value.
enum RequestOptions {
    static func addHeader(_ draft: inout Draft, _ text: String) throws(UsageError) {
        guard text.hasPrefix("@") else {
            draft.current.headers.append(text)
            return
        }
        let bytes = try draft.files.read(String(text.dropFirst()))
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            draft.current.headers.append(String(decoding: line, as: UTF8.self))
        }
    }

    static func addForm(_ draft: inout Draft, _ text: String) throws(UsageError) {
        try addForm(&draft, text, isLiteral: false)
    }

    static func addLiteralForm(_ draft: inout Draft, _ text: String) throws(UsageError) {
        try addForm(&draft, text, isLiteral: true)
    }

    private static func addForm(
        _ draft: inout Draft,
        _ text: String,
        isLiteral: Bool
    ) throws(UsageError) {
        guard text.contains("=") else {
            throw UsageError("option -F: \"\(text)\" has no name and no \"=\"")
        }
        draft.current.form.append(FormSpecification(text: text, isLiteral: isLiteral))
    }

    static func continueAt(_ draft: inout Draft, _ text: String) throws(UsageError) {
        draft.current.continueAt =
            text == "-"
            ? .endOfFile : .offset(UInt64(try OptionValue.number(text, of: "continue-at")))
    }

    static func trustLocation(_ draft: inout Draft) {
        draft.current.followsRedirects = true
        draft.current.trustsRedirects = true
    }

    static func redirectLimit(_ draft: inout Draft, _ text: String) throws(UsageError) {
        guard let limit = Int(text), limit >= -1 else {
            throw UsageError("option --max-redirs: expected a proper numerical parameter")
        }
        draft.current.redirectLimit = limit == -1 ? .max : limit
    }

    static func basic(_ draft: inout Draft) {
        draft.current.usesDigest = false
        draft.current.usesAnyAuthentication = false
    }

    static func writeOut(_ draft: inout Draft, _ text: String) throws(UsageError) {
        guard text.hasPrefix("@") else {
            draft.current.writeOut = text
            return
        }
        let bytes = try draft.files.read(String(text.dropFirst()))
        let kept = bytes.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        draft.current.writeOut = String(decoding: kept, as: UTF8.self)
    }

    static func retries(_ draft: inout Draft, _ text: String) throws(UsageError) {
        draft.current.retries = try OptionValue.number(text, of: "retry")
    }

    static func parallelLimit(_ draft: inout Draft, _ text: String) throws(UsageError) {
        let limit = try OptionValue.number(text, of: "parallel-max")
        draft.globals.parallelLimit = (1...300).contains(limit) ? limit : 50
    }

    static func onlyIPv4(_ draft: inout Draft) {
        draft.current.connection.usesIPv4 = true
        draft.current.connection.usesIPv6 = false
    }

    static func onlyIPv6(_ draft: inout Draft) {
        draft.current.connection.usesIPv6 = true
        draft.current.connection.usesIPv4 = false
    }

    /// A file, and behind a colon its password; a colon of the file's own has a backslash.
    static func certificate(_ draft: inout Draft, _ text: String) {
        var file = ""
        var rest = Substring(text)
        while let character = rest.popFirst() {
            if character == "\\", let next = rest.first, next == ":" || next == "\\" {
                file.append(next)
                rest.removeFirst()
            } else if character == ":" {
                draft.current.connection.password = String(rest)
                break
            } else {
                file.append(character)
            }
        }
        draft.current.connection.identityFile = file
    }

    static func maximumVersion(_ draft: inout Draft, _ text: String) throws(UsageError) {
        guard ["default", "1.0", "1.1", "1.2", "1.3"].contains(text) else {
            throw UsageError("option --tls-max: wrong version \"\(text)\"")
        }
        draft.current.connection.maximumVersion = text == "default" ? nil : text
    }

    static func protocols(_ draft: inout Draft, _ text: String) throws(UsageError) {
        try select(text, &draft.current.protocols)
    }

    static func redirectProtocols(_ draft: inout Draft, _ text: String) throws(UsageError) {
        try select(text, &draft.current.redirectProtocols)
    }

    /// A list of schemes: `=` allows only those, `+` those too, `-` all but those.
    private static func select(_ text: String, _ set: inout Set<String>) throws(UsageError) {
        for item in text.split(separator: ",") {
            let name = item.drop { "=+-".contains($0) }.lowercased()
            let names: Set<String> = name == "all" ? ["http", "https"] : [name]
            switch item.first {
            case "=": set = names
            case "-": set.subtract(names)
            default: set.formUnion(names)
            }
        }
    }
}

/// Arguments as what they ask for.
enum ArgumentParser {
    /// Reads the arguments behind the program's name.
    static func parse(_ arguments: [String]) throws(UsageError) -> Draft {
        var draft = Draft()
        try parse(arguments, into: &draft)
        return draft
    }

    static func parse(_ arguments: [String], into draft: inout Draft) throws(UsageError) {
        var rest = arguments[...]
        var readsOptions = true
        while let argument = rest.popFirst() {
            if argument == "--", readsOptions {
                readsOptions = false
            } else if readsOptions, argument.hasPrefix("--") {
                try long(String(argument.dropFirst(2)), &rest, &draft)
            } else if readsOptions, argument.hasPrefix("-"), argument != "-" {
                try short(argument.dropFirst(), &rest, &draft)
            } else {
                draft.current.urls.append(argument)
            }
        }
    }

    private static func long(
        _ name: String,
        _ rest: inout ArraySlice<String>,
        _ draft: inout Draft
    ) throws(UsageError) {
        if name.hasPrefix("no-"), OptionTable.rows.allSatisfy({ $0.name != name }) {
            return try negate(String(name.dropFirst(3)), &draft)
        }
        let row = try OptionTable.row(named: name)
        guard row.takesValue else { return try row.apply("", to: &draft) }
        guard let value = rest.popFirst() else {
            throw UsageError("option --\(name): requires parameter")
        }
        try row.apply(value, to: &draft)
    }

    private static func negate(_ name: String, _ draft: inout Draft) throws(UsageError) {
        let row: OptionRow
        do throws(UsageError) {
            row = try OptionTable.row(named: name)
        } catch {
            throw UsageError("option --no-\(name): is unknown")
        }
        switch row.effect {
        case .flag(let path): draft[keyPath: path] = false
        case .nothing: break
        case .text, .list, .number, .size, .seconds, .act, .take, .unavailable:
            throw UsageError("option --no-\(name): is unknown")
        }
    }

    /// Several letters in one argument; what takes a value takes the rest of it, or the next one.
    private static func short(
        _ letters: Substring,
        _ rest: inout ArraySlice<String>,
        _ draft: inout Draft
    ) throws(UsageError) {
        var letters = letters
        while let letter = letters.popFirst() {
            guard let row = OptionTable.row(short: letter) else {
                throw UsageError("option -\(letter): is unknown")
            }
            guard row.takesValue else {
                try row.apply("", to: &draft)
                continue
            }
            if !letters.isEmpty { return try row.apply(String(letters), to: &draft) }
            guard let value = rest.popFirst() else {
                throw UsageError("option -\(letter): requires parameter")
            }
            return try row.apply(value, to: &draft)
        }
    }
}

/// Text of others' in texts of ours.
enum OneLine {
    /// The text with its control characters and separators of lines spelled out, and cut where it
    /// gets long, so that it can neither end a line of a log nor hide in it.
    static func text(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
                .unassigned:
                line += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                line.unicodeScalars.append(scalar)
            }
        }
        return text.unicodeScalars.count > limit ? line + "…" : line
    }

    private static let limit = 260
}

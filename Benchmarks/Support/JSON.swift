/// A JSON value, for writing only.
///
/// Source: RFC 8259.
enum JSON: CustomStringConvertible {
    case string(String)
    case integer(Int)
    case number(Double)
    case array([JSON])
    /// Members in this order.
    case object([(String, JSON)])

    /// The value on lines, each level two spaces further in.
    var description: String { text(indentation: "") }

    private func text(indentation: String) -> String {
        switch self {
        case .string(let value):
            Self.quoted(value)
        case .integer(let value):
            "\(value)"
        case .number(let value):
            // JSON has no infinities and no NaN.
            value.isFinite ? "\(value)" : "null"
        case .array(let values):
            Self.lines("[", values.map { $0.text(indentation: indentation + "  ") }, "]", indentation)
        case .object(let members):
            Self.lines(
                "{",
                members.map { "\(Self.quoted($0)): \($1.text(indentation: indentation + "  "))" },
                "}",
                indentation
            )
        }
    }

    private static func lines(
        _ opening: String,
        _ items: [String],
        _ closing: String,
        _ indentation: String
    ) -> String {
        guard !items.isEmpty else { return opening + closing }
        let body = items.map { "\(indentation)  \($0)" }.joined(separator: ",\n")
        return "\(opening)\n\(body)\n\(indentation)\(closing)"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                result += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default:
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

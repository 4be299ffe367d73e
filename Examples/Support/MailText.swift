/// What of a message might go wrong before it is sent.
public enum MailText {
    /// Checks an address; what would end the command that it stands in is none.
    ///
    /// - Parameters:
    ///   - text: The address; `nil` if it was not given.
    ///   - option: The option that it is the value of.
    /// - Returns: The address.
    /// - Throws: ``UsageError`` if it is missing, or none.
    public static func address(_ text: String?, _ option: String) throws(UsageError) -> String {
        guard let text else { throw UsageError("\(option) is missing") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }),
            !text.contains(where: { $0 == "<" || $0 == ">" })
        else { throw UsageError("\(option): \(text.debugDescription) is no address") }
        return text
    }

    /// The lines of standard input, those with a dot in front with another: one alone is the end.
    public static func readMessage() -> String {
        var message = ""
        while let line = Swift.readLine() {
            message += (line.hasPrefix(".") ? "." : "") + line + "\r\n"
        }
        return message
    }
}

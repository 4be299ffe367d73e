internal import Glibc

/// How a client of mail says who it is: by a name and a password.
///
/// They are as good as in clear, so they are for connections alone that are secure.
///
/// Source: RFC 4954; RFC 4616.
public struct MailLogin {
    private let user: String
    private let password: String

    /// One command of it.
    public struct Exchange {
        /// What is sent.
        public let command: String
        /// What the command is called where nobody may see what is in it.
        public let name: String
        /// How the reply has to begin.
        public let code: String
    }

    /// - Parameters:
    ///   - user: The name.
    ///   - file: Where the password is, in the first line: other programs see the words of a
    ///     command.
    /// - Throws: ``UsageError`` if there is none.
    public init(user: String, passwordFile file: String) throws(UsageError) {
        guard let stream = fopen(file, "re") else { throw UsageError("\(file) cannot be read") }
        defer { fclose(stream) }
        var line = [CChar](repeating: 0, count: 1_024)
        guard fgets(&line, CInt(line.count), stream) != nil else {
            throw UsageError("\(file) is empty")
        }
        let bytes = line.prefix { $0 != 0 && $0 != 10 && $0 != 13 }
        let password = String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.init(user: user, password: password)
    }

    /// A name and its password.
    public init(user: String, password: String) {
        (self.user, self.password) = (user, password)
    }

    /// What to say to a server.
    ///
    /// - Parameter offer: The lines of its reply to `EHLO`, on the secured connection.
    /// - Returns: The commands in their order.
    /// - Throws: ``Failure`` if it offers no way that is known here.
    public func exchanges(for offer: [String]) throws -> [Exchange] {
        let ways = offer.map { $0.dropFirst(4).uppercased().split(separator: " ") }
            .first { $0.first == "AUTH" }
        if ways?.contains("PLAIN") == true {
            let secret = Self.base64([0] + user.utf8 + [0] + password.utf8)
            return [Exchange(command: "AUTH PLAIN \(secret)", name: "AUTH PLAIN", code: "235")]
        }
        guard ways?.contains("LOGIN") == true else {
            throw Failure("the server offers no login by PLAIN or LOGIN")
        }
        return [
            Exchange(command: "AUTH LOGIN", name: "AUTH LOGIN", code: "334"),
            Exchange(command: Self.base64(user.utf8), name: "the name", code: "334"),
            Exchange(command: Self.base64(password.utf8), name: "the password", code: "235"),
        ]
    }

    private static func base64(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let bytes = Array(bytes)
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = (group + [0, 0]).prefix(3).reduce(0) { $0 << 8 | Int($1) }
            for place in 0..<4 {
                let digit = digits[bits >> (18 - 6 * place) & 63]
                text.append(place <= group.count ? digit : "=")
            }
        }
        return text
    }
}

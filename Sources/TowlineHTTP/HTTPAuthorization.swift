internal import TowlineBytes

/// What proves who sends a request, where no challenge has to be answered.
///
/// Source: RFC 7617, RFC 6750.
public enum HTTPAuthorization {
    /// A name and a password, in UTF-8.
    ///
    /// - Parameters:
    ///   - username: Without colons and control characters.
    ///   - password: Without control characters.
    /// - Returns: The value of `Authorization` or `Proxy-Authorization`: `Basic bWU6c2VjcmV0`.
    /// - Throws: ``HTTPRequestFault/credential(_:)``.
    public static func basic(
        username: String,
        password: String
    ) throws(HTTPRequestFault) -> String {
        guard !username.utf8.contains(UInt8(ascii: ":")) else {
            throw .credential("the user name has a colon")
        }
        try checkControls(username, password)
        let digits = Base64.encode(Array("\(username):\(password)".utf8))
        return "Basic \(String(decoding: digits, as: UTF8.self))"
    }

    /// A token that proves by itself who sends it.
    ///
    /// - Parameter token: Letters, digits and what else ASCII has but spaces and control
    ///   characters.
    /// - Returns: Such as `Bearer abc`.
    /// - Throws: ``HTTPRequestFault/credential(_:)``.
    public static func bearer(_ token: String) throws(HTTPRequestFault) -> String {
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .credential("the token is empty, or has a byte that no token has")
        }
        return "Bearer \(token)"
    }

    static func checkControls(_ username: String, _ password: String) throws(HTTPRequestFault) {
        for (text, what) in [(username, "user name"), (password, "password")] {
            guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw .credential("the \(what) has a control character")
            }
        }
    }
}

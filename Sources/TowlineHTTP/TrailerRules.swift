/// Which fields may not stand behind a body: those that frame, route, authenticate or describe it,
/// and so have to be known before.
///
/// Source: RFC 9110 section 6.5.1.
enum TrailerRules {
    /// Whether a field of this name is banned.
    static func isBanned(_ name: String) -> Bool {
        let name = name.lowercased()
        return banned.contains(name) || bannedBeginnings.contains { name.hasPrefix($0) }
    }

    private static let banned: Set<String> = [
        // How long the message is, and what becomes of the connection.
        "connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding",
        "upgrade",
        // Where it goes, and whether.
        "cache-control", "expect", "host", "max-forwards", "pragma", "range",
        // Who sends it.
        "authorization", "cookie", "set-cookie", "www-authenticate",
        // What a response is about.
        "age", "date", "expires", "location", "retry-after", "vary", "warning",
    ]

    private static let bannedBeginnings = ["content-", "if-", "proxy-"]
}

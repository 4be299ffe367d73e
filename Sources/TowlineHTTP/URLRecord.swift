/// The parts of a URL of any scheme, as the standard keeps them.
///
/// Source: URL Standard section 4.1.
struct URLRecord: Sendable, Hashable {
    var scheme = ""
    /// Percent-encoded, as is the password.
    var username = ""
    var password = ""
    /// For schemes of others, a name is whatever stands there.
    var host: HTTPURL.Host?
    /// None if it is the scheme's own.
    var port: UInt16?
    /// With its first slash, unless it is opaque.
    var path: [UInt8] = []
    /// Whether the path is no list of segments, as in `mailto:somebody`.
    var isOpaque = false
    var query: String?
    var fragment: String?

    /// Whether the scheme is one that the standard treats apart: with a host, and `\` as a slash.
    var isSpecial: Bool { Self.isSpecial(scheme) }

    static func isSpecial(_ scheme: String) -> Bool {
        scheme == "file" || defaultPort(of: scheme) != nil
    }

    static func defaultPort(of scheme: String) -> UInt16? {
        switch scheme {
        case "http", "ws": 80
        case "https", "wss": 443
        case "ftp": 21
        default: nil
        }
    }

    /// Removes the last segment.
    mutating func shortenPath() {
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
        path.removeSubrange(slash...)
    }

    /// The whole as text.
    ///
    /// Source: URL Standard section 4.5.
    var href: String {
        var text = "\(scheme):"
        if let host {
            text += "//"
            if !username.isEmpty || !password.isEmpty {
                text += username
                if !password.isEmpty { text += ":\(password)" }
                text += "@"
            }
            text += host.description
            if let port { text += ":\(port)" }
        } else if !isOpaque, path.starts(with: "//".utf8) {
            text += "/."
        }
        text += String(decoding: path, as: UTF8.self)
        if let query { text += "?\(query)" }
        if let fragment { text += "#\(fragment)" }
        return text
    }
}

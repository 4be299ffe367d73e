/// A URL of http or https, taken apart as browsers do, and whole again.
///
/// Text becomes a URL in one of three ways, by who wrote it: `HTTPURL(text)` is for what a program
/// or a person gives, and refuses CR, LF, NUL and tabs, which have no business there; `resolve` is
/// for references that a peer sends, and refuses every control byte; `HTTPURL(text, rule:
/// .standard)` is the standard to the letter, which drops tabs and line ends wherever they stand.
/// Whichever it was, each part has only bytes from `!` through `~` afterwards, so none can end a
/// line of a request.
///
/// Two URLs are equal if all their parts are, the fragment included.
///
/// Source: URL Standard (url.spec.whatwg.org), for the schemes http and https.
public struct HTTPURL: Sendable, CustomStringConvertible {
    /// How a connection is protected.
    public enum Scheme: String, Sendable, Hashable {
        /// In clear.
        case http
        /// By TLS.
        case https

        /// 80 or 443.
        public var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    /// Who is asked.
    public enum Host: Sendable, Hashable, CustomStringConvertible {
        /// A name in lower-case ASCII; labels of other scripts as A-labels (`xn--…`).
        case name(String)
        /// Four decimal numbers, in whichever way they were written.
        case ipv4(String)
        /// An address in its shortest form, without brackets.
        case ipv6(String)

        /// As it stands in a URL: IPv6 in brackets.
        public var description: String {
            switch self {
            case .name(let text), .ipv4(let text): text
            case .ipv6(let text): "[\(text)]"
            }
        }

        /// As a lookup or a certificate has it: without brackets.
        public var text: String {
            switch self {
            case .name(let text), .ipv4(let text), .ipv6(let text): text
            }
        }

        /// Whether there is nothing to look up.
        public var isAddress: Bool {
            switch self {
            case .name: false
            case .ipv4, .ipv6: true
            }
        }
    }

    /// Which control bytes a text may have.
    public enum Rule: Sendable {
        /// For what a program or a person gives: CR, LF, NUL and tabs are refused.
        case given
        /// For what a peer sends: all below 0x20 and DEL are refused.
        case received
        /// As the standard says: tabs, CR and LF are dropped, others encoded or refused by part.
        case standard
    }

    /// Whom a secret was given for: it goes along to no other.
    public struct Origin: Sendable, Hashable, CustomStringConvertible {
        /// The scheme.
        public let scheme: Scheme
        /// The host.
        public let host: Host
        /// The port, also where it is the scheme's own.
        public let port: UInt16

        /// As the field `Origin` has it.
        public var description: String {
            port == scheme.defaultPort
                ? "\(scheme.rawValue)://\(host)" : "\(scheme.rawValue)://\(host):\(port)"
        }
    }

    /// All that it is made of.
    fileprivate struct Parts: Hashable {
        var scheme: Scheme
        var host: Host
        var port: UInt16?
        var username: String
        var password: String
        var path: String
        var query: String?
        var fragment: String?
    }

    /// Holds them, so that a copy counts one reference.
    fileprivate final class Storage: Sendable {
        let parts: Parts

        init(_ parts: Parts) {
            self.parts = parts
        }
    }

    fileprivate let storage: Storage

    fileprivate var parts: Parts { storage.parts }

    fileprivate init(_ parts: Parts) {
        storage = Storage(parts)
    }

    /// The scheme.
    public var scheme: Scheme { storage.parts.scheme }
    /// The host.
    public var host: Host { storage.parts.host }
    /// The port, if it is not the scheme's own.
    public var port: UInt16? { storage.parts.port }
    /// The user name, percent-encoded; empty if there is none.
    public var username: String { storage.parts.username }
    /// The password, percent-encoded; empty if there is none.
    public var password: String { storage.parts.password }
    /// The path with its leading slash, percent-encoded.
    public var path: String { storage.parts.path }
    /// What stands behind the question mark, percent-encoded; nil without one.
    public var query: String? { storage.parts.query }
    /// What stands behind the number sign, percent-encoded; nil without one.
    public var fragment: String? { storage.parts.fragment }

    /// Parses a text.
    ///
    /// - Parameters:
    ///   - text: A URL, or with a base a reference. Spaces around it are not heeded.
    ///   - base: What a reference is relative to.
    ///   - rule: Which control bytes the text may have.
    ///   - keepsDotSegments: Whether `.` and `..` stay in the path as they were written, which no
    ///     browser does.
    /// - Throws: ``HTTPURLError`` with what is wrong, and where.
    public init(
        _ text: String,
        relativeTo base: HTTPURL? = nil,
        rule: Rule = .given,
        keepsDotSegments: Bool = false
    ) throws(HTTPURLError) {
        try self.init(
            bytes: Array(text.utf8),
            relativeTo: base,
            rule: rule,
            keepsDotSegments: keepsDotSegments
        )
    }

    /// Parses bytes, which need not be UTF-8 outside of the host: what is beyond ASCII is encoded.
    ///
    /// - Parameters:
    ///   - bytes: A URL, or with a base a reference. Spaces around it are not heeded.
    ///   - base: What a reference is relative to.
    ///   - rule: Which control bytes there may be.
    ///   - keepsDotSegments: Whether `.` and `..` stay in the path as they were written.
    /// - Throws: ``HTTPURLError`` with what is wrong, and where.
    public init(
        bytes: [UInt8],
        relativeTo base: HTTPURL? = nil,
        rule: Rule = .given,
        keepsDotSegments: Bool = false
    ) throws(HTTPURLError) {
        if let offset = bytes.firstIndex(where: rule.refuses) {
            throw .controlByte(bytes[offset], offset: offset)
        }
        let isKept: (UInt8) -> Bool = { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        let record = try URLParser.parse(
            bytes.allSatisfy(isKept) ? bytes : bytes.filter(isKept),
            relativeTo: base?.record,
            keepsDotSegments: keepsDotSegments
        )
        try self.init(record)
    }

    /// The URL that these parts are.
    init(_ record: URLRecord) throws(HTTPURLError) {
        guard let scheme = Scheme(rawValue: record.scheme) else {
            throw .unsupportedScheme(record.scheme)
        }
        guard let host = record.host else { throw .missingHost(offset: 0) }
        self.init(
            Parts(
                scheme: scheme,
                host: host,
                port: record.port,
                username: record.username,
                password: record.password,
                path: String(decoding: record.path, as: UTF8.self),
                query: record.query,
                fragment: record.fragment
            )
        )
    }

    /// The URL that a reference of a peer's leads to, as in a `Location` field.
    ///
    /// - Parameter reference: A URL, or a part of one, which this URL completes.
    /// - Returns: The URL, with the reference's fragment, or none.
    /// - Throws: ``HTTPURLError``; a control byte anywhere refuses the reference.
    public func resolve(_ reference: String) throws(HTTPURLError) -> HTTPURL {
        try HTTPURL(reference, relativeTo: self, rule: .received)
    }

    /// The URL that a reference of a peer's leads to, by its bytes.
    ///
    /// - Parameter reference: A URL, or a part of one, which this URL completes.
    /// - Returns: The URL, with the reference's fragment, or none.
    /// - Throws: ``HTTPURLError``; a control byte anywhere refuses the reference.
    public func resolve(_ reference: [UInt8]) throws(HTTPURLError) -> HTTPURL {
        try HTTPURL(bytes: reference, relativeTo: self, rule: .received)
    }
}

extension HTTPURL: Hashable {
    /// Whether all parts are equal, the fragment included.
    public static func == (left: HTTPURL, right: HTTPURL) -> Bool {
        left.storage === right.storage || left.parts == right.parts
    }

    /// Hashes all parts.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(parts)
    }
}

extension HTTPURL.Rule {
    /// Whether a text that has this byte is refused.
    fileprivate func refuses(_ byte: UInt8) -> Bool {
        switch self {
        case .given: byte == 0x0D || byte == 0x0A || byte == 0 || byte == 0x09
        case .received: byte < 0x20 || byte == 0x7F
        case .standard: false
        }
    }
}

extension HTTPURL {
    /// The port to connect to.
    public var effectivePort: UInt16 { port ?? scheme.defaultPort }

    /// The user name as it was meant; ill-formed UTF-8 is replaced.
    public var decodedUsername: String { Self.decoded(username) }

    /// The password as it was meant; ill-formed UTF-8 is replaced.
    public var decodedPassword: String { Self.decoded(password) }

    /// Whether a user name or a password stands in front of the host.
    public var hasUserInfo: Bool { !username.isEmpty || !password.isEmpty }

    /// The whole as text, user info and fragment included.
    public var href: String { record.href }

    /// ``href``, with `***` for a password.
    public var description: String {
        guard !password.isEmpty else { return href }
        let user = "\(scheme.rawValue)://\(username):"
        return user + "***" + href.dropFirst(user.count + password.count)
    }

    /// Host, and port when it is not the scheme's own: what the field `Host` says.
    public var authority: String { port.map { "\(host):\($0)" } ?? host.description }

    /// Host and port, the latter always: what a proxy is asked to make a tunnel to.
    public var tunnelTarget: String { "\(host):\(effectivePort)" }

    /// Path and query: what a server is asked for.
    ///
    /// Source: RFC 9112 section 3.2.1.
    public var requestTarget: String { query.map { "\(path)?\($0)" } ?? path }

    /// All but user info and fragment: what a proxy is asked for.
    ///
    /// Source: RFC 9112 section 3.2.2.
    public var absoluteTarget: String { "\(scheme.rawValue)://\(authority)\(requestTarget)" }

    /// Scheme, host and port.
    public var origin: Origin { Origin(scheme: scheme, host: host, port: effectivePort) }

    /// The same without user name and password.
    public var withoutUserInfo: HTTPURL {
        var parts = parts
        parts.username = ""
        parts.password = ""
        return HTTPURL(parts)
    }

    /// The same without a fragment.
    public var withoutFragment: HTTPURL { withFragment(nil) }

    /// The same with another fragment; what has to be encoded in it, is.
    ///
    /// A redirect whose reference has none keeps that of the URL before.
    public func withFragment(_ fragment: String?) -> HTTPURL {
        var parts = parts
        parts.fragment = fragment.map { PercentEncoding.encode($0.utf8, .fragment) }
        return HTTPURL(parts)
    }

    var record: URLRecord {
        var record = URLRecord()
        record.scheme = scheme.rawValue
        record.username = username
        record.password = password
        record.host = host
        record.port = port
        record.path = Array(path.utf8)
        record.query = query
        record.fragment = fragment
        return record
    }

    private static func decoded(_ text: String) -> String {
        String(decoding: PercentEncoding.decode(text.utf8), as: UTF8.self)
    }
}

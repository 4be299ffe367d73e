/// What a server has asked to be told again.
///
/// Source: RFC 6265bis section 5.6.
public struct HTTPCookie: Sendable, Hashable {
    /// To which requests of other sites the cookie goes along; it is kept, and left to whoever
    /// knows what a site is.
    public enum SameSite: String, Sendable, Hashable {
        /// To all.
        case none
        /// To those that lead there.
        case lax
        /// To none.
        case strict
    }

    /// The name; may be empty.
    public var name: [UInt8]
    /// The value; may be empty.
    public var value: [UInt8]
    /// The host in lower case, without a dot in front.
    public var domain: String
    /// Whether it goes to ``domain`` alone, and not to the hosts below it.
    public var isHostOnly = true
    /// Where the paths begin that it goes to.
    public var path = "/"
    /// When it ends, in seconds from the beginning of 1970; nil for the end of the session.
    public var expires: Int64?
    /// Whether it goes over TLS alone.
    public var isSecure = false
    /// Whether scripts do not see it.
    public var isHTTPOnly = false
    /// What the server said of other sites, if anything.
    public var sameSite: SameSite?

    /// A cookie of a host's, for all paths, until the end of the session.
    public init(name: String, value: String, domain: String) {
        self.init(name: Array(name.utf8), value: Array(value.utf8), domain: domain)
    }

    init(name: [UInt8], value: [UInt8], domain: String) {
        self.name = name
        self.value = value
        self.domain = domain
    }

    /// As it is sent: name and value, or the value alone if there is no name.
    var pair: [UInt8] { name.isEmpty ? value : name + [UInt8(ascii: "=")] + value }
}

/// Why a cookie was not taken.
@nonexhaustive
public enum CookieFault: Error, Sendable, Hashable {
    /// It has a control byte, or neither a name nor a value.
    case malformed
    /// Its name and value have more than 4,096 bytes together.
    case tooLong
    /// It is for a domain that the host is not in.
    case foreignDomain(String)
    /// It is for a domain in which anybody can have a name, such as `com`.
    case publicSuffix(String)
    /// It is for TLS alone, and came without.
    case secureWithoutTLS
    /// It came without TLS, and would hide one that is for TLS alone.
    case hidesSecureCookie
    /// Its name begins with `__Secure-` or `__Host-`, and it is not what that promises.
    case brokenPrefix
}

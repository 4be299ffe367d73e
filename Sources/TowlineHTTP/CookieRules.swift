/// Whether a server may set a cookie, and whether a request may tell of one.
///
/// Source: RFC 6265bis sections 5.1.3, 5.1.4, 5.7 and 5.8.
enum CookieRules {
    /// The cookie that a response of this URL may set.
    static func cookie(_ asked: SetCookie, from url: HTTPURL) throws(CookieFault) -> HTTPCookie {
        var cookie = HTTPCookie(name: asked.name, value: asked.value, domain: url.host.text)
        if let domain = try domain(asked.domain, for: url.host) {
            cookie.domain = domain
            cookie.isHostOnly = false
        }
        let isGiven = asked.path.first == UInt8(ascii: "/")
        cookie.path = isGiven ? String(decoding: asked.path, as: UTF8.self) : defaultPath(of: url)
        cookie.expires = asked.expires
        cookie.isSecure = asked.isSecure
        cookie.isHTTPOnly = asked.isHTTPOnly
        cookie.sameSite = asked.sameSite
        guard !cookie.isSecure || url.scheme == .https else { throw .secureWithoutTLS }
        guard keepsPromise(cookie) else { throw .brokenPrefix }
        return cookie
    }

    /// The domain that is asked for; nil if the cookie is for the host alone.
    private static func domain(
        _ asked: [UInt8],
        for host: HTTPURL.Host
    ) throws(CookieFault) -> String? {
        guard !asked.isEmpty else { return nil }
        let text = String(decoding: asked, as: UTF8.self)
        let domain: HTTPURL.Host
        do throws(HTTPURLError.HostFault) {
            domain = try HostParser.parse(asked[...], isSpecial: true)
        } catch {
            throw .foreignDomain(text)
        }
        if case .name(let name) = domain, PublicSuffix.isPublic(name) {
            guard domain == host else { throw .publicSuffix(name) }
            return nil
        }
        if domain == host { return domain.text }
        guard !host.isAddress, !domain.isAddress, isDomain(host.text, in: domain.text) else {
            throw .foreignDomain(text)
        }
        return domain.text
    }

    /// Whether what a name's beginning promises, in whatever case, is so.
    ///
    /// A cookie without a name must not look as if it had such a one.
    private static func keepsPromise(_ cookie: HTTPCookie) -> Bool {
        let shown = (cookie.name.isEmpty ? cookie.value : cookie.name).prefix(9).map(ASCII.lower)
        let isHost = shown.starts(with: "__host-".utf8)
        guard isHost || shown.starts(with: "__secure-".utf8) else { return true }
        guard !cookie.name.isEmpty, cookie.isSecure else { return false }
        return !isHost || cookie.isHostOnly && cookie.path == "/"
    }

    private static func defaultPath(of url: HTTPURL) -> String {
        let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? url.path.startIndex
        return slash == url.path.startIndex ? "/" : String(url.path[..<slash])
    }

    /// The host, and each domain that it lies in, for looking up.
    static func domains(of host: HTTPURL.Host) -> [String] {
        guard !host.isAddress else { return [host.text] }
        let text = host.text
        let dots = text.indices.filter { text[$0] == "." }
        return [text] + dots.map { String(text[$0...].dropFirst()) }.filter { !$0.isEmpty }
    }

    /// Whether a request tells of a cookie, which belongs to its host or to a domain around it.
    static func goes(_ cookie: HTTPCookie, along url: HTTPURL, now: Int64) -> Bool {
        if cookie.isHostOnly, cookie.domain != url.host.text { return false }
        if cookie.isSecure, url.scheme != .https { return false }
        if let expires = cookie.expires, expires <= now { return false }
        return isPath(url.path, below: cookie.path)
    }

    /// Whether a name is a domain or lies in it; neither is an address, or both are the same.
    static func isDomain(_ name: String, in domain: String) -> Bool {
        name == domain || name.hasSuffix(".\(domain)")
    }

    /// Whether a path is another or begins with it, as whole segments; case counts.
    static func isPath(_ path: String, below other: String) -> Bool {
        let path = path.utf8
        let other = other.utf8
        guard path.starts(with: other) else { return false }
        return path.count == other.count || other.last == UInt8(ascii: "/")
            || path.dropFirst(other.count).first == UInt8(ascii: "/")
    }
}

/// What is known of public suffixes without a list.
enum OneLabel {
    static func isMatched(by domain: String) -> Bool {
        !domain.utf8.dropLast(domain.utf8.last == 0x2E ? 1 : 0).contains(UInt8(ascii: "."))
    }
}

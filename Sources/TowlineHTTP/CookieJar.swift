/// What servers have asked to be told again, and which of it a request tells.
///
/// It keeps no time: each call that needs it is told, in seconds from the beginning of 1970.
/// Bounds: a cookie has 4,096 bytes of name and value, a domain 50 cookies, the jar 3,000; what is
/// over goes, the expired and the longest unused first. None is kept for more than 400 days.
///
/// Source: RFC 6265bis section 5.
public struct CookieJar: Sendable {
    /// The most cookies of a domain.
    public static let domainLimit = 50
    /// The most cookies in all.
    public static let limit = 3000

    private struct Entry {
        var cookie: HTTPCookie
        /// In which order cookies were made, and used: there may be many in a second.
        var made: UInt64
        var used: UInt64
    }

    /// By domain.
    private var entries: [String: [Entry]] = [:]
    private var clock: UInt64 = 0

    /// A jar without cookies.
    public init() {}

    /// How many cookies there are, expired ones included.
    public private(set) var count = 0

    /// All cookies, by domain and then in the order in which they were made.
    public var cookies: [HTTPCookie] {
        entries.keys.sorted().flatMap { domain in
            (entries[domain] ?? []).sorted { $0.made < $1.made }.map(\.cookie)
        }
    }

    /// Takes the cookies of a response.
    ///
    /// - Parameters:
    ///   - headers: The response's fields; each `Set-Cookie` is one cookie.
    ///   - url: What the response answers.
    ///   - now: The time, in seconds from the beginning of 1970.
    /// - Returns: Why cookies were not taken, for those that were not.
    @discardableResult
    public mutating func store(
        _ headers: HTTPHeaders,
        from url: HTTPURL,
        now: Int64
    ) -> [CookieFault] {
        var fields: [[UInt8]] = []
        headers.forEachValue(of: "Set-Cookie") { fields.append(Array($0)) }
        return fields.compactMap { field in
            do throws(CookieFault) {
                try store(field, from: url, now: now)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Takes one cookie.
    ///
    /// - Parameters:
    ///   - field: The value of `Set-Cookie`.
    ///   - url: What the response answers.
    ///   - now: The time, in seconds from the beginning of 1970.
    /// - Throws: ``CookieFault``; the jar is as it was then.
    public mutating func store(
        _ field: [UInt8],
        from url: HTTPURL,
        now: Int64
    ) throws(CookieFault) {
        let asked = try SetCookie(field, now: now)
        let cookie = try CookieRules.cookie(asked, from: url)
        if !cookie.isSecure, url.scheme == .http, hidesSecure(cookie) { throw .hidesSecureCookie }
        insert(cookie, now: now)
    }

    /// Puts a cookie in whoever it is from, in place of one with the same name, domain and path.
    ///
    /// - Parameters:
    ///   - cookie: One that has expired removes its predecessor.
    ///   - now: The time, in seconds from the beginning of 1970.
    public mutating func insert(_ cookie: HTTPCookie, now: Int64) {
        let made = remove(like: cookie)
        guard cookie.expires.map({ $0 > now }) ?? true else { return }
        clock += 1
        let entry = Entry(cookie: cookie, made: made ?? clock, used: clock)
        entries[cookie.domain, default: []].append(entry)
        count += 1
        makeRoom(in: cookie.domain, now: now)
    }

    /// The value of `Cookie` for a request: longer paths first, then older cookies.
    ///
    /// - Parameters:
    ///   - url: What is asked for.
    ///   - now: The time, in seconds from the beginning of 1970.
    /// - Returns: The value; nil if there is nothing to tell.
    public mutating func field(for url: HTTPURL, now: Int64) -> [UInt8]? {
        clock += 1
        var found: [Entry] = []
        for domain in CookieRules.domains(of: url.host) {
            guard var list = entries.removeValue(forKey: domain) else { continue }
            for index in list.indices
            where CookieRules.goes(list[index].cookie, along: url, now: now) {
                list[index].used = clock
                found.append(list[index])
            }
            entries[domain] = list
        }
        guard !found.isEmpty else { return nil }
        found.sort {
            let lengths = ($0.cookie.path.utf8.count, $1.cookie.path.utf8.count)
            return lengths.0 == lengths.1 ? $0.made < $1.made : lengths.0 > lengths.1
        }
        return Array(found.map(\.cookie.pair).joined(separator: "; ".utf8))
    }

    /// Removes what would go with the end of the session: what has no date.
    public mutating func removeSessionCookies() {
        removeAll { $0.expires == nil }
    }

    /// Removes what has expired.
    ///
    /// - Parameter now: The time, in seconds from the beginning of 1970.
    public mutating func removeExpired(now: Int64) {
        removeAll { $0.expires.map { $0 <= now } ?? false }
    }

    /// Removes the cookies that this says so of.
    public mutating func removeAll(where shouldRemove: (HTTPCookie) -> Bool) {
        for domain in Array(entries.keys) { removeAll(in: domain) { shouldRemove($0.cookie) } }
    }
}

extension CookieJar {
    private mutating func removeAll(in domain: String, where shouldRemove: (Entry) -> Bool) {
        guard var list = entries.removeValue(forKey: domain) else { return }
        count -= list.count
        list.removeAll(where: shouldRemove)
        count += list.count
        if !list.isEmpty { entries[domain] = list }
    }

    /// Removes the cookie that this one replaces, and says when it was made.
    private mutating func remove(like cookie: HTTPCookie) -> UInt64? {
        var made: UInt64?
        removeAll(in: cookie.domain) { entry in
            let other = entry.cookie
            let isSame =
                other.name == cookie.name && other.path == cookie.path
                && other.isHostOnly == cookie.isHostOnly
            if isSame { made = entry.made }
            return isSame
        }
        return made
    }

    /// Whether a cookie that came without TLS would come before one that is for TLS alone.
    private func hidesSecure(_ cookie: HTTPCookie) -> Bool {
        entries.contains { domain, list in
            guard
                CookieRules.isDomain(cookie.domain, in: domain)
                    || CookieRules.isDomain(domain, in: cookie.domain)
            else { return false }
            return list.contains {
                $0.cookie.isSecure && $0.cookie.name == cookie.name
                    && CookieRules.isPath(cookie.path, below: $0.cookie.path)
            }
        }
    }

    /// Lets go of what is over the bounds.
    private mutating func makeRoom(in domain: String, now: Int64) {
        let isExpired: (Entry) -> Bool = { $0.cookie.expires.map { $0 <= now } ?? false }
        if (entries[domain]?.count ?? 0) > Self.domainLimit {
            removeAll(in: domain, where: isExpired)
            let list = entries[domain] ?? []
            if list.count > Self.domainLimit {
                // Those for TLS alone stay longer than others.
                let pool =
                    list.contains { !$0.cookie.isSecure }
                    ? list.filter { !$0.cookie.isSecure } : list
                removeOldest(of: pool, in: domain)
            }
        }
        guard count > Self.limit else { return }
        for (other, list) in entries where list.contains(where: isExpired) {
            removeAll(in: other, where: isExpired)
        }
        guard count > Self.limit else { return }
        var oldest: (domain: String, used: UInt64)?
        for (other, list) in entries {
            for entry in list where entry.used < oldest?.used ?? .max {
                oldest = (other, entry.used)
            }
        }
        if let oldest { removeOldest(of: entries[oldest.domain] ?? [], in: oldest.domain) }
    }

    private mutating func removeOldest(of pool: [Entry], in domain: String) {
        guard let oldest = pool.min(by: { ($0.used, $0.made) < ($1.used, $1.made) }) else { return }
        removeAll(in: domain) { $0.made == oldest.made }
    }
}

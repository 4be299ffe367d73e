/// Cookies in a file, as Netscape had them and curl has them still: a line for each, seven columns
/// with tabs between.
///
/// Source: curl.se/docs/http-cookies.html.
extension CookieJar {
    private static let tab = UInt8(ascii: "\t")
    private static let httpOnlyMark = "#HttpOnly_"

    /// The cookies of a file; lines that are none are passed over.
    ///
    /// - Parameters:
    ///   - file: What is in the file.
    ///   - now: The time, in seconds from the beginning of 1970; what has expired is left out.
    public init(file: [UInt8], now: Int64) {
        self.init()
        for line in file.split(separator: UInt8(ascii: "\n")) {
            if let cookie = Self.cookie(line) { insert(cookie, now: now) }
        }
    }

    /// What is to be put into a file: all cookies that have not expired.
    ///
    /// - Parameter now: The time, in seconds from the beginning of 1970.
    /// - Returns: A line for each, those without a date with 0 for it.
    public func file(now: Int64) -> [UInt8] {
        var output = Array(
            "# Netscape HTTP Cookie File\n# Written by Towline; edit with care.\n\n".utf8
        )
        for cookie in cookies {
            let isExpired = cookie.expires.map { $0 <= now } ?? false
            guard !isExpired, !cookie.name.contains(Self.tab) else { continue }
            let front = [
                (cookie.isHTTPOnly ? Self.httpOnlyMark : "") + (cookie.isHostOnly ? "" : ".")
                    + cookie.domain,
                cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path,
                cookie.isSecure ? "TRUE" : "FALSE", String(cookie.expires ?? 0),
            ]
            output += front.joined(separator: "\t").utf8
            output += [Self.tab] + cookie.name + [Self.tab] + cookie.value + [UInt8(ascii: "\n")]
        }
        return output
    }

    private static func cookie(_ line: ArraySlice<UInt8>) -> HTTPCookie? {
        var line = line.last == 0x0D ? line.dropLast() : line
        let isHTTPOnly = line.starts(with: httpOnlyMark.utf8)
        if isHTTPOnly {
            line = line.dropFirst(httpOnlyMark.utf8.count)
        } else if line.first == UInt8(ascii: "#") {
            return nil
        }
        let columns = line.split(separator: tab, maxSplits: 6, omittingEmptySubsequences: false)
        guard columns.count >= 6, line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == tab }),
            let date = Int64(String(decoding: columns[4], as: UTF8.self))
        else { return nil }
        let value = columns.count > 6 ? Array(columns[6]) : []
        let isDotted = columns[0].first == UInt8(ascii: ".")
        let domain = columns[0].dropFirst(isDotted ? 1 : 0).map(ASCII.lower)
        guard !domain.isEmpty, columns[5].count + value.count <= SetCookie.byteLimit else {
            return nil
        }
        var cookie = HTTPCookie(
            name: Array(columns[5]),
            value: value,
            domain: String(decoding: domain, as: UTF8.self)
        )
        let isTrue: (ArraySlice<UInt8>) -> Bool = { $0.map(ASCII.lower).elementsEqual("true".utf8) }
        cookie.isHostOnly = !isTrue(columns[1])
        let path = String(decoding: columns[2], as: UTF8.self)
        cookie.path = path.hasPrefix("/") ? path : "/"
        cookie.isSecure = isTrue(columns[3])
        cookie.isHTTPOnly = isHTTPOnly
        cookie.expires = date == 0 ? nil : date
        return cookie
    }
}

internal import TowlineHTTP

/// What is done to a URL before it is one: a scheme in front, a query or a file name behind.
enum URLText {
    /// With a scheme; one that is not written is `http`.
    static func withScheme(_ text: String) -> String {
        let text = text.drop { $0 == " " }
        let scheme = text.prefix {
            $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
        }
        if !scheme.isEmpty, text.dropFirst(scheme.count).hasPrefix(":/") { return String(text) }
        return "http://" + text
    }

    /// The scheme in lower case.
    static func scheme(of text: String) -> String {
        String(text.prefix { $0 != ":" }).lowercased()
    }

    /// With another piece of query behind the one that is there.
    static func adding(query: String, to text: String) -> String {
        guard !query.isEmpty else { return text }
        let end = text.firstIndex(of: "#") ?? text.endIndex
        var head = String(text[..<end])
        if !head.contains("?"), let start = head.range(of: "://"),
            !head[start.upperBound...].contains("/")
        {
            head += "/"
        }
        head += head.contains("?") ? (head.hasSuffix("?") || head.hasSuffix("&") ? "" : "&") : "?"
        return head + query + text[end...]
    }

    /// With the name of a file, where the path ends with a slash or is not there.
    static func naming(file: String, in text: String) -> String {
        guard file != "-", file != "." else { return text }
        let end = text.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
        var head = String(text[..<end])
        let start = head.range(of: "://")?.upperBound ?? head.startIndex
        if !head[start...].contains("/") { head += "/" }
        guard head.hasSuffix("/") else { return text }
        let name = file.split(separator: "/").last.map(String.init) ?? ""
        head += String(decoding: FormEncoding.encode(Array(name.utf8)), as: UTF8.self)
        return head + text[end...]
    }

    /// The last segment of the path, which is what a file is named after; `nil` without one.
    static func lastSegment(of text: String) -> String? {
        let whole = withScheme(text)
        let end = whole.firstIndex { $0 == "?" || $0 == "#" } ?? whole.endIndex
        guard let start = whole.range(of: "://")?.upperBound, start <= end,
            let slash = whole[start..<end].lastIndex(of: "/")
        else { return nil }
        let name = whole[whole.index(after: slash)..<end]
        return name.isEmpty ? nil : String(name)
    }
}

extension StringProtocol {
    /// Where a text stands first.
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            formIndex(after: &start)
        }
        return nil
    }
}

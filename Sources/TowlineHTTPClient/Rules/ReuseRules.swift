internal import TowlineHTTP

/// Whether a connection may serve another exchange, as far as heads say.
///
/// Source: RFC 9112 section 9.3.
enum ReuseRules {
    /// Whether the peer keeps the connection behind this response.
    static func isKept(_ head: HTTPResponseHead) -> Bool {
        let options = head.headers.elements(of: "Connection").map { $0.lowercased() }
        if options.contains("close") { return false }
        return head.version >= .http11 || options.contains("keep-alive")
    }

    /// Whether the request leaves the connection open behind its response.
    static func isKept(_ version: HTTPVersion, _ headers: HTTPHeaders) -> Bool {
        let options = headers.elements(of: "Connection").map { $0.lowercased() }
        if options.contains("close") { return false }
        return version >= .http11 || options.contains("keep-alive")
    }

    /// How long the peer keeps an idle connection, if it says so: 0 through 86,400 s.
    ///
    /// Source: RFC 2068 section 19.7.1.1, where the field comes from.
    static func keepAliveSeconds(_ headers: HTTPHeaders) -> Int? {
        for element in headers.elements(of: "Keep-Alive") {
            let parts = element.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "timeout",
                let seconds = Int(parts[1]), seconds >= 0
            else { continue }
            return min(seconds, 86_400)
        }
        return nil
    }
}

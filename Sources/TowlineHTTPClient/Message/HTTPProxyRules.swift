internal import Glibc
internal import Towline
public import TowlineHTTP

/// Which proxy is asked for which URL.
///
///     configuration.proxy = .all(.http("proxy.test", 3128), except: ["localhost", "10.0.0.0/8"])
public struct HTTPProxyRules: Sendable, Hashable {
    /// For URLs of http.
    public var forHTTP: HTTPProxy?

    /// For URLs of https.
    public var forHTTPS: HTTPProxy?

    /// Hosts that are connected to without a proxy.
    ///
    /// A name stands for itself and for all names below it, with or without a leading dot; an
    /// address for itself, however it is written; `10.0.0.0/8` and `fd00::/8` for the addresses
    /// that begin so; `*` for all.
    public var exceptions: [String] = []

    /// No proxy.
    public static let direct = HTTPProxyRules()

    /// One proxy for all URLs.
    ///
    /// - Parameters:
    ///   - proxy: The proxy.
    ///   - exceptions: Hosts that are connected to without it.
    /// - Returns: The rules.
    public static func all(_ proxy: HTTPProxy, except exceptions: [String] = []) -> HTTPProxyRules {
        var rules = HTTPProxyRules()
        rules.forHTTP = proxy
        rules.forHTTPS = proxy
        rules.exceptions = exceptions
        return rules
    }

    private init() {}

    /// What the process's environment says.
    ///
    /// - Throws: ``HTTPError/invalidURL(_:reason:)`` if a variable names no proxy.
    public static func environment() throws(HTTPError) -> HTTPProxyRules {
        try environment { name in getenv(name).map { String(cString: $0) } }
    }

    /// What an environment says.
    ///
    /// That is `http_proxy`, in lower case alone, since a server may be made to set the other from
    /// a request's `Proxy` field; `https_proxy` and `HTTPS_PROXY`; `all_proxy` and `ALL_PROXY`
    /// where those are not set; `no_proxy` and `NO_PROXY`, whose hosts stand between commas or
    /// blanks. An empty variable counts as none.
    ///
    /// - Parameter variable: The value of a variable.
    /// - Returns: The rules.
    /// - Throws: ``HTTPError/invalidURL(_:reason:)`` if a variable names no proxy.
    public static func environment(
        _ variable: (String) -> String?
    ) throws(HTTPError) -> HTTPProxyRules {
        func value(_ names: String...) -> String? {
            for name in names {
                if let value = variable(name), !value.isEmpty { return value }
            }
            return nil
        }
        func proxy(_ text: String?) throws(HTTPError) -> HTTPProxy? {
            guard let text else { return nil }
            return try HTTPProxy(text)
        }
        var rules = HTTPProxyRules()
        let forAll = value("all_proxy", "ALL_PROXY")
        rules.forHTTP = try proxy(value("http_proxy") ?? forAll)
        rules.forHTTPS = try proxy(value("https_proxy", "HTTPS_PROXY") ?? forAll)
        rules.exceptions = (value("no_proxy", "NO_PROXY") ?? "")
            .split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
        return rules
    }

    /// The proxy that is asked for a URL; `nil`, none.
    public func proxy(for url: HTTPURL) -> HTTPProxy? {
        guard let proxy = url.scheme == .http ? forHTTP : forHTTPS else { return nil }
        return exceptions.contains { Self.matches($0, url.host) } ? nil : proxy
    }

    private static func matches(_ entry: String, _ host: HTTPURL.Host) -> Bool {
        if entry == "*" { return true }
        switch host {
        case .name(let name):
            let pattern = LookupName.canonical(
                entry.first == "." ? String(entry.dropFirst()) : entry
            )
            let name = LookupName.canonical(name)
            return !pattern.isEmpty && (name == pattern || name.hasSuffix(".\(pattern)"))
        case .ipv4(let text), .ipv6(let text):
            guard let address = IPAddress(text) else { return false }
            return matches(entry, address)
        }
    }

    private static func matches(_ entry: String, _ address: IPAddress) -> Bool {
        let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
        let isBracketed = parts[0].first == "[" && parts[0].last == "]"
        let text = isBracketed ? parts[0].dropFirst().dropLast() : parts[0]
        guard let base = IPAddress(String(text)) else { return false }
        let (left, right) = (base.networkBytes, address.networkBytes)
        guard left.count == right.count else { return false }
        guard parts.count > 1 else { return left == right }
        guard parts.count == 2, let length = Int(parts[1]), (0...8 * left.count).contains(length)
        else { return false }
        return (0..<length).allSatisfy { bit in
            (left[bit / 8] ^ right[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }
}

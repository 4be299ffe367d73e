public import TowlineHTTP

/// Who connects on our behalf.
public struct HTTPProxy: Sendable, Hashable {
    /// What it speaks.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// HTTP: requests for http are sent to it whole, for https it is asked for a tunnel.
        case http
        /// SOCKS, version 5; each origin has its own tunnel (RFC 1928).
        case socks5
    }

    /// What it speaks.
    public var kind: Kind

    /// Where it is.
    public var place: HTTPHostPort

    /// Who asks; sent to the proxy and to nobody else.
    public var credential: HTTPCredential?

    /// Whether a proxy of HTTP is asked for a tunnel for http, too.
    public var tunnelsAll = false

    /// Whether a proxy of SOCKS is given names, and not the first address that we find for them.
    public var resolvesNames = true

    /// Fields that are sent along when a proxy of HTTP is asked for a tunnel.
    public var fields: [HTTPHeaders.Field] = []

    /// A proxy that speaks HTTP.
    ///
    /// - Parameters:
    ///   - host: Its name or address.
    ///   - port: Its port.
    ///   - credential: Who asks.
    ///   - tunnelsAll: Whether it is asked for a tunnel for http, too.
    /// - Returns: The proxy.
    public static func http(
        _ host: String,
        _ port: UInt16,
        credential: HTTPCredential? = nil,
        tunnelsAll: Bool = false
    ) -> HTTPProxy {
        var proxy = HTTPProxy(kind: .http, place: HTTPHostPort(host, port), credential: credential)
        proxy.tunnelsAll = tunnelsAll
        return proxy
    }

    /// A proxy that speaks SOCKS, version 5.
    ///
    /// - Parameters:
    ///   - host: Its name or address.
    ///   - port: Its port.
    ///   - credential: A user and a password; `nil`, none is offered.
    ///   - resolvesNames: Whether it is given names.
    /// - Returns: The proxy.
    public static func socks5(
        _ host: String,
        _ port: UInt16,
        credential: HTTPCredential? = nil,
        resolvesNames: Bool = true
    ) -> HTTPProxy {
        let place = HTTPHostPort(host, port)
        var proxy = HTTPProxy(kind: .socks5, place: place, credential: credential)
        proxy.resolvesNames = resolvesNames
        return proxy
    }

    private init(kind: Kind, place: HTTPHostPort, credential: HTTPCredential?) {
        self.kind = kind
        self.place = place
        self.credential = credential
    }

    /// A proxy as people write one: `http://user:password@proxy.test:3128`.
    ///
    /// Without a scheme it is `http`; with `socks5` names are looked up here, with `socks5h` there.
    /// Without a port it is 1080.
    ///
    /// - Parameter text: The text.
    /// - Throws: ``HTTPError/invalidURL(_:reason:)`` if it is none of these.
    public init(_ text: String) throws(HTTPError) {
        let (scheme, rest) = Self.parts(of: text)
        let kind: Kind
        switch scheme {
        case "http", nil: kind = .http
        case "socks5", "socks5h": kind = .socks5
        case let other?:
            throw .invalidURL(text, reason: "a proxy that speaks \(other) is not known")
        }
        // A port that is a scheme's own is told apart from none by asking as two schemes.
        let (plain, secure): (HTTPURL, HTTPURL)
        do throws(HTTPURLError) {
            plain = try HTTPURL("http://\(rest)")
            secure = try HTTPURL("https://\(rest)")
        } catch {
            throw .invalidURL(text, reason: error.description)
        }
        let hasUser = !plain.username.isEmpty || !plain.password.isEmpty
        self.init(
            kind: kind,
            place: HTTPHostPort(plain.host.text, plain.port ?? secure.port ?? 1_080),
            credential: hasUser
                ? .basic(user: plain.decodedUsername, password: plain.decodedPassword) : nil
        )
        resolvesNames = scheme != "socks5"
    }

    private static func parts(of text: String) -> (scheme: String?, rest: Substring) {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        else { return (nil, text[...]) }
        return (text[..<colon].lowercased(), text[bytes.index(colon, offsetBy: 3)...])
    }

    /// Such as `http://proxy.test:3128`; without the credential.
    var text: String { "\(kind == .http ? "http" : "socks5")://\(place)" }
}

internal import Towline
internal import TowlineCoding
internal import TowlineHTTP
internal import TowlineTLS

/// A request as it goes out.
final class OutgoingRequest {
    let head: [UInt8]
    /// The body; `nil` without one.
    let source: BodySource?
    /// Whether the body waits for the server's consent.
    let expectsContinue: Bool
    /// Whether the connection ends with this exchange, as the request says.
    let closes: Bool
    /// Whether content is decoded that the server has coded.
    let decodesContent: Bool

    init(
        head: [UInt8],
        source: BodySource?,
        expectsContinue: Bool,
        closes: Bool,
        decodesContent: Bool
    ) {
        self.head = head
        self.source = source
        self.expectsContinue = expectsContinue
        self.closes = closes
        self.decodesContent = decodesContent
    }
}

/// From what is asked to bytes, and to whom they go.
extension HTTPClient {
    /// The first request of an exchange.
    func firstHop(of request: HTTPRequest) throws(HTTPError) -> Hop {
        let hop = try nextHop(request)
        // The user in the caller's own URL is the origin's, for redirects within it, too.
        if hop.url.hasUserInfo, request.credential == nil {
            hop.request.credential = .basic(
                user: hop.url.decodedUsername,
                password: hop.url.decodedPassword
            )
        }
        return hop
    }

    /// A request on its way.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - last: The hop that leads to it; `nil` for the first.
    ///   - keepsAll: Whether what belongs to an origin goes along to others.
    /// - Returns: The hop.
    /// - Throws: ``HTTPError/invalidURL(_:reason:)``.
    func nextHop(
        _ request: HTTPRequest,
        after last: Hop? = nil,
        keepsAll: Bool = false
    ) throws(HTTPError) -> Hop {
        let url = try parsed(request.url)
        let keeps = last.map { keepsAll || $0.keepsCredentials && $0.url.origin == url.origin }
        let key =
            request.isUsual && keeps != false
            ? place(of: url).key : key(for: request, url, keepsCredentials: keeps ?? true)
        return Hop(request: request, url: url, key: key, keepsCredentials: keeps ?? true)
    }

    /// Takes a URL apart, unless it is the one of the request before.
    private func parsed(_ text: String) throws(HTTPError) -> HTTPURL {
        if let lastURL, lastURL.text == text { return lastURL.url }
        do throws(HTTPURLError) {
            let url = try HTTPURL(text)
            lastURL = (text, url)
            return url
        } catch {
            throw .invalidURL(text, reason: error.description)
        }
    }

    /// What requests to a URL's origin have in common.
    private func place(of url: HTTPURL) -> KnownPlace {
        if let lastPlace, lastPlace.isPlace(of: url) { return lastPlace }
        let known = places.first { $0.isPlace(of: url) }
        if let known {
            lastPlace = known
            return known
        }
        let key = key(for: HTTPRequest(.get, ""), url, keepsCredentials: true)
        let place = KnownPlace(url: url, key: key)
        if places.count >= KnownPlace.limit { places.removeFirst() }
        places.append(place)
        lastPlace = place
        return place
    }

    /// What leads to a tunnel's other end: there is nothing to send.
    func tunnelHop(_ request: HTTPRequest) throws(HTTPError) -> Hop {
        let hop = try firstHop(of: request)
        hop.isTunnel = true
        hop.needsNewConnection = true
        hop.key = hop.key.changed { $0.isHandedOver = true }
        return hop
    }

    private func key(for request: HTTPRequest, _ url: HTTPURL, keepsCredentials: Bool) -> PoolKey {
        let unixPath = request.unixPath ?? configuration.unixPath
        let way = unixPath == nil ? self.way(for: request, url) : .direct
        if case .forward(let proxy) = way {
            return PoolKey(
                PoolKey.Parts(
                    scheme: .http,
                    host: .name(proxy.place.host),
                    port: proxy.place.port,
                    way: way,
                    partition: request.partition
                )
            )
        }
        let identity = url.scheme == .https ? self.identity(request, url, keepsCredentials) : nil
        return PoolKey(
            PoolKey.Parts(
                scheme: url.scheme,
                host: url.host,
                port: url.effectivePort,
                detour: detour(from: HTTPHostPort(url.host.text, url.effectivePort)),
                unixPath: unixPath,
                way: way,
                serverName: configuration.tlsServerName,
                identity: identity.map { IdentityMark(identity: $0) },
                partition: request.partition
            )
        )
    }

    /// Whether a proxy stands between.
    private func way(for request: HTTPRequest, _ url: HTTPURL) -> PoolKey.Way {
        guard var proxy = (request.proxy ?? configuration.proxy).proxy(for: url) else {
            return .direct
        }
        if let credential = request.proxyCredential { proxy.credential = credential }
        let isTunnel =
            proxy.kind != .http || url.scheme == .https || proxy.tunnelsAll
            || !request.upgrade.isEmpty || request.method == .connect
        return isTunnel ? .tunnel(proxy) : .forward(proxy)
    }

    private func detour(from place: HTTPHostPort) -> HTTPHostPort? {
        let detours = configuration.detours
        guard !detours.isEmpty else { return nil }
        let candidates = [
            place, HTTPHostPort(place.host, 0), HTTPHostPort("", place.port), HTTPHostPort("", 0),
        ]
        guard let target = candidates.lazy.compactMap({ detours[$0] }).first else { return nil }
        return HTTPHostPort(
            target.host.isEmpty ? place.host : target.host,
            target.port == 0 ? place.port : target.port
        )
    }

    private func identity(
        _ request: HTTPRequest,
        _ url: HTTPURL,
        _ keepsCredentials: Bool
    ) -> Identity? {
        if let identity = request.identity ?? configuration.identities[url.origin] {
            return identity
        }
        return keepsCredentials ? configuration.tls.identity : nil
    }

    /// How connections of this key are secured.
    func tlsSettings(for key: PoolKey) -> TLSConfiguration {
        var settings = configuration.tls
        settings.serverName = .name(key.serverName ?? key.host.text)
        if settings.applicationProtocols.isEmpty { settings.applicationProtocols = ["http/1.1"] }
        settings.identity = key.identity?.identity
        if configuration.toleratesMissingCloseNotify { settings.truncation = .asEnd }
        return settings
    }

    /// The bytes of a request, checked.
    func outgoing(_ hop: Hop) throws(HTTPError) -> OutgoingRequest {
        let request = hop.request
        let body = request.body
        let source = body.isNone ? nil : try BodySource(body)
        let length = source?.length ?? .none
        let expects = expectsContinue(hop, length)
        let decodes = decodesContent(request)
        guard request.method != .connect else {
            throw .invalidRequest(.method(request.method.rawValue))
        }
        do throws(HTTPRequestFault) {
            let common = try commonFields(of: hop, decodes: decodes)
            var headers = HTTPHeaders()
            if common == nil { addOwnHeaders(to: &headers, request, hop.url, decodes: decodes) }
            try addProofs(to: &headers, hop)
            addFraming(to: &headers, hop, source, expectsContinue: expects)
            let head = HTTPRequestHead(
                method: request.method,
                target: target(of: hop),
                version: request.version,
                headers: headers
            )
            return OutgoingRequest(
                head: try HTTP1Writer.head(head, behind: common, body: length),
                source: source,
                expectsContinue: expects,
                closes: !ReuseRules.isKept(head.version, headers),
                decodesContent: decodes
            )
        } catch {
            throw .invalidRequest(error)
        }
    }

    /// What the server, or the proxy, is asked for.
    private func target(of hop: Hop) -> String {
        guard case .forward = hop.key.way else {
            return hop.request.target ?? hop.url.requestTarget
        }
        let origin = "\(hop.url.scheme.rawValue)://\(hop.url.authority)"
        switch hop.request.target {
        case nil: return hop.url.absoluteTarget
        case "*": return origin
        case let target?: return target.hasPrefix("/") ? origin + target : target
        }
    }

    private func expectsContinue(_ hop: Hop, _ length: HTTPBodyLength) -> Bool {
        guard !hop.skipsContinue, hop.request.version >= .http11 else { return false }
        let size: UInt64
        switch length {
        case .none, .known(0): return false
        case .known(let count): size = count
        case .unknown: size = .max
        }
        switch hop.request.expectsContinue {
        case .always: return true
        case .never: return false
        case .fromSize(let limit): return size >= limit
        }
    }

    private func decodesContent(_ request: HTTPRequest) -> Bool {
        if request.isUsual, request.headers.isEmpty { return configuration.decodesContent }
        if let decodes = request.decodesContent { return decodes }
        return configuration.decodesContent && !request.headers.contains("Accept-Encoding")
            && !request.headers.contains("Range")
    }

    // MARK: Fields

    /// What is sent in front of all requests to a place; `nil` for one that says otherwise.
    private func commonFields(
        of hop: Hop,
        decodes: Bool
    ) throws(HTTPRequestFault) -> HTTPCommonFields? {
        guard hop.request.isUsual, !hop.request.replacesOwnHeaders else { return nil }
        let place = place(of: hop.url)
        if let fields = place[decodes: decodes] { return fields }
        var headers = HTTPHeaders()
        addOwnHeaders(to: &headers, HTTPRequest(.get, ""), hop.url, decodes: decodes)
        let fields = try HTTPCommonFields(headers)
        place[decodes: decodes] = fields
        return fields
    }

    /// What is sent in front, where the request does not say otherwise.
    private func addOwnHeaders(
        to headers: inout HTTPHeaders,
        _ request: HTTPRequest,
        _ url: HTTPURL,
        decodes: Bool
    ) {
        headers.reserveCapacity(fieldCount: request.headers.count + 6, byteCount: 256)
        if request.lacks("Host") { headers.add("Host", url.authority) }
        if let userAgent = configuration.userAgent, request.lacks("User-Agent") {
            headers.add("User-Agent", userAgent)
        }
        if request.lacks("Accept") { headers.add("Accept", "*/*") }
        if decodes, request.lacks("Accept-Encoding") {
            headers.add("Accept-Encoding", ContentCoding.acceptEncoding)
        }
    }

    /// What proves who asks, and what the server has asked to be told again.
    private func addProofs(
        to headers: inout HTTPHeaders,
        _ hop: Hop
    ) throws(HTTPRequestFault) {
        // Most requests have nothing to prove.
        let isPlain = hop.hasNoCredential && !hop.isForwarded
        for asker in isPlain ? [] : hop.askers where hop.request.lacks(asker.answerField) {
            guard let credential = hop.provenCredential(for: asker) else { continue }
            let value = try credentials.value(
                of: credential,
                for: asker,
                method: hop.request.method,
                target: target(of: hop)
            )
            if let value { headers.add(asker.answerField, value) }
        }
        guard let jar = configuration.cookieJar, hop.request.lacks("Cookie") else { return }
        if let cookies = jar.field(for: hop.url) { headers.add("Cookie", cookies) }
    }

    /// What goes with the connection and the body, and the request's own fields behind it.
    private func addFraming(
        to headers: inout HTTPHeaders,
        _ hop: Hop,
        _ source: BodySource?,
        expectsContinue: Bool
    ) {
        let request = hop.request
        // Most requests have none of all that.
        if request.isUsual, request.headers.isEmpty, source?.contentType == nil, !expectsContinue {
            return
        }
        if request.lacks("Connection") {
            if request.version < .http11 { headers.add("Connection", "keep-alive") }
            if !request.upgrade.isEmpty { headers.add("Connection", "Upgrade") }
        }
        if !request.upgrade.isEmpty, request.lacks("Upgrade") {
            headers.add("Upgrade", request.upgrade.joined(separator: ", "))
        }
        if expectsContinue, request.lacks("Expect") { headers.add("Expect", "100-continue") }
        if let type = source?.contentType, request.lacks("Content-Type") {
            headers.add("Content-Type", type)
        }
        var own = request.headers
        if hop.skipsContinue { own.remove("Expect") }
        // Whoever is not the proxy has no business with it.
        if !hop.isForwarded, own.contains("Proxy-Authorization") {
            own.remove("Proxy-Authorization")
        }
        headers.add(contentsOf: own)
    }
}

extension HTTPRequest {
    /// Whether a field is left to us to send: it is neither there nor to be left out.
    fileprivate func lacks(_ name: String) -> Bool {
        let headers = self.headers
        guard headers.isEmpty || !headers.contains(name) else { return false }
        return omittedHeaders.isEmpty
            || !omittedHeaders.contains { $0.lowercased() == name.lowercased() }
    }
    /// Whether any of the fields that are sent in front is among its own.
    fileprivate var replacesOwnHeaders: Bool {
        let headers = self.headers
        guard !headers.isEmpty else { return false }
        return headers.contains("Host") || headers.contains("User-Agent")
            || headers.contains("Accept") || headers.contains("Accept-Encoding")
    }
}

internal import TowlineHTTP

/// Where a redirect leads, and what may go along.
///
/// Source: RFC 9110 section 15.4; the Fetch Standard for what happens to POST.
enum RedirectRules {
    /// Where the response sends us; `nil` if it is to be shown.
    ///
    /// - Throws: ``HTTPError/redirectRefused(reason:)`` for a place that must not be gone to.
    static func target(_ head: HTTPResponseHead, from url: HTTPURL) throws(HTTPError) -> HTTPURL? {
        switch head.status {
        case 301, 302, 303, 307, 308: break
        default: return nil
        }
        let places = head.headers.filter { $0.name.lowercased() == "location" }.map(\.value)
        guard let place = places.first else { return nil }
        guard places.allSatisfy({ $0 == place }) else {
            throw .redirectRefused(reason: "the response names \(places.count) places to go to")
        }
        do throws(HTTPURLError) {
            // A user in a URL is that URL's own.
            let target = try url.withoutUserInfo.resolve(place)
            return target.fragment == nil ? target.withFragment(url.fragment) : target
        } catch {
            throw .redirectRefused(
                reason: "the place to go to is no URL of http or https: \(error)"
            )
        }
    }

    /// The request that follows, before what is bound to an origin is taken out.
    static func request(
        after status: Int,
        _ request: HTTPRequest,
        _ policy: HTTPRedirectPolicy
    ) -> HTTPRequest {
        var next = request
        let becomesGet: Bool
        switch status {
        case 301, 302:
            becomesGet = request.method == .post && !policy.keepsMethodAt.contains(status)
        case 303: becomesGet = request.method != .head && !policy.keepsMethodAt.contains(status)
        default: becomesGet = false
        }
        guard becomesGet else { return next }
        next.method = .get
        next.body = .none
        next.headers.removeAll { field in
            let name = field.name.lowercased()
            return name.hasPrefix("content-") || bodyFields.contains(name)
        }
        return next
    }

    private static let bodyFields: Set<String> = [
        "transfer-encoding", "expect", "trailer", "digest",
    ]

    /// Takes out what was meant for the origin that is left.
    static func dropSecrets(_ request: inout HTTPRequest) {
        let sensitive = Set(request.sensitiveHeaders.map { $0.lowercased() })
        request.headers.removeAll { field in
            let name = field.name.lowercased()
            return originFields.contains(name) || sensitive.contains(name)
        }
        request.credential = nil
        request.identity = nil
    }

    private static let originFields: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "origin", "host",
    ]
}

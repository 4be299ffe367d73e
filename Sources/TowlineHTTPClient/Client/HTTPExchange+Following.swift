internal import Towline
internal import TowlineHTTP

/// What a response leads to.
enum FollowUp {
    /// The caller sees it.
    case show
    /// Another request follows.
    case next(Hop)
    /// Nothing, until the delegate has answered.
    case wait
    /// The exchange fails.
    case fail(HTTPError)
}

extension HTTPExchange {
    /// Decides what a final head leads to; may ask the delegate, who may do anything.
    func decide(_ head: HTTPResponseHead, isReused: Bool) -> FollowUp {
        guard let hop, outgoing != nil else { return .show }
        if let jar = client.configuration.cookieJar { jar.store(head.headers, from: hop.url) }
        if !hop.hasNoCredential || hop.isForwarded { noteAuthenticationInfo(head, hop) }
        // Most responses lead nowhere else.
        guard head.status >= 300 || head.status == 206 else { return .show }
        if RetryRules.shouldAskElsewhere(head, hop, isReused: isReused) {
            let next = hop.copy()
            next.wasRepeated = true
            next.needsNewConnection = true
            return .next(next)
        }
        if head.status == 417, outgoing?.expectsContinue == true, hop.request.body.isReplayable {
            let next = hop.copy()
            next.skipsContinue = true
            return .next(next)
        }
        do throws(HTTPError) {
            if let next = try decideChallenge(head, hop) { return next }
            try RangeRules.check(head, hop.request)
            guard let target = try RedirectRules.target(head, from: hop.url) else { return .show }
            return try follow(target, head, hop)
        } catch {
            return .fail(error)
        }
    }

    private func follow(
        _ target: HTTPURL,
        _ head: HTTPResponseHead,
        _ hop: Hop
    ) throws(HTTPError) -> FollowUp {
        let policy = redirects
        guard metrics.redirectCount < policy.limit else {
            guard policy.limitIsError else { return .show }
            throw .tooManyRedirects(limit: policy.limit)
        }
        if hop.url.scheme == .https, target.scheme == .http, !policy.allowsInsecure {
            throw .redirectRefused(reason: "it leads from https to http, to \(target.origin)")
        }
        var request = RedirectRules.request(after: head.status, hop.request, policy)
        let isSame = target.origin == hop.url.origin
        // What was dropped is not there any more; what was given since is this origin's own.
        if !isSame, !policy.keepsCredentials { RedirectRules.dropSecrets(&request) }
        // A socket of this host's is reached by the program's own word alone.
        if !isSame { request.unixPath = nil }
        request.url = target.href
        request.target = nil
        let response = HTTPResponse(url: hop.url, head: head, isDecoded: false, contentLength: nil)
        switch currentDelegate?.exchange(self, willRedirectTo: request, after: response) {
        case .stop: return .show
        case .send(let changed): request = changed
        case .follow, nil: break
        }
        guard !hasEnded else { return .show }
        guard request.body.isReplayable else { throw .bodyNotReplayable }
        metrics.redirectCount += 1
        metrics.lastHopBeganAt = client.reactor.now
        return .next(
            try client.nextHop(request, after: hop, keepsAll: policy.keepsCredentials)
        )
    }

    /// Sends a request once more, over a connection of its own.
    func sendAgain(_ hop: Hop) {
        let again = hop.copy()
        again.wasRepeated = true
        again.needsNewConnection = true
        go(again)
    }

    var redirects: HTTPRedirectPolicy { request.redirects ?? client.configuration.redirects }

    /// Whether content is decoded that the server has coded.
    var decodesContent: Bool { outgoing?.decodesContent ?? false }

    var maxDecodedBytes: UInt64? { request.maxDecodedBytes ?? client.configuration.maxDecodedBytes }
}

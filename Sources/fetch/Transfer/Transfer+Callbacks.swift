internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient
internal import TowlineTLS

/// What the exchange tells.
extension Transfer {
    func exchange(_ exchange: HTTPExchange, didConnect connection: HTTPConnectionFacts) {
        context.event("didConnect \(connection.isReused ? "reused" : "new")")
        guard context.trace.isOn else { return }
        let address = connection.remoteAddress.map { "\($0)" } ?? "a peer"
        context.trace.note(connection.isReused ? "Re-using connection" : "Connected to \(address)")
        if let tls = connection.tls { context.trace.note("\(tls.version), \(tls.cipherSuite)") }
        context.trace.sentHead(exchange.requestHead)
    }

    func exchange(_ exchange: HTTPExchange, didSend byteCount: UInt64, of total: UInt64?) {
        context.event("didSend \(byteCount)")
        progress?.reach(byteCount, of: total, at: context.reactor.now)
    }

    func exchange(_ exchange: HTTPExchange, didReceiveInterim head: HTTPResponseHead) throws {
        context.event("didReceiveInterim \(head.status)")
        try show(head)
    }

    func exchange(
        _ exchange: HTTPExchange,
        willRedirectTo request: HTTPRequest,
        after response: HTTPResponse
    ) -> HTTPRedirectDecision {
        context.event("willRedirectTo \(request.url)")
        let scheme = URLText.scheme(of: request.url)
        guard settings.redirectProtocols.contains(scheme) else {
            let text = "Protocol \"\(scheme)\" not supported or disabled"
            forced = .failure(FetchFailure(.unsupportedScheme, text))
            return .stop
        }
        do throws(FetchFailure) {
            try show(response.head)
        } catch {
            forced = .failure(error)
            return .stop
        }
        var next = RedirectCustom.request(request, after: response.status, settings, builder.kind)
        cookies?.store(response.headers, from: response.url)
        renewCookies(&next, of: request)
        if settings.referer?.hasSuffix(";auto") == true {
            let from = response.url.withoutUserInfo.withoutFragment.href
            next.headers["Referer"] = from
            facts.referer = from
        }
        facts.effectiveURL = next.url
        facts.method = next.method.rawValue
        return .send(next)
    }

    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) throws {
        context.event("didReceiveResponse \(response.status)")
        if case .failure(let failure) = forced { throw failure }
        facts.head = response.head
        cookies?.store(response.headers, from: response.url)
        facts.effectiveURL = response.url.href
        facts.scheme = response.url.scheme.rawValue
        rename(for: response.headers, of: response.url)
        try refuse(response)
        try show(response.head)
        try refuseBody(response)
        let length = response.isDecoded ? nil : response.contentLength
        progress?.begin(at: builder.resumeOffset, of: length)
        if settings.isHead, exchange.request.method != .head { stop(.success) }
    }

    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) throws {
        context.event("didLoad \(bytes.byteCount)")
        pace.received(bytes.byteCount)
        progress?.add(bytes.byteCount, at: context.reactor.now)
        context.trace.receivedData(bytes)
        guard !ignoresBody, let output else { return }
        try output.write(bytes)
        if output.isFull { waitForReader(exchange) } else { slowDown(exchange) }
    }

    func exchange(_ exchange: HTTPExchange, didReceiveTrailers trailers: HTTPHeaders) throws {
        context.event("didReceiveTrailers \(trailers.count)")
        try show(trailers)
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        context.event("didFinish")
        note(exchange, metrics)
        guard settings.failsWithBody, facts.status >= 400 else { return end(nil) }
        end(Self.httpError(facts.status))
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        context.event("didFail \(error)")
        note(exchange, metrics)
        if case .verification(.untrusted(let reason)) = error {
            facts.verifyResult = reason.libraryNumber
        }
        switch forced {
        case .success: end(nil)
        case .failure(let failure): end(failure)
        case nil: end(FetchFailure(error, proxy: proxy(for: exchange.url)))
        }
    }

    private func proxy(for url: HTTPURL?) -> HTTPProxy? {
        url.flatMap { exchangeRules?.proxy(for: $0) }
    }

    // MARK: Facts

    private func note(_ exchange: HTTPExchange, _ metrics: HTTPMetrics) {
        input?.stop()
        input = nil
        progress?.end()
        progress = nil
        facts.redirectCount = metrics.redirectCount
        facts.connectionCount = metrics.connectionCount
        facts.requestByteCount = metrics.requestHeadByteCount
        facts.headByteCount = max(facts.headByteCount, Int(metrics.responseHeadByteCount))
        facts.receivedByteCount = metrics.receivedByteCount
        facts.sentByteCount = metrics.sentByteCount
        facts.remote = Self.endpoint(metrics.remoteAddress)
        facts.local = Self.endpoint(metrics.localAddress)
        facts.lookedUp = metrics.lookedUp ?? metrics.connected.map { min($0, .microseconds(20)) }
        facts.connected = metrics.connected
        facts.secured = metrics.secured
        facts.requestBegan = metrics.requestBegan
        facts.responseBegan = metrics.responseBegan
        facts.redirected = metrics.redirectCount > 0 ? metrics.lastHopBegan : .zero
        guard let url = exchange.url, let place = facts.head?.headers["Location"] else { return }
        do throws(HTTPURLError) {
            if (300..<400).contains(facts.status) {
                facts.redirectURL = try url.resolve(place).href
            }
        } catch {
            context.trace.note("the place to go to is none: \(error)")
        }
    }

    private static func endpoint(_ address: SocketAddress?) -> TransferFacts.Endpoint? {
        guard let address, let ip = address.ipAddress, let port = address.port else { return nil }
        return TransferFacts.Endpoint(address: "\(ip)", port: port)
    }

    static func httpError(_ status: Int) -> FetchFailure {
        FetchFailure(.httpError, "The requested URL returned error: \(status)")
    }
}

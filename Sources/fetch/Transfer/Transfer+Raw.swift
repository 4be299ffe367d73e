internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient

/// Requests that were written by hand.
extension Transfer: RawTransfer.Owner {
    /// Sends what is in a file as it is.
    func startRaw(_ path: String) throws(FetchFailure) {
        let request: [UInt8]
        do throws(UsageError) {
            request = try ByteFiles().read(path)
        } catch {
            throw FetchFailure(error.code, error.message)
        }
        let text = try builder.checkedURL()
        let url: HTTPURL
        do throws(HTTPURLError) {
            url = try HTTPURL(text)
        } catch {
            throw FetchFailure(.malformedURL, error.description)
        }
        facts.effectiveURL = url.href
        facts.scheme = url.scheme.rawValue
        rawURL = url
        let tls = try ClientBuilder.configuration(settings.connection).tls
        context.trace.sentHead(request)
        let raw = RawTransfer(request, to: url, tls, on: context.reactor, owner: self)
        self.raw = raw
        try raw.start(timeout: settings.connectTimeout ?? .seconds(300))
        guard let limit = settings.totalTimeout, limit > .zero else { return }
        context.reactor.schedule(after: limit) { [weak self] in
            guard let self, self.raw === raw else { return }
            stop(.failure(FetchFailure(.timeout, "Operation timed out")))
        }
    }

    func rawDidReceive(_ head: HTTPResponseHead) throws(FetchFailure) {
        context.event("didReceiveHead \(head.status)")
        facts.head = head
        if let rawURL, head.status >= 200 { rename(for: head.headers, of: rawURL) }
        try show(head)
        guard settings.fails, head.status >= 400 else { return }
        throw Self.httpError(head.status)
    }

    func rawDidReceive(_ bytes: RawSpan) throws(FetchFailure) -> Bool {
        context.event("didLoad \(bytes.byteCount)")
        facts.receivedByteCount += UInt64(bytes.byteCount)
        context.trace.receivedData(bytes)
        try output?.write(bytes)
        guard output?.isFull == true else { return true }
        waitForRawReader()
        return false
    }

    func rawDidReceive(_ trailers: HTTPHeaders) throws(FetchFailure) {
        try show(trailers)
    }

    func rawDidEnd(_ failure: FetchFailure?) {
        context.event(failure.map { "didFail \($0.message)" } ?? "didFinish")
        // Not from within the socket's own call.
        context.reactor.schedule(after: .zero) {
            guard self.raw != nil else { return }
            self.raw = nil
            self.end(failure)
        }
    }

    private func waitForRawReader() {
        context.reactor.schedule(after: .milliseconds(5)) { [weak self] in
            guard let self, let output, let raw else { return }
            do throws(FetchFailure) {
                try output.flush()
            } catch {
                return stop(.failure(error))
            }
            if output.isFull { waitForRawReader() } else { raw.resume() }
        }
    }
}

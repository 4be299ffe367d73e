internal import Towline
internal import TowlineHTTP
internal import TowlineHTTPClient
internal import TowlineTLS

/// A request that was written by hand, over a connection of its own: what is in the file is sent as
/// it is, and what comes back is read as a response.
final class RawTransfer: StreamSocketDelegate {
    /// What hears of it.
    protocol Owner: AnyObject {
        func rawDidReceive(_ head: HTTPResponseHead) throws(FetchFailure)
        /// Returns whether more may come now.
        func rawDidReceive(_ bytes: RawSpan) throws(FetchFailure) -> Bool
        func rawDidReceive(_ trailers: HTTPHeaders) throws(FetchFailure)
        func rawDidEnd(_ failure: FetchFailure?)
    }

    private weak var owner: (any Owner)?
    private let socket: StreamSocket
    private let url: HTTPURL
    private let request: [UInt8]
    private let tls: TLSConfiguration?
    private var parser = HTTP1Parser()
    private var isPaused = false
    private var hasEnded = false

    init(
        _ request: [UInt8],
        to url: HTTPURL,
        _ tls: TLSConfiguration,
        on reactor: Reactor,
        owner: any Owner
    ) {
        self.request = request
        self.url = url
        self.owner = owner
        var settings = tls
        settings.serverName = .name(url.host.text)
        self.tls = url.scheme == .https ? settings : nil
        socket = StreamSocket(reactor: reactor)
    }

    /// Connects, and sends.
    func start(timeout: Duration?) throws(FetchFailure) {
        let word = request.prefix { $0 != UInt8(ascii: " ") }
        let method = HTTPMethod(rawValue: String(decoding: word, as: UTF8.self))
        parser.begin(HTTP1Parser.Expectation(method: method, allowsHTTP09: false))
        socket.keep(self)
        socket.halfClosePolicy = .keepOpen
        do throws(SocketError) {
            try socket.connect(toHost: url.host.text, port: url.effectivePort, timeout: timeout)
            if let tls { try socket.startTLS(tls) }
            try socket.write(request)
            try socket.read(maxLength: 65_536)
        } catch {
            throw FetchFailure(.connect, "Failed to connect to \(url.authority): \(error)")
        }
    }

    func stop() {
        hasEnded = true
        socket.abort()
    }

    /// Lets more come.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        do throws(SocketError) {
            try socket.read(maxLength: 65_536)
        } catch {
            end(FetchFailure(.receive, "\(error)"))
        }
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        do throws(FetchFailure) {
            try receive(bytes)
        } catch {
            return end(error)
        }
        guard !hasEnded, !isPaused else { return }
        try socket.read(maxLength: 65_536)
    }

    private func receive(_ bytes: RawSpan) throws(FetchFailure) {
        var offset = 0
        while !hasEnded {
            let event: HTTP1Event?
            do throws(HTTP1Fault) {
                event = try parser.next(in: bytes, from: &offset)
            } catch {
                throw FetchFailure(.malformedResponse(error))
            }
            switch event {
            case nil: return
            case .interim(let head), .response(let head): try owner?.rawDidReceive(head)
            case .body(let range): try show(bytes.extracting(range))
            case .earlierBody(let earlier): try show(earlier.span.bytes)
            case .trailers(let trailers): try owner?.rawDidReceive(trailers)
            case .end, .upgrade: end(nil)
            }
        }
    }

    private func show(_ bytes: RawSpan) throws(FetchFailure) {
        if try owner?.rawDidReceive(bytes) == false { isPaused = true }
    }

    func socketDidCloseReadStream(_ socket: StreamSocket) throws {
        ended(nil)
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        ended(report.error)
    }

    /// The connection has ended, and with it perhaps the response.
    private func ended(_ reason: SocketError?) {
        guard !hasEnded else { return }
        if parser.bodyLength == nil, let reason, reason != .closedByPeer {
            let error = reason.tls.map { HTTPError.connection($0) }
            let other = HTTPError.connect(host: url.host.text, reason, attempts: [])
            return end(FetchFailure(error ?? other))
        }
        let isOrderly = reason == nil || reason == .closedByPeer
        do throws(HTTP1Fault) {
            _ = try parser.reachEnd(isOrderly: isOrderly)
            end(nil)
        } catch {
            switch error {
            case .emptyReply: end(FetchFailure(.emptyReply(isOrderly ? nil : reason)))
            case .truncated(let received, let expected):
                let expected = expected.map { UInt64($0) }
                let reason = isOrderly ? nil : reason
                let count = UInt64(received)
                end(FetchFailure(.truncated(received: count, expected: expected, reason)))
            default: end(FetchFailure(.malformedResponse(error)))
            }
        }
    }

    private func end(_ failure: FetchFailure?) {
        guard !hasEnded else { return }
        hasEnded = true
        socket.disconnect()
        owner?.rawDidEnd(failure)
    }
}

extension HTTPError {
    /// A connection that could not be secured.
    fileprivate static func connection(_ error: TLSError) -> HTTPError {
        if case .untrusted = error { return .verification(error) }
        return .tls(error)
    }
}

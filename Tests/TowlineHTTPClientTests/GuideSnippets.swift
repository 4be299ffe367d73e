import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTLS

// What the guide shows, so that it is compiled: each of its blocks stands here as it is there.

private struct Refusal: Error {
    init(_ status: Int) {}
}

private func save(_ part: [UInt8]) throws {}

private func first() async throws {
    let handle = try Reactor.start(Reactor())
    let client = AsyncHTTPClient(on: handle)
    let response = try await client.send(HTTPRequest(.get, "https://box.test/"))
    print(response.status, response.headers["Content-Type"] ?? "")
    for try await part in response.body { try save(part) }
}

private final class Page: HTTPExchangeDelegate {
    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) {
        print(response.status)
    }

    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) throws {
        try save([UInt8](bytes))
    }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        print("\(metrics.decodedByteCount) bytes in \(metrics.total)")
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        print("\(exchange.url?.href ?? exchange.request.url): \(error)")
    }
}

private func delegate(_ reactor: Reactor) {
    let client = HTTPClient(reactor: reactor)
    client.start(HTTPRequest(.get, "https://box.test/"), keeping: Page())
}

private func forms(_ client: AsyncHTTPClient, _ password: String) async throws {
    var request = HTTPRequest(.post, "https://api.box.test/items")
    request.body = .form([("name", "rope"), ("length", "10 m")])
    request.body = .multipart([
        HTTPFormPart("title", value: "At sea"), HTTPFormPart("photo", file: "photo.jpeg"),
    ])

    request.credential = .anyOffered(user: "me", password: password)
    request.identity = try Identity(pkcs12File: "me.p12", password: password)

    var progress = AsyncHTTPOptions()
    progress.didSend = { count, total in print("\(count) of \(total.map(String.init) ?? "?")") }
    let sent = try await client.send(request, options: progress)
    print(sent.status)
}

private func ways(_ client: HTTPClient, _ listener: Listener) throws -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
    let jar = SharedCookieJar()
    configuration.cookieJar = jar

    configuration.proxy = .all(.http("proxy.test", 3_128), except: ["localhost", "10.0.0.0/8"])
    configuration.proxy = .all(.socks5("127.0.0.1", 1_080))
    configuration.proxy = try .environment()

    var lookup = HTTPLookupResolver.Options()
    lookup.addresses = [.ipv4(.loopback)]
    let service = try HTTPLookupService("http://dns.test:8053/resolve?name=%s", options: lookup)
    configuration.makeResolver = { reactor in
        HTTPLookupResolver(reactor: reactor, service: service, fallback: reactor.resolver)
    }

    client.openWebSocket("wss://box.test/news", delegate: listener)
    return configuration
}

private final class Listener: WebSocketDelegate {
    func webSocketDidOpen(_ socket: WebSocket) { socket.send("hello") }

    func webSocket(_ socket: WebSocket, didReceive message: WebSocketMessage) {
        if case .text(let text) = message { print(text) }
        socket.close()
    }

    func webSocket(_ socket: WebSocket, didClose closure: WebSocketClosure) { print(closure) }
}

private func requests(_ token: String, _ recording: AsyncStream<[UInt8]>) {
    var request = HTTPRequest(.post, "https://api.box.test/items")
    request.headers = ["Content-Type": "application/json"]
    request.body = .text(#"{"name": "rope"}"#)
    request.credential = .bearer(token)

    request.body = .file(path: "photo.jpeg")
    request.body = .stream(length: nil, bytes: recording)

    request.timeouts = HTTPTimeouts()
    request.timeouts?.firstByte = .seconds(5)
    request.timeouts?.total = .seconds(30)
}

private func bodies(
    _ client: AsyncHTTPClient,
    _ request: HTTPRequest,
    _ response: AsyncHTTPResponse
) async throws {
    let json = try await response.collect(upTo: 1 << 20)
    print(json.count)

    let page = try await client.download(request, to: "manual.pdf", resumeLimit: 3)
    guard page.isSuccess else { throw Refusal(page.status) }
}

private func redirects(_ client: AsyncHTTPClient, _ request: HTTPRequest) async throws {
    var options = AsyncHTTPOptions()
    options.willRedirect = { next, response in
        next.url.hasPrefix("https://box.test/") ? .follow : .stop
    }
    let shown = try await client.send(request, options: options)
    print(shown.status)
}

private func configurations(
    _ handle: ReactorHandle,
    _ authority: [Certificate],
    _ address: SocketAddress
) {
    var configuration = HTTPClient.Configuration()
    configuration.connectionsPerKey = 2
    configuration.idleTime = .seconds(20)
    configuration.tls.trust = .anchors(authority)
    configuration.addresses = [HTTPHostPort("box.test", 443): [address]]
    let other = AsyncHTTPClient(on: handle, configuration: configuration)
    other.closeIdleConnections()
}

private func errors(_ client: AsyncHTTPClient, _ request: HTTPRequest) async throws {
    do {
        _ = try await client.send(request)
    } catch HTTPError.resolve(let host, let reason) {
        print("\(host) is not known: \(reason)")
    } catch HTTPError.connect(let host, let reason, let attempts) {
        print("\(host) took no connection: \(reason), of \(attempts.count) tried")
    } catch HTTPError.verification(let reason) {
        print("not trusted: \(reason)")
    } catch HTTPError.timeout(let phase) {
        print("too slow: \(phase)")
    } catch is CancellationError {
        print("not wanted any more")
    }
}

// Asks a lookup service over HTTP where a host is, connects to the address, and keeps the name for
// SNI, Host and verification; redirects to other names go the same way.

import ExampleSupport
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTLS

/// Tells of each step of one exchange.
final class Story: HTTPExchangeDelegate {
    let reactor: Reactor
    var byteCount = 0
    var ending: ExitCode?

    init(_ reactor: Reactor) { self.reactor = reactor }

    func exchange(_ exchange: HTTPExchange, didConnect connection: HTTPConnectionFacts) {
        let host = exchange.url?.host.text ?? "?"
        let address = connection.remoteAddress?.description ?? "?"
        guard let tls = connection.tls else { return print("\(host) is at \(address)") }
        let names = tls.peerChain.first?.hostNames.joined(separator: ", ") ?? "none"
        let sent = tls.sentServerName ?? "none"
        print("\(host) is at \(address); server name \(sent); certificate for \(names)")
    }

    func exchange(
        _ exchange: HTTPExchange,
        willRedirectTo request: HTTPRequest,
        after response: HTTPResponse
    ) -> HTTPRedirectDecision {
        print("\(response.status): on to \(request.url)")
        return .follow
    }

    func exchange(_ exchange: HTTPExchange, didReceiveResponse response: HTTPResponse) {
        print("\(response.status) from \(response.url)")
        if !response.isSuccess { ending = ExitCode(22, "the server answered \(response.status)") }
    }

    func exchange(_ exchange: HTTPExchange, didLoad bytes: RawSpan) { byteCount += bytes.byteCount }

    func exchangeDidFinish(_ exchange: HTTPExchange, metrics: HTTPMetrics) {
        print("\(byteCount) bytes, \(metrics.redirectCount) redirects")
        reactor.stop()
    }

    func exchange(_ exchange: HTTPExchange, didFail error: HTTPError, metrics: HTTPMetrics) {
        ending = ExitCode(Self.code(of: error), "\(exchange.url?.href ?? "the URL"): \(error)")
        reactor.stop()
    }

    static func code(of error: HTTPError) -> CInt {
        switch error {
        case .resolve: 6
        case .connect: 7
        case .tls: 35
        case .tooManyRedirects, .redirectRefused: 47
        case .verification: 60
        default: 1
        }
    }
}

let usage = """
    usage: name-by-http URL --lookup TEMPLATE [OPTION VALUE]...

      --lookup TEMPLATE  whom to ask for addresses, such as http://127.0.0.1:8053/d?host=%s
      --cacert FILE      whom to trust; the system's roots

    Exit codes: 0; 6: the service has no address; 7: no connection; 22: the status is no success;
    35: TLS failed; 47: redirects lead astray; 60: the certificate is refused; 1: all else; 2: the
    options make no sense.
    """
let known = ["--lookup", "--cacert"]
let program = Program("name-by-http", usage: usage, options: known, words: ["URL"])
program.main { options in
    guard let template = options.text("--lookup") else { throw UsageError("--lookup is needed") }
    let reactor = try Reactor()
    let lookups = try HTTPLookupResolver(reactor: reactor, service: template)
    var configuration = HTTPClient.Configuration()
    if let file = options.text("--cacert") {
        configuration.tls.trust.anchors = .only(try Certificate.certificates(file: file))
    }
    let story = Story(reactor)
    let client = HTTPClient(reactor: reactor, configuration: configuration, resolver: lookups)
    client.start(HTTPRequest(.get, options.words[0]), delegate: story)
    try reactor.run()
    if let ending = story.ending { throw ending }
}

// HTTP by hand, on a socket: a request goes out as it was typed, the head of the answer is shown,
// the body becomes a file named after its media type, and the next request has a new connection.
// With --tls, JSON requests go over one connection, which shows a certificate of its own.

import ExampleSupport
import Towline
import TowlineHTTP
import TowlineTLS

/// One request after the other, until there are no more.
final class Conversation: StreamSocketDelegate {
    enum Part: Int { case head, body, rest, chunkSize, chunk, lastChunk }

    let reactor: Reactor
    let options: Options
    let tls: TLSConfiguration?
    var (path, body, isWaiting) = ("/", [UInt8](), false)
    var (fields, failure): ([String: String], Failure?) = ([:], nil)
    lazy var socket = StreamSocket(reactor: reactor, delegate: self)

    init(_ options: Options) throws {
        (reactor, self.options) = (try Reactor(), options)
        tls = options.has("--tls") ? try Self.settings(options) : nil
    }

    static func settings(_ options: Options) throws -> TLSConfiguration {
        var settings = TLSConfiguration.client
        settings.serverName = .name(options.text("--name") ?? options.words[0])
        if let file = options.text("--cacert") {
            settings.trust.anchors = .only(try Certificate.certificates(file: file))
        }
        settings.identity = try options.text("--p12").map {
            try Identity(pkcs12File: $0, password: options.text("--password"))
        }
        return settings
    }

    /// The next request: typed up to an empty line, or with TLS a line of method, path and JSON.
    func nextRequest() -> String? {
        guard let first = readLine(), !first.isEmpty else { return nil }
        let words = first.split(separator: " ", maxSplits: 2).map(String.init)
        path = words.count > 1 ? words[1] : "/"
        var (lines, json) = ([first], "")
        if tls == nil {
            while let line = readLine(), !line.isEmpty { lines.append(line) }
        } else {
            json = words.count > 2 ? words[2] : ""
            let name = options.text("--name") ?? options.words[0]
            lines = ["\(words[0]) \(path) HTTP/1.1", "Host: \(name)"] + options.texts("--header")
            lines += ["Content-Type: application/json", "Content-Length: \(json.utf8.count)"]
        }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + json
    }

    /// Sends the next request, over this connection or another; ends behind the last.
    func next() throws {
        guard let request = nextRequest() else { return reactor.stop() }
        (fields, body, isWaiting) = ([:], [], true)
        if socket.state == .idle {
            let host = options.text("--ip") ?? options.words[0]
            try socket.connect(toHost: host, port: options.port(1))
            if let tls { try socket.startTLS(tls) }
        }
        try socket.write(request)
        try socket.read(to: .init("\r\n\r\n"), maxLength: 65_536, timeout: .seconds(30))
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        switch Part(rawValue: tag) {
        case .head: try showHead(String(decoding: bytes))
        case .chunkSize: try readChunk(String(decoding: bytes))
        case .chunk:
            body += [UInt8](bytes).dropLast(2)
            try socket.read(to: .crlf, maxLength: 64, tag: Part.chunkSize.rawValue)
        case .lastChunk: try finish()
        case .body, .rest, nil:
            body += [UInt8](bytes)
            try finish()
        }
    }

    func showHead(_ head: String) throws {
        print(head, terminator: "")
        for line in head.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        guard fields["transfer-encoding"] != "chunked" else {
            return _ = try socket.read(to: .crlf, maxLength: 64, tag: Part.chunkSize.rawValue)
        }
        guard let length = fields["content-length"].flatMap(Int.init) else {
            return _ = try socket.readToEnd(maxLength: 64 << 20, tag: Part.rest.rawValue)
        }
        guard length > 0 else { return try finish() }
        try socket.read(toLength: length, timeout: .seconds(60), tag: Part.body.rawValue)
    }

    func readChunk(_ line: String) throws {
        guard let count = Int(line.prefix { $0.isHexDigit }, radix: 16), count < 64 << 20 else {
            throw Failure("\(line) is no size of a chunk")
        }
        try socket.read(toLength: count + 2, tag: (count > 0 ? Part.chunk : .lastChunk).rawValue)
    }

    func finish() throws {
        isWaiting = false
        guard tls == nil else {
            print(String(decoding: body, as: UTF8.self))
            return try next()  // over the same connection
        }
        let url = try HTTPURL("http://\(options.words[0])\(path)")
        let name = SavedFileName(url, mediaType: fields["content-type"]).text
        print("saved \(body.count) bytes as \(try NewFile.write(body, name, in: "."))")
        socket.disconnect()
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        do {
            guard !isWaiting else { throw Failure("no whole answer; \(report.reason)") }
            if tls == nil { try next() }
        } catch {
            failure = Failure("\(error)")
            reactor.stop()
        }
    }
}

let usage = """
    usage: raw-http HOST PORT [OPTION]... <REQUESTS

    Requests are typed, each up to an empty line; with --tls each is a line, METHOD PATH JSON.

      --ip ADDRESS     whom to connect to instead of HOST
      --tls            secure the connection; then also:
      --name NAME      whom the certificate has to be made out to, and Host; HOST
      --cacert FILE    whom to trust; the system's roots
      --p12 FILE       who we are, --password TEXT what that is protected by
      --header LINE    a field more for each request; may be given several times

    Exit codes: 0; 1: a line says what failed; 2: the options make no sense.
    """
let known = ["--ip", "--name", "--cacert", "--p12", "--password", "--header"]
Program("raw-http", usage: usage, options: known, flags: ["--tls"], words: ["HOST", "PORT"])
    .main { options in
        let conversation = try Conversation(options)
        try conversation.next()
        if conversation.socket.state != .idle { try conversation.reactor.run() }
        if let failure = conversation.failure { throw failure }
    }

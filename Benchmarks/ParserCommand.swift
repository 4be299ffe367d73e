internal import Glibc
internal import TowlineHTTP

/// `Benchmarks parser`: how many bytes of responses one core parses in a second.
enum ParserCommand {
    static let name = "parser"

    private static let usage = """
        usage: Benchmarks parser [--rounds N] [--seconds S] [--only WORD]

        Gives responses to a parser, whole, again and again, and prints bytes a second of processor
        time: the median of the rounds, and minimum and maximum in parentheses.

          --rounds N   rounds of each response, 1 through 100; 5
          --seconds S  processor time of a response in a round, 0.01 through 60; 0.5
          --only WORD  the responses with this in their names
        """

    static func run(_ words: ArraySlice<String>) throws {
        guard !words.contains("--help") else {
            print(usage)
            return
        }
        let (rounds, seconds, word) = try options(words)
        print("response                          bytes   GB/s of one core            ns a response")
        for response in RecordedResponse.all where word.isEmpty || response.name.contains(word) {
            let costs = try (0..<rounds).map { _ in try response.secondsAPiece(for: seconds) }
            let rates = Spread(costs.map { Double(response.bytes.count) / $0 / 1e9 })
            let time = Spread(costs).median * 1e9
            print(
                padded(response.name, to: 32),
                padded("\(response.bytes.count)", to: -6),
                padded("  " + rates.text(\.hundredths), to: 28),
                Int(time.rounded()).grouped
            )
        }
    }

    private static func options(_ words: ArraySlice<String>) throws -> (Int, Double, String) {
        var (rounds, seconds, word) = (5, 0.5, "")
        var words = words
        while let option = words.popFirst() {
            guard let value = words.popFirst() else {
                throw UsageError("\(option) needs a value", usage: usage)
            }
            switch (option, Int(value), Double(value)) {
            case ("--rounds", let number?, _) where (1...100).contains(number):
                rounds = number
            case ("--seconds", _, let number?) where (0.01...60).contains(number):
                seconds = number
            case ("--only", _, _):
                word = value
            default:
                throw UsageError("\(option) \(value): not valid", usage: usage)
            }
        }
        return (rounds, seconds, word)
    }

    /// A text with spaces behind it, or in front of it for a negative width.
    private static func padded(_ text: String, to width: Int) -> String {
        let spaces = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? spaces + text : text + spaces
    }
}

/// A response as it came from a server, or one that is made like it.
private struct RecordedResponse {
    let name: String
    let bytes: [UInt8]

    init(_ name: String, head: [String], body: [UInt8] = []) {
        self.name = name
        bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }

    /// Processor time of one response.
    func secondsAPiece(for seconds: Double) throws -> Double {
        var parser = HTTP1Parser()
        let batch = max(1, 200_000 / bytes.count)
        let start = Self.processorSeconds
        var count = 0
        while true {
            for _ in 0..<batch { try parse(with: &parser) }
            count += batch
            let spent = Self.processorSeconds - start
            if spent >= seconds { return spent / Double(count) }
        }
    }

    @inline(never)
    private func parse(with parser: inout HTTP1Parser) throws {
        parser.begin(HTTP1Parser.Expectation(method: .get))
        let span = bytes.span.bytes
        var offset = 0
        var hasHead = false
        while let event = try parser.next(in: span, from: &offset) {
            switch event {
            case .response(let head): hasHead = head.status == 200 && !head.headers.isEmpty
            case .end:
                guard hasHead, offset == bytes.count, parser.allowsReuse else { break }
                return
            case .interim, .body, .earlierBody, .trailers, .upgrade: continue
            }
        }
        throw RunFailure("\(name): not parsed")
    }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static var all: [RecordedResponse] {
        [
            RecordedResponse("head of nginx, 9 fields", head: nginx),
            RecordedResponse("head of a CDN, 19 fields", head: contentNetwork),
            RecordedResponse("head of an API, 14 fields", head: interface),
            chunked(of: 1, count: 10_000),
            chunked(of: 16, count: 10_000),
            chunked(of: 1_024, count: 1_000),
            chunked(of: 16_384, count: 64),
            RecordedResponse(
                "counted body of 1 MiB",
                head: ["HTTP/1.1 200 OK", "Content-Length: 1048576"],
                body: [UInt8](repeating: 0x61, count: 1_048_576)
            ),
        ]
    }

    private static func chunked(of size: Int, count: Int) -> RecordedResponse {
        let data = [UInt8](repeating: 0x61, count: size)
        let chunk = Array("\(String(size, radix: 16))\r\n".utf8) + data + Array("\r\n".utf8)
        return RecordedResponse(
            "\(count.grouped) chunks of \(size.grouped)",
            head: ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"],
            body: Array(repeatElement(chunk, count: count).joined()) + Array("0\r\n\r\n".utf8)
        )
    }

    private static let nginx = [
        "HTTP/1.1 200 OK", "Server: nginx/1.26.2", "Date: Tue, 04 Feb 2025 17:21:09 GMT",
        "Content-Type: text/html; charset=utf-8", "Content-Length: 0",
        "Last-Modified: Mon, 03 Feb 2025 08:00:41 GMT", "Connection: keep-alive",
        "ETag: \"67a076f9-2b3c\"", "Cache-Control: max-age=600, must-revalidate",
        "Accept-Ranges: bytes",
    ]

    private static let contentNetwork = [
        "HTTP/1.1 200 OK", "Connection: keep-alive", "Content-Length: 0",
        "Server: GitHub.com", "Content-Type: text/html; charset=utf-8",
        "Last-Modified: Thu, 30 Jan 2025 22:14:10 GMT", "Access-Control-Allow-Origin: *",
        "Strict-Transport-Security: max-age=31556952; includeSubDomains; preload",
        "ETag: \"679bf982-9f1b\"", "expires: Tue, 04 Feb 2025 17:31:09 GMT",
        "Cache-Control: max-age=600", "x-proxy-cache: MISS",
        "X-GitHub-Request-Id: 8A02:1F6C5B:2B1A06:2E0F3C:67A24BD5", "Accept-Ranges: bytes",
        "Age: 0", "Date: Tue, 04 Feb 2025 17:21:09 GMT", "Via: 1.1 varnish",
        "X-Served-By: cache-fra-eddf8230092-FRA", "X-Timer: S1738689669.113327,VS0,VE98",
        "Vary: Accept-Encoding",
    ]

    private static let interface = [
        "HTTP/1.1 200 OK", "Date: Tue, 04 Feb 2025 17:21:09 GMT",
        "Content-Type: application/json; charset=utf-8", "Content-Length: 0",
        "Connection: keep-alive", "X-Frame-Options: DENY", "X-Content-Type-Options: nosniff",
        "Cache-Control: private, max-age=0, must-revalidate, no-transform",
        "Set-Cookie: session=6f1ed002ab5595859014ebf0951522d9; Path=/; Secure; HttpOnly",
        "Strict-Transport-Security: max-age=31536000; includeSubDomains",
        "Referrer-Policy: strict-origin-when-cross-origin",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; base-uri 'self'",
        "X-RateLimit-Limit: 5000", "X-RateLimit-Remaining: 4987",
        "X-Request-Id: 0c4cd6ef-6bb8-4f0e-a3a6-3c6a8f2f1c55",
    ]
}

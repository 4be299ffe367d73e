import Testing
import Towline
import TowlineCoding
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Contents, coded and in parts") struct ContentTests {
    /// `hello`, by gzip.
    private static let gzip: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9,
        0x07, 0x00, 0x86, 0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00,
    ]
    /// The same once more by deflate.
    private static let gzipAndDeflate: [UInt8] = [
        0x78, 0x9c, 0x93, 0xef, 0xe6, 0x60, 0x00, 0x01, 0x26, 0xe6, 0xd3, 0x1e, 0x67, 0x4f, 0x9e,
        0x64, 0x67, 0x68, 0x5b, 0x26, 0x60, 0xc6, 0x0a, 0x14, 0x00, 0x00, 0x48, 0x01, 0x05, 0xa8,
    ]
    /// A million zeros, by gzip twice.
    private static let zeros: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x93, 0xef, 0xe6, 0x60, 0x00,
        0x01, 0x26, 0xe6, 0xb7, 0x07, 0x19, 0x19, 0x81, 0x8c, 0x26, 0x85, 0xff, 0xeb, 0xf3, 0x3c,
        0x1c, 0x18, 0x19, 0x46, 0xc1, 0x28, 0x18, 0x05, 0x43, 0x1e, 0xac, 0x67, 0x9b, 0x77, 0xba,
        0x52, 0xc8, 0xc1, 0x89, 0x9f, 0x01, 0x00, 0x8c, 0x79, 0xc3, 0x18, 0xeb, 0x03, 0x00, 0x00,
    ]

    /// A web that answers everything with these.
    private func web(_ fields: String, _ body: [UInt8] = [], status: Int = 200) throws
        -> SimulatedWeb
    {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in
            peer.send("HTTP/1.1 \(status) So\r\n\(fields)Content-Length: \(body.count)\r\n\r\n")
            if !seen.line.hasPrefix("HEAD") { peer.send(body) }
        }
        return web
    }

    private func request(_ method: HTTPMethod = .get, _ headers: HTTPHeaders = [:]) -> HTTPRequest {
        HTTPRequest(method, "http://127.0.0.1/", headers: headers)
    }

    // MARK: Codings

    @Test("Contents are decoded, several codings from the last, and the fields stay as they came")
    func decoded() throws {
        for (fields, body) in [
            ("Content-Encoding: x-gzip\r\n", Self.gzip),
            ("Content-Encoding: gzip\r\nContent-Encoding: deflate\r\n", Self.gzipAndDeflate),
            ("Content-Encoding: GZIP , identity,, Deflate\r\n", Self.gzipAndDeflate),
        ] {
            let web = try web(fields, body)
            let recorder = try web.send(request())
            #expect(recorder.text == "hello", "\(fields)")
            #expect(recorder.response?.isDecoded == true)
            #expect(recorder.response?.contentLength == nil)
            #expect(recorder.response?.headers["Content-Length"] == "\(body.count)")
            #expect(recorder.metrics?.receivedByteCount == UInt64(body.count))
            #expect(recorder.metrics?.decodedByteCount == 5)
            try web.end()
        }
    }

    @Test("What is built in is asked for, and no more")
    func asked() throws {
        let web = try web("")
        try web.send(request())
        let codings = web.seen[0].field("Accept-Encoding")
        #expect(codings == ContentCoding.acceptEncoding)
        #expect(codings?.hasPrefix("gzip, deflate") == true)
        #expect(codings?.contains("br") == (ContentCoding(name: "br") != nil))
        #expect(codings?.contains("zstd") == (ContentCoding(name: "zstd") != nil))
        try web.end()
    }

    @Test("A coding that is unknown passes all through as it came")
    func unknown() throws {
        let web = try web("Content-Encoding: gzip, rot13\r\n", Self.gzip)
        let recorder = try web.send(request())
        #expect(recorder.body == Self.gzip && recorder.response?.isDecoded == false)
        #expect(recorder.response?.contentLength == 25)
        try web.end()
    }

    @Test("Whoever asks for a coding, or for a part, gets what came, unless they say so")
    func byHand() throws {
        let web = try web("Content-Encoding: gzip\r\n", Self.gzip)
        for name in ["accept-encoding", "RANGE"] {
            var request = request(.get, [name: "x"])
            #expect(try web.send(request).body == Self.gzip)
            #expect(web.seen.last?.field("Accept-Encoding") == (name == "RANGE" ? nil : "x"))
            request.decodesContent = true
            #expect(try web.send(request).text == "hello")
        }
        var plain = request()
        plain.decodesContent = false
        #expect(try web.send(plain).body == Self.gzip)
        #expect(web.seen.last?.field("Accept-Encoding") == nil)
        try web.end()
    }

    @Test(
        "Where there is no content nothing is decoded",
        arguments: ["HEAD", "204", "304", "empty"]
    )
    func noContent(what: String) throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in
            let status = what == "HEAD" || what == "empty" ? "200" : what
            let length = what == "empty" ? 0 : 25
            peer.send("HTTP/1.1 \(status) So\r\nContent-Encoding: gzip\r\n")
            peer.send(what == "204" ? "\r\n" : "Content-Length: \(length)\r\n\r\n")
        }
        let recorder = try web.send(request(what == "HEAD" ? .head : .get))
        #expect(recorder.events.last == .finished && recorder.body.isEmpty)
        #expect(recorder.response?.isDecoded == false)
        #expect(web.client.connectionCounts.idle == 1)
        try web.end()
    }

    @Test("A content that is cut, or none of its coding, is an error, behind what was right")
    func broken() throws {
        for body in [Array(Self.gzip.dropLast(3)), Array("hello".utf8)] {
            let web = try web("Content-Encoding: gzip\r\n", body)
            guard case .decode = try web.send(request()).error else {
                Issue.record("\(body)")
                return
            }
            try web.end()
        }
        let web = try web("Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\n", Self.gzip)
        guard case .limit(.codings(5)) = try web.send(request()).error else {
            Issue.record("six codings")
            return
        }
        try web.end()
    }

    @Test("Contents grow to the limit at most, also between two codings, and come in steps")
    func limits() throws {
        let fields = "Content-Encoding: gzip, gzip\r\n"
        let web = try web(fields, Self.zeros)
        let whole = try web.send(request())
        #expect(whole.body.count == 1_000_000)
        for case .loaded(let count) in whole.events { #expect(count <= 65_536) }
        for limit in [999_999, 70_000, 900, 0] as [UInt64] {
            var request = request()
            request.maxDecodedBytes = limit
            let recorder = try web.send(request)
            guard case .limit(.content(limit)) = recorder.error else {
                Issue.record("\(limit): \(recorder.outcome)")
                continue
            }
            #expect(recorder.body.count <= limit && recorder.endCount == 1)
        }
        var request = request()
        request.maxDecodedBytes = 1_000_000
        #expect(try web.send(request).body.count == 1_000_000)
        try web.end()
    }

    // MARK: Parts

    @Test(
        "A part is the one that was asked for",
        arguments: [
            ("bytes=2-4", "bytes 2-4/9", 3), ("bytes=2-40", "bytes 2-8/9", 7),
            ("bytes=2-", "bytes 2-8/*", 7), ("BYTES=-3", "Bytes 6-8/9", 3),
            ("bytes=-30", "bytes 0-8/9", 9),
        ]
    )
    func part(asked: String, answered: String, count: Int) throws {
        let body = [UInt8](repeating: 7, count: count)
        let web = try web("Content-Range: \(answered)\r\n", body, status: 206)
        let recorder = try web.send(request(.get, ["Range": asked]))
        #expect(recorder.outcome == "206" && recorder.body == body)
        try web.end()
    }

    @Test(
        "Another part than that is an error before its content comes",
        arguments: [
            ("bytes=2-4", "bytes 1-3/9", 3), ("bytes=2-4", "bytes 2-5/9", 4),
            ("bytes=2-4", "bytes 2-4/9", 2), ("bytes=-3", "bytes 5-7/9", 3),
            ("bytes=-3", "bytes 5-8/9", 4), ("bytes=2-4", "bytes 4-2/9", 3),
            ("bytes=2-4", "bytes 2-4/4", 3), ("bytes=2-4", "lines 2-4/9", 3),
            ("bytes=2-4", "bytes */9", 3), ("bytes=2-4", "", 3),
        ]
    )
    func otherPart(asked: String, answered: String, count: Int) throws {
        let field = answered.isEmpty ? "" : "Content-Range: \(answered)\r\n"
        let web = try web(field, [UInt8](repeating: 7, count: count), status: 206)
        let recorder = try web.send(request(.get, ["Range": asked]))
        guard case .range(asked, _) = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect(recorder.response == nil && recorder.body.isEmpty)
        try web.end()
    }

    @Test("The whole, a refusal, and several parts are the caller's to look at")
    func otherAnswers() throws {
        for (status, asked) in [(200, "bytes=2-4"), (416, "bytes=99-"), (206, "bytes=0-1, 4-5")] {
            let web = try web("", [1, 2], status: status)
            let recorder = try web.send(request(.get, ["Range": asked]))
            #expect(recorder.outcome == "\(status)" && recorder.body == [1, 2])
            try web.end()
        }
    }
}

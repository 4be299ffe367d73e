import Testing
import TowlineHTTP

@Suite("Bodies of responses") struct BodyDecoderTests {
    private static let chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// Where the body of a chunked answer begins.
    private static let bodyStart = chunkedHead.utf8.count

    private func chunked(
        _ body: String,
        _ profile: HTTPProfile = .standard,
        then ending: ParserRun.Ending = .hold,
        limits: HTTP1Limits = .init()
    ) -> ParserRun {
        ParserRun.ofEveryCut(
            Self.chunkedHead + body,
            then: ending,
            profile: profile,
            limits: limits
        )
    }

    @Test(
        "Sizes are hexadecimal digits, of any number of them",
        arguments: ["1", "01", "0000000000000000000000001", "1;a", "1 ;a", "1\t; a=b"]
    )
    func sizes(_ size: String) {
        for profile in [HTTPProfile.standard, .strict] {
            let run = chunked("\(size)\r\nx\r\n0\r\n\r\n", profile)
            #expect(run.bodyText == "x" && run.isReusable && run.length == .chunked)
        }
        let large = chunked("aB\r\n\(String(repeating: "y", count: 0xAB))\r\n00\r\n\r\n")
        #expect(large.body.count == 171 && large.isReusable)
    }

    @Test(
        "Anything else in place of a size is refused at its byte",
        arguments: [
            ("\r\n", 0), (" 1", 0), ("+1", 0), ("-1", 0), ("0x1", 1), ("g", 0), (";a", 0),
            ("1g", 1), ("1 2", 2), ("1,", 1), ("8000000000000000", 15), ("1\0", 1),
            ("ffffffffffffffffffff", 15), ("1\r\nx\r\n\r\n", 6), ("10000000000000000", 16),
        ]
    )
    func oddSizes(_ text: String, _ offset: Int) {
        for profile in [HTTPProfile.standard, .strict] {
            #expect(chunked(text, profile).fault == .chunkSize(offset: Self.bodyStart + offset))
        }
    }

    @Test("The largest size is 2^63−1")
    func largestSize() {
        let run = chunked("7fffffffffffffff\r\nabc", then: .close)
        #expect(run.bodyText == "abc" && run.fault == .truncated(received: 3, expected: nil))
    }

    @Test("Blanks behind a size without an extension are accepted, or refused if strict")
    func blanksBehindSize() {
        let run = chunked("1 \t\r\nx\r\n0  \r\n\r\n")
        #expect(run.isReusable && run.bodyText == "x")
        let strict = chunked("1 \t\r\nx\r\n0  \r\n\r\n", .strict)
        #expect(strict.fault == .chunkExtension(offset: Self.bodyStart + 3))
    }

    @Test(
        "Extensions are skipped, and in the strict profile well-formed",
        arguments: [
            (";a", true), (";a=b", true), (" ; a = b ;c", true), (";a=\"\"", true), (";a b", false),
            (";a=\"x;\\\"y\t\" ;b", true), (";", false), (";a=", false), (";=b", false),
            (";a ", false), (";a=\"b", false), (";a=\"b\"c", false), (";;", false),
            (";a=\"\u{1}\"", false), (";a=\"é\"", true), (";é", false), (";a=b=c", false),
            (";a=\"\\\u{1}\"", false), (";a=\"b\" ", false),
        ]
    )
    func extensions(_ text: String, _ isWellFormed: Bool) {
        let body = "1\(text)\r\nx\r\n0\(text)\r\n\r\n"
        #expect(chunked(body).isReusable && chunked(body).bodyText == "x")
        let strict = chunked(body, .strict)
        #expect(strict.isReusable == isWellFormed)
        guard !isWellFormed else { return }
        guard case .chunkExtension? = strict.fault else {
            Issue.record("\(String(describing: strict.fault))")
            return
        }
    }

    @Test(
        "Lines of chunks end with both, and nothing comes between",
        arguments: [
            ("1\nx", HTTP1Fault.bareLineFeed(offset: 1)), ("1;a\n", .bareLineFeed(offset: 3)),
            ("1 \n", .bareLineFeed(offset: 2)), ("1\rx", .bareCarriageReturn(offset: 1)),
            ("1;a\rx", .bareCarriageReturn(offset: 3)), ("1\r\nx\n", .bareLineFeed(offset: 4)),
            ("1\r\nx\rx", .bareCarriageReturn(offset: 4)), ("1\r\nxy", .chunkEnd(offset: 4)),
            ("0\r\n\n", .bareLineFeed(offset: 3)), ("0\r\nA: b\n", .bareLineFeed(offset: 7)),
            ("0\n\n", .bareLineFeed(offset: 1)), ("1;\0", .chunkExtension(offset: 2)),
            ("0\r\n\rx", .bareCarriageReturn(offset: 3)), ("0\r\nA b\r\n", .fieldName(offset: 4)),
            ("0\r\n A: b\r\n", .continuationOfNothing(offset: 3)),
        ]
    )
    func lineEnds(_ text: String, _ fault: HTTP1Fault) {
        for profile in [HTTPProfile.standard, .strict] {
            #expect(chunked(text, profile).fault == fault.moved(by: Self.bodyStart))
        }
    }

    @Test("Trailers are told apart, without those that belong into a head")
    func trailers() {
        let refused = [
            "Content-Length: 1", "transfer-encoding: x", "Host: x", "Content-Type: x",
            "Content-Encoding: x", "Content-Range: x", "Authorization: x", "Set-Cookie: x",
            "WWW-Authenticate: x", "Trailer: x", "Connection: close", "Location: x",
        ].joined(separator: "\r\n")
        let run = chunked("0\r\n\(refused)\r\nX-Sum: 1\r\n  2\r\n\r\n")
        #expect(run.trailers == ["X-Sum": "1 2"] && run.isReusable)
        let none = chunked("0\r\n\(refused)\r\n\r\n")
        #expect(none.trailers == nil && none.outcome == .complete)
    }

    @Test("A length is digits alone, once or equal")
    func lengths() {
        for value in ["3", "03", "3, 3", "3 ,\t003", "3\r\nContent-Length: 3"] {
            for profile in [HTTPProfile.standard, .strict] {
                let run = ParserRun.ofEveryCut(
                    "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nabc",
                    profile: profile
                )
                #expect(run.bodyText == "abc" && run.isReusable && run.length == .known(3))
            }
        }
        let odd = [
            "", "-1", "+1", "0x1", "1 1", "1a", "1.0", ",", "1,", ",1", "1,,1", "1;1", "\"1\"",
            "1_0",
            "9223372036854775808", "99999999999999999999999999", "1\r\nContent-Length: x", "٣",
        ]
        for value in odd {
            let run = ParserRun.ofEveryCut(
                "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nabc"
            )
            guard case .contentLength? = run.fault, run.head == nil, run.body.isEmpty else {
                Issue.record("\(value): \(run.outcome)")
                continue
            }
        }
        for value in ["1, 2", "1\r\nContent-Length: 2", "1,1,2"] {
            let run = ParserRun.ofEveryCut("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nab")
            #expect(run.fault == .conflictingContentLength(1, 2) && run.head == nil)
        }
        let longest = ParserRun.ofEveryCut(
            "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nab",
            then: .close
        )
        #expect(longest.fault == .truncated(received: 2, expected: .max))
    }

    @Test(
        "Transfer codings are chunked alone, identity alone, or a fault",
        arguments: [
            ("chunked", "x"), ("CHUNKED", "x"), (", chunked,\t,", "x"), ("identity", nil),
            ("Identity", nil),
        ] as [(String, String?)]
    )
    func codings(_ value: String, _ body: String?) {
        let text = "1\r\nx\r\n0\r\n\r\n"
        let run = ParserRun.ofEveryCut(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n\(text)",
            then: .close
        )
        #expect(run.outcome == .complete && run.bodyText == body ?? text)
        #expect(run.isReusable == (body != nil))
    }

    @Test(
        "Any other coding is refused before the head is told of",
        arguments: [
            "", ",", "gzip", "gzip, chunked", "chunked, chunked", "chunked, identity",
            "chunked;a=b",
            "identity, chunked", "chunked\r\nTransfer-Encoding: chunked", "xchunked", "\"chunked\"",
            "chunked chunked", "chunked\u{B}", "chunked\r\nTransfer-Encoding: gzip",
        ]
    )
    func otherCodings(_ value: String) {
        let run = ParserRun.ofEveryCut(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n0\r\n\r\n"
        )
        guard case .transferCoding? = run.fault, run.head == nil else {
            Issue.record("\(run.outcome)")
            return
        }
    }

    @Test("A coding beats a length, at the price of the connection; if strict, it is refused")
    func codingBesideLength() {
        for length in ["3", "x", "1, 2"] {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\nTransfer-Encoding: chunked"
            let run = ParserRun.ofEveryCut("\(head)\r\n\r\n1\r\nx\r\n0\r\n\r\n")
            #expect(run.bodyText == "x" && !run.isReusable && run.length == .chunked)
            let strict = ParserRun.ofEveryCut("\(head)\r\n\r\n", profile: .strict)
            #expect(strict.fault == .lengthBesideCoding)
        }
        let old = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
        let run = ParserRun.ofEveryCut("\(old)1\r\nx\r\n0\r\n\r\n")
        #expect(run.bodyText == "x" && !run.isReusable)
        #expect(ParserRun.ofEveryCut(old, profile: .strict).fault == .codingInHTTP10)
    }

    @Test("Some responses have no body, whatever their fields say")
    func noBody() {
        for fields in ["Content-Length: 5", "Content-Length: x", "Transfer-Encoding: gzip", "A: b"]
        {
            for (method, status) in [(HTTPMethod.head, 200), (.get, 204), (.post, 304)] {
                let run = ParserRun.ofEveryCut(
                    "HTTP/1.1 \(status) -\r\n\(fields)\r\n\r\n",
                    expecting: .init(method: method)
                )
                #expect(run.outcome == .complete && run.isReusable && run.length == .known(0))
            }
        }
    }

    @Test("A message that ends early says how much came of it")
    func truncation() {
        let length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        for ending in [ParserRun.Ending.close, .reset] {
            #expect(ParserRun.ofEveryCut("", then: ending).fault == .emptyReply)
            for text in ["\r\n", "HTTP", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 -\r\n\r\n"] {
                let run = ParserRun.ofEveryCut(text, then: ending)
                #expect(run.fault == .truncated(received: 0, expected: nil), "\(text)")
            }
            let counted = ParserRun.ofEveryCut("\(length)abc", then: ending)
            #expect(counted.fault == .truncated(received: 3, expected: 5))
            #expect(counted.bodyText == "abc" && !counted.isReusable)
            for text in [
                "", "3", "3\r\nab", "2\r\nab\r\n", "2\r\nab\r\n0\r\n", "2\r\nab\r\n0\r\nA: b",
            ] {
                let run = chunked(text, then: ending)
                #expect(run.fault == .truncated(received: run.body.count, expected: nil))
            }
            #expect(ParserRun.ofEveryCut("\(length)abcde", then: ending).outcome == .complete)
        }
    }

    @Test("A body up to the end needs an orderly one")
    func untilClose() {
        let text = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nabc"
        let run = ParserRun.ofEveryCut(text, then: .close)
        #expect(run.outcome == .complete && run.bodyText == "abc" && !run.isReusable)
        #expect(run.length == .untilClose)
        let reset = ParserRun.ofEveryCut(text, then: .reset)
        #expect(reset.fault == .truncated(received: 3, expected: nil))
        #expect(ParserRun.ofEveryCut(text).outcome == .pending, "a silent peer has not ended")
    }

    @Test(
        "The connection goes on unless something says no",
        arguments: [
            ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.0", "", false),
            ("1.1", "Connection: x\r\nConnection: y, CLOSE\r\n", false),
            ("1.1", "Connection: \"close\"\r\n", true),
            ("1.1", "Proxy-Connection: close\r\n", true),
            ("1.0", "Connection: keep-alive\r\n", true),
            ("1.0", "Connection: x, Keep-Alive\r\n", true),
            ("1.0", "Connection: keep-alive, close\r\n", false), ("1.2", "", true),
        ]
    )
    func reuse(_ version: String, _ fields: String, _ isReusable: Bool) {
        let run = ParserRun.ofEveryCut(
            "HTTP/\(version) 200 OK\r\n\(fields)Content-Length: 1\r\n\r\nx"
        )
        #expect(run.outcome == .complete && run.isReusable == isReusable)
    }
}

extension HTTP1Fault {
    /// The same fault, so many bytes further on.
    fileprivate func moved(by count: Int) -> HTTP1Fault {
        switch self {
        case .bareLineFeed(let offset): .bareLineFeed(offset: offset + count)
        case .bareCarriageReturn(let offset): .bareCarriageReturn(offset: offset + count)
        case .chunkEnd(let offset): .chunkEnd(offset: offset + count)
        case .chunkExtension(let offset): .chunkExtension(offset: offset + count)
        case .fieldName(let offset): .fieldName(offset: offset + count)
        case .continuationOfNothing(let offset): .continuationOfNothing(offset: offset + count)
        default: self
        }
    }
}

import Testing
import TowlineHTTP

/// What the files of cases do not hold, row by row; every text is also cut at each place.
@Suite("Heads of responses") struct HTTP1ParserTests {
    /// An answer without a body.
    private static let empty = "Content-Length: 0\r\n\r\n"

    @Test("Two empty lines in front of a head are skipped, a third is not")
    func emptyLines() {
        let two = ParserRun.ofEveryCut("\r\n\r\nHTTP/1.1 200 OK\r\n\(Self.empty)")
        #expect(two.outcome == .complete && two.isReusable)
        let three = ParserRun.ofEveryCut("\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\(Self.empty)")
        #expect(three.fault == .statusLine(offset: 5))
        let bare = ParserRun.ofEveryCut("\nHTTP/1.1 200 OK\r\n\(Self.empty)")
        #expect(bare.outcome == .complete && !bare.isReusable, "a doubtful line end")
        let strict = ParserRun.ofEveryCut("\nHTTP/1.1 200 OK\r\n", profile: .strict)
        #expect(strict.fault == .bareLineFeed(offset: 0))
        let between = ParserRun.ofEveryCut(
            "HTTP/1.1 103 -\r\n\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\(Self.empty)"
        )
        #expect(between.outcome == .complete && between.interim.count == 1)
    }

    @Test(
        "What cannot become a status line fails at the byte that shows it",
        arguments: [
            ("SSH-2.0", 0), ("HTTPS", 4), ("http/1.1", 0), ("HTTP/x", 5), ("HTTP/1,", 6),
            ("HTTP/1.x", 7), ("HTTP/1.10", 8), ("HTTP/1.1\t200", 8), ("HTTP/1.1  200", 9),
            ("HTTP/1.1 099", 9), ("HTTP/1.1 000", 9), ("HTTP/1.1 2x", 10), ("HTTP/1.1 20 ", 11),
            ("HTTP/1.1 2000", 12), ("HTTP/1.1 200\tOK", 12), ("HTTP/1.1\r", 8),
            ("HTTP/1.1 200 a\0", 14), ("\r\n\u{FEFF}HTTP/1.1", 2),
        ]
    )
    func beginnings(_ text: String, _ offset: Int) {
        for profile in [HTTPProfile.standard, .strict] {
            #expect(
                ParserRun.ofEveryCut(text, profile: profile).fault == .statusLine(offset: offset)
            )
            // One byte less shows nothing yet; nor does it allow for an end.
            let start = String(decoding: Array(text.utf8).prefix(offset), as: UTF8.self)
            #expect(ParserRun.ofEveryCut(start, profile: profile).outcome == .pending)
        }
    }

    @Test("Other major versions are refused, higher minor ones are as 1.1")
    func versions() {
        #expect(ParserRun.ofEveryCut("HTTP/2").fault == .version(major: 2))
        #expect(ParserRun.ofEveryCut("HTTP/0").fault == .version(major: 0))
        for profile in [HTTPProfile.standard, .strict] {
            let run = ParserRun.ofEveryCut("HTTP/1.7 200 OK\r\n\(Self.empty)", profile: profile)
            #expect(run.isReusable && run.head?.version == HTTPVersion(major: 1, minor: 7))
        }
        let old = ParserRun.ofEveryCut("HTTP/1.0 200 OK\r\n\(Self.empty)")
        #expect(old.outcome == .complete && !old.isReusable)
    }

    @Test(
        "A reason may be missing, and may be anything but a line end or NUL",
        arguments: [
            ("HTTP/1.1 200", ""), ("HTTP/1.1 200 ", ""), ("HTTP/1.1 200  OK ", " OK "),
            ("HTTP/1.1 200 \t\u{1}\u{7F}é", "\t\u{1}\u{7F}é"),
        ]
    )
    func reasons(_ line: String, _ reason: String) {
        for profile in [HTTPProfile.standard, .strict] {
            let run = ParserRun.ofEveryCut("\(line)\r\n\(Self.empty)", profile: profile)
            #expect(run.head?.reason == reason && run.isReusable)
        }
    }

    @Test("Codes up to 999 are taken", arguments: [100, 200, 599, 600, 999])
    func codes(_ code: Int) {
        let run = ParserRun.ofEveryCut("HTTP/1.1 \(code) -\r\n\(Self.empty)")
        #expect((run.head ?? run.interim.first)?.status == code)
    }

    @Test("A line feed alone ends a head's line, at the price of the connection, or is refused")
    func bareLineFeeds() {
        let lines = ["HTTP/1.1 200 OK", "A: b", "Content-Length: 0", ""]
        for odd in lines.indices {
            let text = lines.indices.map { lines[$0] + ($0 == odd ? "\n" : "\r\n") }.joined()
            let run = ParserRun.ofEveryCut(text)
            #expect(run.outcome == .complete && !run.isReusable)
            #expect(run.head?.headers == ["A": "b", "Content-Length": "0"])
            let end = lines[...odd].map { $0.count + 2 }.reduce(-2, +)
            let strict = ParserRun.ofEveryCut(text, profile: .strict)
            #expect(strict.fault == .bareLineFeed(offset: end) && strict.head == nil)
        }
        let interim = ParserRun.ofEveryCut("HTTP/1.1 103 -\n\nHTTP/1.1 200 OK\r\n\(Self.empty)")
        #expect(interim.outcome == .complete && !interim.isReusable)
    }

    @Test(
        "A carriage return needs its line feed everywhere",
        arguments: [
            ("\rX", 0), ("HTTP/1.1 200\rX", 12), ("HTTP/1.1 200 OK\rX", 15),
            ("HTTP/1.1 200 OK\r\nA: b\rX", 21), ("HTTP/1.1 200 OK\r\n\rX", 17),
            ("HTTP/1.1 200 OK\r\nA: b\r\n c\rX", 25), ("HTTP/1.1 200 OK\r\r\n", 15),
        ]
    )
    func bareCarriageReturns(_ text: String, _ offset: Int) {
        for profile in [HTTPProfile.standard, .strict] {
            let run = ParserRun.ofEveryCut(text, profile: profile)
            #expect(run.fault == .bareCarriageReturn(offset: offset))
        }
    }

    @Test(
        "Lines that are no fields are refused at the byte that shows it",
        arguments: [
            (" A: b", HTTP1Fault.continuationOfNothing(offset: 17)),
            ("\tA: b", .continuationOfNothing(offset: 17)), (": b", .fieldName(offset: 17)),
            ("A : b", .fieldName(offset: 18)), ("A\t: b", .fieldName(offset: 18)),
            ("A(: b", .fieldName(offset: 18)), ("Ä: b", .fieldName(offset: 17)),
            ("A\u{7F}: b", .fieldName(offset: 18)), ("A", .missingColon(offset: 18)),
            ("A: b\0", .fieldValue(offset: 21)), ("A: b\r\n \0", .fieldValue(offset: 24)),
            ("A: b\r\nLonger-Name-Of-A-Field B", .fieldName(offset: 45)),
        ]
    )
    func oddFields(_ line: String, _ fault: HTTP1Fault) {
        for profile in [HTTPProfile.standard, .strict] {
            let run = ParserRun.ofEveryCut(
                "HTTP/1.1 200 OK\r\n\(line)\r\n\(Self.empty)",
                profile: profile
            )
            #expect(run.fault == fault && run.head == nil && !run.isReusable)
        }
    }

    @Test("Every byte is allowed in a name, or is not, as the grammar says")
    func nameBytes() {
        let allowed = Set("!#$%&'*+-.^_`|~0123456789".utf8).union(65...90).union(97...122)
        for byte in UInt8.min...UInt8.max where byte != 0x3A {
            // At each place of a word of eight bytes.
            for place in 0..<9 {
                var name = Array("abcd-fghij".utf8)
                name[place] = byte
                let bytes =
                    Array("HTTP/1.1 200 OK\r\n".utf8) + name
                    + Array(": v\r\n\(Self.empty)".utf8)
                let run = ParserRun([bytes[...]])
                #expect((run.outcome == .complete) == allowed.contains(byte), "\(byte) at \(place)")
            }
        }
    }

    @Test("Controls in a value are kept, or refused by the strict profile; bytes above are kept")
    func valueBytes() {
        for byte in UInt8.min...UInt8.max where byte != 0x0D && byte != 0x0A {
            for place in 0..<9 {
                var value = Array("abcdefghij".utf8)
                value[place + 1 > 9 ? 9 : place + 1] = byte
                let bytes =
                    Array("HTTP/1.1 200 OK\r\nA: ".utf8) + value
                    + Array("x\r\n\(Self.empty)".utf8)
                let run = ParserRun([bytes[...]])
                #expect((run.outcome == .complete) == (byte != 0), "\(byte) at \(place)")
                #expect(byte == 0 || run.head?.headers.first?.value == value + [0x78])
                let isControl = byte < 0x20 && byte != 9 || byte == 0x7F
                let strict = ParserRun([bytes[...]], profile: .strict)
                #expect((strict.outcome == .complete) == !isControl, "\(byte) at \(place)")
            }
        }
    }

    @Test(
        "A folded value is joined with one space, and trimmed",
        arguments: [
            ("A: b\r\n c", "b c"), ("A: b  \r\n\t \tc", "b c"), ("A:\r\n c", "c"),
            ("A: \r\n \r\n c\r\n  ", "c"), ("A: b\r\n \r\n \r\n c", "b c"), ("A: b\r\n ", "b"),
            ("A: b\r\n c  d \r\n e", "b c  d e"), ("A:\r\n ", ""),
        ]
    )
    func folds(_ lines: String, _ value: String) {
        for profile in [HTTPProfile.standard, .strict] {
            let run = ParserRun.ofEveryCut(
                "HTTP/1.1 200 OK\r\nX: y\r\n\(lines)\r\n\(Self.empty)",
                profile: profile
            )
            #expect(run.isReusable)
            #expect(run.head?.headers == ["X": "y", "A": value, "Content-Length": "0"])
        }
        let bare = ParserRun.ofEveryCut("HTTP/1.1 200 OK\nA: b \n c\n\(Self.empty)")
        #expect(bare.head?.headers["A"] == "b c")
    }

    @Test("Fields keep their order, their number and the case of their names")
    func order() {
        let run = ParserRun.ofEveryCut(
            "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nB:\t 2 \t\r\nset-cookie: a=2\r\n\(Self.empty)"
        )
        #expect(
            run.head?.headers.map(\.name) == ["Set-Cookie", "B", "set-cookie", "Content-Length"]
        )
        #expect(run.head?.headers.values(of: "Set-Cookie") == ["a=1", "a=2"])
        #expect(run.head?.headers["b"] == "2")
    }

    @Test("An answer without a head is a body if that is allowed, whatever it begins with")
    func headless() {
        let wish = HTTP1Parser.Expectation(method: .get, allowsHTTP09: true)
        for text in ["<html>", "HTT<", "\r\n\r\n\r\nx", "\r\nHTT\0", "\rx", "HTTPS"] {
            let run = ParserRun.ofEveryCut(text, then: .close, expecting: wish)
            #expect(run.outcome == .complete && run.bodyText == text && !run.isReusable)
            #expect(run.head?.version == .http09)
            let reset = ParserRun.ofEveryCut(text, then: .reset, expecting: wish)
            #expect(reset.fault == .truncated(received: text.utf8.count, expected: nil))
            #expect(ParserRun.ofEveryCut(text, then: .close).fault != nil)
        }
        let usual = ParserRun.ofEveryCut("HTTP/1.1 200 OK\r\n\(Self.empty)", expecting: wish)
        #expect(usual.isReusable)
        #expect(ParserRun.ofEveryCut("HTTP/2", expecting: wish).fault == .version(major: 2))
    }

    @Test("A 101 is an upgrade if it was asked for, and so is a 2xx to CONNECT")
    func upgrades() {
        let head = "HTTP/1.1 101 Go\r\nTransfer-Encoding: x\r\nContent-Length: y\r\n\r\nrest"
        let asked = HTTP1Parser.Expectation(method: .get, isUpgrade: true)
        let run = ParserRun.ofEveryCut(head, expecting: asked)
        #expect(run.outcome == .upgraded && run.leftover == Array("rest".utf8))
        #expect(run.head?.status == 101 && !run.isReusable && run.length == nil)
        #expect(ParserRun.ofEveryCut(head).fault == .unexpectedUpgrade)
        let tunnel = HTTP1Parser.Expectation(method: .connect)
        #expect(ParserRun.ofEveryCut(head, expecting: tunnel).fault == .unexpectedUpgrade)
        let open = ParserRun.ofEveryCut("HTTP/1.0 299 -\r\n\r\nx", expecting: tunnel)
        #expect(open.outcome == .upgraded && open.leftover == [0x78])
        let refused = ParserRun.ofEveryCut(
            "HTTP/1.1 407 -\r\nContent-Length: 2\r\n\r\nno",
            expecting: tunnel
        )
        #expect(refused.bodyText == "no" && refused.isReusable)
        let declined = ParserRun.ofEveryCut("HTTP/1.1 200 OK\r\n\(Self.empty)", expecting: asked)
        #expect(declined.isReusable, "any other answer to an upgrade is an ordinary one")
    }

    @Test("Bytes before a request and behind an answer belong to nobody")
    func strayBytes() throws {
        var parser = HTTP1Parser()
        var offset = 0
        let (allowsReuse, length) = (parser.allowsReuse, parser.bodyLength)
        #expect(!allowsReuse && length == nil)
        let event = try parser.next(in: RawSpan(), from: &offset)
        let end = try parser.reachEnd(isOrderly: true)
        #expect(event == nil && end == nil)
        let early = Array("H".utf8)
        do throws(HTTP1Fault) {
            _ = try parser.next(in: early.span.bytes, from: &offset)
            Issue.record("accepted")
        } catch {
            #expect(error == .unexpectedBytes)
        }
    }

    @Test("One parser reads the messages of a connection one after the other")
    func severalMessages() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na".utf8)
        let more = Array(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n".utf8
        )
        var parser = HTTP1Parser()
        for text in [bytes, more, bytes] {
            parser.begin(.init(method: .get))
            let allowsReuse = parser.allowsReuse
            let run = ParserRun([text[...]], of: &parser)
            #expect(!allowsReuse && run.outcome == .complete && run.body.count == 1)
            #expect(run.isReusable)
        }
        let end = try parser.reachEnd(isOrderly: false)
        #expect(end == nil, "an idle connection may end")
    }
}

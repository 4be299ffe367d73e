import Testing
import TowlineHTTP

@Suite("Limits of responses") struct HTTP1LimitTests {
    /// A head of so many bytes in all, behind which no body follows.
    private func head(of byteCount: Int) -> String {
        let line = "HTTP/1.1 200 OK\r\n"
        let end = "Content-Length: 0\r\n\r\n"
        let filling = byteCount - line.utf8.count - end.utf8.count - "A: \r\n".utf8.count
        return line + "A: " + String(repeating: "b", count: filling) + "\r\n" + end
    }

    private func limits(_ change: (inout HTTP1Limits) -> Void) -> HTTP1Limits {
        var limits = HTTP1Limits()
        change(&limits)
        return limits
    }

    @Test("The defaults are what the documentation says")
    func defaults() {
        let limits = HTTP1Limits()
        #expect(limits.head == 256 << 10 && limits.line == 64 << 10 && limits.fieldCount == 500)
        #expect(limits.trailers == 64 << 10 && limits.chunkExtensions == 16 << 10)
    }

    @Test("All heads of an exchange together stay below the limit")
    func heads() {
        let limits = limits { $0.head = 100 }
        let interim = "HTTP/1.1 100 -\r\n\r\n"
        #expect(ParserRun.ofEveryCut(head(of: 100), limits: limits).outcome == .complete)
        #expect(ParserRun.ofEveryCut(head(of: 101), limits: limits).fault == .limit(.head, 100))
        let both = ParserRun.ofEveryCut(interim + head(of: 82), limits: limits)
        #expect(both.outcome == .complete && both.interim.count == 1)
        let more = ParserRun.ofEveryCut(interim + head(of: 83), limits: limits)
        #expect(more.fault == .limit(.head, 100) && more.interim.count == 1 && more.head == nil)
        let status = "HTTP/1.1 200 \(String(repeating: "x", count: 100))"
        #expect(ParserRun.ofEveryCut(status, limits: limits).fault == .limit(.head, 100))
        let flood = String(repeating: interim, count: 10)
        #expect(ParserRun.ofEveryCut(flood, limits: limits).interim.count == 5)
    }

    @Test("A line has a limit of its own, wherever it is")
    func lines() {
        let limits = limits { $0.line = 24 }
        let value = String(repeating: "v", count: 19)
        let line = ParserRun.ofEveryCut("HTTP/1.1 200 OK\r\nA: \(value)\r\n\r\n", limits: limits)
        #expect(line.head?.headers["a"] == value, "24 bytes with its end")
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"
        for text in [
            "HTTP/1.1 200 OK\r\nA: v\(value)\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \(value)vvv",
            "HTTP/1.1 200 OK\r\nA: b\r\n \(value)vvvvv", "HTTP/1.1 200 OK\r\n\(value)\(value)",
            "HTTP/1.1 200 \(value)",
            "\(chunked)\(String(repeating: "0", count: 25))",
            "\(chunked)1;\(value)vvvvv",
            "\(chunked)0\r\nA: \(value)vvv",
        ] {
            let run = ParserRun.ofEveryCut(text, limits: limits)
            #expect(run.fault == .limit(.line, 24), "\(text)")
        }
    }

    @Test("Fields are counted, in the head and in trailers")
    func fields() {
        let limits = limits { $0.fieldCount = 3 }
        let three = String(repeating: "A: b\r\n", count: 3)
        let head = ParserRun.ofEveryCut("HTTP/1.1 200 OK\r\n\(three)\r\n", limits: limits)
        #expect(head.head?.headers.count == 3)
        let four = ParserRun.ofEveryCut("HTTP/1.1 200 OK\r\n\(three)A", limits: limits)
        #expect(four.fault == .limit(.fieldCount, 3))
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        let trailers = ParserRun.ofEveryCut("\(chunked)\(three)\r\n", limits: limits)
        #expect(trailers.trailers?.count == 3)
        let more = ParserRun.ofEveryCut("\(chunked)\(three)A", limits: limits)
        #expect(more.fault == .limit(.fieldCount, 3))
    }

    @Test("The trailer section and all extensions together have limits")
    func chunks() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let trailers = limits { $0.trailers = 10 }
        #expect(ParserRun.ofEveryCut("\(head)0\r\nA: bcd\r\n\r\n", limits: trailers).isReusable)
        let more = ParserRun.ofEveryCut("\(head)0\r\nA: bcde\r\n\r\n", limits: trailers)
        #expect(more.fault == .limit(.trailers, 10))
        let extensions = limits { $0.chunkExtensions = 4 }
        let four = ParserRun.ofEveryCut("\(head)1;a\r\nx\r\n0 ;\r\n\r\n", limits: extensions)
        #expect(four.isReusable)
        let five = ParserRun.ofEveryCut("\(head)1;a\r\nx\r\n0;ab\r\n\r\n", limits: extensions)
        #expect(five.fault == .limit(.chunkExtensions, 4) && five.bodyText == "x")
    }

    @Test("Limits that make no sense stop nothing but messages", arguments: [Int.min, -1, 0, .max])
    func oddLimits(_ value: Int) {
        let limits = limits {
            $0.head = value
            $0.line = value
            $0.fieldCount = value
            $0.trailers = value
            $0.chunkExtensions = value
        }
        let text =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a\r\nx\r\n0\r\nA: b\r\n\r\n"
        let run = ParserRun.ofEveryCut(text, limits: limits)
        #expect((run.outcome == .complete) == (value > 0))
    }

    @Test("Single bytes cost what they cost, whatever is in front of them")
    func linearTime() {
        // Were each byte's cost to grow with what is there, the long ones would take hours.
        let line = "HTTP/1.1 200 OK\r\n"
        let long = "A: " + String(repeating: "v", count: 20_000) + "\r\n"
        let folds = "A: b\r\n" + String(repeating: " v\r\n", count: 10_000)
        let blanks = "A: " + String(repeating: " ", count: 20_000) + "\r\n"
        let chunks = String(repeating: "1\r\nx\r\n", count: 8_000)
        let chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for text in [
            line + long + long + "Content-Length: 0\r\n\r\n",
            line + folds + "Content-Length: 0\r\n\r\n",
            line + blanks + "Content-Length: 0\r\n\r\n", chunkedHead + chunks + "0\r\n\r\n",
            "HTTP/1.1 200 \(String(repeating: " ", count: 20_000))\r\nContent-Length: 0\r\n\r\n",
        ] {
            let bytes = Array(text.utf8)
            let run = ParserRun(Cuts.byBytes(bytes))
            #expect(run.outcome == .complete && run == ParserRun(Cuts.whole(bytes)))
        }
    }

    @Test("Bytes that come one by one are delivered one by one")
    func singleBytes() throws {
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n".utf8)
        let byte: [UInt8] = [0x78]
        var parser = HTTP1Parser()
        parser.begin(.init(method: .get))
        var offset = 0
        _ = try parser.next(in: head.span.bytes, from: &offset)
        let span = byte.span.bytes
        var count = 0
        let clock = ContinuousClock()
        let start = clock.now
        while count < 300_000 {
            offset = 0
            guard case .body? = try parser.next(in: span, from: &offset) else { break }
            count += 1
        }
        guard case .end? = try parser.next(in: span, from: &offset) else {
            Issue.record("no end")
            return
        }
        #expect(count == 300_000)
        print("300,000 bytes one by one: \(clock.now - start)")
    }
}

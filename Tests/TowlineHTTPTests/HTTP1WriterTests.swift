import Testing
import TowlineHTTP

@Suite("Requests into bytes") struct HTTP1WriterTests {
    private func text(
        _ head: HTTPRequestHead,
        _ body: HTTPBodyLength = .none
    ) throws(HTTPRequestFault) -> String {
        String(decoding: try HTTP1Writer.head(head, body: body), as: UTF8.self)
    }

    private func request(
        _ method: HTTPMethod = .get,
        _ target: String = "/",
        version: HTTPVersion = .http11,
        _ headers: HTTPHeaders = [:]
    ) -> HTTPRequestHead {
        HTTPRequestHead(method: method, target: target, version: version, headers: headers)
    }

    @Test("Host comes first, the other fields in their order, with the names as they were written")
    func order() throws {
        let head = request(.get, "/a?b", ["x-B": "1", "hOst": "h:81", "x-b": "2", "A": ""])
        #expect(
            try text(head)
                == "GET /a?b HTTP/1.1\r\nhOst: h:81\r\nx-B: 1\r\nx-b: 2\r\nA: \r\n\r\n"
        )
    }

    @Test("Values are trimmed of blanks, and otherwise the bytes that were given")
    func values() throws {
        var head = request()
        head.headers.add("X", [0x20, 0x09, 0xE9, 0x09, 0xFF, 0x20])
        let bytes = try HTTP1Writer.head(head, body: .none)
        #expect(bytes == Array("GET / HTTP/1.1\r\nX: ".utf8) + [0xE9, 9, 0xFF, 13, 10, 13, 10])
        #expect(try text(request(["A": " \t "])) == "GET / HTTP/1.1\r\nA: \r\n\r\n")
    }

    private func request(_ headers: HTTPHeaders) -> HTTPRequestHead { request(.get, "/", headers) }

    @Test("The head is allocated once")
    func capacity() throws {
        var head = request(.post, "/some/where", ["Host": "example.com"])
        for index in 0..<100 { head.headers.add("Name-\(index)", "value \(index)") }
        let bytes = try HTTP1Writer.head(head, body: .known(.max))
        #expect(bytes.count > 1500 && bytes.capacity < bytes.count + 120, "it has not grown")
    }

    @Test("Fields that lie as they are sent and those that do not are written alike")
    func wireForm() throws {
        let wanted = "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\n\r\n"
        #expect(try text(request(["Host": "h", "A": "1", "B": "2"])) == wanted)
        #expect(try text(request(["A": "1", "B": "2", "Host": "h"])) == wanted)
        var changed: HTTPHeaders = ["Host": "h", "X": "9", "A": " 0", "B": "2 "]
        changed.remove("x")
        changed["a"] = "1"
        #expect(try text(request(changed)) == wanted.replacing("A: 1", with: "a: 1"))
        var cut: HTTPHeaders = ["Host": "h", "A": "1", "B": "2", "C": "3"]
        cut.remove("C")
        #expect(try text(request(cut)) == wanted)
        var together: HTTPHeaders = ["Host": "h"]
        together.add(contentsOf: ["A": "1", "B": "2"])
        #expect(try text(request(together)) == wanted)
        #expect(together == ["Host": "h", "A": "1", "B": "2"])
    }

    @Test("Fields that heads have in common go in front of their own, and Host in front of all")
    func commonFields() throws {
        let common = try HTTPCommonFields(["A": "1 ", "Host": "h"])
        func text(_ headers: HTTPHeaders, _ common: HTTPCommonFields) throws -> String {
            let bytes = try HTTP1Writer.head(request(headers), behind: common, body: .known(3))
            return String(decoding: bytes, as: UTF8.self)
        }
        let end = "Content-Length: 3\r\n\r\n"
        #expect(try text([:], common) == "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\n" + end)
        #expect(
            try text(["B": "2"], common) == "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\n" + end
        )
        let hostless = try HTTPCommonFields(["A": "1"])
        let wanted = "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\n" + end
        #expect(try text(["Host": "h", "B": "2"], hostless) == wanted)
        #expect(try text(["B": "2", "Host": "h"], hostless) == wanted)
        #expect(throws: HTTPRequestFault.repeatedField("host")) { try text(["host": "x"], common) }
    }

    @Test("What heads must not have in common is refused")
    func commonFaults() throws {
        let faults: [(HTTPHeaders, HTTPRequestFault)] = [
            (["Content-Length": "3"], .contentLength("3")),
            (["Transfer-Encoding": "chunked"], .transferEncoding("chunked")),
            (["Host": "a", "host": "b"], .repeatedField("host")),
            (["A B": "1"], .fieldName("A B")),
            (["A": "1\r\nB: 2"], .fieldValue(name: "A", byte: 13, offset: 1)),
        ]
        for (headers, fault) in faults {
            #expect(throws: fault) { try HTTPCommonFields(headers) }
        }
    }

    @Test("Only methods whose request means something empty say that nothing follows")
    func noBody() throws {
        for method: HTTPMethod in [.get, .head, .delete, .options, .trace] {
            #expect(try text(request(method)) == "\(method) / HTTP/1.1\r\n\r\n")
        }
        for method: HTTPMethod in [.post, .put, .patch] {
            let wanted = "\(method) / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
            #expect(try text(request(method)) == wanted)
        }
        #expect(try text(request(.connect, "h:1")) == "CONNECT h:1 HTTP/1.1\r\n\r\n")
        #expect(try text(request(.init(rawValue: "get"))) == "get / HTTP/1.1\r\n\r\n")
    }

    @Test("A known length is said, an unknown one is sent in chunks")
    func lengths() throws {
        let counted = "Content-Length: 18446744073709551615\r\n\r\n"
        #expect(try text(request(.put), .known(.max)).hasSuffix(counted))
        #expect(try text(request(), .known(0)).hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
        #expect(try text(request(), .unknown).hasSuffix("\r\nTransfer-Encoding: chunked\r\n\r\n"))
        let old = request(.post, version: .http10)
        #expect(try text(old, .known(7)) == "POST / HTTP/1.0\r\nContent-Length: 7\r\n\r\n")
        #expect(throws: HTTPRequestFault.unknownLengthOnOldVersion) { try text(old, .unknown) }
    }

    @Test("A caller's length or coding passes only if it says what is so, and is not said twice")
    func callersLengths() throws {
        let seven = request(.post, "/", ["content-length": " 7 "])
        #expect(try text(seven, .known(7)) == "POST / HTTP/1.1\r\ncontent-length: 7\r\n\r\n")
        for value in ["8", "07", "+7", "7,7", "", "7 7", "0x7", "７"] {
            let head = request(.post, "/", ["Content-Length": value])
            #expect(throws: HTTPRequestFault.contentLength(value)) { try text(head, .known(7)) }
        }
        #expect(throws: HTTPRequestFault.contentLength("7")) { try text(seven, .none) }
        #expect(throws: HTTPRequestFault.contentLength("7")) { try text(seven, .unknown) }
        let zero = request(.get, "/", ["Content-Length": "0"])
        #expect(try text(zero) == "GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")

        let chunked = request(.post, "/", ["Transfer-Encoding": "Chunked"])
        #expect(try text(chunked, .unknown).hasSuffix("1\r\nTransfer-Encoding: Chunked\r\n\r\n"))
        #expect(throws: HTTPRequestFault.transferEncoding("Chunked")) { try text(chunked) }
        #expect(throws: HTTPRequestFault.transferEncoding("Chunked")) {
            try text(chunked, .known(7))
        }
        for value in ["gzip", "gzip, chunked", "chunked, chunked", "identity", ""] {
            let head = request(.post, "/", ["Transfer-Encoding": value])
            #expect(throws: HTTPRequestFault.transferEncoding(value)) { try text(head, .unknown) }
        }
    }

    @Test("Fields of which there may be one are refused twice, and both lengths together")
    func repeated() {
        for name in ["Host", "Content-Length", "Transfer-Encoding"] {
            let value = name == "Transfer-Encoding" ? "chunked" : "7"
            var head = request(.post, "/", [name: value])
            head.headers.add(name.lowercased(), value)
            let fault = HTTPRequestFault.repeatedField(name.lowercased())
            for body in [HTTPBodyLength.known(7), .unknown] {
                #expect(throws: fault) { try text(head, body) }
            }
        }
        let both = request(["Content-Length": "7", "Transfer-Encoding": "chunked"])
        for body in [HTTPBodyLength.none, .known(7), .unknown] {
            #expect(throws: HTTPRequestFault.twoLengths) { try text(both, body) }
        }
    }

    @Test("TRACE and CONNECT have no body")
    func bodiless() throws {
        for (method, target) in [(HTTPMethod.trace, "/"), (.connect, "h:1")] {
            let head = request(method, target)
            for body in [HTTPBodyLength.known(1), .unknown] {
                #expect(throws: HTTPRequestFault.bodyNotAllowed(method)) { try text(head, body) }
            }
            #expect(try text(head, .known(0)) == "\(method) \(target) HTTP/1.1\r\n\r\n")
        }
    }

    @Test("A target has the form that goes with the method")
    func targets() throws {
        let right: [(HTTPMethod, String)] = [
            (.get, "/"), (.get, "//x"), (.get, "http://h"), (.post, "https://h:1/a?b=c://d@e"),
            (.options, "*"), (.options, "/"), (.options, "http://h/"), (.connect, "h:443"),
            (.connect, "[::1]:443"), (.get, "/?q=a@b"),
        ]
        for (method, target) in right {
            #expect(try text(request(method, target)).hasPrefix("\(method) \(target) HTTP/1.1\r\n"))
        }
        let wrong: [(HTTPMethod, String)] = [
            (.get, "*"), (.get, "h:443"), (.get, "a"), (.get, "?a"), (.get, "http:/h"),
            (.get, "http://"), (.get, "http://u:p@h/"), (.get, "://h"), (.post, "http:///a"),
            (.connect, "/"), (.connect, "h"), (.connect, ":1"), (.connect, "h:"),
            (.connect, "http://h:1"), (.connect, "u@h:1"), (.connect, "::1:443"),
            (.connect, "h:123456"), (.connect, "h:1a"), (.options, "**"), (.connect, "*"),
        ]
        for (method, target) in wrong {
            #expect(throws: HTTPRequestFault.targetForm(target, method)) {
                try text(request(method, target))
            }
        }
        #expect(throws: HTTPRequestFault.emptyTarget) { try text(request(.get, "")) }
        for (target, byte, offset) in [
            ("/a b", 0x20, 2), ("/#", 0x23, 1), ("/\u{E9}", 0xC3, 1), ("/\u{7F}", 0x7F, 1),
        ] {
            #expect(throws: HTTPRequestFault.targetByte(UInt8(byte), offset: offset)) {
                try text(request(.get, target))
            }
        }
    }

    @Test("Methods and names are tokens, byte by byte")
    func tokens() throws {
        let tokens = Set(
            "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8
        )
        for byte in UInt8.min..<0x80 {
            let name = "a\(Unicode.Scalar(byte))b"
            let method = request(.init(rawValue: name))
            let field = request([name: "1"])
            if tokens.contains(byte) {
                #expect(try text(method) == "\(name) / HTTP/1.1\r\n\r\n")
                #expect(try text(field) == "GET / HTTP/1.1\r\n\(name): 1\r\n\r\n")
            } else {
                #expect(throws: HTTPRequestFault.method(name)) { try text(method) }
                #expect(throws: HTTPRequestFault.fieldName(name)) { try text(field) }
            }
        }
        for name in ["", "\u{E9}"] {
            #expect(throws: HTTPRequestFault.method(name)) {
                try text(request(.init(rawValue: name)))
            }
            #expect(throws: HTTPRequestFault.fieldName(name)) { try text(request([name: "1"])) }
        }
    }

    @Test("Values have no control byte but a tab")
    func controls() throws {
        for byte in UInt8.min...UInt8.max {
            var head = request()
            head.headers.add("A", [0x61, byte, 0x62])
            if byte < 0x20 && byte != 9 || byte == 0x7F {
                #expect(throws: HTTPRequestFault.fieldValue(name: "A", byte: byte, offset: 1)) {
                    try text(head)
                }
            } else {
                #expect(try HTTP1Writer.head(head, body: .none).contains(byte))
            }
        }
    }

    @Test("Other versions are not written")
    func versions() {
        for version in [HTTPVersion.http09, .init(major: 2, minor: 0), .init(major: 1, minor: 2)] {
            #expect(throws: HTTPRequestFault.version(version)) {
                try text(request(version: version))
            }
        }
    }

    @Test("Chunks have their size in front, and fields may follow the last")
    func chunks() throws {
        #expect(HTTP1Writer.chunkPrefix(byteCount: 1) == Array("1\r\n".utf8))
        #expect(HTTP1Writer.chunkPrefix(byteCount: 0xABCDE) == Array("ABCDE\r\n".utf8))
        #expect(HTTP1Writer.chunkPrefix(byteCount: .max) == Array("7FFFFFFFFFFFFFFF\r\n".utf8))
        #expect(try HTTP1Writer.lastChunk() == Array("0\r\n\r\n".utf8))
        let trailers: HTTPHeaders = ["Checksum": " a1 "]
        let wanted = Array("0\r\nChecksum: a1\r\n\r\n".utf8)
        #expect(try HTTP1Writer.lastChunk(trailers: trailers) == wanted)
        let banned = [
            "Content-Length", "transfer-encoding", "Host", "Authorization", "Content-Type",
            "Set-Cookie", "Trailer", "If-Match", "Proxy-Authorization", "Cache-Control",
        ]
        for name in banned {
            #expect(throws: HTTPRequestFault.trailer(name)) {
                try HTTP1Writer.lastChunk(trailers: [name: "1"])
            }
        }
        #expect(throws: HTTPRequestFault.fieldValue(name: "A", byte: 10, offset: 1)) {
            try HTTP1Writer.lastChunk(trailers: ["A": "b\nB: c"])
        }
    }
}

import Testing
import TowlineHTTP

@Suite("Forms") struct FormTests {
    private let boundary = "----TowlineForm-0123456789"

    @Test("Names and values are encoded as browsers encode them")
    func urlEncoded() {
        let fields = [("a b", "c&d=e"), ("é", "*-._ ~!'()"), ("\r\n\0", ""), ("", "%+")]
        let body = FormEncoding.encode(fields.map { (name: $0.0, value: $0.1) })
        let wanted = "a+b=c%26d%3De&%C3%A9=*-._+%7E%21%27%28%29&%0D%0A%00=&=%25%2B"
        #expect(String(decoding: body, as: UTF8.self) == wanted)
        #expect(FormEncoding.encodeComponent("a b/~-._*'é".utf8) == "a%20b%2F~-._%2A%27%C3%A9")
        #expect(FormEncoding.encode([(name: String, value: String)]()) == [])
    }

    @Test("A form of texts is one piece, and its length known")
    func multipart() throws {
        var form = try MultipartForm(boundary: boundary)
        form.parts = [.init(name: "a", value: "1"), .init(name: "b", value: "")]
        form.parts[1].contentType = "text/plain"
        form.parts[1].headers = [.init(name: "X-Y", value: "z")]
        let text = """
            --\(boundary)\r
            Content-Disposition: form-data; name="a"\r
            \r
            1\r
            --\(boundary)\r
            Content-Disposition: form-data; name="b"\r
            Content-Type: text/plain\r
            X-Y: z\r
            \r
            \r
            --\(boundary)--\r

            """
        let pieces = try form.pieces()
        #expect(pieces == [.bytes(Array(text.utf8))])
        #expect(MultipartForm.byteCount(of: pieces) == .known(UInt64(text.utf8.count)))
        #expect(form.contentType == "multipart/form-data; boundary=\(boundary)")
    }

    @Test("What the form does not have is left to the sender, in its place")
    func external() throws {
        var form = try MultipartForm(boundary: boundary)
        form.parts = [
            .init(name: "f", fileName: "a.bin", content: .external(byteCount: 1000)),
            .init(name: "g", content: .external(byteCount: 7)),
        ]
        let pieces = try form.pieces()
        #expect(pieces.count == 5)
        #expect(pieces[1] == .content(partIndex: 0, byteCount: 1000))
        #expect(pieces[3] == .content(partIndex: 1, byteCount: 7))
        guard case .bytes(let first) = pieces[0], case .bytes(let middle) = pieces[2],
            case .bytes(let last) = pieces[4]
        else { return #expect(Bool(false), "bytes around them") }
        #expect(
            String(decoding: first, as: UTF8.self).hasSuffix(
                "; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n"
            )
        )
        #expect(middle.starts(with: "\r\n--\(boundary)\r\n".utf8))
        #expect(last == Array("\r\n--\(boundary)--\r\n".utf8))
        let count = first.count + middle.count + last.count + 1007
        #expect(MultipartForm.byteCount(of: pieces) == .known(UInt64(count)))
        form.parts[1].content = .external(byteCount: nil)
        #expect(MultipartForm.byteCount(of: try form.pieces()) == .unknown)
        form.parts[1].content = .external(byteCount: .max)
        #expect(MultipartForm.byteCount(of: try form.pieces()) == .unknown, "no sum")
    }

    @Test("Quotes and line ends in names are escaped")
    func names() throws {
        var form = try MultipartForm(boundary: boundary)
        let evil = "a\"\r\nX: y\\;\u{E9}"
        form.parts = [.init(name: evil, fileName: evil, content: .bytes([]))]
        guard case .bytes(let bytes) = try form.pieces().first else { return }
        let escaped = "a%22%0D%0AX: y\\;\u{E9}"
        let line =
            "\r\nContent-Disposition: form-data; name=\"\(escaped)\"; filename=\"\(escaped)\"\r\n"
        #expect(String(decoding: bytes, as: UTF8.self).contains(line))
    }

    @Test("What would end a line of a part's fields is refused", arguments: ["\r", "\n", "\0"])
    func injected(_ evil: String) throws {
        let parts: [MultipartForm.Part] = [
            .init(name: "a", contentType: "text/plain\(evil)X: y", content: .bytes([])),
            .init(name: "a", headers: [.init(name: "A", value: "b\(evil)")], content: .bytes([])),
            .init(name: "a", headers: [.init(name: "A\(evil)", value: "b")], content: .bytes([])),
        ]
        for part in parts {
            let form = try MultipartForm(boundary: boundary, parts: [part])
            #expect(throws: HTTPRequestFault.self) { try form.pieces() }
        }
        #expect(throws: HTTPRequestFault.self) { try MultipartForm(boundary: boundary + evil) }
        // In names, line ends are escaped, and nothing else of the kind passes.
        let names: [MultipartForm.Part] = [
            .init(name: "a\(evil)", value: ""), .init(name: "a\u{1}", value: ""),
            .init(name: "a", fileName: "\(evil)b", content: .bytes([])),
        ]
        for part in names {
            let form = try MultipartForm(boundary: boundary, parts: [part])
            if evil == "\0" || part.name == "a\u{1}" {
                #expect(throws: HTTPRequestFault.self) { try form.pieces() }
            } else if case .bytes(let bytes) = try form.pieces().first {
                #expect(bytes.count { $0 == 0x0A } == (part.fileName == nil ? 5 : 6))
            }
        }
    }

    @Test("A boundary is long, of letters and digits, and another each time")
    func boundaries() throws {
        var generator = SystemRandomNumberGenerator()
        let first = MultipartForm.makeBoundary(using: &generator)
        #expect(first != MultipartForm.makeBoundary(using: &generator))
        #expect(try MultipartForm(boundary: first).boundary == first)
        for text in [
            "", "short", String(repeating: "a", count: 71), boundary + " ", boundary + "é",
        ] {
            #expect(throws: HTTPRequestFault.boundary(text)) { try MultipartForm(boundary: text) }
        }
    }
}

import Testing
import TowlineHTTP

@Suite("Line ends where none may be") struct InjectionTests {
    /// What would end a line, or a text in C.
    static let bytes = ["\r", "\n", "\r\n", "\0"]

    @Test(
        "A URL with CR, LF, NUL or a tab anywhere is refused",
        arguments: bytes + ["\t"]
    )
    func urls(_ evil: String) {
        let texts = [
            "\(evil)http://h/", "ht\(evil)tp://h/", "http:\(evil)//h/", "http:/\(evil)/h/",
            "http://\(evil)h/", "http://u\(evil)@h/", "http://u:p\(evil)@h/", "http://a\(evil)b/",
            "http://h:8\(evil)0/", "http://[::\(evil)1]/", "http://1.2\(evil).3.4/",
            "http://h/a\(evil)b", "http://h/..\(evil)/", "http://h/?a\(evil)b",
            "http://h/#a\(evil)b", "http://h/\(evil)", " \(evil)http://h/",
            "http://h/ HTTP/1.1\(evil)X: y",
        ]
        for text in texts {
            let first = evil.utf8.first ?? 0
            let offset =
                text.utf8.firstIndex(of: first)
                .map { text.utf8.distance(from: text.utf8.startIndex, to: $0) } ?? 0
            #expect(throws: HTTPURLError.controlByte(first, offset: offset)) {
                try HTTPURL(text)
            }
        }
    }

    @Test("A host that hides one behind an escape is refused", arguments: ["%0D", "%0a", "%00"])
    func hosts(_ evil: String) {
        for text in ["http://a\(evil)b/", "http://\(evil)/", "http://h\(evil):80/"] {
            #expect(throws: HTTPURLError.self) { try HTTPURL(text) }
            #expect(throws: HTTPURLError.self) { try HTTPURL(text, rule: .standard) }
        }
    }

    @Test(
        "A redirect with a control byte anywhere is refused",
        arguments: bytes + ["\t", "\u{1}", "\u{8}", "\u{B}", "\u{1F}", "\u{7F}"]
    )
    func redirects(_ evil: String) throws {
        let base = try HTTPURL("http://h/a")
        let references = [
            "\(evil)", "\(evil)/b", "/b\(evil)", "/b\(evil)c", "//x\(evil)/", "?\(evil)",
            "#\(evil)",
            "http://x/\(evil)", "http://x\(evil):80/", "../\(evil)..", "/b HTTP/1.1\(evil)X: y",
        ]
        for reference in references {
            #expect(throws: HTTPURLError.self) { try base.resolve(reference) }
            #expect(throws: HTTPURLError.self) { try base.resolve(Array(reference.utf8)) }
        }
    }

    @Test(
        "What the standard lets pass has no such byte in any part",
        arguments: (0...0x20).map { UInt8($0) } + [0x7F, 0x80, 0xFF]
    )
    func standard(_ evil: UInt8) throws {
        for pattern in ["http://u*:p*@h/a*b?c*d#e*f", "http:/*/h/*/..*/?*'#*"] {
            let bytes = pattern.utf8.flatMap { $0 == UInt8(ascii: "*") ? [evil] : [$0] }
            guard let url = try? HTTPURL(bytes: bytes, rule: .standard) else { continue }
            #expect(url.href.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(url)")
            let head = HTTPRequestHead(target: url.requestTarget, headers: ["Host": url.authority])
            let written = try HTTP1Writer.head(head, body: .none)
            #expect(written.count { $0 == 0x0A } == 3, "two lines and the empty one")
            #expect(written.count { $0 == 0x20 } == 3)
        }
    }

    @Test("A head with one anywhere is refused", arguments: bytes)
    func heads(_ evil: String) throws {
        let heads: [HTTPRequestHead] = [
            .init(method: .init(rawValue: "GET\(evil)"), target: "/"),
            .init(method: .init(rawValue: "\(evil)GET"), target: "/"),
            .init(method: .init(rawValue: "G\(evil)ET"), target: "/"),
            .init(target: "/\(evil)"), .init(target: "\(evil)/"),
            .init(target: "/a HTTP/1.1\(evil)X: y"), .init(target: "http://h\(evil)/"),
            .init(method: .connect, target: "h\(evil):443"),
            .init(method: .connect, target: "h:443\(evil)"),
            .init(method: .options, target: "*\(evil)"),
            .init(target: "/", headers: ["Host": "h\(evil)"]),
            .init(target: "/", headers: ["Host": "\(evil)h"]),
            .init(target: "/", headers: ["A": "b\(evil)C: d"]),
            .init(target: "/", headers: ["A": "b\(evil)"]),
            .init(target: "/", headers: ["A": "\(evil)b"]),
            .init(target: "/", headers: ["A": "\(evil) folded"]),
            .init(target: "/", headers: ["A\(evil)": "b"]),
            .init(target: "/", headers: ["\(evil)A": "b"]),
            .init(target: "/", headers: ["A: b\(evil)C": "d"]),
            .init(target: "/", headers: ["Cookie": "a=b\(evil)Host: c"]),
            .init(target: "/", headers: ["Content-Length": "0\(evil)"]),
            .init(target: "/", headers: ["Transfer-Encoding": "chunked\(evil)"]),
        ]
        for head in heads {
            for body in [HTTPBodyLength.none, .known(0), .unknown] {
                #expect(throws: HTTPRequestFault.self) { try HTTP1Writer.head(head, body: body) }
            }
        }
        for trailers: HTTPHeaders in [["A": "b\(evil)"], ["A\(evil)": "b"]] {
            #expect(throws: HTTPRequestFault.self) { try HTTP1Writer.lastChunk(trailers: trailers) }
        }
    }
}

import Testing

@testable import TowlineHTTP

@Suite("URLs of any bytes") struct URLMutationTests {
    private static let seeds = [
        "http://u:p@h.example:81/a/../b?c#d", "https://[::1.2.3.4]:443/%2e%2E/;x?'#`",
        "http://0x7F.1//a\\b/./", "https:x/y", "//h\\@i:0/", "?#", "../..//..", "http://1.2.3/%",
        "http:////@@h:080/ a", "data:a b#c", "foo://é/", "https://xn--n3h.é。com/",
    ]
    private static let pieces =
        Array("/\\?#@:[].%2eE0x1 \t\"<>^`{}|a".utf8) + [0xC3, 0xA9, 0x7F, 0]

    @Test("What comes out of a URL is a URL, the same, of bytes that can be sent")
    func roundTrip() throws {
        var generator = SystemRandomNumberGenerator()
        let base = try HTTPURL("http://b.example/x/y?z")
        var parsed = 0
        for round in 0..<6000 {
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0..<(round % 7) {
                let place = Int.random(in: 0...bytes.count, using: &generator)
                if Bool.random(using: &generator), place < bytes.count { bytes.remove(at: place) }
                let piece = Self.pieces.randomElement(using: &generator) ?? 0
                bytes.insert(piece, at: min(place, bytes.count))
            }
            guard let url = try? HTTPURL(bytes: bytes, relativeTo: base, rule: .standard) else {
                continue
            }
            parsed += 1
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(url.href.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(text)")
            let again = try HTTPURL(url.href, rule: .received)
            #expect(again == url, "\(text)")
            #expect(url.path.hasPrefix("/") && !url.requestTarget.contains("#"), "\(text)")
            let head = HTTPRequestHead(target: url.requestTarget, headers: ["Host": url.authority])
            #expect(throws: Never.self) { try HTTP1Writer.head(head, body: .none) }
            let whole = HTTPRequestHead(target: url.absoluteTarget)
            #expect(throws: Never.self) { try HTTP1Writer.head(whole, body: .none) }
            let tunnel = HTTPRequestHead(method: .connect, target: url.tunnelTarget)
            #expect(throws: Never.self) { try HTTP1Writer.head(tunnel, body: .none) }
        }
        #expect(parsed > 2000, "most of them are URLs")
    }
}

import TowlineHTTP

/// Any bytes as a URL, or as a reference to one of three.
///
/// The first byte says by which rule and relative to what.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let choices = data[0]
    let bytes = Array(UnsafeBufferPointer(start: data + 1, count: count - 1))
    let rule = [HTTPURL.Rule.given, .received, .standard, .standard][Int(choices & 3)]
    let base = bases[Int(choices >> 2 & 3)]
    let keepsDots = choices & 16 != 0
    let parsed: HTTPURL
    do throws(HTTPURLError) {
        parsed = try HTTPURL(
            bytes: bytes,
            relativeTo: base,
            rule: rule,
            keepsDotSegments: keepsDots
        )
    } catch {
        precondition(!error.description.isEmpty, "an error says what it is")
        return 0
    }
    check(parsed, keepsDots)
    return 0
}

private let bases: [HTTPURL?] = [
    nil, try? HTTPURL("http://b.example/x/y?z"), try? HTTPURL("https://u:p@[::1]:81/a/b/../c#d"),
    try? HTTPURL("http://192.0.2.1/"),
]

/// Stops the program if a URL is not the same again as text, or if a part of it could end a line.
private func check(_ url: HTTPURL, _ keepsDots: Bool) {
    let text = url.href
    precondition(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "only what may be sent: \(text)")
    guard let again = try? HTTPURL(text, rule: .received, keepsDotSegments: keepsDots) else {
        fatalError("no URL any more: \(text)")
    }
    precondition(again == url && again.hashValue == url.hashValue, "another URL: \(text)")
    precondition(again.href == text, "another text: \(text), \(again.href)")
    precondition(!url.host.text.isEmpty && url.path.utf8.first == UInt8(ascii: "/"), text)
    precondition(!url.requestTarget.utf8.contains(UInt8(ascii: "#")), text)
    precondition(
        !url.absoluteTarget.utf8.contains(UInt8(ascii: "@")) || url.path.contains("@")
            || url.query?.contains("@") == true,
        "no user in what a proxy is told: \(text)"
    )
    precondition(url.withoutUserInfo.withoutFragment.origin == url.origin, text)
    precondition((try? url.resolve("")) == url.withoutFragment || keepsDots, text)
    let heads = [
        HTTPRequestHead(target: url.requestTarget, headers: ["Host": url.authority]),
        HTTPRequestHead(target: url.absoluteTarget),
        HTTPRequestHead(method: .connect, target: url.tunnelTarget),
    ]
    for head in heads {
        guard let bytes = try? HTTP1Writer.head(head, body: .none) else {
            fatalError("it cannot be asked for: \(text)")
        }
        let lines = bytes.filter { $0 == UInt8(ascii: "\n") }.count
        precondition(
            lines == (head.headers.isEmpty ? 2 : 3),
            "a line that nobody asked for: \(text)"
        )
    }
}

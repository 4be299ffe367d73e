import Testing
import TestSupport
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Forms") struct FormTests {
    private func web(redirecting status: Int? = nil) throws -> SimulatedWeb {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in
            guard let status, seen.line.hasPrefix("POST /1 ") else {
                return peer.send("HTTP/1.1 204 OK\r\n\r\n")
            }
            peer.send("HTTP/1.1 \(status) Go\r\nLocation: /2\r\nContent-Length: 0\r\n\r\n")
        }
        return web
    }

    @Test("Names and values in one line, with their type unless the caller gives another")
    func oneLine() throws {
        let web = try web()
        let fields = [("a b", "1&2"), ("ü", "")]
        try web.send(HTTPRequest(.post, "http://127.0.0.1/", body: .form(fields)))
        #expect(web.seen[0].body == "a+b=1%262&%C3%BC=")
        #expect(web.seen[0].field("Content-Type") == "application/x-www-form-urlencoded")
        #expect(web.seen[0].field("Content-Length") == "17")
        var request = HTTPRequest(.post, "http://127.0.0.1/", body: .form([]))
        request.headers["content-type"] = "x/y"
        try web.send(request)
        #expect(web.seen[1].body.isEmpty && web.seen[1].field("Content-Length") == "0")
        #expect(web.seen[1].field("Content-Type") == "x/y")
        try web.end()
    }

    @Test("Parts and files between a boundary of chance, their length known, with progress")
    func parts() throws {
        let bytes = String(repeating: "0123456789", count: 60_000)
        let file = try ScratchFile(Array(bytes.utf8))
        let web = try web()
        let parts = [
            HTTPFormPart("text", value: "v"),
            HTTPFormPart("file", file: file.path, fileName: "a\"\r\n.txt", contentType: "text/x"),
            HTTPFormPart("two", .pieces([.text("1"), .text("2")])),
        ]
        let request = HTTPRequest(.post, "http://127.0.0.1/", body: .multipart(parts))
        let recorder = try web.send(request)
        #expect(recorder.outcome == "204")
        let seen = try #require(web.seen.first)
        let type = try #require(seen.field("Content-Type"))
        let boundary = String(type.split(separator: "=")[1])
        #expect(type.hasPrefix("multipart/form-data; boundary=") && boundary.utf8.count >= 24)
        let expected = [
            "--\(boundary)", "Content-Disposition: form-data; name=\"text\"", "", "v",
            "--\(boundary)",
            "Content-Disposition: form-data; name=\"file\"; filename=\"a%22%0D%0A.txt\"",
            "Content-Type: text/x", "", bytes, "--\(boundary)",
            "Content-Disposition: form-data; name=\"two\"", "", "12", "--\(boundary)--", "",
        ].joined(separator: "\r\n")
        #expect(seen.body == expected)
        #expect(seen.field("Content-Length") == "\(expected.utf8.count)")
        let size = UInt64(expected.utf8.count)
        #expect(recorder.events.contains(.sent(size, of: size)))
        try web.send(request)
        #expect(web.seen[1].field("Content-Type") != type, "another boundary each time")
        try web.end()
    }

    @Test(
        "A form is sent again where a redirect says so, and its type goes with it",
        arguments: [307, 303]
    )
    func redirects(status: Int) throws {
        let web = try web(redirecting: status)
        let body = HTTPBody.multipart([HTTPFormPart("a", value: "b")])
        #expect(try web.send(HTTPRequest(.post, "http://127.0.0.1/1", body: body)).outcome == "204")
        let last = try #require(web.seen.last)
        #expect(last.line.hasPrefix(status == 307 ? "POST /2" : "GET /2"))
        #expect(last.body.isEmpty == (status == 303))
        let boundary = last.field("Content-Type")?.split(separator: "=").last
        #expect((boundary == nil) == (status == 303))
        if let boundary { #expect(last.body.hasPrefix("--\(boundary)\r\n")) }
        try web.end()
    }

    @Test("What cannot stand in a part is refused before anything is sent")
    func refused() throws {
        let web = try web()
        let bad = HTTPFormPart("a", .text("b"), contentType: "x\r\ny")
        let stream = HTTPFormPart("a", .stream(length: nil) { _ in })
        for part in [bad, stream, HTTPFormPart("a", file: "/nowhere/at/all")] {
            let request = HTTPRequest(.post, "http://127.0.0.1/", body: .multipart([part]))
            let recorder = try web.send(request)
            #expect(recorder.error != nil && recorder.endCount == 1)
        }
        #expect(web.peers.isEmpty)
        try web.end()
    }
}

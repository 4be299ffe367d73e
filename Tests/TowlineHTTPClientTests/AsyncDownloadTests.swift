import Glibc
import Synchronization
import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Downloads into files") struct AsyncDownloadTests {
    /// A folder of its own, which goes away with its files.
    private final class Folder: Sendable {
        let path: String

        init() throws {
            var template = Array("/tmp/towline-download-XXXXXX".utf8CString)
            path = try #require(mkdtemp(&template).map { String(cString: $0) })
        }

        deinit {
            for name in names { unlink("\(path)/\(name)") }
            rmdir(path)
        }

        /// What is in it.
        var names: [String] {
            guard let folder = opendir(path) else { return [] }
            defer { closedir(folder) }
            var names: [String] = []
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { names.append(name) }
            }
            return names
        }

        func bytes(of name: String) throws -> [UInt8] {
            let file = try #require(fopen("\(path)/\(name)", "r"))
            defer { fclose(file) }
            var bytes: [UInt8] = []
            while case let byte = fgetc(file), byte >= 0 { bytes.append(UInt8(byte)) }
            return bytes
        }
    }

    private static let request = HTTPRequest(.get, "http://127.0.0.1/file")

    @Test("A body is written under a temporary name, and renamed at the end over what was there")
    func whole() throws {
        let async = try AsyncWeb()
        let web = async.web
        let folder = try Folder()
        let path = "\(folder.path)/a.bin"
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
            peer.send(body)
        }
        let steps = Mutex<[UInt64]>([])
        for _ in 0..<2 {
            let response = try async.run { client in
                try await client.download(Self.request, to: path) { count, total in
                    #expect(total == 300_000)
                    let names = folder.names.filter { $0.hasPrefix(".a.bin.") }
                    #expect(names.count == 1)
                    steps.withLock { $0.append(count) }
                }
            }
            #expect(response.isSuccess)
            #expect(folder.names == ["a.bin"])
            #expect(try folder.bytes(of: "a.bin") == body)
        }
        #expect(steps.withLock { $0.last } == 300_000)
        #expect(steps.withLock { $0.count } > 2)
        try async.end()
    }

    @Test("Nothing is left behind where it fails, is cancelled, or is no success")
    func failures() throws {
        let async = try AsyncWeb()
        let web = async.web
        let folder = try Folder()
        let path = "\(folder.path)/a.bin"
        try web.serve { peer, seen in
            if seen.line.contains("/missing") {
                return peer.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")
            }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
            if seen.line.contains("/cut") { peer.close() }
        }
        let page = try async.run { client in
            let request = HTTPRequest(.get, "http://127.0.0.1/missing")
            return try await client.download(request, to: path).collect()
        }
        #expect(page == Array("none".utf8))
        #expect(folder.names == [])

        let cut = async.begin { client in
            let request = HTTPRequest(.get, "http://127.0.0.1/cut")
            return try await client.download(request, to: path, resumeLimit: 3).status
        }
        try web.turn { cut.result != nil }
        let words = "the connection ended within the response, after 4 of 9 bytes of the body"
        #expect(cut.outcome == words)
        #expect(folder.names == [])

        let cancelled = async.begin { client in
            try await client.download(Self.request, to: path).status
        }
        try web.turn { folder.names.count == 1 }
        cancelled.cancel()
        try web.turn { cancelled.result != nil }
        #expect(cancelled.outcome == "cancellation")
        #expect(folder.names == [])

        let nowhere = async.begin { client in
            try await client.download(Self.request, to: "\(folder.path)/none/a.bin").status
        }
        try web.turn { nowhere.result != nil }
        #expect(
            nowhere.outcome.hasPrefix("the file cannot be written: ")
                && nowhere.outcome.contains("ENOENT")
        )
        try async.end()
    }

    @Test("A transfer that breaks off is taken up where it did, if the content is the same")
    func resuming() throws {
        let async = try AsyncWeb()
        let web = async.web
        let folder = try Folder()
        let path = "\(folder.path)/a.txt"
        try web.serve { peer, seen in
            let isFirst = !seen.head.contains("\r\nRange: ")
            let kind = seen.line.split(separator: " ")[1].dropFirst()
            switch (kind, isFirst) {
            case (_, true):
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nETag: \"a\"\r\n\r\npart")
                peer.close()
            case ("rest", _):
                peer.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n")
                peer.send("Content-Range: bytes 4-8/9\r\n\r\n rest")
            case ("whole", _):
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: \"b\"\r\n\r\nnew")
            case ("other", _):
                peer.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n")
                peer.send("Content-Range: bytes 3-7/9\r\n\r\nother")
            default:
                peer.send("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n")
            }
        }
        for (kind, expected) in [
            ("rest", "part rest"), ("whole", "new"), ("other", nil), ("none", nil),
        ] {
            let running = async.begin { client in
                let request = HTTPRequest(.get, "http://127.0.0.1/\(kind)")
                return try await client.download(request, to: path, resumeLimit: 1).status
            }
            try web.turn { running.result != nil }
            if let expected {
                #expect(running.outcome == "200")
                #expect(try folder.bytes(of: "a.txt") == Array(expected.utf8))
            } else {
                #expect(
                    running.outcome.hasPrefix("the connection ended within the response"),
                    "\(kind): \(running.outcome)"
                )
            }
            let head = try #require(web.seen.last?.head)
            #expect(head.contains("\r\nRange: bytes=4-\r\nIf-Range: \"a\"\r\n"))
            #expect(!web.seen[0].head.contains("Accept-Encoding"))
        }
        #expect(folder.names == ["a.txt"])
        try async.end()
    }
}

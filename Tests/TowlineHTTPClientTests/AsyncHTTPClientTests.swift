import Synchronization
import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("The async client") struct AsyncHTTPClientTests {
    private static func ok(_ body: String, _ fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    @Test("A response has its head, its body part by part, its trailers and its metrics")
    func response() throws {
        let async = try AsyncWeb()
        let web = async.web
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n")
            for number in 1...3 {
                web.network.schedule(after: .seconds(number)) { peer.send("4\r\npart\r\n") }
            }
            web.network.schedule(after: .seconds(4)) { peer.send("0\r\nX-End: yes\r\n\r\n") }
        }
        let seen = try async.run { client -> [String] in
            let response = try await client.send(HTTPRequest(.get, "http://127.0.0.1/a#b"))
            #expect(response.metrics == nil)
            #expect(response.trailers.isEmpty)
            var seen = ["\(response.status) \(response.url.href) \(response.headers["X-A"] ?? "")"]
            for try await part in response.body {
                seen.append(String(decoding: part, as: UTF8.self))
            }
            #expect(response.trailers["X-End"] == "yes")
            #expect(response.metrics?.receivedByteCount == 12)
            return seen
        }
        #expect(seen == ["200 http://127.0.0.1/a#b b", "part", "part", "part"])
        try async.end()
    }

    @Test("A body is collected, up to a limit; one connection serves the next request")
    func collect() throws {
        let async = try AsyncWeb()
        try async.web.serve { peer, seen in
            if seen.line.contains("/chunked") {
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                peer.send("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")
            } else {
                peer.send(Self.ok("hello"))
            }
        }
        for path in ["counted", "chunked"] {
            let outcomes = try async.run { client -> [String] in
                var outcomes: [String] = []
                for limit in [5, 4] {
                    let response = try await client.send(
                        HTTPRequest(.get, "http://127.0.0.1/\(path)")
                    )
                    do {
                        let bytes = try await response.collect(upTo: limit)
                        outcomes.append(String(decoding: bytes, as: UTF8.self))
                        // Behind the end there is nothing.
                        #expect(try await response.collect() == [])
                    } catch HTTPError.limit(.content(let limit)) {
                        outcomes.append("limit \(limit)")
                    }
                }
                return outcomes
            }
            #expect(outcomes == ["hello", "limit 4"])
        }
        #expect(async.web.seen.map(\.connection) == [1, 1, 1, 1])
        try async.end()
    }

    @Test("Leaving the loop early cancels the exchange, though the response is still held")
    func earlyBreak() throws {
        let async = try AsyncWeb()
        let web = async.web
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
        }
        let after = try async.run { client -> String in
            let response = try await client.send(HTTPRequest(.get, "http://127.0.0.1/"))
            for try await part in response.body {
                #expect(part == Array("part".utf8))
                break
            }
            do {
                return "\(try await response.collect())"
            } catch HTTPError.cancelled {
                return "cancelled"
            }
        }
        #expect(after == "cancelled")
        try web.turn { web.peers[0].sawReset || web.peers[0].sawEnd }
        try async.end()
    }

    @Test("A response that is let go of unread releases its connection; one that was read keeps it")
    func dropped() throws {
        let async = try AsyncWeb()
        let web = async.web
        try web.serve { peer, seen in
            let isWhole = seen.line.contains("/whole")
            peer.send(isWhole ? Self.ok("x") : "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")
        }
        let status = try async.run { client in
            try await client.send(HTTPRequest(.get, "http://127.0.0.1/")).status
        }
        #expect(status == 200)
        try web.turn { web.peers[0].sawReset || web.peers[0].sawEnd }
        for _ in 0..<2 {
            _ = try async.run { client in
                try await client.send(HTTPRequest(.get, "http://127.0.0.1/whole")).collect()
            }
        }
        #expect(web.seen.map(\.connection) == [1, 2, 2])
        try async.end()
    }

    @Test("A task that is cancelled at any moment ends once, and so does its exchange")
    func cancelledAtEachStep() throws {
        for moment in 0..<24 {
            let async = try AsyncWeb()
            let web = async.web
            web.network.names["box.test"] = [.ipv4(.loopback)]
            try web.serve { peer, seen in
                if seen.line.contains("/first") {
                    peer.send("HTTP/1.1 302 Found\r\nLocation: /second\r\n")
                    peer.send("Content-Length: 2\r\n\r\n")
                    web.network.schedule(after: .seconds(1)) { peer.send("no") }
                } else {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst")
                    web.network.schedule(after: .seconds(1)) { peer.send("last") }
                }
            }
            let running = async.begin { client in
                let response = try await client.send(HTTPRequest(.get, "http://box.test/first"))
                return String(decoding: try await response.collect(), as: UTF8.self)
            }
            for _ in 0..<moment { try web.reactor.turn(waitingAtMost: .seconds(1)) }
            let wasOver = running.result != nil
            running.cancel()
            try web.turn { running.result != nil }
            #expect(running.outcome == (wasOver ? "firstlast" : "cancellation"), "\(moment)")
            try async.end()
        }
    }

    @Test("Whoever does not read makes the server wait: 64 KiB and one part are held at most")
    func slowReader() throws {
        let async = try AsyncWeb()
        let web = async.web
        let size = 4 << 20
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            peer.send([UInt8](repeating: 0x78, count: size))
        }
        let largest = Mutex(0)
        let running = async.begin { client -> Int in
            let response = try await client.send(HTTPRequest(.get, "http://127.0.0.1/"))
            var count = 0
            for try await part in response.body {
                count += part.count
                largest.withLock { $0 = max($0, part.count) }
                for _ in 0..<20 { await Task.yield() }
            }
            return count
        }
        try web.turn { running.result != nil }
        #expect(running.outcome == "\(size)")
        #expect(largest.withLock { $0 } <= 128 * 1024)
        try async.end()
    }

    @Test("A body that nobody asks for leaves the server with what it has")
    func unread() throws {
        let async = try AsyncWeb()
        let web = async.web
        let size = 4 << 20
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            peer.send([UInt8](repeating: 0x78, count: size))
        }
        let response = try async.run { client in
            try await client.send(HTTPRequest(.get, "http://127.0.0.1/"))
        }
        // An hour, in which the body's own time limit stands still.
        for _ in 0..<200 { try web.reactor.turn(waitingAtMost: .seconds(20)) }
        #expect(web.peers[0].unsentByteCount > size / 2)
        #expect(response.metrics == nil)
        let running = async.begin { _ in try await response.collect().count }
        try web.turn { running.result != nil }
        #expect(running.outcome == "\(size)")
        try async.end()
    }

    @Test("What is awaited when the reactor ends is cancelled, once, and so is what follows")
    func reactorEnd() throws {
        let async = try AsyncWeb()
        let web = async.web
        web.network.names.answer("slow.test", with: .silence)
        try web.serve { peer, seen in
            if seen.line.contains("/body") {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst")
            }
        }
        let urls =
            ["http://127.0.0.1/head", "http://127.0.0.1/body", "http://slow.test/"]
            + (0..<20).map { "http://127.0.0.1/\($0)" }
        let all = urls.map { url in
            async.begin { try await $0.send(HTTPRequest(.get, url)).collect().count }
        }
        for _ in 0..<50 { try web.reactor.turn(waitingAtMost: .milliseconds(10)) }
        web.reactor.stop()
        try web.reactor.run()
        let behind = async.begin { try await $0.send(HTTPRequest(.get, urls[0])).status }
        let fresh = AsyncHTTPClient(on: web.reactor.handle)
        let other = async.begin { _ in try await fresh.send(HTTPRequest(.get, urls[0])).status }
        for (url, running) in zip(urls, all) + [("behind", behind), ("other", other)] {
            let hasEnded = holds(within: .seconds(10)) { running.result != nil }
            #expect(hasEnded, "\(url)")
            #expect(running.outcome == "cancelled", "\(url): \(running.outcome)")
        }
    }
}

import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Connections and their reuse") struct ReuseTests {
    private static let short = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"

    @Test(
        "Responses after which a connection is of no use, though they are accepted",
        arguments: [
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy",
            "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\n",
        ]
    )
    func notReused(answer: String) throws {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in peer.send(seen.connection == 1 ? answer : Self.short) }
        #expect(try web.send(HTTPRequest(.get, "http://127.0.0.1/")).text == "x")
        #expect(try web.send(HTTPRequest(.get, "http://127.0.0.1/")).text == "x")
        #expect(web.seen.map(\.connection) == [1, 2])
        try web.turn { web.peers[0].sawEnd || web.peers[0].sawReset }
        try web.end()
    }

    @Test("A kept connection that the server ends, resets or speaks on unasked is dropped")
    func idleNews() throws {
        let news: [(SimulatedPeer) -> Void] = [
            { $0.close() }, { $0.reset() }, { $0.finishSending() },
            { $0.send("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n") },
            { $0.send("x") },
        ]
        for happens in news {
            let web = try SimulatedWeb()
            try web.serve { peer, _ in peer.send(Self.short) }
            try web.send(HTTPRequest(.get, "http://127.0.0.1/"))
            #expect(web.client.connectionCounts == (1, 1))
            happens(web.peers[0])
            try web.turn { web.client.connectionCounts.all == 0 }
            #expect(try web.send(HTTPRequest(.get, "http://127.0.0.1/")).text == "x")
            #expect(web.seen.map(\.connection) == [1, 2])
            try web.end()
        }
    }

    @Test("An idle connection is closed after its time, or a second before the server's")
    func idleTime() throws {
        for (field, seconds) in [("", 60), ("Keep-Alive: timeout=5\r\n", 4)] {
            let web = try SimulatedWeb()
            try web.serve { peer, _ in
                peer.send("HTTP/1.1 200 OK\r\n\(field)Content-Length: 0\r\n\r\n")
            }
            try web.send(HTTPRequest(.get, "http://127.0.0.1/"))
            let began = web.network.now
            try web.turn { web.client.connectionCounts.all == 0 }
            let kept = web.network.now.since(began)
            #expect(kept >= .seconds(seconds) && kept < .seconds(seconds + 1), "\(kept)")
            try web.end()
        }
    }

    @Test("A request that a dying kept connection swallowed is repeated, if it may be")
    func stale() throws {
        for (method, isRepeated) in [(HTTPMethod.get, true), (.post, false), (.put, true)] {
            let web = try SimulatedWeb()
            try web.serve { peer, seen in
                if seen.line.contains(" /2 "), seen.connection == 1 {
                    peer.close()
                } else {
                    peer.send(Self.short)
                }
            }
            try web.send(HTTPRequest(.get, "http://127.0.0.1/1"))
            let body = method == .get ? HTTPBody.none : .text("x")
            let second = try web.send(HTTPRequest(method, "http://127.0.0.1/2", body: body))
            #expect(second.endCount == 1)
            #expect((second.outcome == "200") == isRepeated, "\(method): \(second.outcome)")
            #expect(web.seen.count == (isRepeated ? 3 : 2))
            try web.end()
        }
    }

    @Test("A fresh connection that ends without an answer is no reason to ask again")
    func fresh() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in peer.close() }
        let recorder = try web.send(HTTPRequest(.get, "http://127.0.0.1/"))
        guard case .emptyReply(nil) = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect(web.seen.count == 1)
        try web.end()
    }

    @Test("A repeat is not repeated: the second failure is told")
    func onceOnly() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in
            if seen.line.hasPrefix("GET /1 ") { peer.send(Self.short) } else { peer.close() }
        }
        try web.send(HTTPRequest(.get, "http://127.0.0.1/1"))
        let recorder = try web.send(HTTPRequest(.get, "http://127.0.0.1/2"))
        #expect(recorder.endCount == 1)
        #expect(web.seen.count == 3)
        try web.end()
    }

    @Test("A body that ends with the connection ends by its end alone, not by a reset")
    func untilEnd() throws {
        for isOrderly in [true, false] {
            let web = try SimulatedWeb()
            try web.serve { peer, _ in
                peer.send("HTTP/1.1 200 OK\r\n\r\nall of it")
                web.network.schedule(after: .seconds(1)) {
                    if isOrderly { peer.close() } else { peer.reset() }
                }
            }
            let recorder = try web.send(HTTPRequest(.get, "http://127.0.0.1/"))
            #expect(recorder.text == "all of it")
            #expect((recorder.error == nil) == isOrderly, "\(recorder.outcome)")
            try web.end()
        }
    }

    @Test("Nothing moves: each part of an exchange has its time, and says which it was")
    func timeouts() throws {
        let silent = try SimulatedWeb()
        try silent.serve { _, _ in }
        let first = try silent.send(HTTPRequest(.get, "http://127.0.0.1/"))
        guard case .timeout(.firstByte) = first.error else {
            Issue.record("\(first.outcome)"); return
        }
        #expect(first.metrics.map { $0.total >= .seconds(60) && $0.total < .seconds(61) } == true)
        try silent.end()

        let stalling = try SimulatedWeb()
        try stalling.serve { peer, _ in peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx") }
        let second = try stalling.send(HTTPRequest(.get, "http://127.0.0.1/"))
        guard case .timeout(.bodyStall) = second.error else {
            Issue.record("\(second.outcome)"); return
        }
        #expect(second.text == "x")
        var hurried = HTTPRequest(.get, "http://127.0.0.1/")
        hurried.timeouts = HTTPTimeouts()
        hurried.timeouts?.total = .seconds(2)
        let third = try stalling.send(hurried)
        guard case .timeout(.total) = third.error else { Issue.record("\(third.outcome)"); return }
        try stalling.end()

        let absent = try SimulatedWeb()
        absent.network.silence(.ipv4(.loopback, port: 80))
        let fourth = try absent.send(HTTPRequest(.get, "http://127.0.0.1/"))
        guard case .timeout(.connect) = fourth.error else {
            Issue.record("\(fourth.outcome)"); return
        }
        try absent.end()
    }

    @Test("A caller who lets nothing come holds the peer back, and no clock runs meanwhile")
    func backPressure() throws {
        let web = try SimulatedWeb()
        let size = 4 * 1024 * 1024
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            peer.send([UInt8](repeating: 0x78, count: size))
        }
        let recorder = ExchangeRecorder()
        var isHeld = false
        recorder.onEvent = { exchange, event in
            guard case .loaded = event, !isHeld else { return }
            isHeld = true
            exchange.suspend()
        }
        let exchange = web.client.start(HTTPRequest(.get, "http://127.0.0.1/"), delegate: recorder)
        try web.turn { isHeld }
        for _ in 0..<50 { try web.reactor.turn(waitingAtMost: .seconds(10)) }
        let held = recorder.body.count
        #expect(held <= 65_536)
        #expect(web.peers[0].unsentByteCount > size - 1_048_576)
        exchange.resume()
        #expect(recorder.body.count == held, "no callback inside the call")
        try web.turn { recorder.hasEnded }
        #expect(recorder.body.count == size)
        #expect(recorder.outcome == "200")
        try web.end()
    }

    @Test("A 408 on a kept connection, and a 421 on any, are asked again over a new one, once")
    func elsewhere() throws {
        for (status, isFirst) in [(408, false), (421, false), (421, true)] {
            let web = try SimulatedWeb()
            try web.serve { peer, seen in
                if seen.line.contains(" /2 "), seen.connection == 1 {
                    peer.send("HTTP/1.1 \(status) No\r\nConnection: close\r\n")
                    peer.send("Content-Length: 0\r\n\r\n")
                } else {
                    peer.send(Self.short)
                }
            }
            if !isFirst { try web.send(HTTPRequest(.get, "http://127.0.0.1/1")) }
            let recorder = try web.send(HTTPRequest(.get, "http://127.0.0.1/2"))
            #expect(recorder.outcome == "200")
            #expect(recorder.endCount == 1)
            #expect(web.seen.last?.connection == 2)
            try web.end()
        }
    }

    @Test(
        "A 421 that comes again, and a 408 on a fresh connection, are shown",
        arguments: [408, 421]
    )
    func shownAsTheyAre(status: Int) throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 \(status) No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        }
        #expect(try web.send(HTTPRequest(.get, "http://127.0.0.1/")).outcome == "\(status)")
        #expect(web.seen.count == (status == 421 ? 2 : 1))
        try web.end()
    }

    @Test("An answer in the middle of an upload: a refusal ends it, consent lets it go on")
    func earlyAnswers() throws {
        let size = 2 * 1024 * 1024
        for (status, isWhole) in [(413, false), (200, true)] {
            let web = try SimulatedWeb()
            let server = web.network.listen(at: .ipv4(.loopback, port: 80)) { peer in
                var hasAnswered = false
                peer.whenNewsComes = { peer in
                    guard !hasAnswered, peer.receivedByteCount > 0 else { return }
                    hasAnswered = true
                    peer.send("HTTP/1.1 \(status) Early\r\nContent-Length: 2\r\n\r\nok")
                }
            }
            var request = HTTPRequest(.put, "http://127.0.0.1/")
            request.body = .bytes([UInt8](repeating: 0x78, count: size))
            request.expectsContinue = .never
            let recorder = try web.send(request)
            #expect(recorder.outcome == "\(status)")
            #expect(recorder.text == "ok")
            #expect((recorder.metrics?.sentByteCount == UInt64(size)) == isWhole)
            #expect(web.client.connectionCounts.idle == (isWhole ? 1 : 0))
            withExtendedLifetime(server) {}
            try web.end()
        }
    }

    @Test("A complete answer wins over the reset that stops the upload")
    func answerAndReset() throws {
        let web = try SimulatedWeb()
        let server = web.network.listen(at: .ipv4(.loopback, port: 80)) { peer in
            peer.whenNewsComes = { peer in
                guard peer.state == .connected, peer.receivedByteCount > 100_000 else { return }
                peer.whenNewsComes = nil
                peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
                web.network.schedule(after: .milliseconds(5)) { peer.reset() }
            }
        }
        var request = HTTPRequest(.put, "http://127.0.0.1/")
        request.body = .bytes([UInt8](repeating: 0x78, count: 4_000_000))
        request.expectsContinue = .never
        let recorder = try web.send(request)
        #expect(recorder.outcome == "413")
        #expect(recorder.text == "no")
        withExtendedLifetime(server) {}
        try web.end()
    }
}

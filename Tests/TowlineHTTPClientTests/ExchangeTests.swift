import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Exchanges") struct ExchangeTests {
    @Test("A GET is answered: connection, response, body, end, in that order and once each")
    func get() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") }
        let recorder = ExchangeRecorder()
        let request = HTTPRequest(.get, "http://127.0.0.1/a?b#c")
        let exchange = web.client.start(request, delegate: recorder)
        #expect(recorder.events == [], "no callback inside the call")
        try web.turn { recorder.hasEnded }
        #expect(
            recorder.events == [
                .connected(isReused: false), .response(200), .loaded(5), .finished,
            ]
        )
        #expect(recorder.text == "hello")
        #expect(web.seen[0].line == "GET /a?b HTTP/1.1")
        #expect(web.seen[0].head.hasPrefix("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1\r\n"))
        #expect(String(decoding: exchange.requestHead, as: UTF8.self).hasPrefix(web.seen[0].head))
        try web.end()
    }

    @Test("A request is a value: what one copy is told, the others do not say")
    func copies() {
        let first = HTTPRequest(.get, "http://a.test/", headers: ["A": "1"])
        var second = first
        second.url = "http://b.test/"
        second.headers.add("B", "2")
        second.partition = "two"
        var third = second
        third.method = .put
        third.body = .text("x")
        third.headers["A"] = "3"
        #expect(first.url == "http://a.test/" && first.headers == ["A": "1"])
        #expect(first.partition == "" && first.method == .get)
        #expect(second.headers == ["A": "1", "B": "2"] && second.method == .get)
        #expect(third.headers == ["A": "3", "B": "2"] && third.partition == "two")
        guard case .none = second.body else {
            Issue.record("the second one got the third one's body")
            return
        }
    }

    @Test("Requests to many places, back and forth, each say their own host and nobody else's")
    func manyPlaces() throws {
        let web = try SimulatedWeb()
        let places = (0..<40).map { UInt16(8000 + $0) }
        for port in places {
            try web.serve(port: port) { peer, _ in
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        web.client.configuration.userAgent = "one"
        for port in places + places.reversed() + places {
            try web.send(HTTPRequest(.get, "http://127.0.0.1:\(port)/x"))
            let head = web.seen[web.seen.count - 1].head
            #expect(head.hasPrefix("GET /x HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"))
            #expect(head.contains("User-Agent: one\r\n"))
        }
        web.client.configuration.userAgent = "two"
        web.client.configuration.decodesContent = false
        try web.send(HTTPRequest(.get, "http://127.0.0.1:8000/"))
        let head = web.seen[web.seen.count - 1].head
        #expect(head.contains("User-Agent: two\r\n") && !head.contains("Accept-Encoding"))
        try web.send(HTTPRequest(.get, "http://127.0.0.1:8000/", headers: ["accept": "a/b"]))
        let other = web.seen[web.seen.count - 1].head
        #expect(other.contains("\r\naccept: a/b\r\n") && !other.contains("Accept:"))
        try web.end()
    }

    @Test("Chunks are shown as they came where that is asked for")
    func framing() throws {
        let web = try SimulatedWeb()
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let body = "5;x\r\nhello\r\n0\r\nX-After: 1\r\n\r\n"
        try web.serve { peer, _ in
            for byte in (head + body).utf8 { peer.send([byte]) }
        }
        var request = HTTPRequest(.get, "http://127.0.0.1/")
        let plain = try web.send(request)
        #expect(plain.text == "hello")
        #expect(plain.metrics?.responseHeadByteCount == UInt64(head.utf8.count))
        request.keepsFraming = true
        let framed = try web.send(request)
        #expect(framed.text == body)
        #expect(framed.events.last == .finished)
        #expect(web.seen.map(\.connection) == [1, 1])
        try web.end()
    }

    @Test("One connection serves requests one after the other, also from within the last callback")
    func reuse() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
        var others: [ExchangeRecorder] = []
        let first = ExchangeRecorder()
        first.onEvent = { _, event in
            guard event == .finished else { return }
            others.append(ExchangeRecorder())
            web.client.start(HTTPRequest(.get, "http://127.0.0.1/2"), delegate: others[0])
        }
        web.client.start(HTTPRequest(.get, "http://127.0.0.1/1"), delegate: first)
        try web.turn { others.first?.hasEnded == true }
        let third = try web.send(HTTPRequest(.get, "http://127.0.0.1/3"))
        #expect(web.seen.map(\.connection) == [1, 1, 1])
        #expect(others[0].events.first == .connected(isReused: true))
        #expect(third.metrics?.isReused == true)
        first.onEvent = nil
        try web.end()
    }

    @Test("At most six connections go to one place; who waits is served in order")
    func pool() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in
            // The connections are answered one after the other.
            web.network.schedule(after: .milliseconds(10 * seen.connection)) {
                peer.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let recorders = (0..<20).map { number in
            let recorder = ExchangeRecorder()
            web.client.start(HTTPRequest(.get, "http://127.0.0.1/\(number)"), delegate: recorder)
            return recorder
        }
        try web.turn { recorders.allSatisfy(\.hasEnded) }
        #expect(web.peers.count == 6)
        #expect(recorders.allSatisfy { $0.endCount == 1 && $0.response?.status == 204 })
        #expect(web.seen.map(\.line) == (0..<20).map { "GET /\($0) HTTP/1.1" })
        try web.end()
    }

    @Test("What must not be sent fails later, before anything is connected to")
    func refused() throws {
        let web = try SimulatedWeb()
        let requests = [
            HTTPRequest(.get, "ftp://127.0.0.1/"), HTTPRequest(.get, "http://"),
            HTTPRequest(.get, "http://127.0.0.1/\r\nX: y"),
            HTTPRequest(.get, "http://127.0.0.1/", headers: ["A": "b\r\nC: d"]),
            HTTPRequest(.get, "http://127.0.0.1/", headers: ["A\n": "b"]),
            HTTPRequest(HTTPMethod(rawValue: "GE T"), "http://127.0.0.1/"),
        ]
        for request in requests {
            let recorder = ExchangeRecorder()
            web.client.start(request, delegate: recorder)
            #expect(recorder.events == [], "no callback inside the call")
            try web.turn { recorder.hasEnded }
            #expect(recorder.events == [.failed], "\(request.url)")
        }
        #expect(web.reactor.figures.connected == 0)
        try web.end()
    }

    @Test("Bodies are sent whole, counted or in chunks, and their progress is told")
    func bodies() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        var post = HTTPRequest(.post, "http://127.0.0.1/", body: .text("name=value"))
        let small = try web.send(post)
        #expect(small.outcome == "200")
        #expect(small.events.contains(.sent(10, of: 10)))
        #expect(web.seen[0].body == "name=value")
        post.body = .bytes([UInt8](repeating: UInt8(ascii: "x"), count: 700_000))
        post.expectsContinue = .never
        let large = try web.send(post)
        #expect(large.outcome == "200")
        #expect(large.metrics?.sentByteCount == 700_000)
        #expect(web.seen[1].body.utf8.count == 700_000)
        post.body = .stream(length: nil) { exchange in
            exchange.supply(Array("piece".utf8))
            exchange.finishBody()
        }
        let streamed = try web.send(post)
        #expect(streamed.outcome == "200")
        #expect(web.seen[2].body == "5\r\npiece\r\n0\r\n\r\n")
        try web.end()
    }

    @Test("A producer that brings fewer or more bytes than promised ends the exchange")
    func wrongLength() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        for supplied in [3, 5] {
            let body = HTTPBody.stream(length: 4) { exchange in
                exchange.supply([UInt8](repeating: 0x78, count: supplied))
                exchange.finishBody()
            }
            var request = HTTPRequest(.put, "http://127.0.0.1/", body: body)
            request.expectsContinue = .never
            let recorder = try web.send(request)
            guard case .bodyLength(promised: 4, let count) = recorder.error else {
                Issue.record("\(recorder.outcome)")
                continue
            }
            #expect(count == UInt64(supplied))
        }
        try web.end()
    }

    @Test("A body waits for consent, is sent after a while without it, and not after a refusal")
    func consent() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in
            switch seen.line {
            case "PUT /yes HTTP/1.1" where seen.body.isEmpty:
                peer.send("HTTP/1.1 100 Continue\r\n\r\n")
                web.network.schedule(after: .seconds(1)) {
                    peer.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
                }
            case "PUT /no HTTP/1.1":
                peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            case "PUT /417 HTTP/1.1" where seen.head.contains("Expect"):
                peer.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            default:
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        var request = HTTPRequest(.put, "http://127.0.0.1/yes", body: .text("0123456789"))
        request.expectsContinue = .always
        let yes = try web.send(request)
        #expect(yes.outcome == "201")
        #expect(yes.events.contains(.interim(100)))
        #expect(web.peers[0].received.suffix(10) == Array("0123456789".utf8)[...])
        request.url = "http://127.0.0.1/no"
        // The server of this test takes a body that follows its consent for the next request.
        request.partition = "no"
        let no = try web.send(request)
        #expect(no.outcome == "403")
        #expect(!no.events.contains(.sent(10, of: 10)))
        request.url = "http://127.0.0.1/417"
        let without = try web.send(request)
        #expect(without.outcome == "200")
        #expect(web.seen.last?.body == "0123456789")
        #expect(web.peers.count > 1, "a connection whose body was held back serves nobody else")
        try web.end()
    }

    @Test("Every moment of an exchange can be its last: one ending callback follows a cancel")
    func cancels() throws {
        for moment in 0..<12 {
            let web = try SimulatedWeb()
            web.network.names["box.test"] = [.ipv4(.loopback)]
            try web.serve { peer, seen in
                if seen.line.contains("/first") {
                    peer.send(
                        "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 2\r\n\r\n"
                    )
                    web.network.schedule(after: .seconds(1)) { peer.send("no") }
                } else {
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst")
                    web.network.schedule(after: .seconds(1)) { peer.send("last") }
                }
            }
            let recorder = ExchangeRecorder()
            let exchange = web.client.start(
                HTTPRequest(.get, "http://box.test/first"),
                delegate: recorder
            )
            for _ in 0..<moment { try web.reactor.turn(waitingAtMost: .seconds(1)) }
            let before = recorder.events.count
            let wasOver = recorder.hasEnded
            exchange.cancel()
            #expect(recorder.events.count == before, "no callback inside the call")
            try web.turn { recorder.hasEnded }
            try web.reactor.turn(waitingAtMost: .zero)
            #expect(recorder.endCount == 1)
            if !wasOver {
                #expect(recorder.events.count == before + 1)
                guard case .cancelled = recorder.error else {
                    Issue.record("\(moment): \(recorder.outcome)")
                    continue
                }
            }
            try web.end()
        }
    }
}

import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("The reactor's end, and content held back") struct ReactorEndTests {
    @Test("Each exchange is cancelled, once, when the reactor ends, wherever it is")
    func end() throws {
        let web = try SimulatedWeb()
        web.network.names.answer("slow.test", with: .silence)
        try web.serve { peer, seen in
            if seen.line.contains("/body") {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst")
            }
        }
        // Served, waiting for a head, a body, a lookup, and one of six connections.
        let urls =
            ["http://127.0.0.1/head", "http://127.0.0.1/body", "http://slow.test/"]
            + (0..<20).map { "http://127.0.0.1/\($0)" }
        let recorders = urls.map { url in
            let recorder = ExchangeRecorder()
            web.client.start(HTTPRequest(.get, url), delegate: recorder)
            return recorder
        }
        try web.turn { recorders[1].text == "first" }
        let late = ExchangeRecorder()
        web.client.start(HTTPRequest(.get, "no URL"), delegate: late)
        web.reactor.stop()
        try web.reactor.run()
        for (url, recorder) in zip(urls, recorders) {
            #expect(recorder.endCount == 1, "\(url)")
            #expect(recorder.outcome == "failed: cancelled", "\(url): \(recorder.outcome)")
        }
        #expect(late.endCount == 1)
        #expect(web.client.exchangeCount == 0)
        #expect(web.client.connectionCounts.all == 0)
    }

    @Test("Behind the reactor's end an exchange is told so from within the call that starts it")
    func behindTheEnd() throws {
        let web = try SimulatedWeb()
        web.reactor.stop()
        try web.reactor.run()
        for url in ["http://127.0.0.1/", "http://box.test/", "no URL"] {
            let recorder = ExchangeRecorder()
            web.client.start(HTTPRequest(.get, url), delegate: recorder)
            #expect(recorder.endCount == 1, "\(url)")
        }
        #expect(web.client.exchangeCount == 0)
        #expect(web.client.connectionCounts.all == 0)
    }

    @Test("An exchange that is suspended by its last byte ends when it is resumed")
    func suspendedAtTheEnd() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") }
        let recorder = ExchangeRecorder()
        recorder.onEvent = { exchange, event in
            if case .loaded = event { exchange.suspend() }
        }
        let exchange = web.client.start(HTTPRequest(.get, "http://127.0.0.1/"), delegate: recorder)
        try web.turn { recorder.text == "hello" }
        try web.reactor.turn(waitingAtMost: .seconds(1))
        #expect(!recorder.hasEnded)
        exchange.resume()
        for _ in 0..<4 { try web.reactor.turn(waitingAtMost: .seconds(1)) }
        #expect(recorder.outcome == "200")
        #expect(recorder.hasEnded)
        recorder.onEvent = nil
        try web.end()
    }
}

import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Changing the protocol") struct UpgradeTests {
    private static func request(_ upgrade: [String] = ["chat"]) -> HTTPRequest {
        var request = HTTPRequest(.get, "http://127.0.0.1/")
        request.upgrade = upgrade
        return request
    }

    @Test("A 101 hands the connection over, with the bytes that came with it")
    func handedOver() throws {
        for isTaken in [true, false] {
            let web = try SimulatedWeb()
            try web.serve { peer, _ in
                peer.send(
                    "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\nhello"
                )
            }
            let recorder = ExchangeRecorder()
            let listener = Greeter()
            if isTaken { recorder.onUpgrade = { $0.delegate = listener } }
            web.client.start(Self.request(["chat", "talk/2"]), delegate: recorder)
            try web.turn { recorder.hasEnded }
            #expect(
                web.seen[0].head.contains("\r\nConnection: Upgrade\r\nUpgrade: chat, talk/2\r\n")
            )
            #expect(recorder.events == [.connected(isReused: false), .response(101), .upgraded])
            #expect(String(decoding: recorder.leftover, as: UTF8.self) == "hello")
            #expect(web.client.connectionCounts.all == 0, "it is no connection of the client's")
            if isTaken {
                try recorder.socket?.write("and so on")
                try web.turn { web.peers[0].received.suffix(9) == Array("and so on".utf8)[...] }
                recorder.socket?.disconnect()
            } else {
                try web.turn { web.peers[0].sawEnd || web.peers[0].sawReset }
            }
            try web.end()
        }
    }

    @Test("Any other status is an ordinary response, whose connection is kept")
    func ordinary() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in
            let status = seen.connection == 1 && web.seen.count == 1 ? 426 : 200
            peer.send("HTTP/1.1 \(status) So\r\nUpgrade: talk\r\nContent-Length: 2\r\n\r\nhi")
        }
        #expect(try web.send(Self.request()).outcome == "426")
        #expect(try web.send(Self.request()).outcome == "200")
        #expect(web.seen.map(\.connection) == [1, 1])
        try web.end()
    }

    @Test("A 101 that nobody asked for is an error, and a callback that throws ends the connection")
    func refused() throws {
        let web = try SimulatedWeb()
        try web.serve { peer, _ in
            peer.send("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
        }
        guard case .unexpectedUpgrade = try web.send(Self.request([])).error else {
            Issue.record("it was taken")
            return
        }
        struct Odd: Error {}
        let recorder = ExchangeRecorder()
        recorder.onEvent = { _, event in if event == .response(101) { throw Odd() } }
        web.client.start(Self.request(), delegate: recorder)
        try web.turn { recorder.hasEnded }
        guard case .handler(is Odd) = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect(recorder.endCount == 1)
        try web.end()
    }

    @Test("Through a proxy it goes through a tunnel, since a proxy would not pass it on")
    func proxied() throws {
        var configuration = HTTPClient.Configuration()
        configuration.proxy = .all(.http("127.0.0.1", 3128))
        let web = try SimulatedWeb(configuration: configuration)
        try web.serve(port: 3128) { peer, seen in
            let isTunnel = seen.line.hasPrefix("CONNECT")
            peer.send(isTunnel ? "HTTP/1.1 200 So\r\n\r\n" : "HTTP/1.1 101 So\r\n\r\n")
        }
        let recorder = try web.send(Self.request())
        #expect(recorder.events.last == .upgraded)
        #expect(web.seen.map(\.line) == ["CONNECT 127.0.0.1:80 HTTP/1.1", "GET / HTTP/1.1"])
        try web.end()
    }
}

import Testing
import Towline
import TowlineHTTP
import TowlineTestKit

@testable import TowlineHTTPClient

@Suite("WebSockets") struct WebSocketTests {
    /// A server that agrees, with a change to what it answers, and then sends `hello`.
    private static func web(
        _ change: @escaping (String) -> String = { $0 },
        hello: [UInt8] = []
    ) throws -> SimulatedWeb {
        let web = try SimulatedWeb()
        try web.serve { peer, seen in
            let line = seen.head.split(separator: "\r\n").first {
                $0.lowercased().hasPrefix("sec-websocket-key: ")
            }
            let key = line.map { String($0.dropFirst(19)) } ?? ""
            let answer =
                "HTTP/1.1 101 So\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
                + "Sec-WebSocket-Accept: \((try? WebSocketKey.acceptance(of: key)) ?? "")\r\n\r\n"
            peer.send(Array(change(answer).utf8) + hello)
        }
        return web
    }

    /// What a client has sent, unmasked.
    private static func frames(_ bytes: ArraySlice<UInt8>) -> [String] {
        var rest = Array(bytes)
        var frames: [String] = []
        while rest.count >= 6 {
            #expect(rest[1] & 0x80 != 0, "a client masks")
            let count = Int(rest[1] & 0x7F)
            guard count < 126, rest.count >= 6 + count else { break }
            let key = rest[2..<6]
            let payload = rest[6..<(6 + count)].enumerated().map {
                $0.element ^ key[2 + $0.offset & 3]
            }
            frames.append("\(rest[0] & 15) " + payload.map { "\($0)" }.joined(separator: ","))
            rest.removeFirst(6 + count)
        }
        return frames
    }

    private static func sent(_ web: SimulatedWeb) -> [String] {
        guard !web.seen.isEmpty else { return [] }
        let bytes = web.peers[0].received
        let head = web.seen[0].head.utf8.count
        return frames(bytes[head...])
    }

    @Test("Messages go both ways, pings are answered, and both sides close")
    func whole() throws {
        let web = try Self.web(hello: [0x81, 2, 0x68, 0x69, 0x89, 1, 7, 0x8A, 1, 9])
        let recorder = SocketRecorder()
        recorder.onMessage = { socket, _ in
            socket.send("a")
            socket.send([1, 2])
            socket.ping([3])
            socket.close(3_001, reason: "b")
            socket.send("too late")
            web.network.schedule(after: .seconds(1)) {
                web.peers[0].send([0x88, 2, 0x0B, 0xB9])
                web.peers[0].close()
            }
        }
        let socket = web.client.openWebSocket("ws://127.0.0.1/feed", delegate: recorder)
        try web.turn { !recorder.closures.isEmpty }
        #expect(Self.sent(web) == ["1 97", "2 1,2", "9 3", "8 11,185,98"])
        #expect(recorder.events == ["open -", "text(\"hi\")", "pong [9]"])
        #expect(web.seen[0].line == "GET /feed HTTP/1.1")
        #expect(web.seen[0].head.contains("\r\nSec-WebSocket-Version: 13\r\n"))
        #expect(recorder.closures[0].code == 3_001 && recorder.closures[0].isClean)
        #expect(recorder.closures[0].error == nil && socket.state == .closed)
        try web.end()
    }

    @Test("A server that closes is answered with its number, and given time to go")
    func closedByServer() throws {
        let web = try Self.web(hello: [0x88, 3, 3, 0xE9, 0x78, 0x81, 1, 0x78])
        let recorder = SocketRecorder()
        web.client.openWebSocket("ws://127.0.0.1/", delegate: recorder)
        try web.turn { !recorder.closures.isEmpty }
        #expect(recorder.events == ["open -"], "what follows a close does not count")
        #expect(Self.sent(web) == ["8 3,233"])
        let closure = recorder.closures[0]
        #expect(closure.code == 1_001 && closure.reason == "x" && closure.isClean)
        try web.end()
    }

    @Test(
        "A server that does not agree, or not to what was asked",
        arguments: [
            ("101 So", "200 So"), ("Upgrade: WebSocket", "Upgrade: chat"),
            ("Sec-WebSocket-Accept: ", "Sec-WebSocket-Accept: x"),
            ("Connection", "Sec-WebSocket-Extensions: x\r\nConnection"),
            ("Connection", "Sec-WebSocket-Protocol: x\r\nConnection"),
            ("Sec-WebSocket-Accept", "Nothing"),
        ]
    )
    func refused(part: String, other: String) throws {
        let web = try Self.web { answer in
            var lines = answer
            if let range = lines.firstRange(of: part) { lines.replaceSubrange(range, with: other) }
            return other == "200 So" ? "HTTP/1.1 200 So\r\nContent-Length: 0\r\n\r\n" : lines
        }
        let recorder = SocketRecorder()
        web.client.openWebSocket("ws://127.0.0.1/", delegate: recorder)
        try web.turn { !recorder.closures.isEmpty }
        #expect(recorder.events == [] && recorder.closures.count == 1)
        switch recorder.closures[0].error {
        case .refused(let head): #expect(head.status == 200)
        case .handshake: break
        case let error: Issue.record("\(String(describing: error))")
        }
        try web.end()
    }

    @Test("A subprotocol that was offered is taken")
    func subprotocol() throws {
        let web = try Self.web {
            $0.replacing("Connection", with: "Sec-WebSocket-Protocol: b\r\nConnection")
        }
        let recorder = SocketRecorder()
        var options = WebSocketOptions()
        options.subprotocols = ["a", "b"]
        let socket = web.client.openWebSocket(
            "ws://127.0.0.1/",
            options: options,
            delegate: recorder
        )
        try web.turn { !recorder.events.isEmpty }
        #expect(web.seen[0].head.contains("\r\nSec-WebSocket-Protocol: a, b\r\n"))
        #expect(recorder.events == ["open b"])
        socket.close()
        try web.turn { !recorder.closures.isEmpty }
        #expect(!recorder.closures[0].isClean, "the server never closed, and was left")
        try web.end()
    }

    @Test("Frames that are none, a callback that throws, and an end that nobody announced")
    func failures() throws {
        struct Odd: Error {}
        let rows: [([UInt8], String, String)] = [
            ([0x83, 0], "the server broke", "8 3,234"),
            ([0x81, 1, 0xFF], "the server broke", "8 3,239"),
            ([0x81, 1, 0x78], "a callback threw", "8 3,243"), ([], "closed by peer", ""),
        ]
        for (bytes, kind, sent) in rows {
            let web = try Self.web(hello: bytes)
            let recorder = SocketRecorder()
            recorder.onMessage = { _, _ in throw Odd() }
            web.client.openWebSocket("ws://127.0.0.1/", delegate: recorder)
            try web.turn { !recorder.events.isEmpty }
            if kind == "closed by peer" { web.peers[0].close() }
            try web.turn { !recorder.closures.isEmpty }
            let error = try #require(recorder.closures[0].error)
            #expect("\(error)".hasPrefix(kind), "\(error)")
            #expect(Self.sent(web).joined() == sent)
            try web.end()
        }
    }

    @Test("A silent server is asked, and left when it does not answer; a cancel before is an end")
    func silence() throws {
        let web = try Self.web()
        let recorder = SocketRecorder()
        var options = WebSocketOptions()
        options.pingInterval = .seconds(10)
        web.client.openWebSocket("ws://127.0.0.1/", options: options, delegate: recorder)
        try web.turn { !recorder.closures.isEmpty }
        guard case .unresponsive = recorder.closures[0].error else {
            Issue.record("\(recorder.closures)")
            return
        }
        #expect(Self.sent(web) == ["9 "])
        let early = SocketRecorder()
        let socket = web.client.openWebSocket("http://127.0.0.1/", delegate: early)
        socket.close()
        try web.turn { !early.closures.isEmpty }
        guard case .exchange(.cancelled) = early.closures[0].error else {
            Issue.record("\(early.closures)")
            return
        }
        try web.end()
    }

    @Test("What is held back comes later, in order, and a delegate that is gone closes it")
    func suspended() throws {
        let web = try Self.web(hello: [0x81, 1, 0x61, 0x81, 1, 0x62, 0x81, 1, 0x63])
        var recorder: SocketRecorder? = SocketRecorder()
        recorder?.onMessage = { socket, _ in socket.suspend() }
        let socket = web.client.openWebSocket("ws://127.0.0.1/", delegate: try #require(recorder))
        for count in 2...4 {
            try web.turn { recorder?.events.count == count }
            for _ in 0..<5 { try web.reactor.turn(waitingAtMost: .zero) }
            #expect(recorder?.events.count == count)
            socket.resume()
        }
        recorder = nil
        web.peers[0].send([0x81, 1, 0x64])
        try web.turn { socket.state == .closed }
        try web.end()
    }
}

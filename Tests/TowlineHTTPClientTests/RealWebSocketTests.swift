import Glibc
import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient

@Suite(
    "WebSockets with a server that others have written",
    .enabled(
        if: access("/usr/lib/python3/dist-packages/websockets", R_OK) == 0,
        "make setup installs python3-websockets"
    )
)
struct RealWebSocketTests {
    private let web: LoopbackWeb
    private let server: ChildProcess
    private let place: String

    init() throws {
        web = try LoopbackWeb()
        let script = Checkout.path(of: "Tests/Support/web-socket.py")
        server = try ChildProcess("/usr/bin/python3", [script], hasInput: true)
        place = "ws://127.0.0.1:\(try #require(try server.readLine()))"
    }

    /// Opens one, sends messages one after the other, and closes it behind the last answer.
    private func talk(_ path: String, _ messages: [WebSocketMessage]) throws -> SocketRecorder {
        let recorder = SocketRecorder()
        var rest = messages[...]
        recorder.onMessage = { socket, message in
            guard message == rest.popFirst() else { return socket.close(4_000) }
            send(rest.first, over: socket)
        }
        var options = WebSocketOptions()
        options.subprotocols = ["news"]
        let socket = web.client.openWebSocket(place + path, options: options, delegate: recorder)
        try web.turn { !recorder.events.isEmpty || !recorder.closures.isEmpty }
        send(rest.first, over: socket)
        try web.turn { !recorder.closures.isEmpty }
        recorder.onMessage = nil
        return recorder
    }

    private func send(_ message: WebSocketMessage?, over socket: WebSocket) {
        switch message {
        case .text(let text): socket.send(text)
        case .binary(let bytes): socket.send(bytes)
        case nil: socket.close(1_000, reason: "done")
        @unknown default: socket.close(4_000)
        }
    }

    @Test(
        "Texts and bytes of every length come back, whole and in parts, behind a ping, and it ends"
    )
    func echoes() throws {
        let long = [UInt8](repeating: 7, count: 1 << 20)
        let messages: [WebSocketMessage] = [
            .text("héllo"), .binary([0, 255]), .text(String(repeating: "x", count: 126)),
            .binary([UInt8](repeating: 1, count: 65_536)), .binary(long),
        ]
        for path in ["/", "/fragments", "/ping"] {
            let recorder = try talk(
                path,
                path == "/fragments" ? [messages[1], messages[4]] : messages
            )
            #expect(recorder.events.first == "open news", "\(path)")
            let closure = try #require(recorder.closures.first)
            #expect(closure.isClean && closure.code == 1_000 && closure.error == nil, "\(closure)")
        }
        try web.end()
    }

    @Test("The server's number and words are told, and so is that it went without any")
    func ends() throws {
        let said = try talk("/close", [.text("x")]).closures[0]
        #expect(said.code == 4_001 && said.reason == "enough" && said.isClean, "\(said)")
        let cut = try talk("/cut", [.text("x")]).closures[0]
        #expect(!cut.isClean && cut.code == nil, "\(cut)")
        let http = SocketRecorder()
        let port = try web.serve()
        web.client.openWebSocket("ws://127.0.0.1:\(port)/", delegate: http)
        try web.turn { !http.closures.isEmpty }
        let error = http.closures[0].error.map { "\($0)" }
        #expect(error == "the server did not change the protocol: 200")
        try web.end()
    }
}

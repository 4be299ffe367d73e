import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTLS
import TowlineTestKit

@Suite("Credentials") struct CredentialTests {
    private static let url = "http://a.test/x"

    private func refuse(_ peer: SimulatedPeer, _ challenge: String, _ body: String = "who?") {
        peer.send("HTTP/1.1 401 Who\r\nWWW-Authenticate: \(challenge)\r\n")
        peer.send("Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    private func accept(_ peer: SimulatedPeer, _ fields: String = "") {
        peer.send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok")
    }

    private func web(_ configuration: HTTPClient.Configuration = .init()) throws -> SimulatedWeb {
        let web = try SimulatedWeb(configuration: configuration)
        for name in ["a.test", "b.test"] { web.network.names[name] = [.ipv4(.loopback)] }
        return web
    }

    /// A web that lets in whoever says so in a field.
    private func web(
        accepting value: String,
        asking challenge: String = "Basic realm=\"box\"",
        _ configuration: HTTPClient.Configuration = .init()
    ) throws -> SimulatedWeb {
        let web = try self.web(configuration)
        try web.serve { peer, seen in
            if seen.field("Authorization") == value {
                accept(peer)
            } else {
                refuse(peer, challenge)
            }
        }
        return web
    }

    private func request(_ credential: HTTPCredential?) -> HTTPRequest {
        var request = HTTPRequest(.get, Self.url)
        request.credential = credential
        return request
    }

    // MARK: Digest

    @Test(
        "Digest is answered once asked, and at once by later requests, counting up",
        arguments: [(false, false), (true, false), (false, true), (true, true)]
    )
    func digest(isLong: Bool, isSession: Bool) throws {
        var server = DigestServer()
        server.algorithm = isLong ? .sha256 : .md5
        server.isSession = isSession
        let web = try web()
        var counts: [Int?] = []
        try web.serve { peer, seen in
            counts.append(try? server.count(seen))
            if counts.last == .some(nil) { refuse(peer, server.challenge()) } else { accept(peer) }
        }
        for _ in 0..<3 {
            let recorder = try web.send(request(server.credential))
            #expect(recorder.outcome == "200" && recorder.text == "ok")
            #expect(recorder.endCount == 1)
        }
        #expect(counts == [nil, 1, 2, 3])
        #expect(web.seen[0].field("Authorization") == nil, "nothing is proved unasked")
        #expect(web.peers.count == 1, "the question's body was read for the connection's sake")
        try web.end()
    }

    @Test("A nonce that is too old is replaced without asking anybody; a wrong password is not")
    func stale() throws {
        var server = DigestServer()
        let web = try web()
        var isOld = false
        try web.serve { peer, seen in
            if isOld {
                isOld = false
                server.nonce = "n2"
                refuse(peer, server.challenge(stale: true))
            } else if (try? server.count(seen)) ?? nil == nil {
                refuse(peer, server.challenge())
            } else {
                accept(peer)
            }
        }
        #expect(try web.send(request(server.credential)).outcome == "200")
        isOld = true
        let second = try web.send(request(server.credential))
        #expect(second.outcome == "200")
        #expect(!second.events.contains(.asked(answerCount: 1)))
        #expect(web.seen.count == 4)

        let wrong = try web.send(request(.digest(user: "me", password: "wrong")))
        #expect(wrong.outcome == "401" && wrong.text == "who?")
        #expect(wrong.events.contains(.asked(answerCount: 1)))
        #expect(web.seen.count == 6, "one answer, and no second one by the same password")
        try web.end()
    }

    @Test("The server may name the next nonce")
    func nextNonce() throws {
        var server = DigestServer()
        let web = try web()
        var counts: [Int?] = []
        try web.serve { peer, seen in
            counts.append(try? server.count(seen))
            guard counts.last != .some(nil) else { return refuse(peer, server.challenge()) }
            server.nonce += "+"
            accept(peer, "Authentication-Info: nextnonce=\"\(server.nonce)\"\r\n")
        }
        for _ in 0..<3 { #expect(try web.send(request(server.credential)).outcome == "200") }
        #expect(counts == [nil, 1, 1, 1])
        try web.end()
    }

    @Test("Of several ways in one field the safest is taken that can be")
    func anyOffered() throws {
        let server = DigestServer()
        let any = HTTPCredential.anyOffered(user: server.user, password: server.password)
        let web = try web()
        try web.serve { peer, seen in
            switch seen.line.split(separator: " ")[1] {
            case "/both" where (try? server.count(seen)) ?? nil == nil:
                refuse(peer, "Basic realm=\"a, b\", Negotiate, \(server.challenge())")
            case "/basic" where seen.field("Authorization")?.hasPrefix("Basic ") != true:
                refuse(peer, "Negotiate abc==, Basic realm=\"a, Digest b\"")
            case "/other": refuse(peer, "Negotiate")
            default: accept(peer)
            }
        }
        for (path, outcome, count) in [
            ("both", "200", 2), ("basic", "200", 2), ("other", "401", 1),
        ] {
            var request = HTTPRequest(.get, "http://a.test/\(path)")
            request.credential = any
            let before = web.seen.count
            #expect(try web.send(request).outcome == outcome)
            #expect(web.seen.count == before + count, "\(path)")
        }
        try web.end()
    }

    @Test("What one origin has led to is not told to another, nor on the way back")
    func origins() throws {
        let server = DigestServer()
        let web = try web()
        for port in [80, 8080] as [UInt16] {
            try web.serve(port: port) { peer, seen in
                let place =
                    switch seen.line.split(separator: " ")[1] {
                    case "/x" where (try? server.count(seen)) ?? nil != nil: "http://a.test:8080/2"
                    case "/2": "http://a.test/3"
                    default: ""
                    }
                guard !place.isEmpty else { return refuse(peer, server.challenge()) }
                peer.send("HTTP/1.1 302 Go\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let recorder = try web.send(request(server.credential))
        #expect(recorder.outcome == "401")
        #expect(
            web.seen.map { $0.field("Authorization") != nil } == [false, true, false, false],
            "\(web.seen.map(\.line))"
        )
        try web.end()
    }

    // MARK: The delegate

    @Test("The delegate is asked where what was given does not do, twice at most")
    func twoRounds() throws {
        let web = try web(accepting: "Basic bWU6c2VjcmV0")
        let recorder = ExchangeRecorder()
        recorder.onQuestion = { challenge, reply in
            #expect(!challenge.isProxy && challenge.head.status == 401)
            reply(.basic(user: "me", password: "wrong\(challenge.answerCount)"))
        }
        web.client.start(request(.bearer("old")), delegate: recorder)
        try web.turn { recorder.hasEnded }
        #expect(recorder.outcome == "401" && recorder.text == "who?")
        #expect(recorder.events.filter { $0 == .asked(answerCount: 0) }.count == 1)
        #expect(recorder.events.filter { $0 == .asked(answerCount: 1) }.count == 1)
        #expect(web.seen.count == 3)
        #expect(web.seen[0].field("Authorization") == "Bearer old")
        #expect(web.peers.count == 1)
        try web.end()
    }

    @Test("An answer may come later, meanwhile the caller's own requests find a connection")
    func lateAnswer() throws {
        var configuration = HTTPClient.Configuration()
        configuration.connectionsPerKey = 1
        let web = try web(accepting: "Bearer new", configuration)
        let token = ExchangeRecorder()
        let recorder = ExchangeRecorder()
        recorder.onQuestion = { _, reply in
            web.reactor.schedule(after: .seconds(3600)) {
                web.client.start(HTTPRequest(.get, "http://a.test/token"), delegate: token)
                token.onEvent = { _, event in
                    guard event == .finished else { return }
                    reply(.bearer("new"))
                    reply(.bearer("other"))
                    #expect(web.seen.count == 2, "nothing happens within the answer")
                }
            }
        }
        web.client.start(request(nil), delegate: recorder)
        try web.turn { recorder.hasEnded }
        #expect(token.outcome == "401", "another exchange, over another connection")
        #expect(recorder.outcome == "200" && recorder.text == "ok")
        #expect(recorder.endCount == 1)
        #expect(web.seen.map { $0.field("Authorization") } == [nil, nil, "Bearer new"])
        try web.end()
    }

    @Test(
        "Without a credential the response is shown, also late, and where the answer is dropped",
        arguments: ["at once", "late", "dropped", "dropped late"],
        [4, 200_000]
    )
    func noAnswer(way: String, bodySize: Int) throws {
        let web = try web()
        let body = String(repeating: "b", count: bodySize)
        try web.serve { peer, _ in refuse(peer, "Basic", body) }
        let recorder = ExchangeRecorder()
        recorder.onQuestion = { _, reply in
            switch way {
            case "at once": reply(nil)
            case "late": web.reactor.schedule(after: .seconds(600)) { reply(nil) }
            case "dropped late":
                web.reactor.schedule(after: .seconds(600)) { withExtendedLifetime(reply) {} }
            default: break
            }
        }
        web.client.start(request(nil), delegate: recorder)
        try web.turn { recorder.hasEnded }
        #expect(recorder.outcome == "401")
        #expect(recorder.body.count == bodySize)
        #expect(recorder.endCount == 1)
        try web.end()
    }

    @Test(
        "While the answer is waited for, the peer may close and the response still be shown",
        arguments: [true, false],
        [true, false]
    )
    func closedMeanwhile(answers: Bool, abruptly: Bool) throws {
        let web = try web()
        try web.serve { peer, seen in
            guard seen.field("Authorization") == nil else { return accept(peer) }
            refuse(peer, "Basic", answers ? "who?" : "")
            web.network.schedule(after: .seconds(1)) {
                if abruptly { peer.reset() } else { peer.close() }
            }
        }
        let recorder = ExchangeRecorder()
        recorder.onQuestion = { _, reply in
            web.reactor.schedule(after: .seconds(60)) {
                reply(answers ? .bearer("t") : nil)
            }
        }
        web.client.start(request(nil), delegate: recorder)
        try web.turn { recorder.hasEnded }
        #expect(recorder.outcome == (answers ? "200" : "401"))
        #expect(recorder.endCount == 1)
        try web.end()
    }

    @Test("A cancel, the whole time's end and the reactor's end come through to a waiting exchange")
    func waitingEnds() throws {
        for end in ["cancel", "total"] {
            let web = try web(accepting: "never")
            let recorder = ExchangeRecorder()
            var reply: ((HTTPCredential?) -> Void)?
            recorder.onQuestion = { _, answer in reply = answer }
            var asking = request(nil)
            if end == "total" {
                var timeouts = HTTPTimeouts()
                timeouts.total = .seconds(7)
                asking.timeouts = timeouts
            }
            let exchange = web.client.start(asking, delegate: recorder)
            try web.turn { reply != nil }
            if end == "cancel" { exchange.cancel() }
            try web.turn { recorder.hasEnded }
            switch recorder.error {
            case .cancelled where end == "cancel", .timeout(.total) where end == "total": break
            default: Issue.record("\(recorder.outcome)")
            }
            reply?(.bearer("late"))
            try web.pass(.seconds(1))
            #expect(recorder.endCount == 1 && web.seen.count == 1)
            try web.end()
        }
    }

    @Test("A body that can be had once is not sent for a second answer")
    func notReplayable() throws {
        let web = try web(accepting: "never")
        let body = HTTPBody.stream(length: 1) { exchange in
            exchange.supply([0x78])
            exchange.finishBody()
        }
        let recorder = ExchangeRecorder()
        recorder.onQuestion = { _, reply in reply(.bearer("t")) }
        let request = HTTPRequest(.post, Self.url, body: body)
        web.client.start(request, delegate: recorder)
        try web.turn { recorder.hasEnded }
        guard case .bodyNotReplayable = recorder.error else {
            Issue.record("\(recorder.outcome)")
            return
        }
        #expect(try web.send(request).outcome == "401", "without an answer it is shown")
        #expect(try web.send(HTTPRequest(.post, Self.url, body: .text("x"))).outcome == "401")
        try web.end()
    }

    // MARK: The URL's own

    @Test("A user in the URL is sent at once, within its origin; one in a redirect once")
    func userInfo() throws {
        let web = try web()
        try web.serve { peer, seen in
            let place =
                switch seen.line.split(separator: " ")[1] {
                case "/1": "/2"
                case "/2": "http://b.test/3"
                case "/3": "http://you:pw@b.test/4"
                case "/4": "/5"
                default: ""
                }
            guard !place.isEmpty else { return accept(peer) }
            peer.send("HTTP/1.1 302 Go\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
        }
        try web.send(HTTPRequest(.get, "http://me:secret@a.test/1"))
        #expect(
            web.seen.map { $0.field("Authorization") } == [
                "Basic bWU6c2VjcmV0", "Basic bWU6c2VjcmV0", nil, "Basic eW91OnB3", nil,
            ]
        )
        try web.end()
    }

    @Test("A user name that cannot be sent, and a token, are refused before anything is")
    func unsendable() throws {
        let web = try web()
        for credential in [
            HTTPCredential.basic(user: "a:b", password: ""),
            .basic(user: "a", password: "\r\nX: y"),
            .bearer("a b"), .bearer(""),
        ] {
            guard case .invalidRequest(.credential) = try web.send(request(credential)).error else {
                Issue.record("\(credential)")
                continue
            }
        }
        #expect(web.peers.isEmpty)
        try web.end()
    }
}

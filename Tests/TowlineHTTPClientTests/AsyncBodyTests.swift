import Synchronization
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

@Suite("Bodies from sequences, and what is asked in the async style") struct AsyncBodyTests {
    /// Counts what was asked of it, and whether its task was cancelled.
    private final class Parts: AsyncSequence, Sendable {
        typealias Element = [UInt8]

        let count: Int
        let size: Int
        private let state = Mutex((asked: 0, wasCancelled: false))

        init(_ count: Int, of size: Int) {
            self.count = count
            self.size = size
        }

        struct Broken: Error {}

        struct Iterator: AsyncIteratorProtocol {
            let parts: Parts

            mutating func next() async throws -> [UInt8]? {
                try await parts.next()
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(parts: self) }

        var asked: Int { state.withLock { $0.asked } }
        var wasCancelled: Bool { state.withLock { $0.wasCancelled } }

        private func next() async throws -> [UInt8]? {
            let number = state.withLock { state in
                state.asked += 1
                return state.asked
            }
            if count < 0, number > -count { throw Broken() }
            guard number <= abs(count) else { return nil }
            await withTaskCancellationHandler {
                await Task.yield()
            } onCancel: {
                state.withLock { $0.wasCancelled = true }
            }
            return [UInt8](repeating: UInt8(ascii: "x"), count: size)
        }
    }

    private func put(_ parts: Parts, length: UInt64?) -> HTTPRequest {
        var request = HTTPRequest(.put, "http://127.0.0.1/")
        request.body = .stream(length: length, bytes: parts)
        request.expectsContinue = .never
        return request
    }

    @Test("A sequence is sent counted or in chunks, and pulled as fast as it is taken")
    func sequence() throws {
        let async = try AsyncWeb()
        try async.web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let counted = put(Parts(3, of: 100), length: 300)
        let chunked = put(Parts(2, of: 3), length: nil)
        for request in [counted, chunked] {
            let status = try async.run { try await $0.send(request).status }
            #expect(status == 200)
        }
        #expect(async.web.seen[0].body.utf8.count == 300)
        #expect(async.web.seen[1].body == "3\r\nxxx\r\n3\r\nxxx\r\n0\r\n\r\n")
        try async.end()
    }

    @Test("A peer that does not read stops the pull; a cancel ends the sequence's task")
    func backPressure() throws {
        let async = try AsyncWeb()
        let web = async.web
        let parts = Parts(100_000, of: 16 * 1024)
        try web.serve { _, _ in }
        let request = put(parts, length: nil)
        let running = async.begin { try await $0.send(request).status }
        try web.turn { web.peers.first != nil }
        web.peers[0].stopReading()
        for _ in 0..<500 { try web.reactor.turn(waitingAtMost: .milliseconds(1)) }
        let asked = parts.asked
        #expect((2..<1000).contains(asked))
        for _ in 0..<100 { try web.reactor.turn(waitingAtMost: .milliseconds(1)) }
        #expect(parts.asked == asked)
        running.cancel()
        try web.turn { running.result != nil }
        #expect(running.outcome == "cancellation")
        for _ in 0..<10 { try web.reactor.turn(waitingAtMost: .milliseconds(1)) }
        #expect(parts.asked == asked)
        try async.end()
    }

    @Test("What the sequence throws, or a wrong number of bytes, ends the exchange")
    func failing() throws {
        let async = try AsyncWeb()
        try async.web.serve { peer, _ in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let broken = put(Parts(-2, of: 3), length: nil)
        let short = put(Parts(2, of: 3), length: 7)
        let outcomes = try async.run { client in
            var outcomes: [String] = []
            for request in [broken, short] {
                do {
                    outcomes.append("\(try await client.send(request).status)")
                } catch HTTPError.producer(let error) {
                    outcomes.append("\(type(of: error))")
                } catch HTTPError.bodyLength(let promised, let supplied) {
                    outcomes.append("\(supplied) of \(promised)")
                }
            }
            return outcomes
        }
        #expect(outcomes == ["Broken", "6 of 7"])
        try async.end()
    }

    @Test("Redirects are asked about, interim responses and connections told of")
    func options() throws {
        let async = try AsyncWeb()
        try async.web.serve { peer, seen in
            if seen.line.contains("/first") {
                peer.send("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")
                peer.send("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
            } else {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let heard = Mutex<[String]>([])
        let note: @Sendable (String) -> Void = { text in heard.withLock { $0.append(text) } }
        for decision in [HTTPRedirectDecision.follow, .stop] {
            var options = AsyncHTTPOptions()
            options.willRedirect = { request, response in
                note("\(response.status) to \(request.url)")
                return decision
            }
            options.didReceiveInterim = { note("\($0.status)") }
            options.didConnect = { note($0.isReused ? "again" : "new") }
            let given = options
            let status = try async.run { client in
                let request = HTTPRequest(.get, "http://127.0.0.1/first")
                return try await client.send(request, options: given).status
            }
            note("\(status)")
        }
        let redirect = "302 to http://127.0.0.1/second"
        #expect(
            heard.withLock { $0 } == [
                "new", "103", redirect, "again", "200", "again", "103", redirect, "302",
            ]
        )
        try async.end()
    }
}

import TestSupport
import Testing
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

/// The files of responses, sent over connections: in one piece, byte by byte, and cut at every line
/// end.
@Suite("Responses over connections, by their cases") struct ResponseCaseTests {
    @Test("The project's own cases come out as they say, over a connection too")
    func ownCases() throws {
        let bytes = try FileContents.read(Checkout.path(of: "Tests/Cases/http-responses-own.json"))
        try run(bytes, called: "http-responses-own.json", count: 60)
    }

    @Test(
        "The cases of others come out as they say, over a connection too",
        .enabled(
            if: SharedCases.areThere("http-responses.json"),
            Comment(rawValue: SharedCases.hint)
        )
    )
    func foreignCases() throws {
        let bytes = try SharedCases.read("http-responses.json")
        try run(bytes, called: "http-responses.json", count: 52)
    }

    private func run(_ file: [UInt8], called name: String, count: Int) throws {
        let cases = try ResponseCases.decode(file)
        #expect(cases.count == count)
        var passedCount = 0
        for entry in cases {
            var isPassed = true
            for profile in [HTTPProfile.standard, .strict] {
                for pieces in Self.cuts(entry.bytes) {
                    let run = try CaseRun(entry, pieces, profile)
                    let complaints = run.complaints(entry, profile)
                    guard !complaints.isEmpty else { continue }
                    isPassed = false
                    let shape = "\(profile), in \(pieces.count) pieces"
                    Issue.record("\(entry.id), \(shape): \(complaints), \(run.recorder.outcome)")
                }
            }
            if isPassed { passedCount += 1 }
        }
        print("\(name) over connections: \(passedCount) of \(cases.count) cases passed")
        #expect(passedCount == cases.count)
    }

    /// In one piece, cut at every line end, and, if it is short, byte by byte.
    private static func cuts(_ bytes: [UInt8]) -> [[[UInt8]]] {
        guard bytes.count <= 20_000 else { return [[bytes]] }
        var lines: [[UInt8]] = [[]]
        for byte in bytes {
            lines[lines.count - 1].append(byte)
            if byte == UInt8(ascii: "\n") { lines.append([]) }
        }
        let cuts = [[bytes], lines.filter { !$0.isEmpty }]
        return bytes.count <= 4_000 ? cuts + [bytes.map { [$0] }] : cuts
    }
}

/// One case, sent in certain pieces, and what was heard of it.
private struct CaseRun {
    let recorder = ExchangeRecorder()
    private(set) var isReusable = false
    private let rest = Recorder()

    init(_ entry: ResponseCases.Case, _ pieces: [[UInt8]], _ profile: HTTPProfile) throws {
        guard entry.request.method != "CONNECT" else { return }
        var configuration = HTTPClient.Configuration()
        configuration.profile = profile
        configuration.decodesContent = entry.options?.decompress == true
        configuration.maxDecodedBytes = entry.options?.maxDecoded
        configuration.allowsHTTP09 = entry.options?.allowsHTTP09 == true
        let web = try SimulatedWeb(configuration: configuration)
        try web.serve { peer, _ in Self.answer(peer, pieces, entry.then, web.network) }
        var request = HTTPRequest(HTTPMethod(rawValue: entry.request.method), "http://127.0.0.1/")
        request.redirects = .show
        if let upgrade = entry.request.upgrade { request.upgrade = [upgrade] }
        var isHeldBack = entry.pause != nil
        rest.onEvent = { socket, event in
            if case .didRead = event { try socket.read() }
        }
        recorder.onEvent = { [recorder, rest] exchange, event in
            if case .upgraded = event {
                recorder.socket?.delegate = rest
                try recorder.socket?.read()
            }
            guard isHeldBack, case .response = event else { return }
            isHeldBack = false
            exchange.suspend()
            web.reactor.schedule(after: .milliseconds(500)) { exchange.resume() }
        }
        web.client.start(request, delegate: recorder)
        let end = web.network.now.advanced(by: .seconds(1) + .milliseconds(pieces.count))
        while !recorder.hasEnded, web.network.now < end {
            try web.reactor.turn(waitingAtMost: .milliseconds(100))
        }
        // What comes behind the end makes a kept connection useless.
        for _ in 0..<(pieces.count + 4) { try web.reactor.turn(waitingAtMost: .milliseconds(2)) }
        isReusable = web.client.connectionCounts.idle == 1
        recorder.socket?.disconnect()
        try web.end()
        // They know each other.
        recorder.onEvent = nil
        rest.onEvent = nil
    }

    private static func answer(
        _ peer: SimulatedPeer,
        _ pieces: [[UInt8]],
        _ ending: String,
        _ network: SimulatedNetwork
    ) {
        func end() {
            switch ending {
            case "close": peer.close()
            case "reset": peer.reset()
            default: break
            }
        }
        guard pieces.count > 1 else {
            peer.send(pieces.first ?? [])
            // A reset overtakes what is on its way, so that it waits a little.
            network.schedule(after: .milliseconds(1)) { end() }
            return
        }
        for (index, piece) in pieces.enumerated() {
            network.schedule(after: .milliseconds(index)) { peer.send(piece) }
        }
        network.schedule(after: .milliseconds(pieces.count)) { end() }
    }

    func complaints(_ entry: ResponseCases.Case, _ profile: HTTPProfile) -> [String] {
        // Tunnels have an interface of their own.
        guard entry.request.method != "CONNECT" else { return [] }
        let wish = profile == .strict ? entry.strictWish ?? entry.wish : entry.wish
        var complaints: [String] = []
        func check(_ isRight: Bool, _ what: String) {
            if !isRight { complaints.append(what) }
        }
        let outcome =
            recorder.socket != nil
            ? "upgrade" : recorder.error != nil ? "fail" : recorder.hasEnded ? "ok" : "none"
        if profile == .standard, let outcomes = entry.outcomes, outcomes.contains(outcome) {
            return []
        }
        check(outcome == wish.outcome, "outcome \(outcome)")
        check(recorder.endCount == 1, "one end")
        check(isReusable == wish.isReusable, "reusable")
        let head = recorder.response?.head
        if let wanted = wish.head, wish.outcome != "upgrade" {
            check((head != nil) == wanted, "head")
        }
        let interim = recorder.events.compactMap { event -> Int? in
            if case .interim(let status) = event { status } else { nil }
        }
        if let count = wish.interimCount ?? wish.interim?.count {
            check(interim.count == count, "interim")
        }
        if let wanted = wish.interim { check(interim.starts(with: wanted), "interim heads") }
        if let head {
            if let status = wish.status { check(head.status == status, "status") }
            if let version = wish.version {
                check("\(head.version)" == "HTTP/\(version)", "version")
            }
            if let headers = wish.headers { check(head.headers.pairs == headers, "headers") }
        }
        if let wanted = wish.decodedBody {
            check(recorder.body == wanted, "decoded body")
        } else if let body = wish.body, entry.options?.decompress != true {
            let isRight =
                wish.outcome == "fail" ? body.starts(with: recorder.body) : recorder.body == body
            check(isRight, "body")
        }
        let read = rest.events.flatMap { event -> [UInt8] in
            if case .didRead(let bytes, tag: _) = event { bytes } else { [] }
        }
        if let leftover = wish.leftover { check(recorder.leftover + read == leftover, "leftover") }
        return complaints
    }
}

extension HTTPHeaders {
    /// Names and values, bytes as the characters of the same numbers.
    fileprivate var pairs: [[String]] {
        map { field in
            [
                field.name,
                String(String.UnicodeScalarView(field.value.map { Unicode.Scalar($0) })),
            ]
        }
    }
}

import TestSupport
import Towline
import TowlineHTTP
import TowlineHTTPClient
import TowlineTestKit

/// Exchanges of every kind with servers that answer, break off, fall silent and say too much, all
/// of it by a seed; says what went wrong.
final class ClientStorm {
    /// What a server does behind its answer.
    private enum Ending: CaseIterable {
        case keep
        case close
        case reset
        case silence
    }

    /// An answer, and what may be made of it.
    private struct Answer {
        var bytes: [UInt8]
        var body: [UInt8] = []
        /// Whether an end within it looks like the end of a shorter one.
        var endsAtClose = false
        /// Whether it is none.
        var isMalformed = false
    }

    private var numbers: SeededNumbers
    private let network: SimulatedNetwork
    private let reactor: Reactor
    private let client: HTTPClient
    private var servers: [SimulatedServer] = []
    private var peers: [SimulatedPeer] = []
    private var recorders: [ExchangeRecorder] = []

    /// What was sent whole or in part to each path, by what the client may take for a whole body.
    private var answers: [String: [Answer]] = [:]
    private(set) var complaints: [String] = []

    init(seed: UInt64) throws {
        var numbers = SeededNumbers(seed: seed)
        var conditions = NetworkConditions()
        if numbers.number(in: 0..<2) == 0 {
            conditions.delay = .zero ... .milliseconds(40)
            conditions.bytesPerSegment = 1...3_000
            conditions.bytesPerReceive = 1...5_000
            conditions.shufflesEvents = true
        }
        network = SimulatedNetwork(seed: seed, conditions: conditions)
        reactor = try network.makeReactor()
        var configuration = HTTPClient.Configuration()
        configuration.connectionsPerKey = numbers.number(in: 1..<4)
        configuration.idleTime = .seconds(numbers.number(in: 1..<20))
        configuration.timeouts.connect = .seconds(9)
        configuration.timeouts.firstByte = .seconds(5)
        configuration.timeouts.bodyStall = .seconds(5)
        configuration.timeouts.sendStall = .seconds(5)
        configuration.limits.head = 4_096
        client = HTTPClient(reactor: reactor, configuration: configuration)
        self.numbers = numbers
    }

    func run() throws -> [String] {
        for port in [UInt16(80), 81] {
            let server = network.listen(at: .ipv4(.loopback, port: port)) { [unowned self] peer in
                peers.append(peer)
                serve(peer)
            }
            servers.append(server!)
        }
        for number in 0..<10 { begin(number) }
        let isOver = try turn { recorders.allSatisfy(\.hasEnded) }
        if !isOver { complaints.append("an exchange hangs") }
        for (number, recorder) in recorders.enumerated() { check(recorder, number) }
        // What servers, cancels and resumptions still have to say comes meanwhile and finds nobody.
        var isLater = false
        reactor.schedule(after: .seconds(100)) { isLater = true }
        if !(try turn { isLater }) { complaints.append("time stands still") }
        client.closeIdleConnections()
        let isEmpty = try turn {
            reactor.figures.openSockets == 0 && reactor.figures.timers == 0
                && client.exchangeCount == 0 && client.connectionCounts.all == 0
        }
        if !isEmpty {
            let (sockets, timers) = (reactor.figures.openSockets, reactor.figures.timers)
            complaints.append(
                "left: \(sockets) sockets, \(timers) timers, \(client.exchangeCount) exchanges"
            )
        }
        reactor.stop()
        try reactor.run()
        servers = []
        for peer in peers { peer.whenNewsComes = nil }
        for recorder in recorders {
            if recorder.endCount != 1 { complaints.append("\(recorder.endCount) ends") }
            recorder.onEvent = nil
        }
        return complaints
    }

    private func turn(until condition: () -> Bool) throws -> Bool {
        for _ in 0..<20_000 {
            if condition() { return true }
            try reactor.turn(waitingAtMost: .seconds(400))
        }
        return false
    }

    // MARK: The client's side

    private func begin(_ number: Int) {
        var request = HTTPRequest(.get, "http://127.0.0.1:\(80 + number % 2)/\(number)")
        let size = [0, 10, 3_000, 200_000].randomElement(using: &numbers)!
        switch numbers.number(in: 0..<4) {
        case 0:
            request.method = .post
            request.body = .bytes([UInt8](repeating: 0x61, count: size))
        case 1:
            request.method = .put
            request.expectsContinue = .always
            let supplied = numbers.number(in: 0..<8) == 0 ? size / 2 : size
            let length = Bool.random(using: &numbers) ? UInt64(size) : nil
            request.body = Self.stream(of: supplied, saying: length)
        default:
            break
        }
        let recorder = ExchangeRecorder()
        recorders.append(recorder)
        var eventsLeft = numbers.number(in: 0..<12)
        let act = numbers.number(in: 0..<4)
        recorder.onEvent = { [unowned self] exchange, _ in
            eventsLeft -= 1
            guard eventsLeft == 0 else { return }
            switch act {
            case 0: exchange.cancel()
            case 1:
                exchange.suspend()
                network.schedule(after: .seconds(7)) { exchange.resume() }
            case 2: throw Odd()
            default: break
            }
        }
        let exchange = client.start(request, delegate: recorder)
        if numbers.number(in: 0..<6) == 0 {
            let time = Duration.milliseconds(numbers.number(in: 0..<3_000))
            network.schedule(after: time) { exchange.cancel() }
        }
    }

    private struct Odd: Error {}

    private static func stream(of count: Int, saying length: UInt64?) -> HTTPBody {
        let left = Locked(count)
        return .stream(length: length) { exchange in
            let part = left.withLock { left in
                let part = min(left, 8_192)
                left -= part
                return part
            }
            if part > 0 {
                exchange.supply([UInt8](repeating: 0x61, count: part))
            } else {
                exchange.finishBody()
            }
        }
    }

    private func check(_ recorder: ExchangeRecorder, _ number: Int) {
        guard recorder.events.last == .finished, let response = recorder.response else { return }
        guard response.status == 200 else { return }
        let sent = answers["/\(number)"] ?? []
        let isRight = sent.contains { answer in
            !answer.isMalformed
                && (answer.endsAtClose
                    ? answer.body.starts(with: recorder.body) : answer.body == recorder.body)
        }
        guard !isRight else { return }
        let made = sent.map { "\($0.body.count) bytes\($0.isMalformed ? ", malformed" : "")" }
        complaints.append(
            "exchange \(number) has \(recorder.body.count) bytes that nobody sent, of \(made)"
        )
    }

    // MARK: The servers' side

    private func serve(_ peer: SimulatedPeer) {
        var taken = 0
        var isBusy = false
        peer.whenNewsComes = { [unowned self] peer in
            let bytes = peer.received[taken...]
            guard !isBusy, !bytes.isEmpty else { return }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let end = Self.endOfHead(bytes) else { return }
            // Some answer what they have not read to its end.
            let isEarly = numbers.number(in: 0..<5) == 0
            guard isEarly || Self.isWhole(bytes, behind: end, text) else { return }
            taken = peer.received.count
            isBusy = true
            let path = text.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            answer(peer, path, mayKeep: !isEarly) { isBusy = false }
        }
    }

    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        let pattern = Array("\r\n\r\n".utf8)
        return bytes.indices.first { bytes[$0...].starts(with: pattern) }.map { $0 + 4 }
    }

    private static func isWhole(
        _ bytes: ArraySlice<UInt8>,
        behind end: Int,
        _ text: String
    ) -> Bool {
        let head = text.lowercased()
        if head.contains("transfer-encoding: chunked") {
            return bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8)
        }
        guard
            let field = head.utf8.split(separator: 10).first(where: {
                $0.starts(with: "content-length:".utf8)
            })
        else { return true }
        let digits = field.dropFirst(15).filter { (48...57).contains($0) }
        let length = digits.reduce(0) { $0 * 10 + Int($1) - 48 }
        return bytes.endIndex - end >= length
    }

    private func answer(
        _ peer: SimulatedPeer,
        _ path: String,
        mayKeep: Bool,
        whenDone: @escaping () -> Void
    ) {
        let answer = makeAnswer(path)
        answers[path, default: []].append(answer)
        var bytes = answer.bytes
        var ending = Ending.allCases.randomElement(using: &numbers)!
        if numbers.number(in: 0..<3) > 0 { ending = answer.endsAtClose ? .close : .keep }
        if !mayKeep, ending == .keep { ending = .close }
        if ending != .keep, numbers.number(in: 0..<2) == 0 {
            bytes = Array(bytes.prefix(numbers.number(in: 0..<bytes.count + 1)))
        }
        let isStray = numbers.number(in: 0..<8) == 0
        // Behind an answer that is whole by itself; else they would be a part of it.
        if isStray, !answer.endsAtClose, bytes.count == answer.bytes.count {
            bytes += Array("stray".utf8)
        }
        var rest = bytes[...]
        func go() {
            let piece = rest.prefix(numbers.number(in: 1..<max(2, rest.count + 1)))
            rest = rest.dropFirst(piece.count)
            peer.send(piece)
            guard rest.isEmpty else {
                let time = Duration.milliseconds(numbers.number(in: 0..<900))
                return network.schedule(after: time) { go() }
            }
            switch ending {
            case .keep: whenDone()
            case .close: peer.close()
            case .reset: peer.reset()
            case .silence: break
            }
        }
        network.schedule(after: .milliseconds(numbers.number(in: 0..<2_000))) { go() }
    }

    private func makeAnswer(_ path: String) -> Answer {
        let sizes = [0, 1, 50, 3_000, 100_000]
        let body = numbers.bytes(sizes.randomElement(using: &numbers)!)
        func message(_ head: String, _ body: [UInt8]) -> [UInt8] {
            Array((head + "\r\n\r\n").utf8) + body
        }
        let length = "Content-Length: \(body.count)"
        switch numbers.number(in: 0..<10) {
        case 0, 1, 2:
            return Answer(bytes: message("HTTP/1.1 200 OK\r\n\(length)", body), body: body)
        case 3:
            var coded: [UInt8] = []
            var rest = body[...]
            while !rest.isEmpty {
                let part = rest.prefix(numbers.number(in: 1..<5_000))
                rest = rest.dropFirst(part.count)
                coded += Array((String(part.count, radix: 16) + "\r\n").utf8) + part + [13, 10]
            }
            coded += Array("0\r\nX-Sum: 1\r\n\r\n".utf8)
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
            return Answer(bytes: message(head, coded), body: body)
        case 4:
            let bytes = message("HTTP/1.1 200 OK\r\nConnection: close", body)
            return Answer(bytes: bytes, body: body, endsAtClose: true)
        case 5:
            let to = "http://127.0.0.1:\(80 + numbers.number(in: 0..<2))\(path)"
            let status = [301, 302, 303, 307, 308].randomElement(using: &numbers)!
            return Answer(
                bytes: message("HTTP/1.1 \(status) X\r\nLocation: \(to)\r\n\(length)", body)
            )
        case 6:
            let challenge = "WWW-Authenticate: Basic realm=\"x\""
            return Answer(bytes: message("HTTP/1.1 401 X\r\n\(challenge)\r\n\(length)", body))
        case 7:
            return Answer(bytes: message("HTTP/1.1 204 X", []))
        case 8:
            let interim = "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 100 X\r\n\r\nHTTP/1.1 200 OK\r\n\(length)"
            return Answer(bytes: message(interim, body), body: body)
        default:
            let head = [
                "HTTP/1.1 200 OK\r\n\(length)\r\nContent-Length: 7", "HTTP/2 200", "SSH-2.0",
                "HTTP/1.1 200 OK\r\n: x", "HTTP/1.1 200 OK\r\nContent-Length: -1",
                "HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 5_000))",
            ]
            let bytes = message(head.randomElement(using: &numbers)!, body)
            return Answer(bytes: bytes, body: body, isMalformed: body.count != 7)
        }
    }
}

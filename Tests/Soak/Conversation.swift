import TestSupport
import Towline

/// How a conversation ends; the first byte of its request says it.
enum Ending: UInt8, CaseIterable {
    /// The client disconnects behind its last write.
    case clientAfterWrites
    /// The client disconnects at once, with bytes of the answer still to come.
    case clientNow
    /// The client resets.
    case clientReset
    /// The server disconnects behind its answer.
    case serverAfterWrites
    /// The server throws in its callback.
    case serverThrows
    /// The client ends its writing, and reads up to the server's end.
    case clientEndsWriting
}

/// What happened to all conversations together.
final class Tally: CustomStringConvertible {
    var started = 0
    var farewells = 0
    var accepted = 0
    var acceptedFarewells = 0
    var answers = 0
    /// Ends that nobody wanted, with their number.
    var errors: [String: Int] = [:]
    private(set) var complaints: [String] = []

    var description: String {
        "\(started) connects, \(answers) answers, \(errors.values.reduce(0, +)) failed"
    }

    func wrong(_ text: String) {
        if complaints.count < 20 { complaints.append(text) }
    }

    /// Notes an end; `expected` are those that the ending brings about.
    func note(_ error: SocketError?, unless isExpected: Bool) {
        guard let error, !isExpected else { return }
        errors["\(error)", default: 0] += 1
    }
}

/// Answers each request with its own bytes.
final class SoakServer: StreamListenerDelegate {
    private let tally: Tally

    init(_ tally: Tally) {
        self.tally = tally
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        tally.accepted += 1
        socket.keep(SoakAnswer(tally))
        try socket.read(toLength: 1, tag: SoakAnswer.ending)
        try socket.read(toLength: 4, tag: SoakAnswer.length)
    }

    func listener(_ listener: StreamListener, didStopWith error: SocketError?) {
        if let error { tally.note(error, unless: false) }
    }
}

/// One conversation's server side.
final class SoakAnswer: StreamSocketDelegate {
    static let ending = 1
    static let length = 2
    static let body = 3

    struct Refusal: Error {}

    private let tally: Tally
    private var end = Ending.clientNow
    private var hasEnded = false

    init(_ tally: Tally) {
        self.tally = tally
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        switch tag {
        case Self.ending:
            guard let known = Ending(rawValue: [UInt8](bytes)[0]) else {
                tally.wrong("no ending is called \([UInt8](bytes))")
                return
            }
            end = known
        case Self.length:
            let count = Int(bytes.bigEndian(at: 0, as: UInt32.self) ?? 0)
            try socket.read(toLength: count, tag: Self.body)
        default:
            if end == .serverThrows { throw Refusal() }
            try socket.write(bytes)
            if end == .serverAfterWrites || end == .clientEndsWriting {
                socket.disconnect(.afterWrites)
            } else {
                try socket.read()
            }
        }
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        if hasEnded { tally.wrong("an accepted socket has two farewells") }
        hasEnded = true
        tally.acceptedFarewells += 1
    }
}

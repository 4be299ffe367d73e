import TestSupport
import Testing
import Towline
import TowlineTestKit

/// What a connection under test runs on; both must show the same.
enum World: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case epoll
    case simulated

    var testDescription: String { rawValue }
}

/// A connected socket under test, what it heard, and its other end, in either world.
final class Ends {
    let reactor: Reactor
    let socket: StreamSocket
    let recorder = Recorder()
    private let other: Other
    /// What keeps the other end alive, or its bytes from a reset.
    private let keeper: Any

    private enum Other {
        case real(BlockingPeer)
        case simulated(SimulatedPeer)
    }

    init(
        _ world: World,
        configuration: Reactor.Configuration = .init(backend: .epoll),
        conditions: NetworkConditions = .init(),
        prepare: (StreamSocket) throws -> Void = { _ in }
    ) throws {
        switch world {
        case .epoll:
            let listener = try BlockingListener()
            keeper = listener
            reactor = try Reactor(configuration)
            socket = StreamSocket(reactor: reactor, delegate: recorder)
            try socket.connect(to: listener.address)
            try prepare(socket)
            try reactor.turn(waitingAtMost: .zero)
            other = .real(try listener.accept())
        case .simulated:
            let network = SimulatedNetwork(seed: 1, conditions: conditions)
            reactor = try network.makeReactor(configuration)
            socket = StreamSocket(reactor: reactor, delegate: recorder)
            var peers: [SimulatedPeer] = []
            let server = network.listen(at: .ipv4(.loopback, port: 80)) { peers.append($0) }
            keeper = (network, try #require(server))
            try socket.connect(to: .ipv4(.loopback, port: 80))
            try prepare(socket)
            for _ in 0..<10 where peers.isEmpty { try reactor.turn(waitingAtMost: .seconds(1)) }
            other = .simulated(try #require(peers.first))
        }
        try turn("connected") { !recorder.events.isEmpty }
    }

    deinit {
        // A test that failed half-way has not.
        try? end()
    }

    /// What was heard behind `didConnectTo`.
    var heard: [Recorder.Event] { Array(recorder.events.dropFirst()) }

    /// The reads and nothing else, as texts.
    var texts: [String] {
        heard.compactMap {
            guard case .didRead(let bytes, _) = $0 else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    // MARK: Time

    /// Turns until something holds.
    func turn(_ what: String = "it", until condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while try !condition() {
            guard ContinuousClock.now < deadline else {
                throw Impatience(what: what, heard: recorder.events)
            }
            try reactor.turn(waitingAtMost: .milliseconds(20))
        }
    }

    /// Turns until so many bytes in all have been received.
    func receive(_ byteCount: Int) throws {
        try turn("\(byteCount) bytes received") { reactor.figures.receivedBytes >= byteCount }
    }

    /// Turns a few times, for what must not happen.
    func idle() throws {
        for _ in 0..<4 { try reactor.turn(waitingAtMost: .zero) }
    }

    func turnUntilFarewell() throws {
        try turn("the farewell") { !recorder.reports.isEmpty }
    }

    /// Stops the reactor.
    func end() throws {
        reactor.stop()
        try reactor.turn()
    }

    struct Impatience: Error, CustomStringConvertible {
        let what: String
        let heard: [Recorder.Event]
        var description: String { "\(what) never came; heard \(heard)" }
    }

    // MARK: The other end

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        switch other {
        case .real(let peer): try peer.send(bytes)
        case .simulated(let peer): peer.send(bytes)
        }
    }

    func finishSending() {
        switch other {
        case .real(let peer): peer.finishSending()
        case .simulated(let peer): peer.finishSending()
        }
    }

    func close() {
        switch other {
        case .real(let peer): peer.close()
        case .simulated(let peer): peer.close()
        }
    }

    /// Resets the connection, behind all that was sent.
    func reset() throws {
        switch other {
        case .real(let peer):
            // The kernel drops what it has not sent yet.
            #expect(holds { peer.untakenByteCount == 0 })
            peer.reset()
        case .simulated(let peer):
            peer.reset()
        }
    }
}

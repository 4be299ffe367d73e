import Testing
import Towline
import TowlineTestKit

/// The backends that keep the contract.
enum BackendKind: String, CaseIterable, CustomTestStringConvertible {
    case epoll
    case simulated

    var testDescription: String { rawValue }

    /// A backend, and somebody to talk to it.
    ///
    /// - Parameters:
    ///   - budget: How much a wait does for one socket.
    ///   - bufferSize: The most bytes of one receive.
    ///   - window: Bytes that a connection holds each way, roughly; `nil`, the usual.
    /// - Returns: The two together.
    /// - Throws: What the kernel refused.
    func makeRig(
        budget: TurnBudget = TurnBudget(),
        bufferSize: Int = 64 * 1024,
        window: Int32? = nil
    ) throws -> Rig {
        switch self {
        case .epoll: try EpollRig(budget, bufferSize, window)
        case .simulated: SimulatedRig(budget, bufferSize, window)
        }
    }
}

/// The other end of a connection, real or simulated.
protocol TestPeer: AnyObject {
    var received: [UInt8] { get }
    var sawEnd: Bool { get }
    var sawReset: Bool { get }
    /// Whether it reads what comes.
    var isReading: Bool { get set }
    func send(_ bytes: [UInt8])
    func finishSending()
    /// Closes, behind everything that was to be sent.
    func close()
    func reset()
    /// Reads at most so many bytes, once.
    func read(atMost limit: Int)
    /// Does what can be done without waiting.
    func pump()
}

/// Somebody who listens for connects of the backend.
protocol TestServer: AnyObject {
    var address: SocketAddress { get }
    /// The next one who has connected, if there is one.
    func accept() -> (any TestPeer)?
    func close()
}

/// A backend with its sink, and peers for it.
class Rig {
    let backend: any Backend
    let log = EventLog()
    private var peers: [any TestPeer] = []
    private var lastSlot = 0

    init(_ backend: any Backend) {
        self.backend = backend
    }

    deinit {
        backend.shutDown()
    }

    // MARK: What differs

    /// An established connection: a descriptor to adopt, and its peer.
    func makeConnection() throws -> (CInt, any TestPeer) { preconditionFailure("each rig has one") }

    /// A peer that connects to a listener of the backend.
    func connectPeer(to address: SocketAddress) throws -> any TestPeer {
        preconditionFailure("each rig has one")
    }

    /// A listener of somebody else's.
    func makeServer(at address: SocketAddress, backlog: Int) throws -> any TestServer {
        preconditionFailure("each rig has one")
    }

    /// Somewhere in the Unix domain where nobody else is.
    func unixAddress() throws -> SocketAddress { preconditionFailure("each rig has one") }

    // MARK: What is the same

    func nextID() -> SocketID {
        lastSlot += 1
        return SocketID(slot: lastSlot, generation: 1)
    }

    func add<Peer: TestPeer>(_ peer: Peer) -> Peer {
        peers.append(peer)
        return peer
    }

    /// Lets go of all peers but these.
    func dropPeers(keeping kept: [any TestPeer]) {
        peers.removeAll { peer in !kept.contains { $0 === peer } }
    }

    /// A stream that the backend has adopted, paused.
    func makeStream(_ id: SocketID? = nil) throws -> (SocketID, any TestPeer) {
        let id = id ?? nextID()
        let (descriptor, peer) = try makeConnection()
        try backend.adopt(descriptor, as: id, kind: .stream)
        return (id, peer)
    }

    /// A listener of the backend that accepts.
    func makeListener(
        at address: SocketAddress = .ipv4(.loopback, port: 0)
    ) throws -> (SocketID, SocketAddress) {
        let id = nextID()
        let bound = try backend.listen(
            on: address,
            options: SocketOptions(),
            backlog: 128,
            permissions: nil,
            as: id
        )
        backend.resumeReceiving(id)
        return (id, bound)
    }

    /// Opens and connects.
    func connect(
        _ id: SocketID,
        to address: SocketAddress,
        from local: SocketAddress? = nil,
        options: SocketOptions = SocketOptions()
    ) throws {
        try backend.open(id, for: address, from: local, options: options)
        backend.connect(id, to: address)
    }

    /// Waits once and hears everything that came of it.
    func poll(waiting nanoseconds: Int64 = 1_000_000) throws {
        for peer in peers { peer.pump() }
        log.isListening = true
        defer { log.isListening = false }
        try backend.wait(atMost: nanoseconds, into: log)
        backend.deliverResults(into: log)
        if let failure = log.failure { throw failure }
    }

    /// Polls until a condition holds, a bounded number of times.
    func poll(
        until condition: () -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for _ in 0..<5_000 {
            if condition() { return }
            try poll()
        }
        Issue.record("it never came: \(log.happenings.suffix(5))", sourceLocation: sourceLocation)
    }

    /// Polls for a while in which nothing more should come.
    func pollInVain(_ count: Int = 20) throws {
        for _ in 0..<count { try poll(waiting: 100_000) }
    }
}

/// Bytes that tell each other apart: each eight of them are their own number.
func countedBytes(_ count: Int) -> [UInt8] {
    var words = [UInt64](repeating: 0, count: (count + 7) / 8)
    for index in words.indices { words[index] = UInt64(index) }
    return words.withUnsafeBytes { [UInt8]($0.prefix(count)) }
}

import Glibc
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

/// A client without a socket that decides itself how its records are cut and sent, and a server of
/// ours that reads and writes in every way at once.
@Suite("Secured echoes, by chance", .timeLimit(.minutes(10))) struct SecuredEchoTests {
    @Test(
        "S8, S9, TB8: however records are cut and reads change, all comes back, and each end once",
        arguments: TLSVersion.allCases
    )
    func echoes(version: TLSVersion) throws {
        let credentials = try Credentials()
        var configuration = try credentials.trustingClient()
        configuration.maximumVersion = version
        let server = TLSConfiguration.server(try credentials.server("good"))
        try server.prepare()
        let reactor = try Reactor(Reactor.Configuration(backend: .epoll))
        let service = EchoService(server)
        let listener = StreamListener(reactor: reactor, delegate: service)
        // Each piece arrives at once, as it was cut; over TCP small ones wait for each other.
        try listener.listen(onUnixPath: "@towline-echoes-\(getpid())-\(version.rawValue)")
        let address = try #require(listener.localAddress)
        for seed in UInt64(1)...25 {
            let run = try EchoRun(seed, configuration, address, reactor, service)
            try run.go()
            for complaint in run.complaints {
                Issue.record("\(version), seed \(seed): \(complaint)")
            }
        }
        #expect(service.endCount == 25)
        reactor.stop()
        try reactor.turn()
    }
}

/// Echoes so many bytes by reads of all kinds, one of them at a time.
private final class EchoService: StreamListenerDelegate, StreamSocketDelegate {
    private let configuration: TLSConfiguration
    var numbers = SeededNumbers(seed: 0)

    /// How many bytes are still to come on the current connection.
    var remainingCount = 0

    /// Whether the server is the one that ends it.
    var endsFirst = false

    /// Whether it asks for new keys now and then.
    var changesKeys = false

    private(set) var endCount = 0
    private(set) var report: DisconnectReport?
    private var current: StreamSocket?

    init(_ configuration: TLSConfiguration) {
        self.configuration = configuration
    }

    func begin(_ seed: UInt64, _ count: Int, changesKeys: Bool) {
        numbers = SeededNumbers(seed: seed)
        remainingCount = count
        endsFirst = Bool.random(using: &numbers)
        self.changesKeys = changesKeys
        report = nil
    }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        current = socket
        socket.delegate = self
        try socket.startTLS(configuration)
        try readOn(socket)
    }

    private func readOn(_ socket: StreamSocket) throws {
        switch numbers.number(in: 0..<6) {
        case 0: try socket.read(toLength: numbers.number(in: 1..<remainingCount + 1))
        // The last byte of all is one.
        case 1: try socket.read(to: .lf)
        case 2: try socket.read(maxLength: numbers.number(in: 1..<20_000))
        default: try socket.read()
        }
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        remainingCount -= bytes.byteCount
        let cut = numbers.number(in: 0..<bytes.byteCount + 1)
        if cut > 0, numbers.number(in: 0..<3) == 0 {
            try socket.write(bytes.extracting(0..<cut))
            try socket.write(bytes.extracting(cut..<bytes.byteCount))
        } else {
            try socket.write(bytes)
        }
        if changesKeys, numbers.number(in: 0..<8) == 0 { try socket.rekey() }
        if remainingCount > 0 { return try readOn(socket) }
        if endsFirst { socket.disconnect(.afterWrites) } else { try socket.read() }
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        endCount += 1
        self.report = report
    }
}

/// One connection: rounds of data by chance, in pieces by chance.
private final class EchoRun {
    private(set) var complaints: [String] = []

    private var numbers: SeededNumbers
    private let client: MemoryEnd
    private let peer: BlockingPeer
    private let reactor: Reactor
    private let service: EchoService
    private let changesKeys: Bool
    private let rounds: [[UInt8]]
    private var hasEnded = false

    init(
        _ seed: UInt64,
        _ configuration: TLSConfiguration,
        _ address: SocketAddress,
        _ reactor: Reactor,
        _ service: EchoService
    ) throws {
        var numbers = SeededNumbers(seed: seed)
        // With TLS 1.2 there is no way to.
        changesKeys = configuration.maximumVersion == .tls13 && Bool.random(using: &numbers)
        rounds = (0..<numbers.number(in: 1..<6)).map { _ in
            let largest = [40, 2_000, 20_000].randomElement(using: &numbers)!
            return numbers.bytes(numbers.number(in: 0..<largest)) + [UInt8(ascii: "\n")]
        }
        self.numbers = numbers
        self.reactor = reactor
        self.service = service
        service.begin(seed, rounds.joined().count, changesKeys: changesKeys)
        client = try MemoryEnd(configuration, host: "good.test")
        peer = try BlockingPeer(connectingTo: address)
    }

    func go() throws {
        try exchange { client.isSecured }
        for bytes in rounds {
            // Several records, of which some may come in one segment.
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = rest.prefix(numbers.number(in: 1..<rest.count + 1))
                client.send(Array(part))
                rest = rest.dropFirst(part.count)
                if changesKeys, numbers.number(in: 0..<6) == 0 {
                    client.session.updateKeys(into: client.output)
                    client.collect()
                }
            }
            if numbers.number(in: 0..<3) > 0 { try exchange { client.outbox.isEmpty } }
        }
        let sent = Array(rounds.joined())
        try exchange { client.plaintext.count >= sent.count }
        if service.endsFirst { try exchange { client.hasEnded } }
        client.finish()
        try exchange { service.report != nil }
        if let failure = client.failure { complaints.append("\(failure)") }
        if client.plaintext != sent {
            complaints.append("\(client.plaintext.count) of \(sent.count) bytes, or others")
        }
        let error = service.report?.error
        if service.endsFirst ? error != nil : error != .closedByPeer {
            complaints.append("\(String(describing: service.report))")
        }
        peer.close()
    }

    /// Hands bytes over in both directions until something holds.
    private func exchange(until condition: () -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if condition(), client.outbox.isEmpty { return }
            if client.failure != nil || service.report != nil && hasEnded { return }
            // Never more than the kernel takes at once, as nobody else turns the reactor.
            let most = [1, 7, 300, 20_000].randomElement(using: &numbers)!
            let piece = client.outbox.prefix(numbers.number(in: 1..<most + 1))
            client.outbox.removeFirst(piece.count)
            if service.report == nil, !piece.isEmpty { try peer.send(Array(piece)) }
            try reactor.turn(waitingAtMost: piece.isEmpty ? .milliseconds(1) : .zero)
            guard !hasEnded, let bytes = try peer.receiveAvailable() else { continue }
            hasEnded = bytes.isEmpty
            if hasEnded { client.receiveEnd() } else { client.receive(bytes) }
        }
        complaints.append("it hangs with \(client.plaintext.count) bytes")
    }
}

import Glibc
import TestSupport
import Towline
import TowlineTLS

/// Clients that do not get as far as a connection, beside one that does: half of them close at
/// once, the others send what is no handshake, and some of them half of a hello.
enum FailedHandshakes {
    private static let atOnce = 50
    private static let warmUpCount = 500

    static func run(_ plan: Plan) throws -> CInt {
        let server = try HandshakeServer()
        try server.fail(min(plan.handshakes, warmUpCount))
        let (before, sessions) = (Belongings(), SessionCensus.liveCount)
        try server.fail(plan.handshakes)
        let after = Belongings()
        print("\(plan.handshakes) failed handshakes; \(before) -> \(after)")
        var complaints = server.complaints + after.complaints(since: before)
        if SessionCensus.liveCount != sessions {
            complaints.append("\(SessionCensus.liveCount - sessions) sessions are left")
        }
        complaints += try server.dribble(min(plan.handshakes, 5_000))
        try server.end()
        if SessionCensus.liveCount != 0 { complaints.append("sessions outlive their reactor") }
        complaints.prefix(20).forEach { print("soak: \($0)") }
        return complaints.isEmpty ? 0 : 1
    }

    /// What is sent in the `index`th place: nothing, something else than TLS, a message that there
    /// is not, and a hello with nonsense in it.
    fileprivate static func greeting(_ index: Int) -> [UInt8] {
        switch index % 8 {
        case 1: Array("GET / HTTP/1.1\r\n\r\n".utf8)
        case 3: [22, 3, 1, 0, 4, 99, 0, 0, 0]
        case 5: [22, 3, 1, 0, 8, 1, 0, 0, 4, 3, 3, 7, 7]
        case 7: [22, 3, 1]
        default: []
        }
    }

    /// Runs as many as are asked for, some at once.
    fileprivate static func batches(of count: Int, _ body: (Range<Int>) throws -> Void) rethrows {
        for start in stride(from: 0, to: count, by: atOnce) {
            try body(start..<min(start + atOnce, count))
        }
    }
}

/// A server with TLS, and a client of its own that says something after each batch of failures.
private final class HandshakeServer: StreamListenerDelegate, StreamSocketDelegate {
    private(set) var complaints: [String] = []

    private let reactor: Reactor
    private var listener: StreamListener?
    private let busy: StreamSocket
    private let tls: TLSConfiguration
    private var farewells = 0
    private var answers = 0
    private var isBusySecured = false

    init() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        // As many as are here at once; else accepting would pause up to their deadlines.
        configuration.maxHandshakes = 10_000
        reactor = try Reactor(configuration)
        busy = StreamSocket(reactor: reactor)
        let files = try TestCertificates.made()
        tls = .server(
            try Identity(
                certificateFile: files.path("server/good-chain.pem"),
                privateKeyFile: files.path("server/good.key")
            )
        )
        let listener = StreamListener(reactor: reactor, delegate: self)
        self.listener = listener
        try listener.replaceTLS(tls)
        try listener.listen(on: .ipv4(.loopback, port: 0))
        var client = TLSConfiguration.client
        client.trust = .anchors(try Certificate.certificates(pem: files.bytes("trust/roots.pem")))
        busy.delegate = self
        try busy.connect(to: address)
        try busy.startTLS(client)
        try turn { isBusySecured }
    }

    private var address: SocketAddress {
        listener?.localAddress ?? .ipv4(.loopback, port: 0)
    }

    /// Lets so many handshakes fail.
    func fail(_ count: Int) throws {
        let start = farewells
        var done = 0
        try FailedHandshakes.batches(of: count) { range in
            let peers = try range.map { index in
                let peer = try BlockingPeer(connectingTo: address)
                let greeting = FailedHandshakes.greeting(index)
                if !greeting.isEmpty { try peer.send(greeting) }
                peer.finishSending()
                return peer
            }
            done += range.count
            let before = answers
            try busy.write("ping")
            try busy.read(toLength: 4)
            try turn { farewells - start == done && answers > before }
            peers.forEach { $0.close() }
        }
    }

    /// Keeps so many that have sent half of their hello.
    ///
    /// - Returns: What is wrong with what they cost.
    func dribble(_ count: Int) throws -> [String] {
        var peers: [BlockingPeer] = []
        let accepted = reactor.figures.accepted
        let (before, start) = (Belongings(), farewells)
        try FailedHandshakes.batches(of: count) { range in
            for _ in range {
                let peer = try BlockingPeer(connectingTo: address)
                let hello: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]
                try peer.send(hello + [UInt8](repeating: 0, count: 245))
                peers.append(peer)
            }
            try turn { reactor.figures.accepted - accepted == peers.count }
        }
        // What the last of them have sent is taken in turns of its own.
        for _ in 0..<4 { try reactor.turn(waitingAtMost: .zero) }
        let each = (Belongings().residentKiB - before.residentKiB) * 1024 / max(1, peers.count)
        print("\(peers.count) with half a hello: \(each) bytes each, the peers' own included")
        peers.forEach { $0.close() }
        try turn { farewells - start == peers.count }
        return each > 4_096 ? ["half a hello costs \(each) bytes"] : []
    }

    /// Ends with everything that is open.
    func end() throws {
        listener?.stop()
        reactor.stop()
        try reactor.run()
    }

    private func turn(until isDone: () -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !isDone() {
            guard ContinuousClock.now < deadline else {
                complaints.append("something hangs: \(farewells) farewells, \(answers) answers")
                return
            }
            try reactor.turn(waitingAtMost: .milliseconds(10))
        }
    }

    // MARK: Delegate

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        socket.keep(Answering { [unowned self] in farewells += 1 })
        try socket.read(toLength: 4)
    }

    func socketDidSecure(_ socket: StreamSocket) {
        isBusySecured = true
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) {
        answers += 1
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        if report.error != .reactorStopped { complaints.append("the busy one ended: \(report)") }
    }
}

/// Gives four bytes back, again and again.
private final class Answering: StreamSocketDelegate {
    private let whenGone: () -> Void

    init(_ whenGone: @escaping () -> Void) {
        self.whenGone = whenGone
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        try socket.write(bytes)
        try socket.read(toLength: 4)
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        whenGone()
    }
}

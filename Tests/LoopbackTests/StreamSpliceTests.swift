import Glibc
import TestSupport
import Testing
import Towline

/// Ties each connection that it accepts to one of its own to another listener.
private final class Tier: StreamListenerDelegate, StreamSocketDelegate {
    let loop: Loop
    let target: SocketAddress
    private(set) var reports: [SpliceReport] = []
    private(set) var sockets: [StreamSocket] = []
    private lazy var listener = StreamListener(reactor: loop.reactor, delegate: self)

    init(_ loop: Loop, to target: SocketAddress) throws {
        self.loop = loop
        self.target = target
        try listener.listen(on: .ipv4(.loopback, port: 0))
    }

    var address: SocketAddress? { listener.localAddress }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        let upstream = StreamSocket(reactor: loop.reactor, delegate: self)
        upstream.userInfo = socket
        socket.delegate = self
        try upstream.connect(to: target)
    }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        guard let client = socket.userInfo as? StreamSocket else { return }
        socket.userInfo = nil
        try splice(client, socket) { self.reports.append($0) }
        sockets = [client, socket]
    }
}

/// A client and a server on threads of their own, with a splice between them.
private struct Tied {
    let loop: Loop
    let tier: Tier
    let client: BlockingPeer
    let server: BlockingPeer
    private let listener: BlockingListener

    init(receiveBufferByteCount: CInt? = nil) throws {
        loop = try Loop()
        listener = try BlockingListener()
        tier = try Tier(loop, to: listener.address)
        client = try BlockingPeer(
            connectingTo: try #require(tier.address),
            receiveBufferByteCount: receiveBufferByteCount
        )
        let accepting = BackgroundWork { [listener] in try listener.accept() }
        let loop = loop
        #expect(try loop.turn { loop.reactor.figures.connected == 1 })
        server = try accepting.value()
    }

    /// Turns until the splice has been reported; its report.
    func report() throws -> SpliceReport {
        let isOver = try loop.turn(within: .seconds(60)) { !tier.reports.isEmpty }
        #expect(isOver)
        return try #require(tier.reports.first)
    }
}

/// A prime period, so that no piece of a usual size can be missing or come twice unseen.
private let period = 251
private let pattern: [UInt8] = (0..<262_144 + period).map { UInt8($0 % period) }

/// Sends so many bytes of the pattern in pieces of any size, and an end behind them.
private func sending(_ byteCount: Int, to peer: BlockingPeer, seed: UInt64) -> BackgroundWork<Void>
{
    BackgroundWork {
        var numbers = SeededNumbers(seed: seed)
        var offset = 0
        while offset < byteCount {
            let count = min(byteCount - offset, Int.random(in: 1...262_144, using: &numbers))
            let start = offset % period
            try peer.send(Array(pattern[start..<start + count]))
            offset += count
        }
        peer.finishSending()
    }
}

/// Reads until the end in pieces of any size; how many bytes came, all of them the pattern's.
private func counting(_ peer: BlockingPeer, seed: UInt64) -> BackgroundWork<Int> {
    BackgroundWork {
        var numbers = SeededNumbers(seed: seed)
        var offset = 0
        while true {
            let limit = Int.random(in: 1...262_144, using: &numbers)
            let bytes = try peer.receiveSome(atMost: limit)
            guard !bytes.isEmpty else { return offset }
            let start = offset % period
            let isRight = pattern.withUnsafeBytes {
                memcmp($0.baseAddress! + start, bytes, bytes.count) == 0
            }
            guard isRight else { throw OtherBytes(offset: offset) }
            offset += bytes.count
        }
    }
}

private struct OtherBytes: Error {
    let offset: Int
}

@Suite("Spliced real connections") struct StreamSpliceTests {
    @Test("L2 A side that moves to another reactor leaves the other to its end, and goes on itself")
    func moved() throws {
        final class Echo: StreamSocketDelegate {
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                try socket.write(bytes)
                try socket.read()
            }
        }
        let tied = try Tied()
        let isTied = try tied.loop.turn { tied.tier.sockets.count == 2 }
        try #require(isTied)
        let other = try Reactor.start(Reactor())
        try tied.tier.sockets[0].move(to: other) { $0.keep(Echo()) }
        let rest = BackgroundWork { [server = tied.server] in
            defer { server.finishSending() }
            return try server.receiveUntilEnd()
        }
        let report = try tied.report()
        #expect(report.reason == .disconnected)
        #expect(try rest.value() == [])
        try tied.client.send("alone")
        #expect(try tied.client.receive(5) == Array("alone".utf8))
        other.stop()
        try tied.loop.end()
        #expect(tied.tier.reports.count == 1)
    }

    @Test("64 MiB each way at once come whole, to a fast reader and to one with a small buffer")
    func bothWays() throws {
        let byteCount = 64 << 20
        let tied = try Tied(receiveBufferByteCount: 65_536)
        let work = [
            sending(byteCount, to: tied.client, seed: 1),
            sending(byteCount, to: tied.server, seed: 2),
        ]
        let counts = [counting(tied.server, seed: 3), counting(tied.client, seed: 4)]
        let report = try tied.report()
        for one in work { try one.value() }
        for count in counts { #expect(try count.value() == byteCount) }
        #expect(report.reason == .complete)
        #expect(report.bytesToFirst == byteCount)
        #expect(report.bytesToSecond == byteCount)
        try tied.loop.end()
    }

    @Test("H4 The answer to an end arrives whole, and then the end")
    func halfClose() throws {
        let tied = try Tied()
        let answering = BackgroundWork { [server = tied.server] in
            let question = try server.receiveUntilEnd()
            try server.send(question + question)
            server.close()
        }
        let asking = BackgroundWork { [client = tied.client] in
            try client.send("question ")
            client.finishSending()
            return try client.receiveUntilEnd()
        }
        #expect(try tied.report().reason == .complete)
        try answering.value()
        #expect(try asking.value() == Array("question question ".utf8))
        try tied.loop.end()
    }

    @Test("A reset of one side is a reset of the other, and both descriptors are closed")
    func reset() throws {
        let tied = try Tied()
        tied.client.reset()
        let report = try tied.report()
        #expect(report.reason == .failed(.first))
        #expect(throws: SystemCallError.self) { try tied.server.receiveUntilEnd() }
        #expect(tied.loop.reactor.figures.openSockets == 1, "the listener")
        try tied.loop.end()
    }
}

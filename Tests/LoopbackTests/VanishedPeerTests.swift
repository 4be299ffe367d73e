import Glibc
import TestSupport
import Testing
import Towline

/// Connections whose peer goes without a packet: in a network namespace whose machine falls silent.
@Suite("Peers that vanish") struct VanishedPeerTests {
    @Test(
        "Scenario 4: idle reader and blocked writer both hear of it in time",
        .enabled(if: SilentHost.isPermitted, "network namespaces need root and `ip`")
    )
    func powerLoss() throws {
        let work = BackgroundWork { try Self.losePeer() }
        let outcome = try work.value()
        #expect(outcome.reader == "ETIMEDOUT")
        #expect(outcome.writer == "ETIMEDOUT")
        #expect(outcome.elapsed < .seconds(5))
    }

    private struct Outcome: Sendable {
        var reader: String
        var writer: String
        var elapsed: Duration
    }

    private static func losePeer() throws -> Outcome {
        let host = try SilentHost()
        let loop = try Loop()
        var options = SocketOptions()
        options.keepAlive = .init(idleSeconds: 1, intervalSeconds: 1, probeCount: 1)
        let readerHears = Recorder()
        let reader = StreamSocket(reactor: loop.reactor, delegate: readerHears)
        reader.options = options
        options.keepAlive = nil
        options.userTimeoutMilliseconds = 500
        let writerHears = Recorder()
        let writer = StreamSocket(reactor: loop.reactor, delegate: writerHears)
        writer.options = options
        try reader.connect(to: host.listener.address)
        try reader.read()
        try writer.connect(to: host.listener.address)
        try loop.turn(times: 1)
        let peers = try [host.listener.accept(), host.listener.accept()]
        _ = try loop.turn { readerHears.heard.count == 1 && writerHears.heard.count == 1 }
        // The machine is there while the writer fills its window.
        try writer.write([UInt8](repeating: 7, count: 64 << 20))
        try loop.turn(times: 3)
        try host.losePower()
        let start = ContinuousClock.now
        _ = try loop.turn { readerHears.isDisconnected && writerHears.isDisconnected }
        let elapsed = ContinuousClock.now - start
        try loop.end()
        withExtendedLifetime(peers) {}
        return Outcome(
            reader: reason(readerHears),
            writer: reason(writerHears),
            elapsed: elapsed
        )
    }

    private static func reason(_ recorder: Recorder) -> String {
        guard case .system(let error)? = recorder.reports.first?.error else {
            return "\(recorder.heard)"
        }
        return error.name
    }
}

/// A host on a wire of its own, in a network namespace: it can be switched off without a packet.
///
/// The calling thread goes over to another namespace for good, so it should be one of its own.
private final class SilentHost {
    let listener: BlockingListener
    private let namespace: CInt

    /// Whether namespaces can be made here.
    static let isPermitted: Bool = {
        let isRoot = geteuid() == 0
        let work = BackgroundWork { isRoot && tool != nil && unshareNetwork() }
        return (try? work.value()) ?? false
    }()

    init() throws {
        // The host first, then this side, each the thread's own for as long as it is set up.
        guard Self.unshareNetwork() else { throw Refused(what: "unshare") }
        namespace = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        guard Self.unshareNetwork() else { throw Refused(what: "unshare") }
        let near = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        defer { close(near) }
        let far = "/proc/\(getpid())/fd/\(namespace)"
        try Self.ip("link add near address 02:00:00:00:00:01 type veth peer name far netns \(far)")
        try Self.configure("near", "192.0.2.1", peer: "192.0.2.2", "02:00:00:00:00:02")
        try Self.enter(namespace)
        try Self.ip("link set far address 02:00:00:00:00:02")
        try Self.configure("far", "192.0.2.2", peer: "192.0.2.1", "02:00:00:00:00:01")
        let address = try #require(SocketAddress("192.0.2.2:7000"))
        listener = try BlockingListener(on: address, bufferByteCount: 4_096)
        try Self.enter(near)
    }

    deinit { close(namespace) }

    /// From here on the host takes no frame, and so answers nothing.
    func losePower() throws {
        let near = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        defer { close(near) }
        try Self.enter(namespace)
        try Self.ip("link set far down address 02:00:00:00:00:0f")
        try Self.ip("link set far up")
        try Self.enter(near)
    }

    private static func configure(
        _ link: String,
        _ address: String,
        peer: String,
        _ peerHardware: String
    ) throws {
        try ip("addr add \(address)/24 dev \(link)")
        try ip("link set \(link) up")
        try ip("neigh replace \(peer) lladdr \(peerHardware) dev \(link) nud permanent")
    }

    private static let tool: String? = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].first {
        (path: String) in access(path, X_OK) == 0
    }

    private static func ip(_ arguments: String) throws {
        let path = try #require(tool)
        let words = arguments.split(separator: " ").map(String.init)
        let exit = try #require(try ChildProcess.run(path, words))
        guard exit.code == 0 else { throw Refused(what: "ip \(arguments): \(exit.standardError)") }
    }

    private static func unshareNetwork() -> Bool {
        typealias Unshare = @convention(c) (CInt) -> CInt
        guard let symbol = dlsym(nil, "unshare") else { return false }
        // CLONE_NEWNET
        return unsafeBitCast(symbol, to: Unshare.self)(0x4000_0000) == 0
    }

    private static func enter(_ namespace: CInt) throws {
        typealias Enter = @convention(c) (CInt, CInt) -> CInt
        guard let symbol = dlsym(nil, "setns"),
            unsafeBitCast(symbol, to: Enter.self)(namespace, 0) == 0
        else { throw Refused(what: "setns") }
    }

    private struct Refused: Error {
        let what: String
    }
}

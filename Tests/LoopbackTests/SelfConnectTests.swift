import Glibc
import TestSupport
import Testing
import Towline

/// Connects to the very port that they begin at, which nobody listens on.
///
/// The kernel takes the two ends of one socket for two sockets that connect to each other at once.
/// It happens by itself where a port of the ephemeral range is tried again and again.
@Suite("Connects to oneself") struct SelfConnectTests {
    /// An address of this host that no other test uses.
    private static let address = IPv4Address(rawValue: 0x7F08_0808)

    @Test("C8, Trap 14: a connect that has met itself is refused")
    func selfConnect() throws {
        let loop = try Loop()
        for interface in [nil, InterfaceSpecifier.address(.ipv4(Self.address))] {
            let place = try Self.freePlace()
            let recorder = Recorder()
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            socket.options.localPort = place.port
            try socket.connect(to: place, via: interface)
            #expect(try loop.turn { !recorder.heard.isEmpty })
            let refusal = SystemCallError(call: "connect", errno: ECONNREFUSED)
            #expect(recorder.heard == [.didDisconnect(.system(refusal))])
            #expect(recorder.reports.first?.attempts.map(\.address) == [place])
        }
        #expect(try Self.bareConnectMeetsItself(), "or else nothing was looked at")
        try loop.end()
    }

    /// A port that nobody uses; each attempt has its own, which it leaves in TIME_WAIT.
    private static func freePlace() throws -> SocketAddress {
        let listener = try BlockingListener(on: .ipv4(address, port: 0))
        defer { listener.close() }
        return listener.address
    }

    /// Whether a blocking connect from a port to itself succeeds.
    private static func bareConnectMeetsItself() throws -> Bool {
        let port = try #require(try freePlace().port)
        let descriptor = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var isOn: CInt = 1
        let size = socklen_t(MemoryLayout<CInt>.size)
        try #require(setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, size) == 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = address.rawValue.bigEndian
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let length = socklen_t(MemoryLayout<sockaddr_in>.size)
                return bind(descriptor, $0, length) == 0 && connect(descriptor, $0, length) == 0
            }
        }
    }
}

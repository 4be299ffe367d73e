import CLinux
import Glibc
import Testing
import TowlineTestKit

@testable import Towline

/// The backend on epoll with real sockets of this process as peers.
final class EpollRig: Rig {
    let epoll: EpollBackend
    private let window: Int32?
    private var folder: TemporaryFolder?
    private var unixCount = 0
    private lazy var server = Result { try RealServer(at: .ipv4(.loopback, port: 0), 128, self) }

    init(_ budget: TurnBudget, _ bufferSize: Int, _ window: Int32?) throws {
        self.window = window
        epoll = try EpollBackend(
            receiveBufferSize: bufferSize,
            budget: budget,
            expectedSockets: 16
        )
        super.init(epoll)
    }

    override func makeConnection() throws -> (CInt, any TestPeer) {
        let server = try server.get()
        let peer = add(try RealPeer(connectingTo: server.address, window: window))
        let accepted = try checked("accept") { accept(server.descriptor, nil, nil) }
        try checked("fcntl") { fcntl(accepted, F_SETFL, O_NONBLOCK) }
        try checked("fcntl") { fcntl(accepted, F_SETFD, FD_CLOEXEC) }
        if let window { try setWindow(window, of: accepted) }
        return (accepted, peer)
    }

    override func connectPeer(to address: SocketAddress) throws -> any TestPeer {
        add(try RealPeer(connectingTo: address, window: window))
    }

    override func makeServer(at address: SocketAddress, backlog: Int) throws -> any TestServer {
        try RealServer(at: address, backlog, self)
    }

    override func unixAddress() throws -> SocketAddress {
        if folder == nil { folder = try TemporaryFolder() }
        unixCount += 1
        guard let folder, let address = SocketAddress("\(folder.path)/\(unixCount)") else {
            throw NoAddress()
        }
        return address
    }
}

/// A folder that is removed, with the sockets in it, when the rig goes.
private final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/towline.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SystemCallError(call: "mkdtemp", errno: errno)
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for number in 1...64 { unlink("\(path)/\(number)") }
        rmdir(path)
    }
}

/// Makes a call that must work.
@discardableResult
func checked(_ name: String, _ call: () -> CInt) throws -> CInt {
    let result = call()
    guard result >= 0 else { throw SystemCallError(call: name, errno: errno) }
    return result
}

private func setWindow(_ size: Int32, of descriptor: CInt) throws {
    for name in [SO_SNDBUF, SO_RCVBUF] {
        var value = size
        try checked("setsockopt") {
            setsockopt(descriptor, SOL_SOCKET, name, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}

/// A socket of the test's own, which never blocks once it is connected.
final class RealPeer: TestPeer {
    private(set) var received: [UInt8] = []
    private(set) var sawEnd = false
    private(set) var sawReset = false
    var isReading = true

    private var descriptor: CInt
    private var unsent: [UInt8] = []
    private var sentCount = 0
    private var finishes = false
    private var closes = false

    init(owning descriptor: CInt) throws {
        self.descriptor = descriptor
        let flags = fcntl(descriptor, F_GETFL)
        try checked("fcntl") { fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
    }

    convenience init(connectingTo address: SocketAddress, window: Int32? = nil) throws {
        let number = try checked("socket") {
            socket(address.family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }
        if let window { try setWindow(window, of: number) }
        try checked("connect") { address.withSocketAddress { connect(number, $0, $1) } }
        try self.init(owning: number)
    }

    deinit {
        closeDescriptor()
    }

    func send(_ bytes: [UInt8]) {
        unsent += bytes
        pump()
    }

    func finishSending() {
        finishes = true
        pump()
    }

    func close() {
        closes = true
        pump()
    }

    func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, size)
        closeDescriptor()
    }

    func pump() {
        guard descriptor >= 0 else { return }
        if isReading { while read(once: 64 * 1024) {} }
        pumpOutput()
    }

    func read(atMost limit: Int) {
        _ = read(once: limit)
    }

    private func pumpOutput() {
        while sentCount < unsent.count {
            let count = unsent.withUnsafeBytes {
                // Less than the count, so there is a base and it stays in bounds.
                Glibc.send(
                    descriptor,
                    $0.baseAddress! + sentCount,
                    $0.count - sentCount,
                    CInt(MSG_NOSIGNAL)
                )
            }
            guard count > 0 else { return }
            sentCount += count
        }
        unsent = []
        sentCount = 0
        if finishes {
            finishes = false
            shutdown(descriptor, CInt(SHUT_WR))
        }
        if closes { closeDescriptor() }
    }

    /// Receives once; whether there may be more.
    private func read(once limit: Int) -> Bool {
        guard descriptor >= 0, !sawEnd, !sawReset else { return false }
        let number = descriptor
        return withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            let count = recv(number, buffer.baseAddress, limit, 0)
            if count > 0 {
                received.append(contentsOf: UnsafeRawBufferPointer(buffer)[..<count])
                return true
            }
            sawEnd = count == 0
            sawReset = count < 0 && errno == ECONNRESET
            return false
        }
    }

    private func closeDescriptor() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}

/// A listening socket of the test's own.
private final class RealServer: TestServer {
    let address: SocketAddress
    private(set) var descriptor: CInt
    private unowned let rig: EpollRig

    init(at address: SocketAddress, _ backlog: Int, _ rig: EpollRig) throws {
        self.rig = rig
        let flags = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = try checked("socket") { socket(address.family, flags, 0) }
        descriptor = number
        try checked("bind") { address.withSocketAddress { bind(number, $0, $1) } }
        try checked("listen") { Glibc.listen(number, CInt(backlog)) }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        try checked("getsockname") {
            withUnsafeMutablePointer(to: &storage) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getsockname(number, $0, &length)
                }
            }
        }
        self.address = SocketAddress(&storage, length: length) ?? address
    }

    deinit {
        close()
    }

    func accept() -> (any TestPeer)? {
        let number = Glibc.accept(descriptor, nil, nil)
        guard number >= 0, let peer = try? RealPeer(owning: number) else { return nil }
        return rig.add(peer)
    }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}

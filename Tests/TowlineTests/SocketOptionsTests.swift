import Glibc
import Testing

@testable import Towline

@Suite("Socket options") struct SocketOptionsTests {
    @Test("Unless told otherwise small segments leave at once, and the rest is the kernel's")
    func defaults() {
        let options = SocketOptions()
        #expect(options.noDelay)
        #expect(options.keepAlive == nil)
        #expect(options.userTimeoutMilliseconds == nil)
        #expect(options.sendBufferSize == nil)
        #expect(options.receiveBufferSize == nil)
        #expect(!options.reusePort)
    }

    @Test("What is asked for is what the kernel then has")
    func everything() throws {
        let socket = try Descriptor(AF_INET)
        var options = SocketOptions()
        options.keepAlive = .init(idleSeconds: 11, intervalSeconds: 12, probeCount: 13)
        options.userTimeoutMilliseconds = 14_000
        options.sendBufferSize = 20_000
        options.receiveBufferSize = 30_000
        try options.apply(to: socket.number, family: AF_INET)
        let tcp = CInt(IPPROTO_TCP)
        #expect(socket.option(tcp, TCP_NODELAY) == 1)
        #expect(socket.option(SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(socket.option(tcp, TCP_KEEPIDLE) == 11)
        #expect(socket.option(tcp, TCP_KEEPINTVL) == 12)
        #expect(socket.option(tcp, TCP_KEEPCNT) == 13)
        #expect(socket.option(tcp, TCP_USER_TIMEOUT) == 14_000)
        #expect(socket.option(SOL_SOCKET, SO_SNDBUF) == 40_000, "the kernel doubles it")
        #expect(socket.option(SOL_SOCKET, SO_RCVBUF) == 60_000)
    }

    @Test("What is not asked for is left as it was")
    func nothing() throws {
        let socket = try Descriptor(AF_INET6)
        let sendBuffer = socket.option(SOL_SOCKET, SO_SNDBUF)
        var options = SocketOptions()
        options.noDelay = false
        try options.apply(to: socket.number, family: AF_INET6)
        #expect(socket.option(CInt(IPPROTO_TCP), TCP_NODELAY) == 0)
        #expect(socket.option(SOL_SOCKET, SO_KEEPALIVE) == 0)
        #expect(socket.option(SOL_SOCKET, SO_SNDBUF) == sendBuffer)
    }

    @Test("A number out of its range is refused with the call, and what was set before stays set")
    func refusals() throws {
        let socket = try Descriptor(AF_INET)
        var options = SocketOptions()
        options.keepAlive = .init(idleSeconds: 40_000, intervalSeconds: 1, probeCount: 1)
        #expect(throws: SystemCallError(call: "setsockopt", errno: EINVAL)) {
            try options.apply(to: socket.number, family: AF_INET)
        }
        #expect(socket.option(CInt(IPPROTO_TCP), TCP_NODELAY) == 1)
    }

    @Test("A user timeout beyond the kernel's range is the longest there is")
    func hugeUserTimeout() throws {
        let socket = try Descriptor(AF_INET)
        var options = SocketOptions()
        options.userTimeoutMilliseconds = .max
        try options.apply(to: socket.number, family: AF_INET)
        #expect(socket.option(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT) == .max)
    }

    @Test("In the Unix domain TCP's options are left out, and buffers are not")
    func unixDomain() throws {
        let socket = try Descriptor(AF_UNIX)
        var options = SocketOptions()
        options.keepAlive = .init()
        options.userTimeoutMilliseconds = 1
        options.sendBufferSize = 20_000
        try options.apply(to: socket.number, family: AF_UNIX)
        #expect(socket.option(SOL_SOCKET, SO_SNDBUF) == 40_000)
    }

    /// A socket of the test's own.
    private final class Descriptor {
        let number: CInt

        init(_ family: CInt) throws {
            number = socket(family, CInt(SOCK_STREAM.rawValue), 0)
            try #require(number >= 0)
        }

        deinit {
            close(number)
        }

        func option(_ level: CInt, _ name: CInt) -> Int32 {
            var value: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(number, level, name, &value, &length)
            return value
        }
    }
}

import Glibc
import Testing
import TowlineTestKit

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

    @Test("`noDelay` is switched off as well as on, on a socket that lives")
    func noDelayOff() throws {
        let socket = try Descriptor(AF_INET)
        var options = SocketOptions()
        try options.apply(to: socket.number, family: AF_INET, for: .connected)
        #expect(socket.option(CInt(IPPROTO_TCP), TCP_NODELAY) == 1)
        options.noDelay = false
        try options.apply(to: socket.number, family: AF_INET, for: .connected)
        #expect(socket.option(CInt(IPPROTO_TCP), TCP_NODELAY) == 0)
    }

    @Test("The class of traffic and the linger are set in both families, live as well")
    func rareOptions() throws {
        var options = SocketOptions()
        options.trafficClass = 0x28
        options.lingerSeconds = 0
        for use in [SocketOptions.Use.connecting, .listening, .connected] {
            let old = try Descriptor(AF_INET)
            try options.apply(to: old.number, family: AF_INET, for: use)
            #expect(old.option(CInt(IPPROTO_IP), IP_TOS) == 0x28)
            #expect(old.lingers == [1, 0])
            let new = try Descriptor(AF_INET6)
            try options.apply(to: new.number, family: AF_INET6, for: use)
            #expect(new.option(CInt(IPPROTO_IPV6), IPV6_TCLASS) == 0x28)
            #expect(new.lingers == [1, 0])
        }
    }

    @Test("What is for the start is set at the start only, by whoever it is for")
    func startOptions() throws {
        var options = SocketOptions()
        options.deferAcceptSeconds = 5
        options.fastOpen = true
        options.bindToDevice = "lo"
        let tcp = CInt(IPPROTO_TCP)
        let uses: [(SocketOptions.Use, Bool, Bool, Bool)] = [
            (.listening, true, true, false), (.connecting, false, false, true),
            (.connected, false, false, false),
        ]
        for (use, defers, opensFast, connectsFast) in uses {
            let socket = try Descriptor(AF_INET)
            try options.apply(to: socket.number, family: AF_INET, for: use)
            #expect((socket.option(tcp, TCP_DEFER_ACCEPT) > 0) == defers)
            #expect((socket.option(tcp, TCP_FASTOPEN) > 0) == opensFast)
            #expect((socket.option(tcp, TCP_FASTOPEN_CONNECT) > 0) == connectsFast)
            #expect(socket.device == (use == .connected ? "" : "lo"))
        }
        options = SocketOptions()
        options.bindToDevice = "none0"
        let socket = try Descriptor(AF_INET)
        #expect(throws: SystemCallError(call: "setsockopt", errno: ENODEV)) {
            try options.apply(to: socket.number, family: AF_INET, for: .connecting)
        }
    }

    private static let problems: [(String, @Sendable (inout SocketOptions) -> Void)] = [
        ("keepAlive.idleSeconds 0", { $0.keepAlive = .init(idleSeconds: 0) }),
        ("keepAlive.intervalSeconds 32768", { $0.keepAlive = .init(intervalSeconds: 32_768) }),
        ("keepAlive.probeCount 128", { $0.keepAlive = .init(probeCount: 128) }),
        ("sendBufferSize 0", { $0.sendBufferSize = 0 }),
        ("receiveBufferSize -1", { $0.receiveBufferSize = -1 }),
        ("deferAcceptSeconds 0", { $0.deferAcceptSeconds = 0 }),
        ("lingerSeconds 5", { $0.lingerSeconds = 5 }),
        ("bindToDevice ", { $0.bindToDevice = "" }),
        ("bindToDevice sixteen-bytes-00", { $0.bindToDevice = "sixteen-bytes-00" }),
        ("bindToDevice lo\0", { $0.bindToDevice = "lo\0" }),
    ]

    @Test("C1, A1: a value out of its range is named, with what it must be", arguments: problems)
    func problem(_ text: String, _ spoil: @Sendable (inout SocketOptions) -> Void) throws {
        var options = SocketOptions()
        #expect(options.problem == nil)
        spoil(&options)
        let problem = try #require(options.problem)
        #expect("\(problem.option) \(problem.value)" == text)
        #expect(problem.reason.hasPrefix("must be "))

        let network = SimulatedNetwork()
        let reactor = try network.makeReactor()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: reactor, delegate: recorder)
        let listener = StreamListener(reactor: reactor, delegate: recorder)
        let reason = "\(problem.option) \(problem.reason)"
        for call in ["connect", "listen"] {
            do {
                if call == "connect" {
                    socket.options = options
                    try socket.connect(to: .ipv4(.loopback, port: 80))
                } else {
                    listener.options = options
                    try listener.listen(onPort: 0)
                }
                Issue.record("\(text) was let pass")
            } catch .invalidArgument(let argument) {
                #expect(argument.call == "\(call) with options.\(text)")
                #expect(argument.reason == reason)
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(socket.state == .idle && listener.localAddress == nil)
        reactor.stop()
        try reactor.run()
        #expect(recorder.events.isEmpty, "E4: nothing is called back")
    }

    @Test("The greatest and the least values that are allowed are allowed")
    func bounds() {
        for seconds in [Int32(1), 32_767] {
            var options = SocketOptions()
            options.keepAlive = .init(
                idleSeconds: seconds,
                intervalSeconds: seconds,
                probeCount: min(seconds, 127)
            )
            options.deferAcceptSeconds = seconds
            options.sendBufferSize = seconds
            options.receiveBufferSize = .max
            options.lingerSeconds = 0
            options.bindToDevice = seconds == 1 ? "x" : "fifteen-bytes-0"
            #expect(options.problem == nil)
        }
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

        /// Whether closing lingers, and for how many seconds.
        var lingers: [CInt] {
            var value = linger()
            var length = socklen_t(MemoryLayout<linger>.size)
            getsockopt(number, SOL_SOCKET, SO_LINGER, &value, &length)
            return [value.l_onoff, value.l_linger]
        }

        /// The device that it is bound to; empty if to none.
        var device: String {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { name in
                var length = socklen_t(name.count)
                getsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, name.baseAddress, &length)
                return String(decoding: name.prefix(Int(length)).prefix { $0 != 0 }, as: UTF8.self)
            }
        }

        func option(_ level: CInt, _ name: CInt) -> Int32 {
            var value: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(number, level, name, &value, &length)
            return value
        }
    }
}

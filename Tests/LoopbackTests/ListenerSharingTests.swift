import Glibc
import TestSupport
import Testing
import Towline

/// What accepted sockets have from their listener, and several listeners on one port.
@Suite("Sharing listeners") struct ListenerSharingTests {
    private let loop: Loop
    private let acceptor = Acceptor()
    private let listener: StreamListener

    init() throws {
        loop = try Loop()
        listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
    }

    @Test("Wish 42: several listeners have one port if all of them ask for it, and only then")
    func reusePort() throws {
        listener.options.reusePort = true
        try listener.listen(onPort: 0, interface: .loopback)
        let port = try #require(listener.localAddress?.port)
        let others = Acceptor()
        let second = StreamListener(reactor: loop.reactor, delegate: others)
        #expect(throws: SocketError.self) {
            try second.listen(onPort: port, interface: .loopback)
        }
        second.options.reusePort = true
        try second.listen(onPort: port, interface: .loopback)
        let peers = try (0..<64).map { _ in
            try BlockingPeer(connectingTo: .ipv4(.loopback, port: port))
        }
        #expect(try loop.turn { acceptor.sockets.count + others.sockets.count == 64 })
        #expect(acceptor.sockets.count > 0 && others.sockets.count > 0)
        try loop.end()
        withExtendedLifetime(peers) {}
    }

    @Test("LS6: whoever leaves a shared port first accepts who waits in its queue")
    func leaving() throws {
        listener.options.reusePort = true
        try listener.listen(onPort: 0)
        let address = SocketAddress.ipv4(
            .loopback,
            port: try #require(listener.localAddress?.port)
        )
        acceptor.whenAccepted = { socket, _ in try socket.write("!") }
        let peers = try (0..<100).map { _ in try BlockingPeer(connectingTo: address) }
        listener.stop()
        #expect(try loop.turn { acceptor.stops == [nil] })
        #expect(acceptor.sockets.count == 100)
        for peer in peers { #expect(try peer.receive(1) == Array("!".utf8)) }
        #expect(throws: SystemCallError.self) { try BlockingPeer(connectingTo: address) }
        try loop.end()
    }

    @Test("LS6, SD2: a drain accepts them, and asks them to finish, too")
    func draining() throws {
        listener.options.reusePort = true
        try listener.listen(onPort: 0)
        let address = SocketAddress.ipv4(
            .loopback,
            port: try #require(listener.localAddress?.port)
        )
        let peers = try (0..<20).map { _ in try BlockingPeer(connectingTo: address) }
        var report: DrainReport?
        acceptor.whenAccepted = { socket, _ in try socket.write("bye") }
        loop.reactor.drain(within: .seconds(60)) { report = $0 }
        #expect(
            try loop.turn {
                for peer in peers where acceptor.recorders.count == 20 { peer.finishSending() }
                return report != nil
            }
        )
        #expect(acceptor.recorders.count == 20 && report?.cut == 0)
        #expect(acceptor.recorders.allSatisfy { $0.heard.contains(.shouldFinish) })
        for peer in peers { #expect(try peer.receiveUntilEnd() == Array("bye".utf8)) }
        try loop.end()
    }

    // MARK: Options

    @Test("Wish 3: small packets leave at once on either side, unless that is switched off")
    func noDelay() throws {
        try listener.listen(onPort: 0, interface: .loopback)
        let recorder = Recorder()
        let client = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try client.connect(to: try #require(listener.localAddress))
        #expect(try loop.turn { acceptor.sockets.count == 1 && client.state == .connected })
        for socket in [client, acceptor.sockets[0]] {
            #expect(socket.option(CInt(IPPROTO_TCP), TCP_NODELAY) == 1)
            var options = socket.options
            options.noDelay = false
            try socket.apply(options)
            #expect(socket.option(CInt(IPPROTO_TCP), TCP_NODELAY) == 0)
            #expect(!socket.options.noDelay)
            options.noDelay = true
            try socket.apply(options)
            #expect(socket.option(CInt(IPPROTO_TCP), TCP_NODELAY) == 1)
        }
        try loop.end()
    }

    @Test("Wish 1, Wish 2: what a listener asks for, its connections have")
    func inherited() throws {
        listener.options.keepAlive = .init(idleSeconds: 77, intervalSeconds: 7, probeCount: 3)
        listener.options.userTimeoutMilliseconds = 9_000
        listener.options.trafficClass = 0x28
        listener.options.lingerSeconds = 0
        listener.options.noDelay = false
        try listener.listen(onPort: 0)
        let port = try #require(listener.localAddress?.port)
        let tcp = CInt(IPPROTO_TCP)
        for host in [IPAddress.ipv4(.loopback), .ipv6(.loopback)] {
            let peer = try BlockingPeer(connectingTo: SocketAddress(host, port: port))
            let number = acceptor.sockets.count
            #expect(try loop.turn { acceptor.sockets.count > number })
            let socket = acceptor.sockets[number]
            #expect(socket.options == listener.options)
            #expect(socket.option(tcp, TCP_KEEPIDLE) == 77)
            #expect(socket.option(tcp, TCP_USER_TIMEOUT) == 9_000)
            #expect(socket.option(tcp, TCP_NODELAY) == 0)
            let isNew = host == .ipv6(.loopback)
            let level = CInt(isNew ? IPPROTO_IPV6 : IPPROTO_IP)
            #expect(socket.option(level, isNew ? IPV6_TCLASS : IP_TOS) == 0x28)
            socket.disconnect()
            #expect(try loop.turn { acceptor.recorders[number].isDisconnected })
            let error = #expect(throws: SystemCallError.self) { try peer.receiveSome() }
            #expect(error?.errno == ECONNRESET, "a linger of zero resets")
        }
        try loop.end()
    }

    @Test("Options set while it listens are for the next listen")
    func laterOptions() throws {
        try listener.listen(onPort: 0, interface: .loopback)
        listener.options.keepAlive = .init()
        let peer = try BlockingPeer(connectingTo: try #require(listener.localAddress))
        #expect(try loop.turn { acceptor.sockets.count == 1 })
        #expect(acceptor.sockets[0].options == SocketOptions())
        try loop.end()
        withExtendedLifetime(peer) {}
    }

    @Test("A client that says nothing is left with the kernel if that was asked for")
    func deferredAccept() throws {
        listener.options.deferAcceptSeconds = 30
        try listener.listen(onPort: 0, interface: .loopback)
        let peer = try BlockingPeer(connectingTo: try #require(listener.localAddress))
        try loop.turn(times: 20)
        #expect(acceptor.sockets.isEmpty)
        try peer.send("?")
        #expect(try loop.turn { acceptor.sockets.count == 1 })
        try loop.end()
    }

    @Test("What goes with the handshake arrives, with and without the kernel's leave")
    func fastOpen() throws {
        listener.options.fastOpen = true
        try listener.listen(onPort: 0, interface: .loopback)
        let address = try #require(listener.localAddress)
        acceptor.whenAccepted = { socket, recorder in
            recorder.whenRead = { socket, bytes, _ in try socket.write(bytes) }
            try socket.read()
        }
        // The first brings the cookie that the others open fast with.
        for round in 1...3 {
            let recorder = Recorder()
            let client = StreamSocket(reactor: loop.reactor, delegate: recorder)
            client.options.fastOpen = true
            try client.connect(to: address)
            try client.write("hello")
            try client.read(toLength: 5, tag: round)
            #expect(try loop.turn { recorder.heard.contains(.didRead("hello", tag: round)) })
            #expect(client.localAddress?.port != 0)
            client.disconnect()
        }
        try loop.end()
    }

    // MARK: Facts

    @Test("T5: a socket lends its descriptor while it has one")
    func descriptors() throws {
        let pair = try Pair()
        let descriptor = pair.socket.withUnsafeDescriptors { $0 }
        #expect(descriptor.count == 1)
        #expect(fcntl(descriptor[0], F_GETFL) & O_NONBLOCK != 0)
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try pair.socket.withUnsafeDescriptors { _ throws(Refused) in throw Refused() }
        }
        pair.recorder.whenDisconnected = { socket in
            #expect(socket.withUnsafeDescriptors { $0 } == [])
        }
        try pair.loop.end()
        #expect(pair.recorder.isDisconnected)
        #expect(pair.socket.withUnsafeDescriptors { $0 } == [])
    }

    @Test("Wish 45: addresses answer in the farewell though nobody asked before, and not behind it")
    func addressesInFarewell() throws {
        try listener.listen(onPort: 0)
        let port = try #require(listener.localAddress?.port)
        var seen: [[SocketAddress?]] = []
        acceptor.whenAccepted = { socket, recorder in
            recorder.whenDisconnected = { seen.append([$0.localAddress, $0.remoteAddress]) }
            try socket.read()
        }
        for host in [IPAddress.ipv4(.loopback), .ipv6(.loopback)] {
            let peer = try BlockingPeer(connectingTo: SocketAddress(host, port: port))
            let remote = try #require(peer.localAddress)
            let count = seen.count
            #expect(try loop.turn { acceptor.sockets.count == count + 1 })
            if count == 0 { peer.close() } else { peer.reset() }
            #expect(try loop.turn { seen.count == count + 1 })
            #expect(seen[count] == [SocketAddress(host, port: port), remote])
            let socket = acceptor.sockets[count]
            #expect(socket.localAddress == nil && socket.remoteAddress == nil)
        }
        try loop.end()
    }
}

extension StreamSocket {
    /// An option's number as the kernel has it.
    fileprivate func option(_ level: CInt, _ name: CInt) -> Int32? {
        withUnsafeDescriptors { descriptors in
            var value: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            guard let descriptor = descriptors.first,
                getsockopt(descriptor, level, name, &value, &length) == 0
            else { return nil }
            return value
        }
    }
}

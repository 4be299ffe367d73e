import Glibc
import TestSupport
import Testing
import Towline

/// Where listeners are, on real sockets: families, interfaces, and descriptors from elsewhere.
@Suite("Addresses of listeners") struct ListenerAddressTests {
    private static let hosts = [IPAddress.ipv4(.loopback), .ipv6(.loopback)]

    private func makeListener() throws -> (Loop, StreamListener, Acceptor) {
        let loop = try Loop()
        let acceptor = Acceptor()
        acceptor.whenAccepted = { socket, recorder in
            recorder.whenRead = { socket, bytes, _ in try socket.write(bytes) }
            try socket.read()
        }
        let listener = StreamListener(reactor: loop.reactor)
        listener.keep(acceptor)
        return (loop, listener, acceptor)
    }

    /// Whether an echo comes back from an address.
    private func echoes(
        _ address: SocketAddress,
        _ loop: Loop,
        _ acceptor: Acceptor
    ) throws -> Bool {
        let number = acceptor.recorders.count
        let peer = try BlockingPeer(connectingTo: address)
        try peer.send("?")
        let isEchoed = try loop.turn {
            acceptor.recorders.count > number && acceptor.recorders[number].heard.count == 2
        }
        return try isEchoed && peer.receive(1) == Array("?".utf8)
    }

    @Test("A2, N1, T5: one port serves both families, by two descriptors with the right flags")
    func bothFamilies() throws {
        let (loop, listener, acceptor) = try makeListener()
        try listener.listen(onPort: 0)
        let port = try #require(listener.localAddress?.port)
        #expect(listener.localAddresses == [.ipv4(.any, port: port), .ipv6(.any, port: port)])
        for host in Self.hosts {
            #expect(try echoes(SocketAddress(host, port: port), loop, acceptor))
        }
        listener.withUnsafeDescriptors { descriptors in
            #expect(descriptors.count == 2)
            for descriptor in descriptors {
                #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
                #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
                #expect(descriptor.number(SOL_SOCKET, SO_ACCEPTCONN) == 1)
            }
            #expect(descriptors[1].number(CInt(IPPROTO_IPV6), IPV6_V6ONLY) == 1)
        }
        listener.stop()
        #expect(listener.withUnsafeDescriptors { $0 } == [])
        #expect(try loop.turn { acceptor.stops == [nil] })
        try loop.turn(times: 3)
        #expect(acceptor.stops == [nil], "once, though two descriptors were closed")
        for host in Self.hosts {
            #expect(throws: SystemCallError.self) {
                try BlockingPeer(connectingTo: SocketAddress(host, port: port))
            }
        }
        try loop.end()
    }

    @Test("A2: if the second family's port is taken, nothing stays open of the first")
    func secondIsTaken() throws {
        let (loop, listener, acceptor) = try makeListener()
        let owner = Acceptor()
        let other = StreamListener(reactor: loop.reactor, delegate: owner)
        // A port that is free in both families, of which one is then taken.
        try other.listen(onPort: 0)
        let port = try #require(other.localAddress?.port)
        other.stop()
        #expect(try loop.turn { owner.stops.count == 1 })
        other.addressFamilies = [.ipv6]
        try other.listen(onPort: port)
        do {
            try listener.listen(onPort: port)
            Issue.record("a taken port was listened on")
        } catch {
            let reason = "failed: address already in use (EADDRINUSE)"
            #expect("\(error)" == "listen on [::]:\(port) \(reason)")
        }
        #expect(throws: SystemCallError.self) {
            try BlockingPeer(connectingTo: .ipv4(.loopback, port: port))
        }
        listener.addressFamilies = [.ipv4]
        try listener.listen(onPort: port)
        #expect(try echoes(.ipv4(.loopback, port: port), loop, acceptor))
        try loop.end()
    }

    @Test("A1: the text for a port that is taken")
    func takenText() throws {
        let (loop, listener, _) = try makeListener()
        try listener.listen(onPort: 0)
        let port = try #require(listener.localAddress?.port)
        let second = StreamListener(reactor: loop.reactor)
        second.keep(Acceptor())
        do {
            try second.listen(onPort: port)
            Issue.record("a taken port was listened on")
        } catch {
            let reason = "failed: address already in use (EADDRINUSE)"
            #expect("\(error)" == "listen on 0.0.0.0:\(port) \(reason)")
        }
        try loop.end()
    }

    @Test("A4: an interface is its addresses: by word, by name, by address")
    func interfaces() throws {
        let interfaces: [InterfaceSpecifier] = [
            .loopback, .named("lo"), .address(.ipv4(.loopback)), .address(.ipv6(.loopback)),
        ]
        for interface in interfaces {
            let (loop, listener, acceptor) = try makeListener()
            try listener.listen(onPort: 0, interface: interface)
            let addresses = listener.localAddresses
            #expect(Set(addresses.map(\.port)).count == 1)
            let hosts = addresses.map(\.ipAddress)
            if case .address(let address) = interface {
                #expect(hosts == [address])
            } else {
                #expect(hosts == Self.hosts)
            }
            for address in addresses { #expect(try echoes(address, loop, acceptor)) }
            try loop.end()
        }
        let (loop, listener, _) = try makeListener()
        try listener.listen(onPort: 0, interface: .any)
        #expect(listener.localAddress?.ipAddress == .ipv4(.any))
        try loop.end()
    }

    @Test("A4: an interface that is not there, or lacks the family, is a wrong argument")
    func wrongInterfaces() throws {
        let (loop, listener, _) = try makeListener()
        let cases: [(InterfaceSpecifier, Set<AddressFamily>, String)] = [
            (.named("none0"), [.ipv4, .ipv6], "the host has no such interface"),
            (
                .address(.ipv4(.loopback)), [.ipv6],
                "the interface has no address of the enabled family (ipv6)"
            ),
        ]
        for (interface, families, reason) in cases {
            listener.addressFamilies = families
            do {
                try listener.listen(onPort: 0, interface: interface)
                Issue.record("\(interface) was listened on")
            } catch .invalidArgument(let argument) {
                #expect(argument.reason == reason)
                #expect(argument.call == "listen(onPort: 0, interface: \(interface))")
                #expect(argument.file.hasSuffix("ListenerAddressTests.swift"))
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(listener.localAddresses.isEmpty)
        try loop.end()
    }

    // MARK: Descriptors from elsewhere

    @Test("A1, N1: a descriptor that listens is taken over, in each family")
    func adoption() throws {
        for text in ["127.0.0.1:0", "[::1]:0", "@towline-\(getpid())-adoption"] {
            let address = try #require(SocketAddress(text))
            let (loop, listener, acceptor) = try makeListener()
            let descriptor = try makeListening(at: address)
            listener.options.keepAlive = .init(idleSeconds: 33)
            try listener.listen(adopting: descriptor)
            #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
            #expect(listener.withUnsafeDescriptors { $0 } == [descriptor])
            let bound = try #require(listener.localAddress)
            #expect(bound.withPort(0) == address)
            #expect(try echoes(bound, loop, acceptor))
            if bound.port != nil {
                acceptor.sockets[0].withUnsafeDescriptors { descriptors in
                    #expect(descriptors[0].number(CInt(IPPROTO_TCP), TCP_KEEPIDLE) == 33)
                    #expect(descriptors[0].number(CInt(IPPROTO_TCP), TCP_NODELAY) == 1)
                }
            }
            let socket = inode(of: descriptor)
            listener.stop()
            #expect(try loop.turn { acceptor.stops == [nil] })
            // Another test may have its number by now.
            #expect(socket != nil && inode(of: descriptor) != socket, "it was the listener's")
            try loop.end()
        }
    }

    /// What tells a socket from all others; `nil` where nothing is open.
    private func inode(of descriptor: CInt) -> UInt? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt(status.st_ino) : nil
    }

    @Test("A9: the file of a descriptor that was taken over stays: it is somebody else's")
    func adoptedPath() throws {
        let path = "/tmp/towline-\(getpid())-adopted.sock"
        defer { unlink(path) }
        let (loop, listener, _) = try makeListener()
        let address = try #require(SocketAddress(path))
        try listener.listen(adopting: try makeListening(at: address))
        try loop.end()
        #expect(access(path, F_OK) == 0)
    }

    @Test("A1: what does not listen is refused, and stays as it was, and its owner's")
    func refusedAdoption() throws {
        let (loop, listener, acceptor) = try makeListener()
        let stream = CInt(SOCK_STREAM.rawValue)
        let unbound = socket(AF_INET, stream, 0)
        let datagram = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        let file = open("/dev/null", O_RDONLY)
        let cases = [
            (unbound, "must be a listening socket"), (datagram, "must be a stream socket"),
            (file, "must be a stream socket"), (-1, "must be open"),
        ]
        for (descriptor, reason) in cases {
            do {
                try listener.listen(adopting: descriptor)
                Issue.record("descriptor \(descriptor) was adopted")
            } catch .invalidArgument(let argument) {
                #expect(argument.reason == reason)
                #expect(argument.call == "listen(adopting: \(descriptor))")
            } catch {
                Issue.record("\(error)")
            }
            guard descriptor >= 0 else { continue }
            #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0)
            close(descriptor)
        }
        #expect(acceptor.stops.isEmpty)
        try loop.end()
    }

    @Test("C1: a descriptor that cannot be watched keeps its flags, and is its owner's")
    func failedAdoption() throws {
        let (loop, listener, _) = try makeListener()
        let listening = try makeListening(at: .ipv4(.loopback, port: 0))
        defer { close(listening) }
        // The kernel refuses it late, behind the change of the flags.
        listener.options.bindToDevice = "none0"
        #expect(throws: SocketError.self) { try listener.listen(adopting: listening) }
        #expect(fcntl(listening, F_GETFL) & O_NONBLOCK == 0)
        #expect(fcntl(listening, F_GETFD) & FD_CLOEXEC == 0)
        listener.options.bindToDevice = nil
        let copy = dup(listening)
        try listener.listen(adopting: copy)
        try loop.end()
    }

    /// A blocking descriptor that listens, as a service manager would pass one on.
    private func makeListening(at address: SocketAddress) throws -> CInt {
        let descriptor = try BlockingListener(on: address).take()
        _ = fcntl(descriptor, F_SETFD, 0)
        return descriptor
    }
}

extension CInt {
    /// An option's number, or -1.
    fileprivate func number(_ level: CInt, _ name: CInt) -> Int32 {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(self, level, name, &value, &length)
        return value
    }
}

import Glibc
import TestSupport
import Testing
import Towline

/// Listeners of the Unix domain: their files, and who is at the other end.
@Suite("Paths of listeners") struct ListenerPathTests {
    private let loop: Loop
    private let acceptor = Acceptor()
    private let listener: StreamListener

    init() throws {
        loop = try Loop()
        listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
    }

    private func path(_ name: String) -> String { "/tmp/towline-\(getpid())-\(name).sock" }

    private func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private func stop() throws {
        let count = acceptor.stops.count
        listener.stop()
        #expect(try loop.turn { acceptor.stops.count == count + 1 })
    }

    @Test("A9: whatever is no socket is refused, and left as it is")
    func foreignFiles() throws {
        let file = path("file")
        let folder = path("folder")
        let target = path("link")
        close(open(file, O_CREAT | O_WRONLY, 0o600))
        mkdir(folder, 0o700)
        symlink(file, target)
        defer {
            unlink(file)
            rmdir(folder)
            unlink(target)
        }
        for place in [file, folder, target] {
            let before = try #require(status(of: place))
            do {
                try listener.listen(onUnixPath: place)
                Issue.record("\(place) was listened on")
            } catch {
                #expect(
                    "\(error)" == "listen on \(place), where something lies that is no socket, "
                        + "failed: address already in use (EADDRINUSE)"
                )
            }
            #expect(status(of: place)?.st_ino == before.st_ino)
        }
        #expect(listener.localAddress == nil)
        try loop.end()
    }

    @Test("A9: the socket of a dead listener is replaced, that of a living one is not")
    func staleSocket() throws {
        let place = path("stale")
        let address = try #require(SocketAddress(place))
        let dead = try BlockingListener(on: address)
        dead.close()
        #expect(status(of: place) != nil, "its file stays behind")
        try listener.listen(onUnixPath: place)
        _ = try BlockingPeer(connectingTo: address)
        #expect(try loop.turn { acceptor.sockets.count == 1 })

        let second = StreamListener(reactor: loop.reactor)
        second.keep(Acceptor())
        let inode = status(of: place)?.st_ino
        do {
            try second.listen(onUnixPath: place)
            Issue.record("a living listener's path was taken")
        } catch {
            #expect(
                "\(error)" == "listen on \(place) failed: address already in use (EADDRINUSE)"
            )
        }
        #expect(status(of: place)?.st_ino == inode)
        // The look at whether it lives was a connection of its own.
        #expect(try loop.turn { acceptor.sockets.count == 2 })
        try stop()
        #expect(status(of: place) == nil, "it removes its own")
        try loop.end()
    }

    @Test("A9: one whose backlog is full lives, and so does one of datagrams")
    func busySocket() throws {
        let place = path("busy")
        let address = try #require(SocketAddress(place))
        let busy = try BlockingListener(on: address, backlog: 0)
        let waiting = try BlockingPeer(connectingTo: address)
        #expect(throws: SocketError.self) { try listener.listen(onUnixPath: place) }
        #expect(status(of: place) != nil)
        busy.close()
        withExtendedLifetime(waiting) {}
        unlink(place)

        let datagrams = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        defer { close(datagrams) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: place.utf8) }
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(datagrams, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(result == 0)
        #expect(throws: SocketError.self) { try listener.listen(onUnixPath: place) }
        #expect(status(of: place) != nil)
        unlink(place)
        try loop.end()
    }

    @Test("A9: a file that somebody else has put there meanwhile is left alone at the end")
    func replacedFile() throws {
        let place = path("replaced")
        defer { unlink(place) }
        try listener.listen(onUnixPath: place)
        unlink(place)
        let other = try BlockingListener(on: try #require(SocketAddress(place)))
        let inode = try #require(status(of: place)).st_ino
        try stop()
        #expect(status(of: place)?.st_ino == inode)
        withExtendedLifetime(other) {}
        try loop.end()
    }

    @Test("A9, BK7: the file has the mode asked for, whatever the mask, which stays what it is")
    func permissions() throws {
        let place = path("mode")
        for mode in [UInt16(0o600), 0o660, 0o777, 0o000] {
            try listener.listen(onUnixPath: place, permissions: mode)
            #expect(try #require(status(of: place)).st_mode & 0o7777 == mode_t(mode))
            try stop()
        }
        let mask = umask(0)
        umask(mask)
        try listener.listen(onUnixPath: place)
        #expect(try #require(status(of: place)).st_mode & 0o777 == 0o777 & ~mask)
        try loop.end()
        #expect(status(of: place) == nil)
    }

    @Test("A9, C1: paths and modes that cannot be are wrong arguments")
    func invalidArguments() throws {
        let long = "/tmp/" + String(repeating: "x", count: 103)
        let cases: [(String, UInt16?, String)] = [
            (long, nil, "path must have 1 through 107 bytes, none of them zero"),
            ("", nil, "path must have 1 through 107 bytes, none of them zero"),
            ("/tmp/a\0b", nil, "path must have 1 through 107 bytes, none of them zero"),
            (path("mode-4"), 0o1777, "permissions must be 0 to 0o777"),
            ("@towline", 0o600, "an abstract name has no file, and so no permissions"),
        ]
        for (place, mode, reason) in cases {
            do {
                try listener.listen(onUnixPath: place, permissions: mode)
                Issue.record("\(place) was listened on")
            } catch .invalidArgument(let argument) {
                #expect(argument.reason == reason)
            } catch {
                Issue.record("\(error)")
            }
        }
        let start = "/tmp/\(getpid())-"
        let longest = start + String(repeating: "x", count: 107 - start.utf8.count)
        #expect(longest.utf8.count == 107)
        try listener.listen(onUnixPath: longest)
        _ = try BlockingPeer(connectingTo: try #require(listener.localAddress))
        #expect(try loop.turn { acceptor.sockets.count == 1 })
        try loop.end()
        #expect(status(of: longest) == nil)
    }

    @Test("A9: an abstract name is listened on without a file, and taken only once")
    func abstractName() throws {
        let name = "@towline-\(getpid())-abstract"
        try listener.listen(onUnixPath: name)
        #expect(listener.localAddress?.description == name)
        let second = StreamListener(reactor: loop.reactor)
        second.keep(Acceptor())
        #expect(throws: SocketError.self) { try second.listen(onUnixPath: name) }
        _ = try BlockingPeer(connectingTo: try #require(listener.localAddress))
        #expect(try loop.turn { acceptor.sockets.count == 1 })
        try loop.end()
    }

    @Test("A9: each end of a Unix socket knows the other's process; TCP knows none")
    func credentials() throws {
        let own = { (credentials: PeerCredentials?) in
            credentials?.processID == getpid() && credentials?.userID == getuid()
                && credentials?.groupID == getgid()
        }
        try listener.listen(onUnixPath: "@towline-\(getpid())-credentials")
        let address = try #require(listener.localAddress)
        var inFarewell: [PeerCredentials?] = []
        acceptor.whenAccepted = { socket, recorder in
            #expect(own(socket.peerCredentials))
            recorder.whenDisconnected = { inFarewell.append($0.peerCredentials) }
        }
        let recorder = Recorder()
        let client = StreamSocket(reactor: loop.reactor, delegate: recorder)
        #expect(client.peerCredentials == nil)
        try client.connect(to: address)
        #expect(client.peerCredentials == nil)
        #expect(try loop.turn { acceptor.sockets.count == 1 && client.state == .connected })
        #expect(own(client.peerCredentials))
        client.disconnect()
        acceptor.sockets[0].disconnect()
        #expect(try loop.turn { inFarewell.count == 1 && recorder.isDisconnected })
        #expect(inFarewell == [nil] && client.peerCredentials == nil)
        try loop.end()

        let pair = try Pair()
        #expect(pair.socket.peerCredentials == nil)
        try pair.loop.end()
    }
}

import Glibc
import TestSupport
import Testing
import Towline

@Suite("echo-server, command line") struct EchoServerCommandLineTests {
    @Test("It prints one line with its address, and nothing else")
    func announcement() throws {
        let server = try EchoServer()
        guard case .ipv4(.loopback, let port) = server.address else {
            Issue.record("listens on \(server.address)")
            return
        }
        #expect(port != 0)
        let exit = try server.terminate()
        #expect(exit?.standardOutput == "listening on 127.0.0.1:\(port)\n")
        #expect(exit?.standardError == "")
        #expect(exit?.code == 0)
    }

    @Test("A ring that it does not have is refused with a sentence")
    func ring() throws {
        let exit = try EchoServer.run(["--backend", "ring"])
        #expect(exit?.code == 1)
        #expect(exit?.standardOutput == "")
        #expect(
            exit?.standardError
                == "echo-server: reactor refused: no backend; "
                + "ring: this build has no io_uring backend\n"
        )
    }

    @Test(
        "Arguments that it does not know end with 2, and say how to use it",
        arguments: [
            ["--colour", "red"], ["--port"], ["--port", "65536"], ["--port", "-1"],
            ["--host", "localhost"], ["--backend", "poll"], ["extra"],
        ]
    )
    func unknownOptions(arguments: [String]) throws {
        let exit = try EchoServer.run(arguments)
        #expect(exit?.code == 2)
        #expect(exit?.standardOutput == "")
        #expect(exit?.standardError.hasPrefix("echo-server: \(arguments[0]) ") == true)
        #expect(exit?.standardError.contains("usage: echo-server") == true)
    }

    @Test("Help is printed and ends with 0") func help() throws {
        let exit = try EchoServer.run(["--help"])
        #expect(exit?.code == 0)
        #expect(exit?.standardOutput.hasPrefix("usage: echo-server") == true)
        #expect(exit?.standardError == "")
    }

    @Test("A port that is taken is refused with address and reason") func takenPort() throws {
        let other = try BlockingListener()
        let port = try #require(other.address.port)
        let exit = try EchoServer.run(["--port", "\(port)"])
        #expect(exit?.code == 1)
        #expect(
            exit?.standardError
                == "echo-server: listen on 127.0.0.1:\(port) failed: "
                + "address already in use (EADDRINUSE)\n"
        )
    }

    @Test("A server without TLS needs no library of another project")
    func neededLibraries() throws {
        let path = try BuiltProduct.path(of: "line-chat")
        let exit = try #require(try ChildProcess.run("readelf", ["--dynamic", "--wide", path]))
        #expect(exit.code == 0, "\(exit.standardError)")
        let needed = exit.standardOutput.split(separator: "\n").filter { $0.contains("(NEEDED)") }
        #expect(!needed.isEmpty)
        for unwanted in ["libssl", "libcrypto", "libz.", "liburing", "Foundation"] {
            #expect(!needed.contains { $0.contains(unwanted) }, "\(unwanted)")
        }
    }
}

@Suite("echo-server, Unix sockets") struct EchoServerUnixTests {
    @Test("The file comes with the server and goes with it") func file() throws {
        let path = temporaryPath()
        let server = try EchoServer(["--unix", path])
        #expect(server.address.description == path)
        #expect(access(path, F_OK) == 0)
        try server.expectEcho(of: "over a path")
        #expect(try server.terminate()?.code == 0)
        #expect(access(path, F_OK) != 0)
    }

    @Test("An abstract name works without a file") func abstractName() throws {
        let server = try EchoServer(["--unix", "@towline-echo-\(getpid())"])
        try server.expectEcho(of: "over a name")
    }

    @Test("The file of a server that was killed is replaced") func staleFile() throws {
        let path = temporaryPath()
        defer { unlink(path) }
        let first = try EchoServer(["--unix", path])
        first.process.send(signal: SIGKILL)
        #expect(try first.process.waitForExit()?.signal == SIGKILL)
        #expect(access(path, F_OK) == 0)

        let second = try EchoServer(["--unix", path])
        try second.expectEcho(of: "again")
        #expect(try second.terminate()?.code == 0)
        #expect(access(path, F_OK) != 0)
    }

    @Test("The socket of a living server is left alone, and its path refused")
    func livingServer() throws {
        let path = temporaryPath()
        let first = try EchoServer(["--unix", path])
        try expectRefusal(of: path)
        try first.expectEcho(of: "still here")
        #expect(try first.terminate()?.code == 0)
    }

    @Test("A file that is no socket is left alone, and its path refused")
    func regularFile() throws {
        let path = temporaryPath()
        defer { unlink(path) }
        let file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        #expect(write(file, "kept", 4) == 4)
        close(file)
        try expectRefusal(of: path, ", where something lies that is no socket,")
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_size == 4)
    }

    private func expectRefusal(of path: String, _ reason: String = "") throws {
        let exit = try EchoServer.run(["--unix", path])
        #expect(exit?.code == 1)
        let text = "listen on \(path)\(reason) failed: address already in use (EADDRINUSE)"
        #expect(exit?.standardError == "echo-server: \(text)\n")
    }
}

@Suite("echo-server, connections") struct EchoServerConnectionTests {
    @Test("It echoes over both families", arguments: ["127.0.0.1", "::1"])
    func families(host: String) throws {
        let server = try EchoServer(["--host", host])
        try server.expectEcho(of: "hello")
        try server.expectEcho(of: String(repeating: "long ", count: 20_000))
    }

    @Test("A peer that sends its end gets everything back, then the end")
    func halfClose() throws {
        let server = try EchoServer()
        let peer = try server.connect()
        try peer.send("last words")
        peer.finishSending()
        #expect(try peer.receiveUntilEnd() == Array("last words".utf8))
    }

    @Test("A peer that sends its end and nothing else gets the end") func emptyConnection() throws {
        let server = try EchoServer()
        let peer = try server.connect()
        peer.finishSending()
        #expect(try peer.receiveUntilEnd() == [])
    }

    @Test("A peer that resets its connection harms nobody else") func reset() throws {
        let server = try EchoServer()
        let neighbour = try server.connect()
        for _ in 0..<20 {
            let idle = try server.connect()
            idle.reset()
            // This one leaves echoes behind that nobody takes.
            let busy = try server.connect(receiveBufferByteCount: 4_096)
            try busy.send(pattern(byteCount: 65_536))
            busy.reset()
        }
        try neighbour.send("still here")
        #expect(try neighbour.receive(10) == Array("still here".utf8))
        let exit = try server.terminate()
        #expect(exit?.code == 0)
        #expect(exit?.standardError == "")
    }

    @Test("A peer that sends 8 MiB before it reads gets each byte back") func slowReader() throws {
        let server = try EchoServer()
        let peer = try server.connect(receiveBufferByteCount: 4_096)
        let bytes = pattern(byteCount: 8 << 20)
        try peer.send(bytes)
        peer.finishSending()
        #expect(try peer.receiveUntilEnd() == bytes)
    }

    @Test("A peer that sends on and reads nothing is no longer read from, and loses nothing")
    func backPressure() throws {
        let server = try EchoServer()
        let peer = try BlockingPeer(connectingTo: server.address, timeout: .milliseconds(500))
        let chunk = pattern(byteCount: 65_536)
        var sentCount = 0
        do {
            while sentCount < 2_048 {
                try peer.send(chunk)
                sentCount += 1
            }
        } catch let error as SystemCallError {
            #expect(error.name == "EAGAIN", "refused after \(sentCount) chunks")
        }
        #expect(sentCount < 1_024)
        for _ in 0..<sentCount {
            guard try peer.receive(65_536) == chunk else {
                Issue.record("the echo is another")
                return
            }
        }
    }

    @Test("A peer that reads while it sends 8 MiB gets each byte back") func bothWays() throws {
        let server = try EchoServer()
        let peer = try server.connect()
        let bytes = pattern(byteCount: 8 << 20)
        let received = BackgroundWork { try peer.receiveUntilEnd() }
        try peer.send(bytes)
        peer.finishSending()
        #expect(try received.value() == bytes)
    }
}

@Suite("echo-server, ending") struct EchoServerEndingTests {
    @Test("SIGTERM and SIGINT end it with 0", arguments: [SIGTERM, SIGINT])
    func signals(signal: Int32) throws {
        let server = try EchoServer()
        server.process.send(signal: signal)
        #expect(try server.process.waitForExit()?.code == 0)
    }

    @Test("Open connections that are idle do not keep it from ending")
    func idleConnections() throws {
        let server = try EchoServer()
        let unused = try server.connect()
        let used = try server.connect()
        try used.send("x")
        #expect(try used.receive(1) == [UInt8(ascii: "x")])
        server.process.send(signal: SIGTERM)
        #expect(try unused.receiveUntilEnd() == [])
        #expect(try used.receiveUntilEnd() == [])
        used.close()
        #expect(try server.process.waitForExit()?.code == 0)
        #expect(throws: SystemCallError.self) { try server.connect() }
    }

    @Test("What is being sent is sent to its last byte before it ends") func unsentBytes() throws {
        let path = temporaryPath()
        let server = try EchoServer(["--unix", path])
        let peer = try server.connect()
        let bytes = pattern(byteCount: 8 << 20)
        try peer.send(bytes)
        // Once nothing is left of them, the server has read all and holds what the peer's buffer
        // has no room for.
        try #require(holds { peer.untakenByteCount == 0 })
        server.process.send(signal: SIGTERM)
        // The listener is gone before the first byte is read: the drain has begun.
        try #require(holds { access(path, F_OK) != 0 })
        #expect(try peer.receiveUntilEnd() == bytes)
        peer.close()
        #expect(try server.process.waitForExit()?.code == 0)
    }

    @Test("Scenario 15: 100 transfers at a SIGTERM: stalled ones are cut, the others end whole")
    func drainsTransfers() throws {
        let path = temporaryPath()
        let server = try EchoServer(["--unix", path, "--drain", "2", "--stats", "127.0.0.1:0"])
        let bytes = pattern(byteCount: 300_000)
        let peers = try (0..<100).map { _ in try server.connect() }
        for peer in peers { try peer.send(bytes) }
        // The server holds of each what the kernel has no room for.
        try #require(holds { peers.allSatisfy { $0.untakenByteCount == 0 } })
        let start = ContinuousClock.now
        server.process.send(signal: SIGTERM)
        try #require(holds { access(path, F_OK) != 0 })
        #expect(throws: SystemCallError.self) { try server.connect() }
        for peer in peers.dropFirst(5) {
            let isWhole = try peer.receiveUntilEnd() == bytes
            #expect(isWhole)
            peer.close()
        }
        let exit = try server.process.waitForExit()
        #expect(exit?.code == 0 && exit?.standardError == "")
        #expect(ContinuousClock.now - start >= .seconds(2))
        for peer in peers.prefix(5) {
            var count = 0
            while let some = try? peer.receiveSome(), !some.isEmpty { count += some.count }
            #expect(count < bytes.count)
        }
        let lines = exit?.standardOutput.split(separator: "\n").map(String.init) ?? []
        let last =
            "drained: 95 finished, 0 idle, 5 cut; 100 accepted, 30000000 bytes received, "
        #expect(lines.count == 3 && lines.last?.hasPrefix(last) == true, "\(lines)")
    }

    @Test("A second SIGTERM ends it at once") func secondSignal() throws {
        let path = temporaryPath()
        let server = try EchoServer(["--unix", path])
        let stalled = try server.connect()
        try stalled.send(pattern(byteCount: 4 << 20))
        try #require(holds { stalled.untakenByteCount == 0 })
        server.process.send(signal: SIGTERM)
        try #require(holds { access(path, F_OK) != 0 })
        #expect(try server.process.waitForExit(within: .milliseconds(50)) == nil)
        server.process.send(signal: SIGTERM)
        // Far less than the five seconds that a stalled connection may take.
        #expect(try server.process.waitForExit(within: .seconds(2))?.code == 0)
    }
}

/// A running `echo-server`.
private struct EchoServer {
    let process: ChildProcess
    let address: SocketAddress

    /// Starts it and waits until it listens.
    init(_ arguments: [String] = []) throws {
        process = try ChildProcess(BuiltProduct.path(of: "echo-server"), arguments)
        let line = try #require(try process.readLine(), "it prints a line")
        let start = "listening on "
        try #require(line.hasPrefix(start))
        address = try #require(SocketAddress(String(line.dropFirst(start.count))))
    }

    static func run(_ arguments: [String]) throws -> ChildProcess.Exit? {
        try ChildProcess.run(BuiltProduct.path(of: "echo-server"), arguments)
    }

    func connect(receiveBufferByteCount: CInt? = nil) throws -> BlockingPeer {
        try BlockingPeer(
            connectingTo: address,
            receiveBufferByteCount: receiveBufferByteCount
        )
    }

    func terminate() throws -> ChildProcess.Exit? {
        process.send(signal: SIGTERM)
        return try process.waitForExit()
    }

    func expectEcho(of text: String) throws {
        let peer = try connect()
        try peer.send(text)
        #expect(try peer.receive(text.utf8.count) == Array(text.utf8))
    }
}

/// Bytes with a prime period, so that a lost or doubled piece of any usual size shows.
private func pattern(byteCount: Int) -> [UInt8] {
    var bytes = [UInt8](0..<251)
    while bytes.count < byteCount { bytes += bytes }
    return Array(bytes.prefix(byteCount))
}

/// A path that is nobody else's, and short enough for a Unix socket.
private func temporaryPath() -> String {
    let number = UInt64.random(in: 0..<1 << 48)
    return "/tmp/towline-\(getpid())-\(String(number, radix: 16))"
}

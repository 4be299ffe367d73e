import Glibc
import TestSupport
import Testing
import Towline

@Suite("Listening on real sockets") struct StreamListenerTests {
    private func makeListener(
        on address: SocketAddress = .ipv4(.loopback, port: 0)
    ) throws -> (Loop, StreamListener, Acceptor) {
        let loop = try Loop()
        let acceptor = Acceptor()
        let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        try listener.listen(on: address)
        return (loop, listener, acceptor)
    }

    @Test("A1, A6, O7: the chosen port is known at once; accepted sockets work and hear no connect")
    func accepts() throws {
        let (loop, listener, acceptor) = try makeListener()
        let address = try #require(listener.localAddress)
        #expect(address.port != 0)
        acceptor.whenAccepted = { socket, _ in
            #expect(socket.state == .connected)
            try socket.write("welcome", tag: 1)
            try socket.read(tag: 2)
        }
        let peer = try BlockingPeer(connectingTo: address)
        try peer.send("hello")
        #expect(try loop.turn { acceptor.recorders.first?.heard.count == 2 })
        #expect(try peer.receive(7) == Array("welcome".utf8))
        let heard = acceptor.recorders[0].heard
        #expect(heard.contains(.didWrite(tag: 1)) && heard.contains(.didRead("hello", tag: 2)))
        #expect(acceptor.sockets[0].remoteAddress == peer.localAddress)
        #expect(acceptor.sockets[0].localAddress == address)
        try loop.end()
        #expect(acceptor.stops == [.reactorStopped])
    }

    @Test("IPv6, a path and an abstract name are listened on, each named as it was asked for")
    func families() throws {
        let path = "/tmp/towline-\(getpid())-families.sock"
        for text in ["[::1]:0", path, "@towline-\(getpid())-families"] {
            let address = try #require(SocketAddress(text))
            let (loop, listener, acceptor) = try makeListener(on: address)
            let bound = try #require(listener.localAddress)
            #expect(bound.withPort(0) == address.withPort(0))
            acceptor.whenAccepted = { socket, _ in try socket.write("hi") }
            let peer = try BlockingPeer(connectingTo: bound)
            #expect(try loop.turn { acceptor.sockets.count == 1 })
            #expect(try peer.receive(2) == Array("hi".utf8))
            try loop.end()
        }
        #expect(access(path, F_OK) != 0, "A9: the file goes with its listener")
    }

    @Test("A1: a port that is taken is an error with the address and the reason, and opens nothing")
    func portTaken() throws {
        let (loop, listener, _) = try makeListener()
        let address = try #require(listener.localAddress)
        let second = StreamListener(reactor: loop.reactor)
        second.keep(Acceptor())
        let openSockets = loop.reactor.figures.openSockets
        do {
            try second.listen(on: address)
            Issue.record("a taken port was listened on")
        } catch {
            #expect(
                "\(error)" == "listen on \(address) failed: address already in use (EADDRINUSE)"
            )
        }
        #expect(second.localAddress == nil)
        #expect(loop.reactor.figures.openSockets == openSockets)
        #expect(throws: SocketError.self) { try listener.listen(onPort: 0) }
        #expect(throws: SocketError.self) { try second.listen(onPort: 0, backlog: 0) }
        #expect(throws: SocketError.self) {
            try second.listen(onUnixPath: String(repeating: "x", count: 108))
        }
        try loop.end()
    }

    @Test("L6, A8: without a delegate at the end of didAccept a socket is closed; thrown, too")
    func unattended() throws {
        struct Refused: Error {}
        let (loop, listener, acceptor) = try makeListener()
        let address = try #require(listener.localAddress)
        acceptor.setsDelegate = false
        var log: [String] = []
        loop.reactor.log = { log.append($0.description) }
        let first = try BlockingPeer(connectingTo: address)
        #expect(try loop.turn { acceptor.sockets.count == 1 })
        #expect(try first.receiveSome() == [])
        let peer = try #require(first.localAddress)
        #expect(log.count == 1 && log[0].contains("peer=\(peer)"), "\(log)")
        #expect(log[0].contains("no delegate"), "nobody else could hear why")
        acceptor.setsDelegate = true
        acceptor.whenAccepted = { _, _ in throw Refused() }
        let second = try BlockingPeer(connectingTo: address)
        #expect(try loop.turn { acceptor.recorders.last?.isDisconnected == true })
        #expect(acceptor.recorders.last?.reports[0].error == .handler(Refused()))
        #expect(try second.receiveSome() == [])
        try loop.end()
    }

    @Test("A12: stop leaves accepted connections alone, and is told with no error, once")
    func stops() throws {
        let (loop, listener, acceptor) = try makeListener()
        let address = try #require(listener.localAddress)
        acceptor.whenAccepted = { socket, _ in try socket.read(tag: 1) }
        let peer = try BlockingPeer(connectingTo: address)
        #expect(try loop.turn { acceptor.sockets.count == 1 })
        listener.stop()
        listener.stop()
        #expect(acceptor.stops == [])
        #expect(throws: SocketError.invalidState(.disconnecting), "not before didStopWith") {
            try listener.listen(on: address)
        }
        #expect(try loop.turn { acceptor.stops.count == 1 })
        #expect(acceptor.stops == [nil])
        try peer.send("still here")
        #expect(try loop.turn { acceptor.recorders[0].heard.count == 1 })
        #expect(throws: SystemCallError.self) { _ = try BlockingPeer(connectingTo: address) }
        try listener.listen(on: address)
        _ = try BlockingPeer(connectingTo: address)
        #expect(try loop.turn { acceptor.sockets.count == 2 })
        try loop.end()
    }

    @Test("L6: a listener keeps the delegate that it is given to keep, until it has stopped")
    func keptDelegate() throws {
        let loop = try Loop()
        let listener = StreamListener(reactor: loop.reactor)
        var acceptor: Acceptor? = Acceptor()
        weak let watched = acceptor
        acceptor?.whenAccepted = { socket, _ in try socket.write("hi") }
        listener.keep(try #require(acceptor))
        acceptor = nil
        try listener.listen(on: .ipv4(.loopback, port: 0))
        let peer = try BlockingPeer(connectingTo: try #require(listener.localAddress))
        #expect(try loop.turn { watched?.sockets.count == 1 })
        #expect(try peer.receive(2) == Array("hi".utf8))
        #expect(listener.delegate === watched)
        listener.stop()
        try loop.turn(times: 2)
        #expect(watched == nil)
        try loop.end()
    }

    @Test("L6: a kept delegate goes when another is set, and behind its reactor's end")
    func keptDelegateIsLetGo() throws {
        let loop = try Loop()
        let acceptor = Acceptor()
        var listeners = (0..<2).map { _ in StreamListener(reactor: loop.reactor) }
        weak var first: Acceptor?
        weak var second: Acceptor?
        for (number, listener) in listeners.enumerated() {
            let kept = Acceptor()
            if number == 0 { first = kept } else { second = kept }
            listener.keep(kept)
            // Each holds the other.
            kept.whenAccepted = { _, _ in listener.stop() }
            try listener.listen(on: .ipv4(.loopback, port: 0))
        }
        #expect(first != nil && second != nil)
        listeners[0].delegate = acceptor
        #expect(first == nil)
        try loop.end()
        #expect(second == nil)
        #expect(acceptor.stops == [.reactorStopped])
        listeners = []
    }

    @Test("L6: without a delegate a listener does not begin; if it goes, each refusal is logged")
    func delegateHasGone() throws {
        let loop = try Loop()
        var log: [String] = []
        loop.reactor.log = { log.append($0.description) }
        let listener = StreamListener(reactor: loop.reactor)
        #expect(throws: SocketError.noDelegate) { try listener.listen(onPort: 0) }
        var acceptor: Acceptor? = Acceptor()
        listener.delegate = acceptor
        try listener.listen(on: .ipv4(.loopback, port: 0))
        acceptor = nil
        let peer = try BlockingPeer(connectingTo: try #require(listener.localAddress))
        #expect(try loop.turn { !log.isEmpty })
        #expect(try peer.receiveUntilEnd() == [])
        let peerAddress = try #require(peer.localAddress)
        let reason = "error=the listener's delegate has gone peer=\(peerAddress)"
        #expect(log == ["warning accepted connection closed \(reason)"])
        withExtendedLifetime(acceptor) {}
        try loop.end()
    }

    @Test("LS1, trap 6: a thousand clients that connect and reset leave the listener well")
    func resets() throws {
        let (loop, listener, acceptor) = try makeListener()
        let address = try #require(listener.localAddress)
        acceptor.whenAccepted = { socket, _ in try socket.read() }
        for _ in 0..<1_000 {
            try BlockingPeer(connectingTo: address).reset()
            try loop.reactor.turn(waitingAtMost: .zero)
        }
        #expect(
            try loop.turn {
                acceptor.sockets.count >= 1_000 && loop.reactor.figures.openSockets == 1
            }
        )
        #expect(acceptor.recorders.allSatisfy { $0.reports.count == 1 })
        #expect(acceptor.stops == [] && acceptor.failures == [])
        try loop.end()
    }

    @Test("EP10: a lone client costs no accept that finds nobody, a crowd is taken in one turn")
    func crowd() throws {
        let (loop, listener, acceptor) = try makeListener()
        let address = try #require(listener.localAddress)
        let peers = try (0..<150).map { _ in try BlockingPeer(connectingTo: address) }
        for _ in 0..<5 { try loop.reactor.turn(waitingAtMost: .zero) }
        #expect(acceptor.sockets.count == 1 + 64 + 64 + 21)
        try loop.end()
        withExtendedLifetime(peers) {}
    }

    @Test("Accepted sockets begin with the listener's options and policy")
    func inherits() throws {
        let loop = try Loop()
        let acceptor = Acceptor()
        let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        listener.options.keepAlive = .init(idleSeconds: 77, intervalSeconds: 7, probeCount: 3)
        listener.halfClosePolicy = .disconnect
        try listener.listen(on: .ipv4(.loopback, port: 0))
        let peer = try BlockingPeer(connectingTo: try #require(listener.localAddress))
        #expect(try loop.turn { acceptor.sockets.count == 1 })
        #expect(acceptor.sockets[0].options.keepAlive?.idleSeconds == 77)
        #expect(acceptor.sockets[0].halfClosePolicy == .disconnect)
        try loop.end()
        withExtendedLifetime(peer) {}
    }
}

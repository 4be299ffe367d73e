import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Towline

/// What has hit other event loops, and must not hit this one.
@Suite("What has hit other loops") struct ReactorTrapTests {
    @Test("Trap 4: a timer fires in the turn whose batch closes many sockets, in any order")
    func timerBesideClosings() throws {
        let loop = try Loop()
        let count = 100
        let listener = try BlockingListener(backlog: 128)
        let recorders = (0..<count).map { _ in Recorder() }
        let sockets = recorders.map { StreamSocket(reactor: loop.reactor, delegate: $0) }
        for socket in sockets { try socket.connect(to: listener.address) }
        var peers: [BlockingPeer] = []
        let isConnected = try loop.turn { recorders.allSatisfy { $0.heard.count == 1 } }
        #expect(isConnected)
        for _ in sockets { peers.append(try listener.accept()) }
        for (index, recorder) in recorders.enumerated() {
            // Each ends the one that is served after it, if that is still there.
            recorder.whenRead = { [sockets] _, _, _ in sockets[(index + 1) % count].disconnect() }
        }
        for socket in sockets { try socket.read() }
        try loop.turn(times: 2)
        var firedAt: ContinuousClock.Instant?
        let due = ContinuousClock.now + .milliseconds(10)
        loop.reactor.schedule(after: .milliseconds(10)) { firedAt = .now }
        for peer in peers { try peer.send("x") }
        while ContinuousClock.now < due {}
        #expect(try loop.turn { firedAt != nil })
        #expect(try loop.turn { recorders.filter(\.isDisconnected).count >= count / 2 })
        for socket in sockets { socket.disconnect() }
        for recorder in recorders { recorder.whenRead = { _, _, _ in } }
        try loop.end()
    }

    @Test("Trap 11, LP10: a storm of signals neither delays a timer nor makes it early")
    func signalStorm() throws {
        var action = sigaction()
        var before = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGUSR2, &action, &before)
        var signals = sigset_t()
        var mask = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGUSR2)
        // A test may run on a thread that blocks all of them.
        pthread_sigmask(SIG_UNBLOCK, &signals, &mask)
        defer {
            pthread_sigmask(SIG_SETMASK, &mask, nil)
            sigaction(SIGUSR2, &before, nil)
        }
        let loop = try Loop()
        let thread = pthread_self()
        let isOver = Atomic(false)
        let sender = BackgroundWork {
            while !isOver.load(ordering: .relaxed) {
                pthread_kill(thread, SIGUSR2)
                let next = ContinuousClock.now + .microseconds(500)
                while ContinuousClock.now < next { sched_yield() }
            }
            return true
        }
        for _ in 0..<5 {
            var fired: Duration?
            let start = ContinuousClock.now
            loop.reactor.schedule(after: .milliseconds(50)) { fired = ContinuousClock.now - start }
            while fired == nil { try loop.reactor.turn(waitingAtMost: .seconds(5)) }
            #expect(fired! >= .milliseconds(50))
            #expect(fired! < .milliseconds(60) * slowdown, "late by \(fired! - .milliseconds(50))")
        }
        isOver.store(true, ordering: .relaxed)
        #expect(try sender.value())
        #expect(loop.reactor.figures.interruptedWaits > 10, "signals did come")
        try loop.end()
    }

    @Test("Trap 16, T7: one sender at full speed leaves fifty slow clients their 20 ms")
    func fastSender() throws {
        let loop = try Loop()
        let acceptor = Acceptor()
        acceptor.whenAccepted = { socket, recorder in
            recorder.recordsReads = false
            recorder.whenRead = { [unowned recorder] socket, bytes, _ in
                recorder.readBytes = []
                if bytes.count == 1 { try socket.write(bytes) }
                try socket.read()
            }
            try socket.read()
        }
        let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        try listener.listen(on: .ipv4(.loopback, port: 0))
        let address = try #require(listener.localAddress)
        let isOver = Atomic(false)
        let sender = BackgroundWork {
            let peer = try BlockingPeer(connectingTo: address)
            let bytes = [UInt8](repeating: 7, count: 256 * 1024)
            var sent = 0
            while !isOver.load(ordering: .relaxed) {
                try peer.send(bytes)
                sent += bytes.count
            }
            return sent
        }
        let clients = BackgroundWork {
            let peers = try (0..<50).map { _ in try BlockingPeer(connectingTo: address) }
            defer { isOver.store(true, ordering: .relaxed) }
            var delays: [Duration] = []
            for _ in 0..<10 {
                for peer in peers {
                    let start = ContinuousClock.now
                    try peer.send([1])
                    _ = try peer.receive(1)
                    delays.append(ContinuousClock.now - start)
                }
            }
            return delays.sorted()
        }
        #expect(try loop.turn(within: .seconds(30)) { isOver.load(ordering: .relaxed) })
        let delays = try clients.value()
        for socket in acceptor.sockets { socket.abort() }
        try loop.turn(times: 3)
        let sent = (try? sender.value()) ?? 1 << 20
        #expect(sent >= 1 << 20, "the sender was never held up")
        let late = delays[delays.count * 99 / 100]
        #expect(late < .milliseconds(20) * slowdown, "99 % were answered within \(late)")
        try loop.end()
    }

    @Test("Trap 19, D5: a silent peer sees the end within 100 ms of the disconnect")
    func endAtOnce() throws {
        let pair = try Pair()
        try pair.socket.read()
        try pair.loop.turn(times: 2)
        let peer = pair.peer
        let end = BackgroundWork {
            let bytes = try peer.receiveUntilEnd()
            return (bytes, ContinuousClock.now)
        }
        let start = ContinuousClock.now
        pair.socket.disconnect()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        let (bytes, seen) = try end.value()
        #expect(bytes == [])
        #expect(seen - start < .milliseconds(100) * slowdown)
        try pair.loop.turn(times: 5)
        #expect(pair.heard == [.didDisconnect(nil)], "nothing behind the farewell")
        try pair.loop.end()
    }

    /// How much slower than usual the build is; a sanitizer's says so in its environment.
    private var slowdown: Int {
        getenv("TOWLINE_SLOWDOWN").flatMap { Int(String(cString: $0)) } ?? 1
    }
}

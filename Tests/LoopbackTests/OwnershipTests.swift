import Glibc
import Synchronization
import TestSupport
import Testing
import Towline

@Suite("Who keeps whom") struct OwnershipTests {
    @Test(
        "L6, ID4, Wish 11: the reactor keeps a started socket until behind its farewell"
    )
    func socketIsKept() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        let recorder = Recorder()
        var socket: StreamSocket? = StreamSocket(reactor: loop.reactor, delegate: recorder)
        weak let watched = socket
        try socket?.connect(to: listener.address)
        try loop.turn(times: 1)
        let peer = try listener.accept()
        socket = nil
        #expect(try loop.turn { recorder.heard.count == 1 })
        #expect(watched != nil)
        peer.close()
        #expect(try loop.turn { recorder.isDisconnected })
        #expect(watched == nil)
        try loop.end()
    }

    @Test("ID4: whatever a callback drops lives until it has returned")
    func droppedInCallback() throws {
        final class Handler: StreamSocketDelegate {
            var whenRead: () -> Void = {}
            var value = 1
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                socket.delegate = nil
                whenRead()
                // The handler's last reference is gone; its memory is still its own.
                value += Int(bytes.unsafeLoad(as: UInt8.self))
                try socket.write("still here")
            }
        }
        let pair = try Pair()
        var handler: Handler? = Handler()
        pair.socket.delegate = handler
        handler?.whenRead = { handler = nil }
        try pair.socket.read()
        try pair.peer.send("x")
        #expect(try pair.peer.receiveWhileTurning(10, pair.loop) == Array("still here".utf8))
        #expect(handler == nil)
        for _ in 0..<40 { try pair.loop.reactor.turn(waitingAtMost: .zero) }
        #expect(pair.socket.state == .idle, "L6: without a delegate it is closed")
        try pair.loop.end()
    }

    @Test("W2: bytes are the socket's own from the call on; the caller's may change")
    func bytesAreCopied() throws {
        let pair = try Pair()
        pair.recorder.whenRead = { socket, _, _ in
            var bytes: [UInt8] = [1, 2, 3]
            try socket.write(bytes.span.bytes)
            bytes[0] = 9
            try socket.write(bytes)
            bytes[1] = 9
        }
        try pair.socket.read()
        try pair.peer.send("go")
        #expect(try pair.peer.receiveWhileTurning(6, pair.loop) == [1, 2, 3, 9, 2, 3])
        try pair.loop.end()
    }

    @Test("W2: an echo is sent from where it was received, and no byte of it is another's")
    func echoesOfMany() throws {
        let loop = try Loop()
        let acceptor = Acceptor()
        acceptor.whenAccepted = { socket, recorder in
            recorder.recordsReads = false
            recorder.whenRead = { socket, bytes, _ in
                try socket.write(bytes)
                try socket.read()
            }
            try socket.read()
        }
        let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        try listener.listen(on: .ipv4(.loopback, port: 0))
        let peers = try (0..<20).map { _ in
            try BlockingPeer(connectingTo: listener.localAddress!)
        }
        for round in 1...20 {
            for (number, peer) in peers.enumerated() {
                try peer.send([UInt8](repeating: UInt8(number), count: round * 100))
            }
            for (number, peer) in peers.enumerated() {
                let received = try peer.receiveWhileTurning(round * 100, loop)
                #expect(received == [UInt8](repeating: UInt8(number), count: round * 100))
            }
        }
        try loop.end()
    }

    @Test("WK4: jobs are let go of on the reactor's thread")
    func droppedJobs() throws {
        final class Witness: Sendable {
            let place: Mutex<UInt>
            init(_ place: consuming Mutex<UInt>) { self.place = place }
        }
        final class Load: Sendable {
            let witness: Witness
            init(_ witness: Witness) { self.witness = witness }
            deinit { witness.place.withLock { $0 = UInt(pthread_self()) } }
        }
        let witness = Witness(Mutex(0))
        let loop = try Loop()
        let handle = loop.reactor.handle
        loop.reactor.stop()
        try BackgroundWork {
            let load = Load(witness)
            // Behind the stop in the same turn: it is accepted, and so is run.
            handle.execute { $0.stop() }
            handle.execute { _ in withExtendedLifetime(load) {} }
        }.value()
        try loop.reactor.turn()
        #expect(witness.place.withLock { $0 } == UInt(pthread_self()))
    }

    @Test("What outlives its reactor says that it has ended, and does nothing")
    func outlives() throws {
        var reactor: Reactor? = try Reactor(Reactor.Configuration(backend: .epoll))
        let handle = reactor!.handle
        let recorder = Recorder()
        let acceptor = Acceptor()
        let timer = reactor!.schedule(after: .seconds(60)) {}
        let socket = StreamSocket(reactor: reactor!, delegate: recorder)
        let listener = StreamListener(reactor: reactor!, delegate: acceptor)
        reactor!.stop()
        try reactor!.run()
        reactor = nil
        #expect(!handle.execute { _ in })
        handle.wake()
        handle.stop()
        timer.cancel()
        timer.reschedule(after: .zero)
        #expect(!timer.isPending)
        socket.disconnect()
        socket.abort()
        #expect(socket.state == .idle)
        #expect(throws: SocketError.reactorStopped) {
            try socket.connect(to: .ipv4(.loopback, port: 1))
        }
        #expect(throws: SocketError.reactorStopped) { try listener.listen(onPort: 0) }
        #expect(recorder.heard == [] && acceptor.stops == [])
    }

    @Test("ID5: a reactor that is dropped with open sockets says which, and closes them in silence")
    func droppedReactor() throws {
        let listener = try BlockingListener()
        let recorder = Recorder()
        var socket: StreamSocket?
        var log: [String] = []
        try {
            let loop = try Loop()
            loop.reactor.log = { log.append($0.description) }
            socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            try socket?.connect(to: listener.address)
            _ = try loop.turn { !recorder.heard.isEmpty }
        }()
        #expect(
            log == [
                """
                critical reactor let go of before stop() and run(), its sockets are closed \
                count=1 open=connection with \(listener.address)
                """
            ]
        )
        #expect(try listener.accept().receiveSome() == [])
        #expect(socket?.state == .idle)
        #expect(recorder.heard.count == 1)
        #expect(throws: SocketError.reactorStopped) { try socket?.read() }
    }

    @Test(
        "ID5: an error that unwinds past a reactor is not hidden; without a log all is said aloud"
    )
    func unwoundReactor() async throws {
        let result = await #expect(
            processExitsWith: .success,
            observing: [\.standardErrorContent]
        ) {
            struct Unwound: Error {}
            #expect(throws: Unwound.self) {
                let reactor = try Reactor()
                let listener = StreamListener(reactor: reactor)
                listener.keep(Acceptor())
                for _ in 0..<6 {
                    let other = StreamListener(reactor: reactor)
                    other.keep(Acceptor())
                    try other.listen(on: .ipv4(.loopback, port: 0))
                }
                throw Unwound()
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("towline: critical reactor") }
        #expect(line?.contains("count=6 open=listener on 127.0.0.1:") == true, "\(text)")
        #expect(line?.hasSuffix(" and 2 more") == true)
    }

    #if DEBUG
        @Test("LP11, trap 32: a descriptor closed behind the reactor's back traps in a debug build")
        func closedBehind() async {
            await #expect(processExitsWith: .failure) {
                let loop = try Loop()
                var ends: [CInt] = [-1, -1]
                _ = socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
                let socket = try StreamSocket(
                    reactor: loop.reactor,
                    adopting: ends[0],
                    delegate: Recorder()
                )
                _ = close(ends[0])
                try socket.write("x")
                try loop.turn(times: 2)
            }
        }
    #endif
}

extension BlockingPeer {
    /// Receives exactly so many bytes while the other side's reactor turns.
    func receiveWhileTurning(_ count: Int, _ loop: Loop) throws -> [UInt8] {
        let receiver = BackgroundWork { [self] in try receive(count) }
        let isOver = Atomic(false)
        let handle = loop.reactor.handle
        let watcher = BackgroundWork {
            let bytes = try receiver.value()
            isOver.store(true, ordering: .sequentiallyConsistent)
            handle.wake()
            return bytes
        }
        _ = try loop.turn { isOver.load(ordering: .sequentiallyConsistent) }
        return try watcher.value()
    }
}

import Glibc
import Synchronization
import TestSupport
import Testing
import Towline

@Suite("Adding a port to a process") struct JourneyTests {
    /// Answers each peer with its own bytes, for as long as its reactor lives.
    private final class Echo: StreamListenerDelegate, StreamSocketDelegate {
        private var listener: StreamListener?

        static func listen(on reactor: Reactor) throws -> SocketAddress {
            let echo = Echo()
            let listener = StreamListener(reactor: reactor, delegate: echo)
            try listener.listen(on: .ipv4(.loopback, port: 0))
            echo.listener = listener
            // Held by a timer that never fires.
            reactor.schedule(after: .seconds(86_400)) { withExtendedLifetime(echo) {} }
            return try #require(listener.localAddress)
        }

        func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
            socket.delegate = self
            try socket.read()
        }

        func listener(_ listener: StreamListener, didStopWith error: SocketError?) {
            self.listener = nil
        }

        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
            try socket.write(bytes)
            try socket.read()
        }
    }

    @Test("Journey 2: of two reactors on two threads one serves on while the other stops")
    func twoReactors() async throws {
        let first = try Reactor.start(Reactor())
        let second = try Reactor.start(Reactor())
        let peers = [
            try BlockingPeer(connectingTo: try await first.submit { try Echo.listen(on: $0) }),
            try BlockingPeer(connectingTo: try await second.submit { try Echo.listen(on: $0) }),
        ]
        for peer in peers {
            try peer.send("hello")
            #expect(try peer.receive(5) == Array("hello".utf8))
        }
        let thread = try await first.submit { _ in pthread_self() }
        #expect(try await second.submit { _ in pthread_self() } != thread)
        first.stop()
        for number in 0..<500 {
            try peers[1].send("\(number % 10)")
            #expect(try peers[1].receive(1) == Array("\(number % 10)".utf8))
        }
        await first.ended()
        #expect(try peers[0].receiveUntilEnd() == [])
        #expect(!first.execute { _ in })
        let figures = try await second.submit { $0.figures }
        #expect(figures.accepted == 1 && figures.closed == 0 && figures.openSockets == 2)
        #expect(figures.receivedBytes == 505 && figures.sentBytes == 505)
        #expect(figures.jobsRefused == 0)
        second.stop()
        await second.ended()
    }

    /// What the process has that a library has no business with.
    private struct Surroundings: Equatable {
        var dispositions: [Int] = []
        var isBlocked: [Bool] = []
        var locales: [String] = []
        var limits: [UInt] = []
        var environment: [String] = []
        var folder = ""

        init() throws {
            var mask = sigset_t()
            pthread_sigmask(SIG_SETMASK, nil, &mask)
            // The C library keeps 32 and 33 to itself.
            for signal in CInt(1)...64 where !(32...33).contains(signal) {
                var action = sigaction()
                sigaction(signal, nil, &action)
                let handler = unsafeBitCast(action.__sigaction_handler, to: Int.self)
                dispositions += [handler, Int(action.sa_flags)]
                isBlocked.append(sigismember(&mask, signal) == 1)
            }
            for category in [LC_ALL, LC_CTYPE, LC_NUMERIC, LC_TIME, LC_MESSAGES] {
                locales.append(setlocale(category, nil).map { String(cString: $0) } ?? "")
            }
            for resource in UInt32(0)..<16 {
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(resource), &limit)
                limits += [limit.rlim_cur, limit.rlim_max]
            }
            environment = Self.environment()
            let path = getcwd(nil, 0)
            defer { free(path) }
            folder = path.map { String(cString: $0) } ?? ""
        }

        private static func environment() -> [String] {
            guard let symbol = dlsym(nil, "environ") else { return [] }
            // As environ(7) declares it: a null pointer ends the list.
            typealias List = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
            var next = symbol.assumingMemoryBound(to: List?.self).pointee
            var found: [String] = []
            while let entry = next?.pointee {
                found.append(String(cString: entry))
                next = next?.advanced(by: 1)
            }
            return found
        }
    }

    @Test("Journey 2, BK7: no signal, mask, locale, limit or environment changes by what it does")
    func surroundings() throws {
        let before = try Surroundings()
        #expect(!before.environment.isEmpty && before.limits.count == 32)
        let pair = try Pair()
        #expect(try Surroundings() == before)
        let scratch = try ScratchFile(Array("a file".utf8))
        try pair.socket.write(file: OpenFile(path: scratch.path), range: nil)
        #expect(try pair.turn { pair.socket.pendingWriteBytes == 0 })
        #expect(try pair.peer.receive(6) == Array("a file".utf8))
        var name = [CChar](repeating: 0, count: 256)
        #expect(gethostname(&name, name.count - 1) == 0)
        let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8($0) }, as: UTF8.self)
        let isAnswered = Atomic(false)
        pair.loop.reactor.resolver.resolve(host, port: 80) { _ in
            isAnswered.store(true, ordering: .relaxed)
        }
        #expect(try pair.turn(within: .seconds(20)) { isAnswered.load(ordering: .relaxed) })
        #expect(try Surroundings() == before)
        // To a peer that has gone: where others raise a signal, or switch it off for the process.
        pair.peer.reset()
        _ = try? pair.socket.write("x")
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(try Surroundings() == before)
        try pair.loop.end()
        #expect(try Surroundings() == before)
    }

    @Test("Journey 2, SD1: stop ends run within a turn, from anywhere, behind every last callback")
    func stopsFromAnywhere() throws {
        for isFromElsewhere in [false, true] {
            let pair = try Pair(buffer: 4_096)
            let reactor = pair.loop.reactor
            let acceptor = Acceptor()
            let listener = StreamListener(reactor: reactor, delegate: acceptor)
            try listener.listen(on: .ipv4(.loopback, port: 0))
            try pair.socket.read(toLength: 9)
            try pair.socket.write([UInt8](repeating: 1, count: 1 << 20))
            let second = Recorder()
            let connecting = StreamSocket(reactor: reactor, delegate: second)
            var turnsBefore = 0
            var hasFired = false
            reactor.schedule(after: .seconds(3_600)) { hasFired = true }
            var stopper: BackgroundWork<Void>?
            reactor.schedule(after: .milliseconds(5)) {
                // One that is still under way, too.
                try? connecting.connect(to: .ipv4(.loopback, port: 9), timeout: nil)
                turnsBefore = reactor.figures.turns
                if isFromElsewhere {
                    let handle = reactor.handle
                    stopper = BackgroundWork { handle.stop() }
                } else {
                    reactor.stop()
                }
            }
            try reactor.run()
            try stopper?.value()
            #expect(reactor.figures.turns - turnsBefore <= (isFromElsewhere ? 3 : 1))
            #expect(pair.recorder.reports.map(\.error) == [.reactorStopped])
            #expect(pair.recorder.reports[0].incompleteWrites.count == 1)
            #expect(second.reports.count == 1 && connecting.state == .idle)
            #expect(acceptor.stops == [.reactorStopped])
            #expect(!hasFired)
            #expect(throws: SocketError.reactorStopped) { try pair.socket.read() }
            #expect(throws: ReactorError.reactorStopped) { try reactor.run() }
        }
    }

    @Test("Journey 2, AX4: cancelling a task ends its operation, and no other of the connection")
    func cancelling() async throws {
        let handle = try Reactor.start(Reactor())
        let listener = try BlockingListener()
        let stream = try await AsyncStreamSocket.connect(to: listener.address, on: handle)
        let peer = try listener.accept()
        let first = Task(executorPreference: handle.taskExecutor) {
            try await stream.read(to: .lf)
        }
        let second = Task(executorPreference: handle.taskExecutor) {
            try await stream.read(toLength: 9)
        }
        try peer.send("half ")
        while try await handle.submit({ $0.figures.receivedBytes }) < 5 {}
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        try await stream.write("still here")
        #expect(try peer.receive(10) == Array("still here".utf8))
        try peer.send("line")
        #expect(try await second.value == Array("half line".utf8))
        let figures = try await handle.submit { $0.figures }
        #expect(figures.connectedSockets == 1 && figures.closed == 0)
        await stream.close()
        peer.close()
        handle.stop()
        await handle.ended()
    }

    @Test(
        "Journey 2, AX4: a stop amid hundreds of awaits answers each of them once",
        .timeLimit(.minutes(10)),
        arguments: [UInt64](1...5)
    )
    func stopsAmidAwaits(seed: UInt64) async throws {
        var numbers = SeededNumbers(seed: seed)
        let handle = try Reactor.start(Reactor())
        let listener = try BlockingListener(bufferByteCount: 4_096)
        var peers: [BlockingPeer] = []
        var tasks: [Task<Int, any Error>] = []
        var options = SocketOptions()
        options.sendBufferSize = 4_096
        for _ in 0..<20 {
            let stream = try await AsyncStreamSocket.connect(
                to: listener.address,
                options: options,
                on: handle
            )
            peers.append(try listener.accept())
            let executor: (any TaskExecutor)? =
                numbers.number(in: 0..<2) == 0 ? handle.taskExecutor : nil
            tasks += [
                Task(executorPreference: executor) { try await stream.read().count },
                Task(executorPreference: executor) { try await stream.read(to: .lf).count },
                Task(executorPreference: executor) {
                    try await stream.write([UInt8](repeating: 7, count: 1 << 20))
                    return 0
                },
                Task(executorPreference: executor) {
                    while true { _ = try await handle.submit { $0.figures.turns } }
                },
            ]
        }
        // Some are answered by their peers, some cancelled, just as the reactor stops.
        let stopper = BackgroundWork { [peers] in
            for peer in peers.prefix(5) { try peer.send("x") }
            for peer in peers.suffix(3) { peer.reset() }
            handle.stop()
        }
        for task in tasks where numbers.number(in: 0..<4) == 0 { task.cancel() }
        try stopper.value()
        var failed = 0
        for task in tasks {
            if case .failure = await task.result { failed += 1 }
        }
        #expect(failed >= 75, "but for a read of each of the first five, each fails")
        await handle.ended()
    }
}

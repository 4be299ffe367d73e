import Glibc
import Synchronization
import TestSupport
import Testing
import Towline

@Suite("Hosting") struct HostingTests {
    @Test(
        "EM3, EM1: each host drives a reactor's events, timers and jobs, until it is told to stop",
        arguments: ["dispatch-main", "run-loop", "poll", "reactor"]
    )
    func hosts(name: String) throws {
        let program = try ChildProcess(BuiltProduct.path(of: "hosted-reactor"), [name])
        let line = try #require(try program.readLine())
        let address = try #require(
            line.split(separator: " ").last.flatMap { SocketAddress(String($0)) }
        )
        let peer = try BlockingPeer(connectingTo: address)
        #expect(try peer.receive(19) == Array("tick\ntick\ntick\njob\n".utf8))
        for number in 0..<100 {
            let text = "line \(number)\n"
            try peer.send(text)
            #expect(try peer.receive(text.utf8.count) == Array(text.utf8))
        }
        try peer.send("quit\n")
        let exit = try #require(try program.waitForExit())
        #expect(exit.code == 0)
        #expect(exit.standardError == "")
        // Every turn has its reason: an event, a tick, the job, a write in between.
        let turns = exit.standardOutput.split(separator: "\n").last?.split(separator: " ").last
        #expect(try #require(turns.flatMap { Int($0) }) < 250, "\(exit.standardOutput)")
    }

    @Test("EM3: an epoll loop hosts a reactor")
    func epollHost() throws {
        let pair = try Pair()
        let host = try EpollHost(watching: pair.loop.reactor.readinessDescriptor)
        pair.recorder.whenRead = { socket, bytes, _ in try socket.write(bytes) }
        var ticks = 0
        pair.loop.reactor.schedule(every: .milliseconds(2)) { ticks += 1 }
        try pair.socket.read(toLength: 4)
        try pair.peer.send("ping")
        while ticks < 5 || pair.heard.count < 2 {
            try #require(try host.wait(within: .seconds(10)), "it is due")
            try pair.loop.reactor.turn(waitingAtMost: .zero)
        }
        #expect(try pair.peer.receive(4) == Array("ping".utf8))
        host.close()
        try pair.loop.end()
    }

    @Test("EM6: the report of the turn with which a reactor ends tells its host to leave")
    func hasEnded() throws {
        let pair = try Pair()
        let host = try EpollHost(watching: pair.loop.reactor.readinessDescriptor)
        var heard: [Bool] = []
        pair.loop.reactor.onTurn = { heard.append($0.hasEnded) }
        pair.recorder.whenRead = { [reactor = pair.loop.reactor] _, _, _ in reactor.stop() }
        try pair.socket.read()
        var isOver = false
        var turns = 0
        while !isOver {
            if turns == 3 { try pair.peer.send("stop") }
            try #require(turns < 100)
            guard try turns < 3 || host.wait(within: .seconds(10)) else { break }
            isOver = try pair.loop.reactor.turn(waitingAtMost: .zero).hasEnded
            #expect(isOver == pair.recorder.isDisconnected)
            turns += 1
        }
        #expect(isOver)
        #expect(heard == [Bool](repeating: false, count: turns), "it hears of a turn before")
        #expect(throws: ReactorError.reactorStopped) { try pair.loop.reactor.turn() }
        host.close()
    }

    @Test("EM3: a host that is not known is refused with the list of them")
    func unknownHost() throws {
        let path = try BuiltProduct.path(of: "hosted-reactor")
        let exit = try ChildProcess.run(path, ["glib"])
        #expect(exit?.code == 2)
        #expect(exit?.standardError.contains("dispatch-main|run-loop|poll|reactor") == true)
    }

    @Test("EM2, EM4: the descriptor is readable for an event, a job, a call and a timer, else not")
    func readiness() throws {
        let pair = try Pair()
        let reactor = pair.loop.reactor
        let descriptor = try reactor.readinessDescriptor
        #expect(try reactor.readinessDescriptor == descriptor)
        #expect(isReadable(descriptor), "the first turn is due at once")
        try settle(reactor, descriptor)

        try pair.socket.read()
        #expect(isReadable(descriptor), "a call between turns")
        try settle(reactor, descriptor)

        try pair.peer.send("x")
        #expect(isReadable(descriptor, within: 1_000), "an event")
        #expect(isReadable(descriptor), "EM4: it stays so while nobody turns")
        try reactor.turn(waitingAtMost: .zero)
        #expect(pair.heard.contains(.didRead("x", tag: 0)))
        try settle(reactor, descriptor)

        let handle = reactor.handle
        try BackgroundWork { _ = handle.execute { _ in } }.value()
        #expect(isReadable(descriptor), "a job of another thread")
        try settle(reactor, descriptor)
        handle.execute { _ in }
        #expect(isReadable(descriptor), "a job of its own")
        try settle(reactor, descriptor)

        var hasFired = false
        reactor.schedule(after: .milliseconds(20)) { hasFired = true }
        try settle(reactor, descriptor)
        let start = ContinuousClock.now
        #expect(isReadable(descriptor, within: 10_000), "a timer")
        #expect(ContinuousClock.now - start >= .milliseconds(15))
        try reactor.turn(waitingAtMost: .zero)
        #expect(hasFired)
        try settle(reactor, descriptor)
        try pair.loop.end()
    }

    @Test("EM2: a timer that is cancelled or moved is not waited for at its old time")
    func movedTimer() throws {
        let loop = try Loop()
        let descriptor = try loop.reactor.readinessDescriptor
        let timer = loop.reactor.schedule(after: .milliseconds(5)) {}
        let other = loop.reactor.schedule(after: .milliseconds(5)) {}
        try settle(loop.reactor, descriptor)
        timer.cancel()
        other.reschedule(after: .seconds(100))
        try settle(loop.reactor, descriptor)
        #expect(!isReadable(descriptor, within: 20))
        other.reschedule(after: .milliseconds(1))
        try settle(loop.reactor, descriptor)
        #expect(isReadable(descriptor, within: 1_000))
        try loop.end()
    }

    @Test("EM2: what a turn leaves over makes the descriptor readable at once")
    func leftOver() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.budget.jobs = 2
        let loop = try Loop(configuration)
        let descriptor = try loop.reactor.readinessDescriptor
        try settle(loop.reactor, descriptor)
        let count = Atomic(0)
        for _ in 0..<5 {
            loop.reactor.handle.execute { _ in _ = count.add(1, ordering: .relaxed) }
        }
        for expected in [2, 4, 5] {
            #expect(isReadable(descriptor))
            let report = try loop.reactor.turn(waitingAtMost: .zero)
            #expect(report.hasWorkLeft == (expected < 5), "EM6")
            #expect(count.load(ordering: .relaxed) == expected)
        }
        #expect(!isReadable(descriptor))
        try loop.end()
    }

    @Test("EM2: timers of one moment that a turn leaves over make the descriptor readable again")
    func leftOverTimers() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.budget.timers = 1
        let loop = try Loop(configuration)
        let descriptor = try loop.reactor.readinessDescriptor
        var count = 0
        for _ in 0..<5 {
            // So tolerant that all of them share a moment.
            loop.reactor.schedule(after: .milliseconds(1), tolerance: .milliseconds(300)) {
                count += 1
            }
        }
        while count < 5 {
            try #require(isReadable(descriptor, within: 2_000), "\(count) have fired")
            try loop.reactor.turn(waitingAtMost: .zero)
        }
        try settle(loop.reactor, descriptor)
        try loop.end()
    }

    @Test("EM2: a reactor that nobody hosts has no timer descriptor")
    func notHosted() throws {
        let server = try ChildProcess(BuiltProduct.path(of: "echo-server"))
        _ = try server.readLine()
        let kinds = descriptorKinds(of: server.id)
        #expect(kinds.contains("anon_inode:[eventpoll]"))
        #expect(!kinds.contains("anon_inode:[timerfd]"))
    }

    @Test("EM5: on a serial queue each turn claims its thread, and calls between turns are allowed")
    func serialQueue() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.hosting = .serialQueue
        let listener = try BlockingListener()
        let recorder = Recorder()
        let reactor = try Reactor(configuration)
        nonisolated(unsafe) let shared = (reactor, recorder)
        _ = try reactor.readinessDescriptor
        try reactor.turn(waitingAtMost: .zero)
        let socket = StreamSocket(reactor: reactor, delegate: recorder)
        nonisolated(unsafe) let other = socket
        try BackgroundWork {
            try other.connect(to: listener.address)
            try other.write("from elsewhere")
            while shared.1.heard.count < 2 { try shared.0.turn(waitingAtMost: .seconds(1)) }
        }.value()
        #expect(socket.state == .connected)
        let peer = try listener.accept()
        #expect(try peer.receive(14) == Array("from elsewhere".utf8))
        reactor.stop()
        try reactor.turn(waitingAtMost: .zero)
        #expect(recorder.reports.map(\.error) == [.reactorStopped])
    }

    @Test("EM5: a hosted reactor of one thread refuses the turns of another")
    func oneThread() throws {
        let loop = try Loop()
        _ = try loop.reactor.readinessDescriptor
        try loop.turn(times: 1)
        nonisolated(unsafe) let reactor = loop.reactor
        let error = try BackgroundWork { () -> ReactorError? in
            do throws(ReactorError) {
                try reactor.turn(waitingAtMost: .zero)
                return nil
            } catch {
                return error
            }
        }.value()
        #expect(error == .wrongThread)
        try loop.end()
    }

    @Test("EM1, trap 28: a late peer makes a turn due within 10 ms")
    func latePeer() throws {
        let pair = try Pair()
        let descriptor = try pair.loop.reactor.readinessDescriptor
        try pair.socket.read()
        try settle(pair.loop.reactor, descriptor)
        #expect(!isReadable(descriptor, within: 30))
        let start = ContinuousClock.now
        try pair.peer.send("late")
        #expect(isReadable(descriptor, within: 1_000))
        #expect(ContinuousClock.now - start < .milliseconds(10) * 20, "a busy machine's share")
        try pair.loop.reactor.turn(waitingAtMost: .zero)
        #expect(pair.heard == [.didRead("late", tag: 0)])
        try pair.loop.end()
    }

    @Test("EM1, LP10, trap 29: interrupted waits of a host and of its reactor are no errors")
    func interruptions() async {
        await #expect(processExitsWith: .success) {
            signal(SIGALRM) { _ in }
            var storm = itimerval()
            storm.it_interval.tv_usec = 1_000
            storm.it_value.tv_usec = 1_000
            // ITIMER_REAL, whose type the C library gives another name in C than in C++.
            setitimer(0, &storm, nil)
            let reactor = try Reactor()
            let descriptor = try reactor.readinessDescriptor
            var isOver = false
            reactor.schedule(after: .milliseconds(100)) { isOver = true }
            var waits = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            while !isOver {
                guard poll(&waits, 1, -1) >= 0 || errno == EINTR else { exit(1) }
                try reactor.turn(waitingAtMost: .zero)
                try reactor.turn(waitingAtMost: .milliseconds(3))
            }
            reactor.stop()
            try reactor.run()
        }
    }

    @Test("EM1: a hosted reactor ends by a turn, and its descriptor goes with it")
    func ending() throws {
        let loop = try Loop()
        let descriptor = try loop.reactor.readinessDescriptor
        try settle(loop.reactor, descriptor)
        loop.reactor.handle.stop()
        #expect(isReadable(descriptor))
        try loop.reactor.turn(waitingAtMost: .zero)
        #expect(throws: ReactorError.reactorStopped) { _ = try loop.reactor.readinessDescriptor }
    }

    /// Turns as a host does until nothing is due.
    private func settle(_ reactor: Reactor, _ descriptor: CInt) throws {
        var turns = 0
        while isReadable(descriptor) {
            try reactor.turn(waitingAtMost: .zero)
            turns += 1
            try #require(turns < 10, "it is readable without an end")
        }
    }

    private func isReadable(_ descriptor: CInt, within milliseconds: CInt = 0) -> Bool {
        var waits = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        return poll(&waits, 1, milliseconds) == 1
    }

    private func descriptorKinds(of process: Int32) -> [String] {
        (0..<64).compactMap { number in
            var text = [CChar](repeating: 0, count: 256)
            let count = readlink("/proc/\(process)/fd/\(number)", &text, text.count)
            guard count > 0 else { return nil }
            return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}

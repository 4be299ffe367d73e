import Glibc
import Synchronization
import TestSupport
import Testing
import Towline

/// Connects by name for real: real sockets, real threads, lookups that block.
@Suite("Names for real") struct NameTests {
    @Test("Scenario 5: localhost with a server on one family connects without a visible delay")
    func oneFamily() throws {
        for family in [SocketAddress.ipv4(.loopback, port: 0), .ipv6(.loopback, port: 0)] {
            let loop = try Loop()
            let listener = try BlockingListener(on: family)
            let recorder = Recorder()
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            let start = ContinuousClock.now
            let port = try #require(listener.address.port)
            try socket.connect(toHost: "localhost", port: port)
            #expect(try loop.turn { !recorder.heard.isEmpty })
            #expect(recorder.heard == [.didConnect(listener.address)])
            #expect(ContinuousClock.now - start < .milliseconds(200), "the race's delay is 250 ms")
            let peer = try listener.accept()
            try peer.send("hello")
            try socket.read(toLength: 5, tag: 1)
            #expect(try loop.turn { recorder.heard.count == 2 })
            #expect(socket.localAddress?.family == listener.address.family)
            try loop.end()
        }
    }

    @Test("Scenario 5: localhost without a server fails with both attempts in the text")
    func noFamily() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        let port = try #require(listener.address.port)
        listener.close()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(toHost: "localhost", port: port)
        #expect(try loop.turn { recorder.isDisconnected })
        let text = "\(recorder.reports[0])"
        #expect(text.hasPrefix("connect to localhost:\(port) failed while connecting after "))
        #expect(
            text.hasSuffix(
                """
                 ms: [::1]:\(port) connection refused (ECONNREFUSED); 127.0.0.1:\(port) \
                connection refused (ECONNREFUSED). Is the server running?
                """
            )
        )
        #expect(recorder.reports[0].attempts.count == 2)
        try loop.end()
    }

    /// A reactor whose lookups block until the test lets them go.
    private func makeLoop(_ hold: Hold, deadline: Duration = .seconds(15)) throws -> Loop {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.lookups.deadline = deadline
        configuration.addressLookup = { _ in
            hold.wait()
            return .success([.ipv4(.loopback, port: 9)])
        }
        return try Loop(configuration)
    }

    @Test("C5, Trap 17: a hundred lookups hang; a literal connects, and no timer is late")
    func hangingLookups() throws {
        let hold = Hold()
        let loop = try makeLoop(hold)
        let recorders = (0..<100).map { _ in Recorder() }
        for (index, recorder) in recorders.enumerated() {
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            try socket.connect(toHost: "\(index).test", port: 80)
        }
        try loop.turn(times: 2)
        let listener = try BlockingListener()
        let literal = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: literal)
        var turnsOfTimer = 0
        loop.reactor.schedule(every: .milliseconds(2)) { turnsOfTimer += 1 }
        let port = try #require(listener.address.port)
        try socket.connect(toHost: "127.0.0.1", port: port)
        let turnsBefore = loop.reactor.figures.turns
        #expect(try loop.turn { !literal.heard.isEmpty })
        // Not by the clock, which other tests use up: within two turns, whatever they wait.
        #expect(loop.reactor.figures.turns - turnsBefore <= 3)
        #expect(try loop.turn { turnsOfTimer >= 5 })
        #expect(recorders.allSatisfy { $0.heard.isEmpty })
        hold.release()
        try loop.end()
        #expect(recorders.allSatisfy { $0.reports.count == 1 })
    }

    @Test("C5 While lookups hang no timer is 5 ms late, and a literal connects within 10 ms")
    func punctuality() throws {
        let hold = Hold()
        let loop = try makeLoop(hold)
        let hanging = (0..<100).map { _ in Recorder() }
        for (index, recorder) in hanging.enumerated() {
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            try socket.connect(toHost: "\(index).test", port: 80)
        }
        let listener = try BlockingListener()
        // Other tests use the processors, too: each bound must hold in one of the rounds.
        var lateness = Duration.seconds(100)
        var connecting = Duration.seconds(100)
        for _ in 0..<200 where lateness >= .milliseconds(5) || connecting >= .milliseconds(10) {
            lateness = min(lateness, try latestOfTen(loop))
            let recorder = Recorder()
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            let start = ContinuousClock.now
            let port = try #require(listener.address.port)
            try socket.connect(toHost: "127.0.0.1", port: port)
            #expect(try loop.turn { !recorder.heard.isEmpty })
            connecting = min(connecting, ContinuousClock.now - start)
            #expect(recorder.heard == [.didConnect(listener.address)])
            _ = try listener.accept()
            socket.abort()
            #expect(try loop.turn { recorder.isDisconnected })
        }
        #expect(lateness < .milliseconds(5) && connecting < .milliseconds(10))
        #expect(hanging.allSatisfy { $0.heard.isEmpty }, "they hang all the time")
        hold.release()
        try loop.end()
    }

    /// How much too late the latest of ten timers has fired.
    private func latestOfTen(_ loop: Loop) throws -> Duration {
        var latest = Duration.zero
        var count = 0
        for number in 1...10 {
            let due = ContinuousClock.now + .milliseconds(number)
            loop.reactor.schedule(after: .milliseconds(number)) {
                latest = max(latest, ContinuousClock.now - due)
                count += 1
            }
        }
        #expect(try loop.turn { count == 10 })
        return latest
    }

    @Test("C5 A lookup that hangs is given up by its deadline or by the socket, at once")
    func givenUp() throws {
        let hold = Hold()
        let loop = try makeLoop(hold, deadline: .milliseconds(30))
        let late = Recorder()
        let gone = Recorder()
        weak var watched: StreamSocket?
        do {
            let socket = StreamSocket(reactor: loop.reactor, delegate: late)
            try socket.connect(toHost: "late.test", port: 80)
            let other = StreamSocket(reactor: loop.reactor, delegate: gone)
            watched = other
            try other.connect(toHost: "gone.test", port: 80)
            try loop.turn(times: 1)
            other.disconnect()
        }
        #expect(try loop.turn { gone.isDisconnected })
        #expect(gone.reports[0].error == nil && gone.reports[0].phase == .resolving)
        #expect(try loop.turn { late.isDisconnected })
        #expect(late.reports[0].error == .resolutionFailed(host: "late.test", .timedOut))
        try loop.turn(times: 2)
        #expect(watched == nil, "RS6: a thread that hangs holds no socket")
        hold.release()
        try loop.turn(times: 2)
        #expect(gone.heard.count == 1 && late.heard.count == 1)
        try loop.end()
    }

    // MARK: Resolvers of a program's own

    /// Answers as its test says.
    private final class OwnResolver: Resolver, Sendable {
        typealias Reply = @Sendable (Result<ResolvedAddresses, ResolverError>) -> Void
        let body: @Sendable (UInt16, @escaping Reply) -> Void

        init(_ body: @escaping @Sendable (UInt16, @escaping Reply) -> Void) { self.body = body }

        func resolve(_ host: String, port: UInt16, reply: @escaping Reply) { body(port, reply) }
    }

    private func connect(
        _ body: @escaping @Sendable (UInt16, @escaping OwnResolver.Reply) -> Void,
        timeout: Duration = .seconds(30)
    ) throws -> (Recorder, SocketAddress) {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.makeResolver = { _ in OwnResolver(body) }
        let loop = try Loop(configuration)
        let listener = try BlockingListener()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        let port = try #require(listener.address.port)
        try socket.connect(toHost: "box.test", port: port, timeout: timeout)
        #expect(recorder.heard == [], "no callback inside the call")
        #expect(try loop.turn { !recorder.heard.isEmpty })
        try loop.turn(times: 3)
        let heard = recorder.heard
        try loop.end()
        recorder.heard = heard
        return (recorder, listener.address)
    }

    @Test("RS5 A resolver may answer inside the call, twice, and from another thread")
    func answers() throws {
        let answer = ResolvedAddresses(addresses: [.ipv4(.loopback, port: 1)])
        let (atOnce, first) = try connect { _, reply in reply(.success(answer)) }
        #expect(atOnce.heard == [.didConnect(first)])
        let (twice, second) = try connect { _, reply in
            reply(.success(answer))
            reply(.failure(.noSuchHost))
            reply(.success(answer))
        }
        #expect(twice.heard == [.didConnect(second)])
        let (elsewhere, third) = try connect { _, reply in
            Worker { reply(.success(answer)) }.join()
        }
        #expect(elsewhere.heard == [.didConnect(third)])
        let worker = Mutex<Worker?>(nil)
        let (late, fourth) = try connect { _, reply in
            worker.withLock { $0 = Worker { reply(.success(answer)) } }
        }
        #expect(late.heard == [.didConnect(fourth)])
        worker.withLock { $0?.join() }
    }

    @Test("RS5 A resolver that never answers is bounded by the connect's timeout")
    func neverAnswers() throws {
        let (recorder, _) = try connect({ _, _ in }, timeout: .milliseconds(20))
        #expect(recorder.heard == [.didDisconnect(.connectTimedOut)])
        #expect(recorder.reports[0].phase == .resolving)
    }

    @Test("C6, Wish 19: the port that was asked for is written into each address")
    func port() throws {
        let ports = Mutex<[UInt16]>([])
        let wrong = ResolvedAddresses(addresses: [
            .ipv4(.loopback, port: 0), .ipv4(.loopback, port: 9),
        ])
        let (recorder, address) = try connect { port, reply in
            ports.withLock { $0.append(port) }
            reply(.success(wrong))
        }
        #expect(recorder.heard == [.didConnect(address)])
        #expect(ports.withLock { $0 } == [address.port])
    }

    // MARK: Sources

    @Test("C11 The interface and the port choose where a connection begins")
    func sources() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        let source = try #require(IPAddress("127.7.7.7"))
        var port: UInt16 = 0
        let ways: [InterfaceSpecifier] = [
            .named("lo"), .loopback, .address(source), .address(source),
        ]
        for (index, way) in ways.enumerated() {
            let recorder = Recorder()
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            // The last one takes the port that the one before has just left.
            if index == 3 { socket.options.localPort = port }
            try socket.connect(to: listener.address, via: way)
            #expect(try loop.turn { !recorder.heard.isEmpty })
            let local = try #require(socket.localAddress)
            let isSource = index >= 2
            #expect(local.ipAddress == (isSource ? source : .ipv4(.loopback)))
            _ = try listener.accept()
            if index == 3 { #expect(local.port == port) }
            port = local.port ?? 0
            socket.abort()
            #expect(try loop.turn { recorder.isDisconnected })
        }
        try loop.end()
    }

    @Test("C11 A port that is taken fails the connect, with the place in the text")
    func takenPort() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        let recorder = Recorder()
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        socket.options.localPort = listener.address.port
        try socket.connect(to: listener.address, via: .loopback)
        #expect(try loop.turn { recorder.isDisconnected })
        let place = "127.0.0.1:\(listener.address.port ?? 0)"
        let text = "\(recorder.reports[0])"
        #expect(
            text.contains("bind to \(place) failed: address already in use (EADDRINUSE)"),
            "\(text)"
        )
        try loop.end()
    }
}

/// Where threads wait until a test lets them go.
private final class Hold: @unchecked Sendable {
    // Sendable since a semaphore is made for that.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func wait() {
        while sem_wait(semaphore) != 0 {}
        // The next one, too.
        sem_post(semaphore)
    }

    func release() { sem_post(semaphore) }
}

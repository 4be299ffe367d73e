import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Towline

@Suite("The resolver on threads") struct ThreadResolverTests {
    typealias Reply = Result<ResolvedAddresses, ResolverError>

    private let gate = LookupGate()
    private let heard = Answers()

    /// A reactor whose lookups wait at the gate.
    private func makeReactor(
        deadline: Duration = .seconds(15),
        idleTime: Duration = .seconds(30),
        cachedFor age: Duration? = nil
    ) throws -> Reactor {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.lookups.deadline = deadline
        configuration.lookups.cachedAnswerAge = age
        configuration.lookupIdleTime = idleTime
        let gate = gate
        configuration.addressLookup = { gate.lookUp($0) }
        return try Reactor(configuration)
    }

    private func threads(of reactor: Reactor) throws -> ThreadResolver {
        try #require(reactor.resolver as? ThreadResolver)
    }

    private func ask(_ reactor: Reactor, _ host: String, port: UInt16 = 80) {
        let heard = heard
        reactor.resolver.resolve(host, port: port) { heard.add(host, $0) }
    }

    private func turn(_ reactor: Reactor, until condition: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(10)
        while !condition(), ContinuousClock.now < end {
            try reactor.turn(waitingAtMost: .milliseconds(20))
        }
        #expect(condition())
    }

    @Test("RS1 At most four threads, started on need, and the rest wait in their order")
    func fourThreads() throws {
        let reactor = try makeReactor()
        let resolver = try threads(of: reactor)
        #expect(resolver.threadCount == 0)
        ask(reactor, "0.test")
        #expect(resolver.threadCount == 1)
        for index in 1..<10 { ask(reactor, "\(index).test") }
        #expect(holds { gate.begun.count == 4 })
        #expect(resolver.threadCount == 4 && resolver.lookupCount == 10)
        gate.open()
        try turn(reactor) { heard.count == 10 }
        #expect(gate.mostAtOnce <= 4)
        #expect(gate.begun.dropFirst(4).sorted() == (4..<10).map { "\($0).test" })
        #expect(resolver.lookupCount == 0)
    }

    @Test(
        "RS1, Wish 21, Trap 17 Past its deadline a lookup fails at once, its thread counts"
    )
    func deadline() throws {
        let reactor = try makeReactor(deadline: .milliseconds(60))
        let resolver = try threads(of: reactor)
        for index in 0..<6 { ask(reactor, "\(index).test") }
        try turn(reactor) { heard.count == 6 }
        #expect(heard.all.allSatisfy { $0.1 == .failure(.timedOut) })
        #expect(resolver.threadCount == 4 && gate.begun.count == 4)
        // None is free, and this one's clock runs while it waits for one.
        ask(reactor, "late.test")
        try turn(reactor) { heard.count == 7 }
        #expect(gate.begun.count == 4)
        gate.open()
        ask(reactor, "after.test")
        try turn(reactor) { heard.count == 8 }
        #expect(heard.all.last?.1 == .success(.init(addresses: [.ipv4(.loopback, port: 80)])))
        #expect(gate.begun.count == 5, "those that nobody waits for are not looked up any more")
    }

    @Test("RS1 A thread without work ends, and another is started when there is some")
    func idle() throws {
        gate.open()
        let reactor = try makeReactor(idleTime: .milliseconds(10))
        let resolver = try threads(of: reactor)
        for round in 1...3 {
            ask(reactor, "box\(round).test")
            try turn(reactor) { heard.count == round }
            #expect(holds { resolver.threadCount == 0 })
        }
    }

    @Test("RS2 Equal lookups are one, each who asked is answered once, and not inside the call")
    func joined() throws {
        let reactor = try makeReactor()
        ask(reactor, "box.test", port: 80)
        ask(reactor, "Box.Test", port: 443)
        ask(reactor, "other.test", port: 1)
        gate.open()
        #expect(holds { gate.begun.count == 2 })
        #expect(heard.count == 0, "answers are jobs")
        try turn(reactor) { heard.count == 3 }
        let ports = heard.all.compactMap { try? $0.1.get().addresses.first?.port }
        #expect(ports.sorted() == [1, 80, 443])
        try reactor.turn(waitingAtMost: .zero)
        #expect(heard.count == 3)
    }

    @Test("RS3 Literals and localhost use no thread")
    func known() throws {
        let reactor = try makeReactor()
        let hosts = ["127.0.0.1", "::1", "[::1]", "localhost", "LOCALHOST", "loopback"]
        for host in hosts { ask(reactor, host, port: 7) }
        #expect(heard.count == 0)
        try turn(reactor) { heard.count == hosts.count }
        #expect(try threads(of: reactor).threadCount == 0)
        let both: [SocketAddress] = [.ipv6(.loopback, port: 7), .ipv4(.loopback, port: 7)]
        #expect(
            heard.all.map { try? $0.1.get().addresses } == [
                [both[1]], [both[0]], [both[0]], both, both, both,
            ]
        )
    }

    @Test("RS3 The system's answer keeps its order and scope, and has each address once")
    func system() throws {
        #expect(SystemLookup.addresses(of: "127.0.0.1") == .success([.ipv4(.loopback, port: 0)]))
        let index = if_nametoindex("lo")
        let scoped = try SystemLookup.addresses(of: "fe80::1%lo").get()
        #expect(scoped == [.ipv6(IPv6Address("fe80::1")!, port: 0, scopeID: index)])
        let local = try SystemLookup.addresses(of: "localhost").get()
        #expect(!local.isEmpty && Set(local).count == local.count)
        #expect(SystemLookup.addresses(of: "a\0b") == .failure(.noSuchHost))
    }

    @Test("RS4 Without the option nothing is kept, with it answers are, for as long as it says")
    func cache() throws {
        gate.open()
        let plain = try makeReactor()
        for round in 1...2 {
            ask(plain, "box.test")
            try turn(plain) { heard.count == round }
        }
        #expect(gate.begun.count == 2)
        let keeping = try makeReactor(cachedFor: .seconds(60))
        for round in 3...5 {
            ask(keeping, "box.test", port: UInt16(round))
            #expect(heard.count < round, "not inside the call")
            try turn(keeping) { heard.count == round }
        }
        #expect(gate.begun.count == 3)
        #expect(try heard.all[4].1.get().addresses.first?.port == 5)
    }

    @Test("RS6 A resolver's thread blocks all signals and has a name, its maker's mask stays")
    func thread() throws {
        let facts = Mutex<[Int]>([])
        let name = Mutex("")
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.addressLookup = { _ in
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            let open = [SIGTERM, SIGINT, SIGPROF, SIGUSR1].filter { sigismember(&mask, $0) != 1 }
            let file = Glibc.open("/proc/thread-self/comm", O_RDONLY)
            let text = [UInt8](unsafeUninitializedCapacity: 32) {
                $1 = read(file, $0.baseAddress, 32)
            }
            close(file)
            facts.withLock { $0 = [open.count, 1] }
            name.withLock { $0 = String(decoding: text, as: UTF8.self) }
            return .failure(.noSuchHost)
        }
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &before)
        let reactor = try Reactor(configuration)
        ask(reactor, "box.test")
        try turn(reactor) { heard.count == 1 }
        #expect(facts.withLock { $0 } == [0, 1])
        #expect(name.withLock { $0 } == "towline-names\n")
        var after = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &after)
        #expect((1...31).allSatisfy { sigismember(&before, $0) == sigismember(&after, $0) })
    }

    @Test("SD4 Threads have ended with their reactor; one that hangs does not keep it alive")
    func ending() throws {
        gate.open()
        weak var gone: Reactor?
        do {
            let reactor = try makeReactor()
            gone = reactor
            let resolver = try threads(of: reactor)
            for index in 0..<3 { ask(reactor, "\(index).test") }
            try turn(reactor) { heard.count == 3 }
            reactor.stop()
            try reactor.turn()
            #expect(holds { resolver.threadCount == 0 })
        }
        #expect(gone == nil)
        gate.shut()
        do {
            let reactor = try makeReactor()
            gone = reactor
            ask(reactor, "hanging.test")
            #expect(holds { gate.begun.count == 4 })
            reactor.stop()
            try reactor.turn()
        }
        #expect(gone == nil)
        gate.open()
        #expect(holds { gate.doneCount == 4 })
        #expect(heard.count == 3, "its answer finds nobody")
    }
}

@Suite("Answers kept") struct AnswerCacheTests {
    private let start = MonotonicInstant(nanoseconds: 1_000)
    private let answer = Result<[SocketAddress], ResolverError>.success([.ipv4(.any, port: 0)])

    @Test("RS4 An answer is kept for its age, a failure for a second at most")
    func ages() {
        var cache = AnswerCache(age: .seconds(60), limit: 8)
        cache.insert(answer, for: "a", at: start)
        cache.insert(.failure(.noSuchHost), for: "b", at: start)
        let inTime = start.advanced(by: .milliseconds(999))
        #expect(cache.answer(for: "a", at: inTime) == answer)
        #expect(cache.answer(for: "b", at: inTime) == .failure(.noSuchHost))
        #expect(cache.answer(for: "b", at: start.advanced(by: .seconds(1))) == nil)
        #expect(cache.answer(for: "a", at: start.advanced(by: .seconds(59))) == answer)
        #expect(cache.answer(for: "a", at: start.advanced(by: .seconds(60))) == nil)
    }

    @Test("RS4 At the limit the answer that is oldest goes")
    func limit() {
        var cache = AnswerCache(age: .seconds(60), limit: 3)
        for index in 0..<10 {
            let now = start.advanced(by: .seconds(index))
            cache.insert(answer, for: "\(index)", at: now)
            #expect(cache.count <= 3)
        }
        let now = start.advanced(by: .seconds(10))
        #expect((0..<10).filter { cache.answer(for: "\($0)", at: now) != nil } == [7, 8, 9])
    }
}

/// Where lookups block until a test lets them pass.
final class LookupGate: @unchecked Sendable {
    // Sendable since everything is touched with `mutex` held only.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false
    private var atOnce = 0
    private var state = (begun: [String](), done: 0, most: 0)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    var begun: [String] { locked { state.begun } }
    var doneCount: Int { locked { state.done } }
    var mostAtOnce: Int { locked { state.most } }

    func open() {
        locked {
            isOpen = true
            pthread_cond_broadcast(condition)
        }
    }

    func shut() { locked { isOpen = false } }

    func lookUp(_ host: String) -> Result<[SocketAddress], ResolverError> {
        locked {
            state.begun.append(host)
            atOnce += 1
            state.most = max(state.most, atOnce)
            while !isOpen { pthread_cond_wait(condition, mutex) }
            atOnce -= 1
            state.done += 1
        }
        return .success([.ipv4(.loopback, port: 9)])
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}

/// What was answered, from whichever thread.
final class Answers: Sendable {
    private let list = Mutex<[(String, ThreadResolverTests.Reply)]>([])

    var all: [(String, ThreadResolverTests.Reply)] { list.withLock { $0 } }
    var count: Int { all.count }

    func add(_ host: String, _ reply: ThreadResolverTests.Reply) {
        list.withLock { $0.append((host, reply)) }
    }
}

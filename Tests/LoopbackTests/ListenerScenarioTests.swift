import Glibc
import TestSupport
import Testing
import Towline

/// What real clients have done to real servers; descriptors are counted in a process of its own.
@Suite("Scenarios of listeners") struct ListenerScenarioTests {
    @Test("Scenario 8: a health checker that never waits for an answer, thousands of times")
    func healthChecker() async {
        await #expect(processExitsWith: .success) {
            let loop = try Loop()
            var loudest: LogEvent.Level?
            loop.reactor.log = { loudest = max(loudest ?? .trace, $0.level) }
            let acceptor = Acceptor()
            acceptor.whenAccepted = { socket, recorder in
                recorder.whenRead = { socket, _, _ in try socket.write("alive and well") }
                try socket.write("hello")
                try socket.write([UInt8](repeating: 0, count: 100_000))
                try socket.read()
            }
            let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
            try listener.listen(onPort: 0)
            let port = try #require(listener.localAddress?.port)
            try loop.reactor.turn(waitingAtMost: .zero)
            let before = descriptorCount()
            for round in 0..<3_000 {
                let host = round % 2 == 0 ? IPAddress.ipv4(.loopback) : .ipv6(.loopback)
                let peer = try BlockingPeer(connectingTo: SocketAddress(host, port: port))
                if round % 3 == 0 { try peer.send("?") }
                if round % 5 == 0 { peer.reset() } else { peer.close() }
                if round % 7 == 0 { try loop.reactor.turn(waitingAtMost: .zero) }
            }
            let areGone = try loop.turn { loop.reactor.figures.closed == 3_000 }
            #expect(areGone && acceptor.sockets.count == 3_000)
            #expect(acceptor.recorders.allSatisfy { $0.reports.count == 1 })
            #expect(loop.reactor.figures.openSockets == 2)
            #expect(descriptorCount() < before + ofTheRuntime)
            #expect(loudest == nil || loudest == .trace || loudest == .debug)
            #expect(acceptor.stops.isEmpty && acceptor.failures.isEmpty)
            try loop.end()
        }
    }

    @Test("Wish 24, A1: listens that fail again and again leave no descriptor open")
    func failedListens() async {
        await #expect(processExitsWith: .success) {
            let loop = try Loop()
            let owner = StreamListener(reactor: loop.reactor)
            owner.keep(Acceptor())
            owner.addressFamilies = [.ipv6]
            try owner.listen(onPort: 0)
            let port = try #require(owner.localAddress?.port)
            let acceptor = Acceptor()
            let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
            let before = descriptorCount()
            for _ in 0..<300 {
                #expect(throws: SocketError.self) { try listener.listen(onPort: port) }
                #expect(throws: SocketError.self) { try listener.listen(onUnixPath: "/tmp") }
                #expect(throws: SocketError.self) { try listener.listen(adopting: -1) }
            }
            #expect(descriptorCount() < before + ofTheRuntime)
            try loop.reactor.turn(waitingAtMost: .zero)
            #expect(loop.reactor.figures.openSockets == 1)
            #expect(acceptor.stops.isEmpty, "E4: what never listened hears nothing")
            try loop.end()
        }
    }

    @Test("LS3: at the limit a listener that sheds resets who comes, and serves who is there")
    func shedding() async {
        await #expect(processExitsWith: .success) {
            let loop = try Loop()
            let acceptor = Acceptor()
            acceptor.whenAccepted = { socket, recorder in
                recorder.readsOn = true
                recorder.whenRead = { socket, bytes, _ in try socket.write(bytes) }
                try socket.read()
            }
            let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
            listener.exhaustionPolicy = .shed
            try listener.listen(onPort: 0)
            let port = try #require(listener.localAddress?.port)
            let address = SocketAddress.ipv4(.loopback, port: port)
            let served = try BlockingPeer(connectingTo: address)
            #expect(try loop.turn { acceptor.sockets.count == 1 })
            let late = try (0..<10).map { _ in try BlockingPeer(connectingTo: address) }
            let fillers = fillDescriptors()
            #expect(try loop.turn { loop.reactor.figures.shed == 10 })
            for peer in late {
                let error = #expect(throws: SystemCallError.self) { try peer.receiveSome() }
                #expect(error?.errno == ECONNRESET)
            }
            #expect(acceptor.failures.count == 1)
            let limit = fillers.limit
            let text = acceptor.failures.first.map { "\($0)" }
            #expect(
                text
                    == "accept on :\(port) paused: too many open files (EMFILE), "
                    + "\(limit) of \(limit) in use; retry in 100 ms"
            )
            try served.send("?")
            #expect(try loop.turn { acceptor.recorders[0].heard.count > 0 })
            #expect(try served.receive(1) == Array("?".utf8))
            for descriptor in fillers.descriptors { close(descriptor) }
            let next = try BlockingPeer(connectingTo: address)
            #expect(try loop.turn { acceptor.sockets.count == 2 })
            try loop.end()
            withExtendedLifetime(next) {}
        }
    }
}

/// More than the language's runtime may open on threads of its own meanwhile, and far fewer than
/// the rounds would leave open.
private let ofTheRuntime = 20

/// How many descriptors this process has, without that of the look itself.
private func descriptorCount() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
}

/// Takes every descriptor that is left, of 256.
private func fillDescriptors() -> (descriptors: [CInt], limit: Int) {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = 256
    setrlimit(resource, &limit)
    var descriptors: [CInt] = []
    while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 {
        descriptors.append(descriptor)
    }
    return (descriptors, 256)
}

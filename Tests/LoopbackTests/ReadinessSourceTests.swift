import Glibc
import TestSupport
import Testing
import Towline

@Suite("Watched descriptors") struct ReadinessSourceTests {
    @Test("EM3: the handler is called while the descriptor is readable, which stays its owner's")
    func watches() throws {
        let loop = try Loop()
        let (near, far) = try makePair()
        defer { close(far) }
        var calls = 0
        let source = try ReadinessSource(reactor: loop.reactor, descriptor: near) { calls += 1 }
        try loop.turn(times: 2)
        #expect(calls == 0)
        #expect(write(far, "ab", 2) == 2)
        #expect(try loop.turn { calls == 2 }, "level-triggered: nobody has read it")
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(read(near, &bytes, bytes.count) == 2)
        try loop.turn(times: 3)
        #expect(calls == 2)
        source.stop()
        #expect(write(far, "c", 1) == 1)
        try loop.turn(times: 3)
        #expect(calls == 2)
        #expect(loop.reactor.figures.openSockets == 0)
        #expect(fcntl(near, F_GETFD) >= 0, "it is not closed")
        close(near)
        try loop.end()
    }

    @Test("EM3: a handler that throws is called no more, and a line says why")
    func throwing() throws {
        struct Fault: Error {}
        let loop = try Loop()
        let (near, far) = try makePair()
        defer {
            close(near)
            close(far)
        }
        var lines: [LogEvent] = []
        loop.reactor.log = { lines.append($0) }
        var calls = 0
        let source = try ReadinessSource(reactor: loop.reactor, descriptor: near) {
            calls += 1
            throw Fault()
        }
        #expect(write(far, "a", 1) == 1)
        try loop.turn(times: 5)
        #expect(calls == 1)
        #expect(lines.map(\.message) == ["readiness handler failed"])
        #expect(loop.reactor.figures.openSockets == 0)
        source.stop()
        try loop.end()
        #expect(fcntl(near, F_GETFD) >= 0, "not even the end of the reactor closes it")
    }

    @Test("EM3: what cannot be watched is refused")
    func refusals() throws {
        let loop = try Loop()
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        for descriptor in [-1, file] {
            #expect(throws: SocketError.self) {
                _ = try ReadinessSource(reactor: loop.reactor, descriptor: descriptor) {}
            }
        }
        #expect(loop.reactor.figures.openSockets == 0)
        try loop.end()
        #expect(throws: SocketError.reactorStopped) {
            _ = try ReadinessSource(reactor: loop.reactor, descriptor: file) {}
        }
    }

    private func makePair() throws -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return (ends[0], ends[1])
    }
}

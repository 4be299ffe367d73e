import Testing

@testable import Towline

@Suite("Timeouts of a stream socket") struct StreamSocketTimeoutsTests {
    private let backend = ManualBackend()
    private let reactor: Reactor
    private let seen = Seen()

    private final class Seen: StreamSocketDelegate {
        var reports: [DisconnectReport] = []

        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            reports.append(report)
        }
    }

    init() throws {
        reactor = try Reactor(.init(), backend: backend)
    }

    @Test("A read's deadline of before does not keep a silent peer from being left (D4)")
    func lingerBehindATimedRead() throws {
        let socket = try connectedSocket()
        try socket.read(timeout: .seconds(1))
        try socket.write([1, 2, 3])
        try reactor.turn(waitingAtMost: .zero)
        socket.disconnect(.afterWrites)
        try reactor.turn(waitingAtMost: .zero)
        #expect(backend.verbs.contains("finish"), "our end is sent")
        #expect(!backend.verbs.contains("close"))
        backend.pass(.milliseconds(1_500))
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.reports.count == 0, "the peer still has half a second")
        backend.pass(.milliseconds(600))
        try reactor.turn(waitingAtMost: .zero)
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.reports.count == 1, "2 s are over")
        #expect(seen.reports.first?.error == nil, "a deliberate end")
        try end()
    }

    @Test("A timed read ends the connection when its time is up, and not before (M1)")
    func timedRead() throws {
        let socket = try connectedSocket()
        try socket.read(timeout: .seconds(1), tag: 4)
        backend.pass(.nanoseconds(999_999_999))
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.reports.isEmpty)
        backend.pass(.nanoseconds(1))
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.reports.first?.error == .readTimedOut(tag: 4))
        #expect(seen.reports.first?.incompleteReads == [4])
        #expect(reactor.figures.timers == 0, "no timer without an owner")
        try end()
    }

    @Test("Pushing a deadline back touches no timer, and the early one sets itself anew (TM2)")
    func pushingBack() throws {
        let socket = try connectedSocket()
        for tag in 1...3 {
            try socket.read(timeout: .seconds(1), tag: tag)
            try reactor.turn(waitingAtMost: .zero)
            #expect(reactor.figures.timers == 1)
            backend.pass(.milliseconds(600))
            backend.tell(socket.id, .received([1]))
            try reactor.turn(waitingAtMost: .zero)
            #expect(seen.reports.isEmpty)
        }
        try socket.read(timeout: .seconds(1), tag: 4)
        backend.pass(.milliseconds(999))
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.reports.isEmpty)
        backend.pass(.milliseconds(1))
        try reactor.turn(waitingAtMost: .zero)
        #expect(seen.reports.first?.error == .readTimedOut(tag: 4))
        try end()
    }

    private func connectedSocket() throws -> StreamSocket {
        let socket = StreamSocket(reactor: reactor, delegate: seen)
        try socket.connect(to: .ipv4(.loopback, port: 80))
        backend.tell(socket.id, .connected)
        try reactor.turn(waitingAtMost: .zero)
        #expect(socket.state == .connected)
        return socket
    }

    private func end() throws {
        reactor.stop()
        try reactor.run()
    }
}

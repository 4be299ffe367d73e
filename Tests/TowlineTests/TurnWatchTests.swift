import Testing

@testable import Towline

@Suite("Watched turns") struct TurnWatchTests {
    private let backend = ManualBackend()
    private let reactor: Reactor

    init() throws {
        reactor = try Reactor(.init(), backend: backend)
    }

    private func end() {
        reactor.log = nil
        reactor.onTurn = nil
        reactor.stop()
        do {
            try reactor.run()
        } catch {
            Issue.record("the reactor did not end: \(error)")
        }
    }

    @Test("A slow turn is reported with where its time went, and whose the longest call was (OB3)")
    func timing() throws {
        defer { end() }
        var lines: [LogEvent] = []
        reactor.log = { lines.append($0) }
        reactor.slowTurnThreshold = .milliseconds(50)
        pass(.milliseconds(7), in: reactor)
        reactor.schedule(after: .zero) { [backend] in backend.pass(.milliseconds(30)) }
        reactor.schedule(after: .zero) { [backend] in backend.pass(.milliseconds(20)) }
        let report = try reactor.turn(waitingAtMost: .zero)
        let timing = try #require(report.timing)
        #expect(timing.jobs == .milliseconds(7))
        #expect(timing.timers == .milliseconds(50))
        #expect(timing.events == .zero)
        #expect(timing.flush == .zero)
        #expect(timing.total == .milliseconds(57))
        #expect(timing.longestCallback == .milliseconds(30))
        #expect(timing.longestCaller == .timer)
        #expect(timing.longestSocket == nil)
        #expect(lines.map(\.message) == ["slow turn"])
        #expect(lines.first?.level == .warning)
        #expect(lines.first?.fields["caller"] == "timer")
        #expect("\(timing)".hasPrefix("0.057 seconds: jobs 0.007 seconds, timers 0.05 seconds"))
    }

    @Test("The longest callback names its socket (OB3)")
    func slowSocket() throws {
        final class Slow: StreamSocketDelegate {
            let backend: ManualBackend

            init(_ backend: ManualBackend) { self.backend = backend }

            func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
                try socket.read()
            }

            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                backend.pass(.milliseconds(80))
            }

            func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
                backend.pass(.milliseconds(90))
            }
        }
        defer { end() }
        reactor.slowTurnThreshold = .milliseconds(50)
        let slow = Slow(backend)
        let socket = StreamSocket(reactor: reactor, delegate: slow)
        try socket.connect(to: .ipv4(.loopback, port: 1))
        let id = socket.id
        backend.tell(id, .connected)
        #expect(try reactor.turn(waitingAtMost: .zero).timing == nil, "that was no slow one")
        backend.tell(id, .received([1]))
        let timing = try #require(try reactor.turn(waitingAtMost: .zero).timing)
        #expect(timing.events == .milliseconds(80))
        #expect(timing.longestCaller == .stream)
        #expect(timing.longestSocket == id)
        socket.disconnect()
        let farewell = try #require(try reactor.turn(waitingAtMost: .zero).timing)
        #expect(farewell.flush == .milliseconds(90))
    }

    @Test("What is not measured costs no reading of the clock (OB3)")
    func off() throws {
        defer { end() }
        func readings(_ body: () throws -> Void) rethrows -> Int {
            let before = backend.clockReadings
            try body()
            return backend.clockReadings - before
        }
        let plain = try readings { try reactor.turn(waitingAtMost: .zero) }
        #expect(plain == 1)
        reactor.slowTurnThreshold = .seconds(1)
        let timed = try readings { try reactor.turn(waitingAtMost: .zero) }
        #expect(timed > plain)
        reactor.slowTurnThreshold = nil
        #expect(try readings { try reactor.turn(waitingAtMost: .zero) } == plain)
    }

    @Test("The hook hears of each turn, may stop, and may not turn (OB4)")
    func hook() throws {
        var reports: [TurnReport] = []
        var refusals: [ReactorError] = []
        reactor.onTurn = { [unowned reactor] report in
            reports.append(report)
            do throws(ReactorError) {
                try reactor.turn(waitingAtMost: .zero)
            } catch {
                refusals.append(error)
            }
            if reports.count == 3 { reactor.stop() }
        }
        backend.tell(SocketID(slot: 5, generation: 5), .reachedEnd)
        let report = try reactor.turn(waitingAtMost: .zero)
        #expect(reports == [report])
        #expect(report.eventCount == 1)
        try reactor.run()
        #expect(reports.count == 3)
        #expect(refusals == [.nestedTurn, .nestedTurn, .nestedTurn])
    }

    @Test("A hook that is set within a turn hears of the next (OB4)")
    func lateHook() throws {
        defer { end() }
        var count = 0
        reactor.schedule(after: .zero) { [unowned reactor] in
            reactor.onTurn = { _ in count += 1 }
            reactor.slowTurnThreshold = .zero
        }
        try reactor.turn(waitingAtMost: .zero)
        #expect(count == 0)
        try reactor.turn(waitingAtMost: .zero)
        #expect(count == 1)
    }

    private func pass(_ duration: Duration, in reactor: Reactor) {
        nonisolated(unsafe) let backend = backend
        reactor.handle.execute { _ in backend.pass(duration) }
    }
}

import Testing
import Towline
import TowlineTestKit

@Suite("A drain in virtual time") struct DrainTests {
    /// Ends when it likes, which the test says.
    private final class Stubborn: StreamSocketDelegate {
        var askedCount = 0
        var whenAsked: (StreamSocket) -> Void = { _ in }
        var reports: [DisconnectReport] = []

        func socketShouldFinish(_ socket: StreamSocket) {
            askedCount += 1
            whenAsked(socket)
        }

        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            reports.append(report)
        }
    }

    @Test("SD2: a connection on which nothing is under way is idle, one with half a read is not")
    func idle() throws {
        for hasHalfARead in [false, true] {
            let pair = try SimulatedPair()
            try pair.socket.read(toLength: 10)
            if hasHalfARead { pair.peer.send("half") }
            try pair.turn(times: 3)
            var reports: [String] = []
            pair.reactor.drain(within: .seconds(60)) { reports.append("\($0)") }
            try pair.turn { !reports.isEmpty }
            #expect(pair.report?.error == .reactorStopped)
            #expect(pair.report?.unreadBytes.count == (hasHalfARead ? 4 : 0))
            let numbers = hasHalfARead ? "1 finished, 0 idle" : "0 finished, 1 idle"
            #expect(reports == ["drained: \(numbers), 0 cut"])
            try pair.end()
        }
    }

    @Test("SD2: a connection made while a drain runs is asked, too, and not within the call")
    func madeMeanwhile() throws {
        let network = SimulatedNetwork(seed: 3)
        network.conditions.windowByteCount = 1_000
        let pair = try SimulatedPair(network)
        pair.peer.stopReading()
        try pair.socket.write([UInt8](repeating: 1, count: 5_000))
        try pair.turn(times: 2)
        var reports: [String] = []
        pair.reactor.drain(within: .seconds(60)) { reports.append("\($0)") }
        try pair.turn(times: 2)
        #expect(pair.report == nil && reports.isEmpty)
        let server = try #require(network.listen(at: .ipv4(.loopback, port: 81)))
        let stubborn = Stubborn()
        stubborn.whenAsked = { $0.disconnect() }
        let late = StreamSocket(reactor: pair.reactor, delegate: stubborn)
        try late.connect(to: server.address)
        #expect(stubborn.askedCount == 0 && late.state == .connecting)
        try pair.turn { !stubborn.reports.isEmpty }
        #expect(stubborn.askedCount == 1 && reports.isEmpty)
        pair.peer.resumeReading()
        try pair.turn { pair.peer.sawEnd }
        pair.peer.close()
        try pair.turn { !reports.isEmpty }
        #expect(pair.peer.takeReceived().count == 5_000)
        #expect(reports == ["drained: 1 finished, 1 idle, 0 cut"])
        try pair.end()
    }

    @Test("SD2: a second drain shortens the limit, to the moment, and never lengthens it")
    func limit() throws {
        let pair = try SimulatedPair()
        let stubborn = Stubborn()
        pair.socket.delegate = stubborn
        let start = pair.network.now
        var reports: [String] = []
        for seconds in [60, 5, 90] {
            pair.reactor.drain(within: .seconds(seconds)) { reports.append("\(seconds): \($0)") }
            try pair.turn(times: 1)
        }
        try pair.turn { !reports.isEmpty }
        let elapsed = pair.network.now.since(start)
        #expect(elapsed >= .seconds(5) && elapsed < .seconds(6))
        let report = "drained: 0 finished, 0 idle, 1 cut"
        #expect(reports == ["60: \(report)", "5: \(report)", "90: \(report)"])
        #expect(stubborn.askedCount == 1)
        #expect(stubborn.reports.map(\.error) == [.reactorStopped])
        try pair.end()
    }

    @Test("SD2, SD1: a reactor that stops first has the drain complete, behind the last farewell")
    func stopsFirst() throws {
        let pair = try SimulatedPair()
        let stubborn = Stubborn()
        let server = try #require(pair.network.listen(at: .ipv4(.loopback, port: 81)))
        let other = StreamSocket(reactor: pair.reactor, delegate: stubborn)
        try other.connect(to: server.address)
        try pair.turn { other.state == .connected }
        var reports: [String] = []
        pair.reactor.drain(within: .seconds(60)) {
            #expect(stubborn.reports.count == 1)
            reports.append("\($0)")
        }
        try pair.turn(times: 5)
        #expect(pair.report?.error == .reactorStopped)
        #expect(reports.isEmpty && stubborn.askedCount == 1)
        try pair.end()
        #expect(reports == ["drained: 0 finished, 1 idle, 1 cut"])
        #expect(stubborn.reports.map(\.error) == [.reactorStopped])
        pair.reactor.drain(within: .seconds(1)) { reports.append("\($0)") }
        #expect(reports.count == 1)
    }

    @Test("SD2: a drain with nothing open is complete in the next turn")
    func nothingOpen() throws {
        let reactor = try SimulatedNetwork(seed: 1).makeReactor()
        var reports: [String] = []
        reactor.drain(within: .seconds(60)) { reports.append("\($0)") }
        #expect(reports.isEmpty)
        try reactor.turn(waitingAtMost: .zero)
        #expect(reports == ["drained: 0 finished, 0 idle, 0 cut"])
        reactor.stop()
        try reactor.run()
        #expect(reports.count == 1)
    }
}

import Glibc
import TestSupport
import Testing
import Towline

@Suite("How a service ends") struct EndingTests {
    @Test("SD2: each drain's completion is called once, and a second one only shortens the limit")
    func secondDrain() throws {
        let pair = try Pair()
        final class Stubborn: StreamSocketDelegate {
            func socketShouldFinish(_ socket: StreamSocket) {}
        }
        let stubborn = Stubborn()
        pair.socket.delegate = stubborn
        var completed: [String] = []
        let reactor = pair.loop.reactor
        reactor.drain(within: .seconds(60)) { completed.append("first: \($0)") }
        reactor.drain(within: .milliseconds(20)) { completed.append("second: \($0)") }
        reactor.drain(within: .seconds(60)) { completed.append("third: \($0)") }
        #expect(try pair.turn(within: .seconds(5)) { !completed.isEmpty })
        try pair.loop.turn(times: 3)
        let report = "drained: 0 finished, 0 idle, 1 cut"
        #expect(completed == ["first: \(report)", "second: \(report)", "third: \(report)"])
        reactor.drain(within: .seconds(60)) { _ in completed.append("fourth") }
        try pair.loop.turn(times: 3)
        #expect(completed.count == 4)
        try pair.loop.end()
    }

    @Test("SD2, E1: whoever is cut at the limit hears why")
    func reasonOfCut() throws {
        final class Stubborn: StreamSocketDelegate {
            var reports: [DisconnectReport] = []

            func socketShouldFinish(_ socket: StreamSocket) {}

            func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
                reports.append(report)
            }
        }
        let pair = try Pair()
        let stubborn = Stubborn()
        pair.socket.delegate = stubborn
        var isDrained = false
        pair.loop.reactor.drain(within: .milliseconds(20)) { _ in isDrained = true }
        #expect(try pair.turn(within: .seconds(5)) { isDrained })
        #expect(stubborn.reports.map(\.error) == [.reactorStopped])
        try pair.loop.end()
    }

    @Test("SD2, L1: a drain is over at its limit, though a client connects from each farewell")
    func reconnectingClient() throws {
        let pair = try Pair()
        let listener = try BlockingListener()
        pair.recorder.whenDisconnected = { socket in
            // Refused at the very end only, when the reactor stops.
            try? socket.connect(to: listener.address)
        }
        var reports: [DrainReport] = []
        pair.loop.reactor.drain(within: .milliseconds(50)) { reports.append($0) }
        #expect(try pair.turn(within: .seconds(2)) { !reports.isEmpty })
        try pair.loop.turn(times: 5)
        #expect(reports.count == 1)
        pair.recorder.whenDisconnected = { _ in }
        try pair.loop.end()
    }

    @Test("SD2, T3: a socket that disconnects already is not asked to finish")
    func notAskedAgain() throws {
        let pair = try Pair()
        var isDrained = false
        pair.loop.reactor.drain(within: .seconds(60)) { _ in isDrained = true }
        pair.socket.disconnect()
        #expect(try pair.turn { isDrained })
        #expect(pair.heard == [.didDisconnect(nil)])
        try pair.loop.end()
    }

    @Test("SD1: a call that a stopping reactor refuses is no fault of the callback it is made in")
    func refusedWhileStopping() throws {
        let pair = try Pair()
        // Not the pair, which would hold itself.
        pair.recorder.whenRead = { [reactor = pair.loop.reactor] socket, bytes, _ in
            reactor.stop()
            try socket.write(bytes)
        }
        try pair.socket.read()
        try pair.peer.send("x")
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].error == .reactorStopped)
    }

    @Test("SD1: a reactor that has ended takes no signals")
    func signalsAfterTheEnd() throws {
        let loop = try Loop()
        try loop.end()
        let other = try Loop()
        #expect(throws: SocketError.reactorStopped) {
            try SignalSource(reactor: loop.reactor, signals: [SIGUSR2]) { _ in }
        }
        // Its descriptors' numbers may be the other one's by now.
        #expect(try other.reactor.turn(waitingAtMost: .zero).eventCount == 0)
        try other.end()
    }

    @Test("Both addresses still answer in the terminal callback, and not behind it")
    func addresses() throws {
        let pair = try Pair()
        let expected = pair.socket.localAddress
        var answers: [SocketAddress?] = []
        pair.recorder.whenDisconnected = { answers = [$0.localAddress, $0.remoteAddress] }
        #expect(expected != nil && expected == pair.peer.remoteAddress)
        let remote = pair.peer.localAddress
        pair.peer.reset()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(answers == [expected, remote])
        #expect(pair.socket.localAddress == nil && pair.socket.remoteAddress == nil)
        try pair.loop.end()
    }

    @Test("D2, LP6: a callback that a pending disconnect refuses something does not cut it short")
    func refusedWhilePending() throws {
        let pair = try Pair(buffer: 4_096)
        pair.recorder.whenRead = { socket, bytes, _ in try socket.write(bytes) }
        try pair.socket.write([UInt8](repeating: 7, count: 1 << 20))
        try pair.socket.read()
        pair.socket.disconnect(.afterWrites)
        try pair.peer.send("late")
        #expect(try pair.turn { pair.heard.contains(.didRead("late", tag: 0)) })
        #expect(pair.socket.pendingWriteBytes > 0)
        let peer = pair.peer
        let receiver = BackgroundWork { try peer.receiveUntilEnd().count }
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].error == nil)
        peer.close()
        #expect(try receiver.value() == 1 << 20)
        try pair.loop.end()
    }
}

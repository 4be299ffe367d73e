import Testing
import Towline
import TowlineTestKit

@Suite("Cancelling") struct StreamSocketCancellingTests {
    @Test("R9 A cancelled read leaves its bytes for the next", arguments: World.allCases)
    func currentRead(world: World) throws {
        let ends = try Ends(world)
        let id = try ends.socket.read(toLength: 10, tag: 1)
        try ends.send("abc")
        try ends.receive(3)
        #expect(ends.socket.cancel(id))
        #expect(!ends.socket.cancel(id), "it has ended already")
        try ends.idle()
        #expect(ends.heard == [], "it ends without a callback")
        try ends.socket.read(toLength: 2, tag: 2)
        #expect(ends.heard == [], "no callback inside the call")
        try ends.turn { ends.heard.count == 1 }
        #expect(ends.heard == [.didRead(Array("ab".utf8), tag: 2)])
        try ends.send("d")
        try ends.socket.read(toLength: 2, tag: 3)
        try ends.turn { ends.heard.count == 2 }
        #expect(ends.heard.last == .didRead(Array("cd".utf8), tag: 3))
        try ends.end()
    }

    @Test("R9 A delimiter search begins anew for the read behind a cancelled one")
    func searchBeginsAnew() throws {
        let ends = try Ends(.simulated)
        let id = try ends.socket.read(to: Delimiter("xyz"), tag: 1)
        try ends.socket.read(to: .lf, tag: 2)
        try ends.send("a\nxy")
        try ends.receive(4)
        ends.socket.cancel(id)
        try ends.socket.read(to: Delimiter("yz"), tag: 3)
        try ends.send("z")
        try ends.turn { ends.heard.count == 2 }
        #expect(ends.texts == ["a\n", "xyz"])
        try ends.end()
    }

    @Test("R9, Wish 6 A queued read can be cancelled, and those around it are not touched")
    func queuedReads() throws {
        for victim in 0..<6 {
            let ends = try Ends(.simulated)
            let ids = try (0..<6).map { try ends.socket.read(to: .lf, tag: $0) }
            #expect(ends.socket.cancel(ids[victim]))
            try ends.send("a\nb\nc\nd\ne\n")
            try ends.turn { ends.heard.count == 5 }
            let tags = (0..<6).filter { $0 != victim }
            #expect(
                ends.heard
                    == zip(tags, ["a\n", "b\n", "c\n", "d\n", "e\n"]).map {
                        .didRead(Array($1.utf8), tag: $0)
                    }
            )
            try ends.end()
        }
    }

    @Test("R9 Reads can be cancelled from within callbacks", arguments: World.allCases)
    func fromWithin(world: World) throws {
        let ends = try Ends(world)
        var ids: [OperationID] = []
        ends.recorder.onEvent = { socket, event in
            guard case .didRead(_, tag: 1) = event else { return }
            #expect(!socket.cancel(ids[0]), "the one whose callback runs has ended")
            #expect(socket.cancel(ids[1]), "the next, whose bytes are there")
            let fresh = try socket.read(to: .lf, tag: 4)
            #expect(socket.cancel(fresh), "one just asked for")
        }
        for tag in 1...3 { ids.append(try ends.socket.read(to: .lf, tag: tag)) }
        try ends.send("a\nb\n")
        try ends.turn { ends.heard.count == 2 }
        try ends.idle()
        #expect(
            ends.heard
                == [.didRead(Array("a\n".utf8), tag: 1), .didRead(Array("b\n".utf8), tag: 3)]
        )
        try ends.end()
    }

    @Test("R9 A read cancelled in its own progress, the last one too, leaves its bytes")
    func fromProgress() throws {
        final class Doubter: StreamSocketDelegate {
            var id: OperationID?
            var texts: [String] = []
            func socket(_ socket: StreamSocket, didProgressRead tag: Int, _ progress: IOProgress) {
                if let id, tag == 1 { #expect(socket.cancel(id)) }
            }
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) {
                texts.append("\(tag) \(String(decoding: bytes))")
            }
        }
        for pieces in [["abcd"], ["ab", "cd"], ["a", "b", "c", "d"]] {
            let ends = try Ends(.simulated)
            let doubter = Doubter()
            ends.socket.delegate = doubter
            doubter.id = try ends.socket.read(toLength: 4, tag: 1)
            try ends.socket.read(toLength: 4, tag: 2)
            for piece in pieces {
                try ends.send(piece)
                try ends.idle()
            }
            try ends.turn { !doubter.texts.isEmpty }
            #expect(doubter.texts == ["2 abcd"])
            try ends.end()
        }
    }

    @Test("R9 All reads can be cancelled at once, a thousand too", arguments: World.allCases)
    func allReads(world: World) throws {
        let ends = try Ends(world)
        for tag in 0..<1_000 { try ends.socket.read(toLength: 10, tag: tag) }
        try ends.send("abc")
        try ends.receive(3)
        ends.socket.cancelAllReads()
        try ends.idle()
        try ends.socket.read(tag: 7)
        try ends.turn { !ends.heard.isEmpty }
        #expect(ends.heard == [.didRead(Array("abc".utf8), tag: 7)])
        ends.socket.cancelAllReads()
        ends.socket.disconnect()
        try ends.turnUntilFarewell()
        #expect(ends.recorder.reports[0].incompleteReads == [])
        try ends.end()
    }

    @Test("R9 A deadline goes with its read, and the next read's clock starts", arguments: [0, 1])
    func deadlines(cancelled: Int) throws {
        let ends = try Ends(.simulated)
        let ids = [
            try ends.socket.read(timeout: .milliseconds(10), tag: 0),
            try ends.socket.read(timeout: .milliseconds(30), tag: 1),
        ]
        ends.socket.cancel(ids[cancelled])
        try ends.turnUntilFarewell()
        let report = ends.recorder.reports[0]
        #expect(report.error == .readTimedOut(tag: 1 - cancelled))
        #expect(report.elapsed >= .milliseconds(cancelled == 0 ? 30 : 10))
        #expect(report.elapsed < .milliseconds(cancelled == 0 ? 35 : 15))
        try ends.end()
    }

    @Test(
        "R9, Trap 2 A name that is unknown, another reactor's or another socket's cancels nothing"
    )
    func foreignNames() throws {
        let ends = try Ends(.simulated)
        let others = try Ends(.simulated)
        let own = try ends.socket.read(tag: 1)
        let foreign = try others.socket.read(tag: 1)
        #expect(own != foreign)
        #expect("\(own)" == "\(foreign)", "both are the first of their reactor")
        #expect(!ends.socket.cancel(foreign))
        let neighbour = StreamSocket(reactor: ends.reactor, delegate: ends.recorder)
        #expect(!neighbour.cancel(own), "an idle socket has nothing to cancel")
        neighbour.cancelAllReads()
        try ends.send("a")
        try ends.turn { !ends.heard.isEmpty }
        #expect(!ends.socket.cancel(own), "it is complete")
        ends.socket.disconnect()
        let late = try? ends.socket.read()
        #expect(late == nil)
        try ends.end()
        try others.end()
    }

    @Test("R9 A disconnect that waits for reads happens when the last is cancelled (D3)")
    func pendingDisconnect() throws {
        for isWithin in [false, true] {
            var id: OperationID?
            let ends = try Ends(.simulated)
            ends.recorder.onEvent = { socket, event in
                guard case .didRead(_, tag: 1) = event else { return }
                #expect(socket.cancels(id))
            }
            if isWithin { try ends.socket.read(tag: 1) }
            id = try ends.socket.read(toLength: 5, tag: 2)
            ends.socket.disconnect(.afterReads)
            if isWithin {
                try ends.send("a")
            } else {
                try ends.idle()
                #expect(ends.socket.state == .connected)
                #expect(ends.socket.cancels(id))
            }
            try ends.turnUntilFarewell()
            #expect(ends.recorder.reports.map(\.error) == [nil])
            try ends.end()
        }
    }

    @Test("R9 A disconnect that waits for reads while connecting happens then, too (D3)")
    func pendingDisconnectWhileConnecting() throws {
        let network = SimulatedNetwork(seed: 1)
        let reactor = try network.makeReactor()
        let recorder = Recorder()
        let place = SocketAddress.ipv4(.loopback, port: 80)
        network.silence(place)
        for turns in [0, 1] {
            let socket = StreamSocket(reactor: reactor, delegate: recorder)
            try socket.connect(to: place)
            let id = try socket.read()
            socket.disconnect(.afterReads)
            for _ in 0..<turns { try reactor.turn(waitingAtMost: .zero) }
            #expect(socket.state == .connecting)
            #expect(socket.cancels(id))
            #expect(socket.state == .disconnecting, "nothing is left to wait for")
            try socket.connectAgainRefused()
            for _ in 0..<3 { try reactor.turn(waitingAtMost: .zero) }
            #expect(recorder.reports.count == turns + 1)
            #expect(recorder.reports.last?.error == nil)
        }
        reactor.stop()
        try reactor.run()
    }

    @Test("R9 An end that waited behind a cancelled read's bytes is a hang-up, once (R7)")
    func endBehindCancelledRead() throws {
        for world in World.allCases {
            var configuration = Reactor.Configuration(backend: .epoll)
            configuration.budget.callbacksPerSocket = 1
            let ends = try Ends(world, configuration: configuration)
            var second: OperationID?
            ends.recorder.onEvent = { socket, event in
                guard case .didRead(_, tag: 1) = event else { return }
                #expect(socket.cancels(second))
            }
            try ends.send("a\nb\n")
            ends.finishSending()
            try ends.socket.read(to: .lf, tag: 1)
            second = try ends.socket.read(to: .lf, tag: 2)
            try ends.turn { ends.heard.contains(.peerDidHangUp) }
            try ends.idle()
            #expect(ends.heard == [.didRead(Array("a\n".utf8), tag: 1), .peerDidHangUp])
            try ends.socket.read(tag: 3)
            try ends.turnUntilFarewell()
            #expect(
                ends.heard.dropFirst(2)
                    == [.didRead(Array("b\n".utf8), tag: 3), .didDisconnect(.closedByPeer)]
            )
            try ends.end()
        }
    }

    @Test("R9 Behind the last cancelled read nothing is received, and the end is told (R7)")
    func receivingPauses() throws {
        for world in World.allCases {
            let ends = try Ends(world)
            let id = try ends.socket.read(toLength: 5)
            try ends.send("abc")
            try ends.receive(3)
            ends.socket.cancel(id)
            try ends.send("de")
            ends.finishSending()
            try ends.turn { ends.heard == [.peerDidHangUp] }
            #expect(ends.reactor.figures.receivedBytes == 3)
            try ends.socket.read(toLength: 5, tag: 2)
            try ends.turnUntilFarewell()
            #expect(
                ends.heard.dropFirst()
                    == [.didRead(Array("abcde".utf8), tag: 2), .didDisconnect(.closedByPeer)]
            )
            try ends.end()
        }
    }
}

extension StreamSocket {
    fileprivate func cancels(_ id: OperationID?) -> Bool {
        guard let id else { return false }
        return cancel(id)
    }

    fileprivate func connectAgainRefused() throws {
        #expect(throws: SocketError.self) {
            try connect(to: .ipv4(.loopback, port: 80))
        }
    }
}

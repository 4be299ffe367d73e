import TestSupport
import Testing
import Towline
import TowlineTestKit

@Suite("Reading to the end") struct ReadToEndTests {
    @Test("R9 Everything up to the end comes at once, then the end", arguments: World.allCases)
    func everything(world: World) throws {
        let ends = try Ends(world)
        try ends.socket.readToEnd(maxLength: 6, tag: 1)
        for piece in ["ab", "cd", "ef"] {
            try ends.send(piece)
            try ends.idle()
        }
        #expect(ends.heard == [], "not before the end")
        ends.finishSending()
        try ends.turnUntilFarewell()
        #expect(
            ends.heard == [.didRead(Array("abcdef".utf8), tag: 1), .didDisconnect(.closedByPeer)]
        )
        #expect(ends.recorder.reports[0].unreadBytes == [])
        #expect(ends.recorder.reports[0].incompleteReads == [])
        try ends.end()
    }

    @Test("R9 Nothing at all is a result, too", arguments: World.allCases)
    func nothing(world: World) throws {
        let ends = try Ends(world)
        try ends.socket.readToEnd(maxLength: 1, tag: 1)
        ends.close()
        try ends.turnUntilFarewell()
        #expect(ends.heard == [.didRead([], tag: 1), .didDisconnect(.closedByPeer)])
        try ends.end()
    }

    @Test("R9 However the bytes are cut, and however many reads are in front, it gets the rest")
    func everySplit() throws {
        let text = Array("ab\ncdefg".utf8)
        for callbacks in [1, 64] {
            var configuration = Reactor.Configuration(backend: .epoll)
            configuration.budget.callbacksPerSocket = callbacks
            for first in 0...text.count {
                for second in first...text.count {
                    let ends = try Ends(.simulated, configuration: configuration)
                    try ends.socket.read(to: .lf, tag: 1)
                    try ends.socket.read(toLength: 2, tag: 2)
                    try ends.socket.readToEnd(maxLength: 3, tag: 3)
                    for piece in [text[..<first], text[first..<second], text[second...]] {
                        try ends.send(Array(piece))
                        try ends.reactor.turn(waitingAtMost: .zero)
                    }
                    ends.finishSending()
                    try ends.turnUntilFarewell()
                    #expect(ends.texts == ["ab\n", "cd", "efg"])
                    #expect(ends.recorder.reports[0].error == .closedByPeer)
                    try ends.end()
                }
            }
        }
    }

    @Test("R9 More bytes than its limit end the connection", arguments: World.allCases)
    func tooLong(world: World) throws {
        for pieces in [["abcd"], ["ab", "cd"], ["abc", "d"]] {
            let ends = try Ends(world)
            try ends.socket.readToEnd(maxLength: 3, tag: 5)
            for piece in pieces {
                try ends.send(piece)
                try ends.idle()
            }
            try ends.turnUntilFarewell()
            let report = ends.recorder.reports[0]
            #expect(report.error == .endNotFound(tag: 5, limit: 3))
            #expect(report.unreadBytes == Array("abcd".utf8))
            #expect(report.incompleteReads == [5])
            try ends.end()
        }
    }

    @Test("F1 A failure is no end: the bytes are in the report", arguments: World.allCases)
    func failure(world: World) throws {
        let ends = try Ends(world)
        try ends.socket.readToEnd(maxLength: 100, tag: 5)
        try ends.send("abc")
        try ends.receive(3)
        try ends.reset()
        try ends.turnUntilFarewell()
        #expect(ends.texts == [])
        let report = ends.recorder.reports[0]
        guard case .system(let error) = report.error else {
            Issue.record("ended with \(report)")
            return
        }
        #expect(error.name == "ECONNRESET")
        #expect(report.unreadBytes == Array("abc".utf8))
        #expect(report.incompleteReads == [5])
        try ends.end()
    }

    @Test("R9 The end completes one read, though each asks for another", arguments: World.allCases)
    func onlyOnce(world: World) throws {
        let ends = try Ends(world)
        ends.recorder.onEvent = { socket, event in
            if case .didRead = event { try socket.readToEnd(maxLength: 9, tag: 2) }
        }
        try ends.socket.readToEnd(maxLength: 9, tag: 1)
        try ends.send("a")
        ends.finishSending()
        try ends.turnUntilFarewell()
        #expect(ends.heard == [.didRead([97], tag: 1), .didDisconnect(.closedByPeer)])
        #expect(ends.recorder.reports[0].incompleteReads == [2])
        try ends.end()
    }

    @Test("R9 Asked for behind a hang-up, it takes what is there", arguments: World.allCases)
    func behindHangUp(world: World) throws {
        let ends = try Ends(world)
        try ends.send("a\nbcd")
        ends.finishSending()
        try ends.socket.read(to: .lf, tag: 1)
        try ends.turn { ends.heard.contains(.peerDidHangUp) }
        try ends.socket.readToEnd(maxLength: 9, tag: 2)
        try ends.turnUntilFarewell()
        #expect(ends.texts == ["a\n", "bcd"])
        #expect(ends.recorder.reports[0].error == .closedByPeer)
        try ends.end()
    }

    @Test("R8 An incomplete read is looked at again when bytes come, and not before")
    func incompleteReadRests() throws {
        var configuration = Reactor.Configuration(backend: .epoll)
        configuration.budget.callbacksPerSocket = 1
        let ends = try Ends(.simulated, configuration: configuration)
        try ends.socket.read(toLength: 3, tag: 1)
        try ends.send("a")
        try ends.receive(1)
        try ends.reactor.turn(waitingAtMost: .zero)
        let report = try ends.reactor.turn(waitingAtMost: .milliseconds(5))
        #expect(!report.hasWorkLeft)
        try ends.send("bc")
        try ends.turn { ends.texts == ["abc"] }
        try ends.end()
    }

    @Test("R9 An answer written in its callback is sent before the end takes effect (H1)")
    func answered() throws {
        let ends = try Ends(.simulated)
        ends.recorder.onEvent = { socket, event in
            if case .didRead = event { try socket.write([1, 2, 3]) }
        }
        try ends.socket.readToEnd(maxLength: 9)
        try ends.send("a")
        ends.finishSending()
        try ends.turnUntilFarewell()
        #expect(ends.recorder.reports[0].error == .closedByPeer)
        #expect(ends.recorder.reports[0].sentByteCount == 3)
        try ends.end()
    }

    @Test(
        "E2 With a disconnect pending behind it, the end is the peer's",
        arguments: World.allCases
    )
    func pendingDisconnect(world: World) throws {
        let ends = try Ends(world)
        try ends.socket.readToEnd(maxLength: 9, tag: 1)
        ends.socket.disconnect(.afterReads)
        try ends.send("a")
        try ends.idle()
        ends.finishSending()
        try ends.turnUntilFarewell()
        #expect(ends.heard == [.didRead([97], tag: 1), .didDisconnect(.closedByPeer)])
        try ends.end()
    }

    @Test("M1 Its time may be up before the end comes; the bytes are then in the report")
    func timeout() throws {
        let ends = try Ends(.simulated)
        try ends.socket.readToEnd(maxLength: 9, timeout: .milliseconds(5), tag: 4)
        try ends.send("ab")
        try ends.turnUntilFarewell()
        #expect(ends.recorder.reports[0].error == .readTimedOut(tag: 4))
        #expect(ends.recorder.reports[0].unreadBytes == Array("ab".utf8))
        try ends.end()
    }

    @Test("R9 Cancelled, it leaves its bytes, and the end is a hang-up", arguments: World.allCases)
    func cancelled(world: World) throws {
        let ends = try Ends(world)
        let id = try ends.socket.readToEnd(maxLength: 9, tag: 1)
        try ends.send("ab")
        try ends.receive(2)
        #expect(ends.socket.cancel(id))
        ends.finishSending()
        try ends.turn { ends.heard == [.peerDidHangUp] }
        try ends.socket.read(maxLength: 1, tag: 2)
        try ends.socket.readToEnd(maxLength: 9, tag: 3)
        try ends.turnUntilFarewell()
        #expect(ends.texts == ["a", "b"])
        try ends.end()
    }

    @Test("R1 It needs a limit of a byte or more")
    func invalid() throws {
        let ends = try Ends(.simulated)
        for limit in [0, -1] {
            #expect(throws: SocketError.self) { try ends.socket.readToEnd(maxLength: limit) }
        }
        try ends.end()
    }
}

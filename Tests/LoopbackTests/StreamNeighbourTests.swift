import Glibc
import TestSupport
import Testing
import Towline

@Suite("What the callback of one socket does to another") struct StreamNeighbourTests {
    @Test("T3: what a callback has written goes to its socket, whoever it disconnects behind that")
    func gatheredBytesStay() throws {
        let pair = try Pair()
        let listener = try BlockingListener()
        let recorder = Recorder()
        let neighbour = StreamSocket(reactor: pair.loop.reactor, delegate: recorder)
        try neighbour.connect(to: listener.address)
        try neighbour.write("bye")
        try pair.loop.turn(times: 1)
        let peer = try listener.accept()
        #expect(try pair.turn { recorder.heard.contains(.didWrite(tag: 0)) })
        pair.recorder.whenRead = { socket, _, _ in
            try socket.write("mine", tag: 1)
            neighbour.disconnect(.afterWrites)
        }
        try pair.socket.read()
        try pair.peer.send("?")
        #expect(try pair.turn { pair.heard.contains(.didWrite(tag: 1)) })
        #expect(try pair.peer.receive(4) == Array("mine".utf8))
        #expect(try peer.receiveUntilEnd() == Array("bye".utf8))
        peer.close()
        #expect(try pair.turn { recorder.isDisconnected })
        #expect(recorder.reports[0].sentByteCount == 3)
        try pair.loop.end()
    }

    @Test("T3: a hang-up of the same batch is not told behind a neighbour's disconnect")
    func hangUpBehindDisconnect() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        let recorders = [Recorder(), Recorder()]
        let sockets = recorders.map { StreamSocket(reactor: loop.reactor, delegate: $0) }
        var peers: [BlockingPeer] = []
        for socket in sockets {
            try socket.connect(to: listener.address)
            try loop.turn(times: 1)
            peers.append(try listener.accept())
        }
        #expect(try loop.turn { recorders.allSatisfy { $0.heard.count == 1 } })
        try sockets[0].read()
        // What the set still lists of the connects is gone then, and the first comes first.
        try loop.turn(times: 1)
        recorders[0].whenRead = { _, _, _ in sockets[1].disconnect() }
        try peers[0].send("now")
        try peers[1].send("unread")
        peers[1].finishSending()
        _ = holds { peers.allSatisfy { $0.untakenByteCount == 0 } }
        #expect(try loop.turn { recorders[1].isDisconnected })
        #expect(recorders[1].heard.dropFirst() == [.didDisconnect(nil)])
        try loop.end()
    }

    @Test("ID4: a delegate that drops itself lives until its callback has returned")
    func delegateDropsItself() throws {
        final class Keeper { var delegate: Selfless? }
        final class Selfless: StreamSocketDelegate {
            let keeper: Keeper
            let act: () -> Void
            var bytes: [UInt8] = []
            let gone: () -> Void
            init(_ keeper: Keeper, _ act: @escaping () -> Void, _ gone: @escaping () -> Void) {
                self.keeper = keeper
                self.act = act
                self.gone = gone
            }
            deinit { gone() }
            func socket(_ socket: StreamSocket, didRead read: RawSpan, tag: Int) throws {
                keeper.delegate = nil
                act()
                bytes += [UInt8](read)
                bytes += [UInt8](read)
            }
        }
        let pair = try Pair()
        let keeper = Keeper()
        let reactor = pair.loop.reactor
        let other = Recorder()
        var events: [String] = []
        var delegate: Selfless? = Selfless(
            keeper,
            {
                // The delegate asked for last is found again, and looked after from here on.
                let idle = StreamSocket(reactor: reactor, delegate: other)
                #expect(idle.state == .idle)
                events.append("acted")
            },
            { events.append("gone") }
        )
        keeper.delegate = delegate
        pair.socket.delegate = delegate
        delegate = nil
        _ = StreamSocket(reactor: reactor, delegate: other)
        try pair.socket.read()
        try pair.peer.send("x")
        #expect(try pair.turn { events.count == 2 })
        #expect(events == ["acted", "gone"])
        try pair.loop.end()
    }
}

import TestSupport
import Testing
import Towline

@Suite("The end without a farewell") struct StreamSilentEndTests {
    @Test("ID4: nobody but the reactor needs to hold a socket that ends itself so")
    func unheldSocket() throws {
        final class Handler: StreamListenerDelegate, StreamSocketDelegate {
            var states: [StreamSocket.State] = []
            func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
                socket.delegate = self
                try socket.read()
            }
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                socket.disconnect(notifyingDelegate: false)
                states.append(socket.state)
            }
        }
        let loop = try Loop()
        let handler = Handler()
        let listener = StreamListener(reactor: loop.reactor, delegate: handler)
        try listener.listen(onPort: 0)
        let port = try #require(listener.localAddress?.port)
        for round in 1...20 {
            let peer = try BlockingPeer(connectingTo: .ipv4(.loopback, port: port))
            try peer.send("x")
            #expect(try loop.turn { handler.states.count == round })
            #expect(try peer.receiveUntilEnd() == [])
        }
        #expect(handler.states.allSatisfy { $0 == .idle })
        #expect(loop.reactor.figures.openSockets == 2, "the listener, in both families")
        try loop.end()
    }

    @Test("L4: in the last didWrite of a connection that ends, it closes that one alone")
    func inLastDidWrite() throws {
        let pair = try Pair()
        let second = try BlockingListener()
        pair.socket.halfClosePolicy = .disconnect
        pair.recorder.whenRead = { socket, _, _ in try socket.write("answer", tag: 8) }
        pair.recorder.whenWritten = { socket, _ in
            socket.disconnect(notifyingDelegate: false)
            try socket.connect(to: second.address)
        }
        try pair.socket.read()
        try pair.peer.send("?")
        pair.peer.finishSending()
        _ = holds { pair.peer.untakenByteCount == 0 }
        #expect(try pair.turn { pair.heard.contains(.didConnect(second.address)) })
        #expect(pair.heard.dropFirst() == [.didWrite(tag: 8), .didConnect(second.address)])
        #expect(try pair.peer.receiveUntilEnd() == Array("answer".utf8))
        #expect(pair.loop.reactor.figures.openSockets == 1)
        try pair.loop.end()
    }

    @Test("The socket names no peer, and holds no handler, once it is idle")
    func leavesNothing() throws {
        final class Handler: StreamSocketDelegate {
            var socket: StreamSocket?
            let gone: () -> Void
            init(_ gone: @escaping () -> Void) { self.gone = gone }
            deinit { gone() }
        }
        let pair = try Pair()
        var isGone = false
        do {
            let handler = Handler { isGone = true }
            handler.socket = pair.socket
            pair.socket.keep(handler)
        }
        try pair.loop.turn(times: 1)
        #expect(!isGone)
        pair.socket.disconnect(notifyingDelegate: false)
        #expect(pair.socket.remoteAddress == nil)
        try pair.loop.turn(times: 1)
        #expect(isGone)
        try pair.loop.end()
    }

    @Test("ID5: a reactor may go away with the old connection not closed yet")
    func reactorGoesAway() throws {
        let listener = try BlockingListener()
        let recorder = Recorder()
        var peer: BlockingPeer?
        do {
            let reactor = try Reactor()
            let socket = StreamSocket(reactor: reactor, delegate: recorder)
            try socket.connect(to: listener.address)
            try reactor.turn(waitingAtMost: .zero)
            peer = try listener.accept()
            socket.disconnect(notifyingDelegate: false)
        }
        #expect(try peer?.receiveUntilEnd() == [])
        #expect(recorder.heard == [.didConnect(listener.address)])
    }

    @Test("SD2: a drain is complete when the last connection has ended, in silence as well")
    func drain() throws {
        let pair = try Pair()
        var report: DrainReport?
        pair.recorder.whenRead = { socket, _, _ in socket.disconnect(notifyingDelegate: false) }
        try pair.socket.read()
        final class Patient: StreamSocketDelegate {
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                socket.disconnect(notifyingDelegate: false)
            }
            func socketShouldFinish(_ socket: StreamSocket) {}
        }
        let patient = Patient()
        pair.socket.delegate = patient
        pair.loop.reactor.drain(within: .seconds(60)) { report = $0 }
        try pair.loop.turn(times: 3)
        #expect(report == nil)
        try pair.peer.send("x")
        #expect(try pair.turn(within: .seconds(5)) { report != nil })
        #expect(report?.finished == 1)
        try pair.loop.end()
    }
}

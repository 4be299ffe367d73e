import Glibc
import TestSupport
import Testing
import Towline

@Suite("Connecting for real") struct StreamConnectingTests {
    @Test("EP4, trap 18: five hundred connects, none with a hang-up before its time")
    func manyConnects() throws {
        let loop = try Loop()
        let listener = try BlockingListener()
        for _ in 0..<500 {
            let recorder = Recorder()
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            try socket.connect(to: listener.address)
            try loop.turn(times: 1)
            let peer = try listener.accept()
            #expect(try loop.turn { !recorder.heard.isEmpty })
            #expect(recorder.heard == [.didConnect(listener.address)])
            socket.disconnect()
            #expect(try loop.turn { recorder.isDisconnected })
            peer.close()
        }
        try loop.end()
    }

    @Test("C7, trap 13: a full Unix backlog makes a connect wait, and is no failure")
    func fullBacklog() throws {
        let address = try #require(SocketAddress("@towline-backlog-\(getpid())"))
        let listener = try BlockingListener(on: address, backlog: 0)
        let first = try BlockingPeer(connectingTo: address)
        let loop = try Loop()
        let patient = Recorder()
        let hasty = Recorder()
        let patientSocket = StreamSocket(reactor: loop.reactor, delegate: patient)
        let hastySocket = StreamSocket(reactor: loop.reactor, delegate: hasty)
        try patientSocket.connect(to: address)
        try hastySocket.connect(to: address, timeout: .milliseconds(30))
        #expect(try loop.turn { hasty.isDisconnected })
        #expect(hasty.reports[0].error == .connectTimedOut)
        #expect(patient.heard == [] && patientSocket.state == .connecting)
        _ = try listener.accept()
        #expect(try loop.turn { !patient.heard.isEmpty })
        #expect(patient.heard == [.didConnect(address)])
        let peer = try listener.accept()
        try peer.send("late")
        try patientSocket.read(tag: 1)
        #expect(try loop.turn { patient.heard.count == 2 })
        try loop.end()
        withExtendedLifetime(first) {}
    }

    @Test("A Unix path without a listener, and one that is none, are refused calls")
    func noListener() throws {
        let loop = try Loop()
        let places = [
            ("/nowhere/towline.sock", "ENOENT"), ("@towline-nobody", "ECONNREFUSED"),
        ]
        for (text, name) in places {
            let recorder = Recorder()
            let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
            try socket.connect(to: try #require(SocketAddress(text)))
            #expect(try loop.turn { recorder.isDisconnected })
            #expect("\(recorder.reports[0])".contains(name))
            #expect(recorder.reports[0].phase == .connecting)
        }
        try loop.end()
    }

    @Test("The options asked for reach the kernel before the connection exists")
    func options() throws {
        let pair = try Pair { socket, _ in
            #expect(throws: Never.self) { try socket.write("queued", tag: 1) }
        }
        var options = SocketOptions()
        options.keepAlive = .init(idleSeconds: 60, intervalSeconds: 10, probeCount: 3)
        options.userTimeoutMilliseconds = 5_000
        try pair.socket.apply(options)
        #expect(pair.socket.options == options)
        options.keepAlive?.idleSeconds = 0
        #expect(throws: SocketError.self) { try pair.socket.apply(options) }
        #expect(pair.socket.state == .connected)
        try pair.loop.end()
        #expect(throws: SocketError.reactorStopped) { try pair.socket.apply(options) }
    }
}

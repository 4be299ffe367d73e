import Glibc
import TestSupport
import Testing
import Towline
import TowlineTLS

/// The question of trust on sockets, with the reactor's descriptors, timers and threads.
@Suite("Questions of trust on sockets", .timeLimit(.minutes(10))) struct TLSTrustTests {
    @Test("What would trust nobody, or anybody by mistake, is refused before anything is sent")
    func refusedSettings() throws {
        let loop = try Loop()
        let files = try TestCertificates.made()
        let identity = try Identity(
            certificateFile: files.path("server/good-chain.pem"),
            privateKeyFile: files.path("server/good.key")
        )
        let (acceptor, recorder) = (Acceptor(), Recorder())
        let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
        func expect(_ fault: ConfigurationFault, _ settings: TLSConfiguration) {
            #expect(throws: SocketError.security(TLSError.configuration(fault))) {
                try listener.replaceTLS(settings)
            }
        }
        var asking = TLSConfiguration.server(identity)
        asking.clientAuthentication = .optional
        expect(.noClientTrust, asking)
        asking.trust = .anchors([])
        asking.trust.pins = []
        expect(.noPins, asking)
        expect(.notForServer, .client)
        var client = TLSConfiguration.client
        client.trust = .pinned([])
        let socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        try socket.connect(toHost: "localhost", port: 1)
        #expect(throws: SocketError.security(TLSError.configuration(.noPins))) {
            try socket.startTLS(client)
        }
        socket.abort()
        try loop.end()
    }

    @Test(
        "V1, V3, TV6, TV7: nothing is told before a yes, which may come later and from anywhere",
        arguments: Asking.allCases,
        TLSVersion.allCases
    )
    func yes(asking: Asking, version: TLSVersion) throws {
        let pair = try AskingPair(asking, version)
        let sent = pair.loop.reactor.figures.sentBytes
        try pair.loop.turn(times: 20)
        #expect(pair.loop.reactor.figures.sentBytes == sent)
        #expect(pair.isUndecided, "\(pair.recorder.heard)")
        #expect(!pair.peerRecorder.heard.contains { if case .didRead = $0 { true } else { false } })
        #expect(pair.sessions.count == 0, "no ticket before the answer")
        #expect(pair.socket.tlsInfo == nil)
        try pair.answer(true)
        try pair.turnToTheData()
        #expect(pair.recorder.questions.count == 1)
        #expect(pair.recorder.heard.filter { $0 == .didSecure }.count == 1)
        #expect(pair.socket.tlsInfo?.version == version)
        let sessions = pair.sessions
        #expect(try pair.loop.turn { sessions.count == (version == .tls13 ? 2 : 1) })
        try pair.loop.end()
    }

    @Test(
        "V1, TV5: a no ends it, and tells the peer; nothing was sent that is data",
        arguments: Asking.allCases,
        TLSVersion.allCases
    )
    func no(asking: Asking, version: TLSVersion) throws {
        let pair = try AskingPair(asking, version)
        try pair.answer(false)
        let report = try pair.turnToTheReport()
        guard case .untrusted(let failure) = report.error?.tls else {
            Issue.record("\(report)")
            return
        }
        #expect(failure.reason == .rejected)
        #expect(report.phase == .securing)
        #expect(report.receivedByteCount == 0 && report.incompleteReads.count == 1)
        let isTold = pair.pair
        try isTold.turnToTheEnd()
        let told = pair.peerRecorder.reports[0]
        #expect(told.error?.tls == .alert(.badCertificate, from: .peer), "\(told)")
        #expect(told.phase == .securing)
        #expect(told.receivedByteCount == 0)
        #expect(pair.isUndecided || pair.recorder.heard.last == .didDisconnect(report.error))
        #expect(!pair.recorder.heard.contains(.didSecure))
        #expect(pair.sessions.count == 0)
        try pair.loop.end()
    }

    @Test(
        "TV5, TH1, S6: no answer in time is a no, and one that comes later does nothing",
        arguments: Asking.allCases
    )
    func never(asking: Asking) throws {
        let pair = try AskingPair(asking, timeout: .milliseconds(60))
        let report = try pair.turnToTheReport()
        #expect(report.error?.tls == .timedOut(.trust), "\(report)")
        #expect(report.phase == .securing)
        try pair.answer(true)
        try pair.loop.turn(times: 5)
        #expect(pair.recorder.reports.count == 1)
        #expect(!pair.recorder.heard.contains(.didSecure))
        #expect(pair.sessions.count == 0)
        try pair.loop.end()
    }

    @Test("V1 The first answer counts", arguments: Asking.allCases, [true, false])
    func twice(asking: Asking, first: Bool) throws {
        let pair = try AskingPair(asking)
        try pair.answer(first)
        for _ in 0..<10 { try pair.answer(!first) }
        if first {
            try pair.turnToTheData()
            try pair.answer(!first)
            try pair.loop.turn(times: 5)
            #expect(pair.socket.state == .connected)
        } else {
            let report = try pair.turnToTheReport()
            guard case .untrusted = report.error?.tls else {
                Issue.record("\(report)")
                return
            }
        }
        #expect(pair.recorder.questions.count == 1)
        try pair.loop.end()
    }

    @Test("V1 An answer behind the end does nothing, also not to the socket's next connection")
    func afterTheEnd() throws {
        let pair = try AskingPair(.client)
        let address = try #require(pair.pair.client.remoteAddress)
        pair.socket.disconnect()
        #expect(try pair.turnToTheReport().error == nil)
        try pair.answer(true)
        try pair.loop.turn(times: 3)
        #expect(pair.recorder.reports.count == 1)
        let (client, _) = try AskingPair.configurations(.client, .tls13, pair.sessions)
        try pair.socket.connect(to: address)
        try pair.socket.startTLS(client)
        let recorder = pair.recorder
        #expect(try pair.loop.turn { recorder.questions.count == 2 })
        try pair.answer(true)
        try pair.loop.turn(times: 5)
        #expect(!recorder.heard.contains(.didSecure), "the answer to an earlier question")
        try pair.answer(true, question: 1)
        #expect(try pair.loop.turn { recorder.heard.contains(.didSecure) })
        try pair.loop.end()
    }

    @Test("An answer, or the end, may come within the question", arguments: Asking.allCases)
    func withinTheQuestion(asking: Asking) throws {
        for what in 0..<4 {
            let recorder = TrustRecorder()
            recorder.whenAsked = { socket, answer in
                switch what {
                case 0: answer(true)
                case 1: answer(false)
                case 2: socket.disconnect()
                default: throw Nonsense()
                }
            }
            let pair = try AskingPair(asking, recorder: recorder)
            if what == 0 {
                try pair.turnToTheData()
            } else {
                let error = try pair.turnToTheReport().error
                switch (what, error) {
                case (1, .security), (2, nil), (3, .handler): break
                default: Issue.record("\(what): \(String(describing: error))")
                }
                #expect(!recorder.heard.contains(.didSecure))
                #expect(recorder.reports.count == 1)
            }
            try pair.loop.end()
        }
    }

    struct Nonsense: Error {}

    @Test(
        "CocoaAsyncSocket#255, V2: bytes during the question move nothing, and ask nobody again",
        arguments: Asking.allCases,
        [true, false]
    )
    func bytes(asking: Asking, answer: Bool) throws {
        let pair = try AskingPair(asking)
        let sent = pair.loop.reactor.figures.sentBytes
        for _ in 0..<20 {
            pair.peer.sendRaw([23, 3, 3, 0, 1, 7])
            try pair.loop.turn(times: 2)
        }
        #expect(pair.recorder.questions.count == 1)
        #expect(pair.isUndecided)
        #expect(pair.loop.reactor.figures.sentBytes == sent)
        try pair.answer(answer)
        let report = try pair.turnToTheReport()
        switch (answer, report.error?.tls) {
        // A yes lets the bytes be seen for what they are.
        case (true, .protocolViolation), (false, .untrusted): break
        default: Issue.record("\(report)")
        }
        #expect(pair.recorder.questions.count == 1)
        // What the client of a server that asks had written before is data.
        let isData = asking == .server && answer
        #expect(report.receivedByteCount == (isData ? AskingPair.fromClient.utf8.count : 0))
        try pair.loop.end()
    }

    @Test(
        "V2, TV6: only so much is kept during the question, and the loop sleeps",
        arguments: Asking.allCases
    )
    func manyBytes(asking: Asking) throws {
        let pair = try AskingPair(asking, buffer: 16 * 1024)
        let chunk = [UInt8](repeating: 23, count: 16 * 1024)
        var taken = 0
        for _ in 0..<200 {
            taken += pair.peer.sendRaw(chunk)
            try pair.loop.turn(times: 2)
        }
        #expect(taken >= 64 * 1024 && taken < 400 * 1024, "\(taken) bytes went")
        let turns = pair.loop.reactor.figures.turns
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .milliseconds(60) {
            try pair.loop.reactor.turn(waitingAtMost: .milliseconds(30))
        }
        #expect(pair.loop.reactor.figures.turns - turns < 10, "it spins")
        #expect(pair.isUndecided)
        try pair.answer(false)
        let report = try pair.turnToTheReport()
        #expect(report.phase == .securing)
        try pair.loop.end()
    }

    @Test(
        "V2 The peer's end during the question ends the connection at once",
        arguments: Asking.allCases,
        [0, 6, 200_000]
    )
    func end(asking: Asking, byteCount: Int) throws {
        for isReset in [false, true] {
            let pair = try AskingPair(asking)
            if byteCount > 0 {
                pair.peer.sendRaw([UInt8](repeating: 23, count: byteCount))
                try pair.loop.turn(times: 5)
            }
            if isReset {
                pair.peer.abort()
            } else {
                pair.peer.withUnsafeDescriptors { _ = shutdown($0[0], CInt(SHUT_WR)) }
            }
            let recorder = pair.recorder
            #expect(try pair.loop.turn(within: .seconds(2)) { recorder.isDisconnected })
            let report = try pair.turnToTheReport()
            #expect(report.phase == .securing)
            if isReset, case .system(let error) = report.error {
                #expect(error.errno == ECONNRESET || error.errno == EPIPE)
            } else {
                #expect(report.error?.tls == .interrupted, "\(report)")
            }
            try pair.answer(true)
            try pair.loop.turn(times: 3)
            #expect(recorder.reports.count == 1 && recorder.questions.count == 1)
            try pair.loop.end()
        }
    }

    @Test(
        "swift-nio-ssl#362, TH2: what is written during the question leaves behind a yes, in order",
        arguments: Asking.allCases
    )
    func writes(asking: Asking) throws {
        let pair = try AskingPair(asking)
        let sent = pair.loop.reactor.figures.sentBytes
        let more = (0..<50).map { "line \($0)\r\n" }
        for line in more {
            try pair.socket.write(line)
            try pair.loop.turn(times: 1)
        }
        let expected = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 3) }
        try pair.socket.write(expected, tag: 9)
        try pair.loop.turn(times: 5)
        #expect(pair.loop.reactor.figures.sentBytes == sent, "no record of any kind")
        #expect(pair.isUndecided)
        try pair.answer(true)
        try pair.turnToTheData()
        let text = Array(more.joined().utf8)
        let peer = pair.peerRecorder
        peer.recordsReads = false
        peer.readBytes = []
        try pair.peer.read(toLength: text.count + expected.count)
        #expect(try pair.loop.turn { !peer.readBytes.isEmpty })
        #expect(peer.readBytes == text + expected)
        try pair.loop.end()
    }

    @Test("swift-nio-ssl#362: behind a no, writes are incomplete", arguments: Asking.allCases)
    func writesRefused(asking: Asking) throws {
        let pair = try AskingPair(asking)
        let before = pair.loop.reactor.figures.sentBytes
        try pair.socket.write([UInt8](repeating: 1, count: 100_000), tag: 9)
        try pair.answer(false)
        let report = try pair.turnToTheReport()
        #expect(report.incompleteWrites.map(\.tag).contains(9))
        #expect(report.incompleteWrites.allSatisfy { $0.bytesWritten == 0 })
        // An alert, and nothing more.
        #expect(pair.loop.reactor.figures.sentBytes - before < 100)
        try pair.loop.end()
    }

    @Test("V2, S1: timers go on during the question, those of reads behind it do not begin")
    func timers() throws {
        for asking in Asking.allCases {
            let pair = try AskingPair(asking)
            try pair.socket.read(timeout: .milliseconds(1), tag: 7)
            var ticks = 0
            pair.loop.reactor.schedule(every: .milliseconds(2)) { ticks += 1 }
            #expect(try pair.loop.turn { ticks >= 10 })
            #expect(pair.isUndecided)
            try pair.answer(true)
            try pair.turnToTheData()
            try pair.loop.end()
        }
    }

    @Test("TV5 A delegate that cannot be asked is an error at once, or the reason of the end")
    func noDelegate() throws {
        let (client, _) = try AskingPair.configurations(.client, .tls13, SessionCache())
        let plain = try SecurePair()
        #expect {
            try plain.client.startTLS(client)
        } throws: { error in
            (error as? SocketError)?.tls == .configuration(.noTrustDelegate)
        }
        #expect(plain.client.state == .connected)
        try plain.loop.end()
        let pair = try AskingPair(.client, isAsked: false)
        let recorder = Recorder()
        pair.socket.delegate = recorder
        #expect(try pair.loop.turn { recorder.isDisconnected })
        #expect(recorder.reports[0].error?.tls == .configuration(.noTrustDelegate))
        #expect(recorder.reports[0].phase == .securing)
        try pair.loop.end()
    }

    @Test("V4 What is asked about can be kept, and judged anywhere, under another name")
    func evaluating() throws {
        let pair = try AskingPair(.client)
        let trust = pair.recorder.questions[0]
        try pair.answer(false)
        _ = try pair.turnToTheReport()
        try pair.loop.end()
        let leaf = try Certificate.certificates(
            pem: TestCertificates.made().bytes("server/good.pem")
        )
        #expect(trust.chain.first == leaf.first && trust.chain.count == 2)
        #expect(trust.serverName?.description == "good.test")
        #expect((try? trust.verdict.get())?.certificates.count == 3)
        let policy = try TestTLS.client().trust
        let judged = try BackgroundWork {
            let names = try ["localhost", "other.test", "127.0.0.1"].map { try PeerName($0) }
            return names.map { trust.evaluate(as: $0, policy: policy) }
        }.value()
        #expect(judged.map { (try? $0.get()) != nil } == [true, false, true])
        guard case .failure(let failure) = judged[1] else { return }
        #expect(failure.reason == .nameMismatch)
    }
}

extension StreamSocket {
    /// Puts bytes on the wire as somebody between the two ends could.
    ///
    /// - Returns: How many the kernel has taken, without a wait.
    @discardableResult
    func sendRaw(_ bytes: [UInt8]) -> Int {
        var count = 0
        withUnsafeDescriptors { descriptors in
            // It does not block, as all of the reactor's.
            count = send(descriptors[0], bytes, bytes.count, CInt(MSG_NOSIGNAL))
        }
        return max(0, count)
    }
}

import Glibc
import TestSupport
import Testing
import Towline
import TowlineTLS

@Suite("Securing sockets", .timeLimit(.minutes(10))) struct SecuringTests {
    @Test("S1, TH2, Scenario 3: asked for before the connection is there; no plain byte leaves")
    func beforeConnecting() throws {
        let (clientTLS, serverTLS) = (try TestTLS.client(), try TestTLS.server())
        let pair = try SecurePair(
            prepare: { socket, _ in
                try socket.startTLS(clientTLS)
                try socket.write("hello\r\n", tag: 1)
                try socket.read(to: .crlf, tag: 2)
            },
            accepting: { socket, recorder in
                try socket.startTLS(serverTLS)
                try socket.read(to: .crlf, tag: 3)
                recorder.whenRead = { socket, bytes, _ in try socket.write(bytes, tag: 4) }
            }
        )
        let recorder = pair.clientRecorder
        #expect(try pair.loop.turn { recorder.heard.contains(.didRead("hello\r\n", tag: 2)) })
        #expect(pair.serverRecorder.heard.prefix(2) == [.didSecure, .didRead("hello\r\n", tag: 3)])
        #expect(recorder.heard.dropFirst().first == .didSecure)
        #expect(pair.client.tlsInfo?.version == .tls13)
        try pair.loop.end()
    }

    @Test("S1, O4: what was asked for before goes in the clear, what follows is protected")
    func inTheQueues() throws {
        let (clientTLS, serverTLS) = (try TestTLS.client(), try TestTLS.server())
        let pair = try SecurePair(
            prepare: { socket, _ in
                try socket.write("STARTTLS\r\n", tag: 1)
                try socket.read(to: .crlf, tag: 2)
                try socket.startTLS(clientTLS)
                try socket.write("LOGIN\r\n", tag: 3)
                try socket.read(to: .crlf, tag: 4)
            },
            accepting: { socket, recorder in
                try socket.read(to: .crlf, tag: 1)
                recorder.whenRead = { socket, _, tag in
                    guard tag == 1 else {
                        try socket.write("WELCOME\r\n")
                        return
                    }
                    try socket.write("READY\r\n")
                    try socket.startTLS(serverTLS)
                    try socket.read(to: .crlf, tag: 2)
                }
            }
        )
        let recorder = pair.clientRecorder
        #expect(try pair.loop.turn { recorder.heard.contains(.didRead("WELCOME\r\n", tag: 4)) })
        let heard = Array(recorder.heard.dropFirst().filter { $0 != .didWrite(tag: 3) })
        #expect(
            heard == [
                .didWrite(tag: 1), .didRead("READY\r\n", tag: 2), .didSecure,
                .didRead("WELCOME\r\n", tag: 4),
            ]
        )
        try pair.loop.end()
    }

    @Test("S3 A second startTLS, and one on a socket that is idle or about to end, throws")
    func refusals() throws {
        let pair = try SecurePair.secured()
        let tls = try TestTLS.client()
        #expect(throws: SocketError.alreadySecured) { try pair.client.startTLS(tls) }
        let idle = StreamSocket(reactor: pair.loop.reactor, delegate: pair.clientRecorder)
        #expect(throws: SocketError.notConnected) { try idle.startTLS(tls) }
        try pair.loop.end()
        let plain = try SecurePair()
        plain.client.disconnect(.afterReadsAndWrites)
        let expected = [SocketError.disconnectPending, .notConnected]
        #expect {
            try plain.client.startTLS(tls)
        } throws: { error in
            expected.contains { $0 == error as? SocketError }
        }
        try plain.loop.end()
    }

    @Test("T7, TW3, S9: megabytes both ways arrive whole", arguments: [nil, 4096] as [CInt?])
    func bothWays(buffer: CInt?) throws {
        let pair = try SecurePair.secured(buffer: buffer)
        let size = buffer == nil ? 16 << 20 : 1 << 20
        let there = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        let back = Array(there.reversed())
        for (socket, recorder, bytes) in [
            (pair.client, pair.clientRecorder, there), (pair.server, pair.serverRecorder, back),
        ] {
            recorder.recordsReads = false
            recorder.readsOn = true
            try socket.read()
            try socket.write(bytes, tag: 9)
        }
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        #expect(
            try pair.loop.turn(within: .seconds(60)) {
                client.readBytes.count == size && server.readBytes.count == size
                    && client.heard.contains(.didWrite(tag: 9))
                    && server.heard.contains(.didWrite(tag: 9))
            }
        )
        #expect(client.readBytes == back)
        #expect(server.readBytes == there)
        try pair.loop.end()
    }

    @Test("TE1, TE2: our end comes behind all writes, is told in order, and is answered")
    func farewell() throws {
        let pair = try SecurePair.secured()
        try pair.server.readToEnd(maxLength: 100, tag: 1)
        try pair.client.write("the end", tag: 2)
        pair.client.disconnect(.afterWrites)
        try pair.turnToTheEnd()
        #expect(
            pair.serverRecorder.heard
                == [.didRead("the end", tag: 1), .didDisconnect(.closedByPeer)]
        )
        #expect(pair.clientRecorder.heard == [.didWrite(tag: 2), .didDisconnect(nil)])
        try pair.loop.end()
    }

    @Test("bun#32719, D4: 8 MiB, then an end behind them: a slow reader gets all of it")
    func slowReader() throws {
        let pair = try SecurePair.secured(buffer: 16 * 1024)
        let size = 8 << 20
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 9) }
        try pair.client.write(bytes)
        pair.client.disconnect(.afterWrites)
        let server = pair.serverRecorder
        server.recordsReads = false
        server.whenRead = { socket, _, _ in
            if socket.state == .connected { try socket.read(toLength: 32 * 1024) }
        }
        try pair.server.read(toLength: 32 * 1024)
        #expect(try pair.loop.turn(within: .seconds(60)) { server.isDisconnected })
        #expect(server.readBytes == bytes)
        #expect(server.reports[0].error == .closedByPeer)
        try pair.loop.end()
    }

    @Test("H4, K2, K3: one side ends its writing, the other goes on")
    func halfClose() throws {
        let pair = try SecurePair.secured()
        pair.server.halfClosePolicy = .keepOpen
        pair.serverRecorder.whenReadStreamCloses = { socket in
            try socket.write("last words")
            try socket.shutdownWrite()
        }
        try pair.server.read(tag: 1)
        try pair.client.readToEnd(maxLength: 100, tag: 2)
        try pair.client.shutdownWrite()
        try pair.turnToTheEnd()
        #expect(pair.clientRecorder.heard.contains(.didRead("last words", tag: 2)))
        #expect(pair.clientRecorder.reports[0].error == .closedByPeer)
        try pair.loop.end()
    }

    @Test("TE3, K1: an end of the transport alone is a truncation, and says after how many bytes")
    func truncation() throws {
        let pair = try SecurePair.secured()
        try pair.client.read(tag: 1)
        try pair.server.write("half an ans")
        #expect(try pair.loop.turn { !pair.clientRecorder.readBytes.isEmpty })
        try pair.client.read(tag: 2)
        // As a process that dies does it: the kernel sends the end, nobody says farewell.
        pair.server.withUnsafeDescriptors { _ = shutdown($0[0], CInt(SHUT_WR)) }
        #expect(try pair.loop.turn { pair.clientRecorder.isDisconnected })
        let report = pair.clientRecorder.reports[0]
        #expect(report.error?.tls == .truncated(bytes: 11), "\(report)")
        #expect(report.phase == .connected)
        try pair.loop.end()
    }

    @Test("libevent#854, X5, TB9: 100 bytes of a record at a time, paused between: all arrive")
    func smallReads() throws {
        let pair = try SecurePair.secured()
        let bytes = (0..<16_000).map { UInt8(truncatingIfNeeded: $0) }
        let client = pair.clientRecorder
        client.recordsReads = false
        try pair.server.write(bytes)
        for _ in 0..<160 {
            let before = client.readBytes.count
            try pair.client.read(toLength: 100)
            #expect(try pair.loop.turn(within: .seconds(2)) { client.readBytes.count > before })
            pair.client.pauseReads()
            try pair.loop.turn(times: 1)
            pair.client.resumeReads()
        }
        #expect(client.readBytes == bytes)
        try pair.loop.end()
    }

    @Test("TW1 Small writes that wait together share records; each is told of in its turn")
    func sharedRecords() throws {
        let pair = try SecurePair.secured()
        let sentBefore = pair.loop.reactor.figures.sentBytes
        for tag in 0..<1_000 { try pair.client.write("0123456789", tag: tag) }
        try pair.server.read(toLength: 10_000, tag: 1)
        let client = pair.clientRecorder
        #expect(
            try pair.loop.turn { client.heard.count == 1_000 && !pair.serverRecorder.heard.isEmpty }
        )
        #expect(client.heard == (0..<1_000).map { .didWrite(tag: $0) })
        #expect(pair.loop.reactor.figures.sentBytes - sentBefore < 10_200)
        try pair.loop.end()
    }

    @Test("TW4 The first 64 KiB go in small records, what follows in large ones")
    func recordSizes() throws {
        let pair = try SecurePair.secured()
        let server = pair.serverRecorder
        server.recordsReads = false
        try pair.loop.turn(times: 3)
        var counts: [Int] = []
        for part in 1...2 {
            let before = pair.loop.reactor.figures.sentBytes
            try pair.client.write([UInt8](repeating: 7, count: 65_536))
            try pair.server.read(toLength: 65_536)
            #expect(try pair.loop.turn { server.readBytes.count == part * 65_536 })
            // Each record has 22 bytes of its own.
            counts.append((pair.loop.reactor.figures.sentBytes - before - 65_536) / 22)
        }
        #expect(counts == [16, 4])
        try pair.loop.end()
    }

    @Test("TB10 A turn hands up 256 KiB at most, and much at once")
    func portions() throws {
        let pair = try SecurePair.secured()
        let server = pair.serverRecorder
        server.recordsReads = false
        server.whenRead = { socket, _, _ in try socket.read() }
        try pair.server.read()
        let total = 8 * 1024 * 1024
        let sendsBefore = pair.loop.reactor.figures.sends
        try pair.client.write([UInt8](repeating: 7, count: total))
        var largest = 0
        var last = 0
        let isThere = try pair.loop.turn {
            largest = max(largest, server.readBytes.count - last)
            last = server.readBytes.count
            return last == total
        }
        #expect(isThere)
        #expect(largest >= 64 * 1024 && largest <= 256 * 1024, "\(largest)")
        let sends = pair.loop.reactor.figures.sends - sendsBefore
        #expect(sends <= 2 * total / (64 * 1024), "\(sends) calls")
        try pair.loop.end()
    }

    @Test("TW2 A write of no bytes is complete in its turn")
    func emptyWrite() throws {
        let pair = try SecurePair.secured()
        try pair.client.write("a", tag: 1)
        try pair.client.write([], tag: 2)
        try pair.client.write("b", tag: 3)
        try pair.server.read(toLength: 2, tag: 4)
        let client = pair.clientRecorder
        #expect(
            try pair.loop.turn { client.heard.count == 3 && !pair.serverRecorder.heard.isEmpty }
        )
        #expect(client.heard == [1, 2, 3].map { .didWrite(tag: $0) })
        try pair.loop.end()
    }

    @Test("W8 A file goes through the encryption, and arrives whole")
    func file() throws {
        let pair = try SecurePair.secured()
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 7) }
        let scratch = try ScratchFile(bytes)
        try pair.client.write(file: OpenFile(path: scratch.path), range: 10..<999_990, tag: 1)
        try pair.client.write("behind", tag: 2)
        let server = pair.serverRecorder
        server.recordsReads = false
        try pair.server.read(toLength: 999_980 + 6)
        #expect(try pair.loop.turn { server.readBytes.count == 999_986 })
        #expect(server.readBytes == Array(bytes[10..<999_990]) + Array("behind".utf8))
        try pair.loop.end()
    }

    @Test("TH1, S6: whoever says nothing is given up in time, and it is said what was waited for")
    func handshakeTimeout() throws {
        let pair = try SecurePair()
        try pair.client.startTLS(try TestTLS.client(), timeout: .milliseconds(30))
        #expect(try pair.loop.turn { pair.clientRecorder.isDisconnected })
        let report = pair.clientRecorder.reports[0]
        #expect(report.error?.tls == .timedOut(.hello), "\(report)")
        #expect(report.phase == .securing)
        try pair.loop.end()
    }

    @Test("S5, swift-nio-ssl#253: the peer leaves within the handshake: interrupted, in both roles")
    func interrupted() throws {
        for isServer in [false, true] {
            let pair = try Pair()
            let tls = isServer ? try TestTLS.server() : try TestTLS.client()
            try tls.prepare()
            try pair.socket.startTLS(tls)
            if isServer {
                try pair.peer.send([22, 3, 1])
            } else {
                // The kernel resets where something is left unread.
                let (recorder, peer) = (pair.recorder, pair.peer)
                try pair.loop.turn(times: 3)
                let header = try peer.receive(5)
                _ = try peer.receive(Int(header[3]) << 8 | Int(header[4]))
                #expect(recorder.reports.isEmpty)
            }
            pair.peer.close()
            #expect(try pair.turn { pair.recorder.isDisconnected })
            let report = pair.recorder.reports[0]
            #expect(report.error?.tls == .interrupted, "\(report)")
            #expect(report.phase == .securing)
            try pair.loop.end()
        }
    }

    @Test("S5, TE3: a reset within the handshake is the system's word, and it is said when it came")
    func reset() throws {
        for isServer in [false, true] {
            let pair = try Pair()
            let tls = isServer ? try TestTLS.server() : try TestTLS.client()
            try tls.prepare()
            try pair.socket.startTLS(tls)
            try pair.loop.turn(times: 3)
            pair.peer.reset()
            #expect(try pair.turn { pair.recorder.isDisconnected })
            let report = pair.recorder.reports[0]
            guard case .system(let error) = report.error else {
                Issue.record("\(report)")
                continue
            }
            #expect(error.errno == ECONNRESET)
            #expect(report.phase == .securing)
            try pair.loop.end()
        }
    }

    @Test("TU2, libetpan#386: bytes behind the consent end the connection, and are not delivered")
    func injection() throws {
        let tls = try TestTLS.client()
        let pair = try SecurePair(
            prepare: { socket, _ in
                try socket.read(to: .crlf, tag: 1)
                try socket.startTLS(tls)
                try socket.read(to: .crlf, tag: 2)
            },
            accepting: { socket, _ in try socket.write("220 go\r\n250 injected\r\n") }
        )
        let recorder = pair.clientRecorder
        #expect(try pair.loop.turn { recorder.isDisconnected })
        #expect(recorder.reports[0].error?.tls == .unexpectedPlaintext(byteCount: 14))
        #expect(recorder.heard.filter { if case .didRead = $0 { true } else { false } }.count == 1)
        try pair.loop.end()
    }

    @Test("S8, TH3: data that comes with the last flight is delivered without another event")
    func dataBehindTheFlight() throws {
        let (clientTLS, serverTLS) = (try TestTLS.client(), try TestTLS.server())
        let pair = try SecurePair(
            prepare: { socket, _ in
                try socket.startTLS(clientTLS)
                try socket.write("early")
            },
            accepting: { socket, _ in
                try socket.startTLS(serverTLS)
                try socket.read(toLength: 5, tag: 1)
            }
        )
        #expect(try pair.loop.turn(within: .seconds(5)) { pair.serverRecorder.heard.count == 2 })
        #expect(pair.serverRecorder.heard == [.didSecure, .didRead("early", tag: 1)])
        try pair.loop.end()
    }

    @Test("M3, W7: a write that is being encrypted cannot be cancelled, one behind it can")
    func cancelling() throws {
        let pair = try SecurePair.secured(buffer: 4096)
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 5 &+ $0 >> 10) }
        let first = try pair.client.write(bytes, tag: 1)
        let second = try pair.client.write(bytes, tag: 2)
        try pair.client.write("third", tag: 3)
        let fourth = try pair.client.write("fourth", tag: 4)
        try pair.loop.turn(times: 2)
        #expect(!pair.client.cancel(first))
        #expect(pair.client.cancel(second))
        #expect(pair.client.cancel(fourth))
        try pair.client.write("fifth", tag: 5)
        pair.client.cancelAllWrites()
        try pair.client.write("sixth", tag: 6)
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        server.recordsReads = false
        try pair.server.read(toLength: bytes.count + 5)
        #expect(
            try pair.loop.turn(within: .seconds(60)) { client.heard.contains(.didWrite(tag: 6)) }
        )
        #expect(client.heard.filter { $0 != .writable } == [.didWrite(tag: 1), .didWrite(tag: 6)])
        #expect(try pair.loop.turn { !server.readBytes.isEmpty })
        #expect(server.readBytes == bytes + Array("sixth".utf8))
        try pair.loop.end()
    }

    @Test("R1 A secured connection that moves to another reactor goes on there")
    func moving() throws {
        let pair = try SecurePair.secured()
        let (recorder, loop) = (Recorder(), pair.loop)
        var moved: StreamSocket?
        nonisolated(unsafe) let take: (StreamSocket) -> Void = {
            moved = $0
            $0.delegate = recorder
        }
        try pair.client.move(to: loop.reactor.handle) { take($0) }
        #expect(try loop.turn { moved != nil })
        try moved?.write("from there")
        try pair.server.read(tag: 1)
        #expect(
            try loop.turn { pair.serverRecorder.heard == [.didRead("from there", tag: 1)] }
        )
        try loop.end()
    }
}

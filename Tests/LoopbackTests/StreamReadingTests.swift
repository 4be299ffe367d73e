import TestSupport
import Testing
import Towline

@Suite("Reading from a real connection") struct StreamReadingTests {
    @Test("O1, L3, C9: reads and writes queued before the connection begin with it, in order")
    func queuedBeforeConnect() throws {
        let pair = try Pair { socket, _ in
            try socket.write("a", tag: 1)
            try socket.write("b", tag: 2)
            try socket.read(toLength: 2, tag: 3)
        }
        try pair.peer.send("cd")
        #expect(try pair.turn { pair.recorder.heard.count == 4 })
        #expect(try pair.peer.receive(2) == Array("ab".utf8))
        guard case .didConnect(let address) = pair.recorder.heard[0] else {
            Issue.record("didConnect comes first")
            return
        }
        #expect(address == pair.socket.remoteAddress)
        #expect(pair.heard.contains(.didRead("cd", tag: 3)))
        #expect(
            pair.heard.filter { $0 != .didRead("cd", tag: 3) } == [
                .didWrite(tag: 1), .didWrite(tag: 2),
            ]
        )
        try pair.loop.end()
    }

    @Test("R5, O2, T2, P1: one segment serves reads of each kind, in order, and the rest waits")
    func mixedReads() throws {
        let pair = try Pair()
        try pair.socket.read(toLength: 5, tag: 1)
        try pair.socket.read(to: .crlf, tag: 2)
        try pair.socket.read(maxLength: 3, tag: 3)
        try pair.peer.send("helloline\r\nrestmore")
        #expect(try pair.turn { pair.heard.count == 3 })
        #expect(
            pair.heard == [
                .didRead("hello", tag: 1), .didRead("line\r\n", tag: 2), .didRead("res", tag: 3),
            ]
        )
        // R5 and R8: what was left over is served without another event from the kernel.
        try pair.socket.read(tag: 4)
        #expect(pair.heard.count == 3, "T2: no callback inside the call")
        #expect(try pair.turn { pair.heard.count == 4 })
        #expect(pair.heard[3] == .didRead("tmore", tag: 4))
        try pair.loop.end()
    }

    @Test("R4, Wish 10, Scenario 1: lines come whole however the bytes are cut", arguments: 1...13)
    func everySplit(size: Int) throws {
        let text = "one\r\n\r\ntwo\r\r\nthree\r\n"
        let pair = try Pair()
        var lines: [String] = []
        pair.recorder.whenRead = { socket, bytes, _ in
            lines.append(String(decoding: bytes, as: UTF8.self))
            try socket.read(to: .crlf)
        }
        try pair.socket.read(to: .crlf)
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try pair.peer.send(Array(bytes[start..<min(start + size, bytes.count)]))
            _ = holds { pair.peer.untakenByteCount == 0 }
            try pair.loop.turn(times: 2)
        }
        #expect(try pair.turn { lines.count == 4 })
        #expect(lines == ["one\r\n", "\r\n", "two\r\r\n", "three\r\n"])
        try pair.loop.end()
    }

    @Test("Scenario 2: header and body from within the callback, many frames, no byte lost")
    func headerAndBody() throws {
        let pair = try Pair()
        pair.recorder.recordsReads = false
        var bodies = 0
        pair.recorder.whenRead = { socket, bytes, tag in
            if tag == 1 {
                try socket.read(toLength: Int(bytes[0]) * 256 + Int(bytes[1]), tag: 2)
            } else {
                #expect(bytes.allSatisfy { $0 == UInt8(truncatingIfNeeded: bodies) })
                bodies += 1
                try socket.read(toLength: 2, tag: 1)
            }
        }
        try pair.socket.read(toLength: 2, tag: 1)
        let peer = pair.peer
        let sender = BackgroundWork {
            for number in 0..<3_000 {
                let count = 1 + number % 700
                let byte = UInt8(truncatingIfNeeded: number)
                try peer.send(
                    [UInt8(count / 256), UInt8(count % 256)]
                        + [UInt8](repeating: byte, count: count)
                )
            }
        }
        #expect(try pair.turn(within: .seconds(30)) { bodies == 3_000 })
        try sender.value()
        try pair.loop.end()
    }

    @Test("R2, R3: maxLength caps an any read, and the rest waits")
    func anyLimit() throws {
        let pair = try Pair()
        try pair.peer.send("abcdef")
        try pair.socket.read(maxLength: 4, tag: 1)
        try pair.socket.read(maxLength: 4, tag: 2)
        #expect(try pair.turn { pair.heard.count == 2 })
        #expect(pair.heard == [.didRead("abcd", tag: 1), .didRead("ef", tag: 2)])
        try pair.loop.end()
    }

    @Test("R3: a delimiter that ends exactly at maxLength is found; one byte more ends the socket")
    func delimiterLimit() throws {
        let found = try Pair()
        try found.socket.read(to: .lf, maxLength: 4, tag: 7)
        try found.peer.send("abc\n")
        #expect(try found.turn { found.heard.count == 1 })
        #expect(found.heard == [.didRead("abc\n", tag: 7)])
        try found.loop.end()

        let missed = try Pair()
        try missed.socket.read(to: .lf, maxLength: 4, tag: 7)
        try missed.peer.send("abcd\n")
        #expect(try missed.turn { missed.recorder.isDisconnected })
        #expect(missed.heard == [.didDisconnect(.delimiterNotFound(tag: 7, limit: 4))])
        #expect(missed.recorder.reports[0].unreadBytes == Array("abcd\n".utf8))
        #expect(missed.recorder.reports[0].incompleteReads == [7])
        try missed.loop.end()
    }

    @Test("R1: invalid reads throw with file and line, and change nothing")
    func invalidReads() throws {
        let pair = try Pair()
        func reason(_ body: () throws(SocketError) -> OperationID) -> String {
            do throws(SocketError) {
                _ = try body()
                return "nothing was thrown"
            } catch {
                return "\(error)"
            }
        }
        let line = #line + 1
        let length = reason { () throws(SocketError) in try pair.socket.read(toLength: 0) }
        #expect(
            length == "read(toLength: 0): length must be 1 or more "
                + "(LoopbackTests/StreamReadingTests.swift:\(line))"
        )
        #expect(
            reason { () throws(SocketError) in try pair.socket.read(maxLength: 0) }
                .hasPrefix("read(maxLength: 0): maxLength must be 1 or more")
        )
        #expect(
            reason { () throws(SocketError) in try pair.socket.read(to: Delimiter([])) }
                .hasPrefix("read(to:): delimiter must have 1 byte or more")
        )
        #expect(
            reason { () throws(SocketError) in try pair.socket.read(to: .crlf, maxLength: 1) }
                .hasPrefix("read(to:maxLength: 1): maxLength must be at least")
        )
        #expect(
            reason { () throws(SocketError) in try pair.socket.read(timeout: .seconds(-1)) }
                .hasPrefix("read(timeout: -1.0 seconds): timeout must be 0 or more")
        )
        try pair.socket.read(tag: 9)
        try pair.peer.send("x")
        #expect(try pair.turn { pair.heard.count == 1 })
        #expect(pair.heard == [.didRead("x", tag: 9)])
        try pair.loop.end()
    }

    @Test("F1, H1, O6: the end interrupts a read, and the report has its bytes")
    func endDuringRead() throws {
        let pair = try Pair()
        try pair.socket.read(toLength: 10, tag: 4)
        try pair.socket.read(tag: 5)
        try pair.peer.send("abc")
        pair.peer.finishSending()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.heard == [.didDisconnect(.closedByPeer)])
        let report = pair.recorder.reports[0]
        #expect(report.unreadBytes == Array("abc".utf8))
        #expect(report.incompleteReads == [4, 5])
        #expect(report.receivedByteCount == 3)
        #expect(report.phase == .connected)
        try pair.loop.end()
    }

    @Test("F2, P3: bytes in front of the end are delivered before it, to reads asked for late, too")
    func bytesBeforeEnd() throws {
        let pair = try Pair()
        try pair.socket.read(to: .lf, tag: 1)
        try pair.peer.send("a\nb\nc")
        pair.peer.close()
        #expect(try pair.turn { pair.heard.count >= 1 })
        try pair.loop.turn(times: 5)
        #expect(pair.heard.first == .didRead("a\n", tag: 1))
        #expect(!pair.recorder.isDisconnected, "R7: unread bytes hide the end")
        try pair.socket.read(to: .lf, tag: 2)
        try pair.socket.read(tag: 3)
        #expect(try pair.turn { pair.recorder.isDisconnected })
        let withoutHangUp = pair.heard.filter { $0 != .hangUp }
        #expect(
            withoutHangUp == [
                .didRead("a\n", tag: 1), .didRead("b\n", tag: 2), .didRead("c", tag: 3),
                .didDisconnect(.closedByPeer),
            ]
        )
        try pair.loop.end()
    }

    @Test("F3: bytes received before a reset are delivered, then the reset is told")
    func bytesBeforeReset() throws {
        let pair = try Pair()
        pair.recorder.recordsReads = false
        pair.recorder.readsOn = true
        let bytes = [UInt8](repeating: 7, count: 100_000)
        try pair.peer.send(bytes)
        _ = holds { pair.peer.untakenByteCount == 0 }
        pair.peer.reset()
        try pair.socket.read()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.readBytes == bytes)
        guard case .system(let error)? = pair.recorder.reports[0].error else {
            Issue.record("the reset is a refused call")
            return
        }
        #expect(error.name == "ECONNRESET")
        try pair.loop.end()
    }

    @Test("R7: with no read outstanding an end without bytes is noticed")
    func endWithoutRead() throws {
        let pair = try Pair()
        pair.peer.close()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.heard == [.didDisconnect(.closedByPeer)])
        try pair.loop.end()
    }

    @Test(
        "R7, EP3, N4, Wish 4, Scenario 6: an end behind unread bytes is a hang-up, told once"
    )
    func hangUp() throws {
        let pair = try Pair()
        try pair.peer.send("unread")
        pair.peer.close()
        #expect(try pair.turn { pair.heard.contains(.hangUp) })
        let waits = pair.loop.reactor.figures.waits
        let events = pair.loop.reactor.figures.events
        for _ in 0..<20 { try pair.loop.reactor.turn(waitingAtMost: .milliseconds(1)) }
        #expect(pair.loop.reactor.figures.waits - waits == 20)
        #expect(pair.loop.reactor.figures.events == events, "nothing is told again and again")
        #expect(pair.heard == [.hangUp])
        try pair.socket.read(tag: 1)
        #expect(try pair.turn { pair.heard.count == 2 })
        #expect(pair.heard[1] == .didRead("unread", tag: 1))
        try pair.socket.read(tag: 2)
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.reports[0].error == .closedByPeer)
        try pair.loop.end()
    }

    @Test("R7: unread bytes are left to the kernel, so that a fast sender is held back")
    func backPressure() throws {
        let pair = try Pair(buffer: 4_096)
        try pair.socket.read(toLength: 1, tag: 1)
        try pair.loop.turn(times: 2)
        let peer = pair.peer
        let sender = BackgroundWork { try peer.send([UInt8](repeating: 1, count: 4 << 20)) }
        #expect(try pair.turn { pair.heard.count == 1 })
        for _ in 0..<50 { try pair.loop.reactor.turn(waitingAtMost: .milliseconds(1)) }
        let received = pair.loop.reactor.figures.receivedBytes
        #expect(received < 300_000, "one receive at most ahead of the reader, and 4 MiB were sent")
        pair.recorder.recordsReads = false
        pair.recorder.readsOn = true
        try pair.socket.read()
        #expect(try pair.turn { pair.recorder.readBytes.count == 4 << 20 })
        try sender.value()
        try pair.loop.end()
    }

    @Test("O3, Wish 9: progress comes before its completion, the last piece included, and adds up")
    func progress() throws {
        let pair = try Pair()
        pair.recorder.recordsProgress = true
        try pair.socket.read(toLength: 6, tag: 1)
        try pair.peer.send("ab")
        #expect(try pair.turn { pair.heard.count == 1 })
        try pair.peer.send("cdef")
        #expect(try pair.turn { pair.heard.count == 3 })
        #expect(
            pair.heard == [
                .progressRead(tag: 1, IOProgress(newBytes: 2, bytesDone: 2, total: 6)),
                .progressRead(tag: 1, IOProgress(newBytes: 4, bytesDone: 6, total: 6)),
                .didRead("abcdef", tag: 1),
            ]
        )
        try pair.loop.end()
    }

    @Test("R8, Wish 31: ten thousand queued reads complete in order")
    func manyReads() throws {
        let pair = try Pair()
        pair.recorder.recordsReads = false
        var tags: [Int] = []
        pair.recorder.whenRead = { _, _, tag in tags.append(tag) }
        for tag in 0..<10_000 { try pair.socket.read(toLength: 1, tag: tag) }
        try pair.peer.send([UInt8](repeating: 0, count: 10_000))
        #expect(try pair.turn { tags.count == 10_000 })
        #expect(tags == Array(0..<10_000))
        try pair.loop.end()
    }
}

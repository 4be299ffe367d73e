import TestSupport
import Testing
import Towline

@Suite("Writing to a real connection") struct StreamWritingTests {
    @Test("O2, W1: writes of every form arrive in order, an empty one is done in its turn")
    func forms() throws {
        let pair = try Pair()
        let bytes: [UInt8] = [2, 3]
        try pair.socket.write([1], tag: 1)
        try pair.socket.write(bytes.span.bytes, tag: 2)
        try pair.socket.write([], tag: 3)
        try pair.socket.write("four", tag: 4)
        try pair.socket.write(repeatElement(5, count: 3), tag: 5)
        try pair.socket.write(chunks: [[6], [], [7, 8]], tag: 6)
        #expect(pair.heard == [], "T2: no callback inside the call")
        #expect(try pair.turn { pair.heard.count == 6 })
        #expect(pair.heard == (1...6).map { .didWrite(tag: $0) })
        #expect(try pair.peer.receive(13) == [1, 2, 3] + Array("four".utf8) + [5, 5, 5, 6, 7, 8])
        try pair.loop.end()
    }

    @Test("W5, LP4, EP9: what a callback writes leaves in one call")
    func gathering() throws {
        let pair = try Pair()
        pair.recorder.whenRead = { socket, _, _ in
            for number in 0..<16 { try socket.write([UInt8](repeating: 1, count: 64), tag: number) }
        }
        try pair.socket.read()
        let before = pair.loop.reactor.figures.sends
        try pair.peer.send("go")
        #expect(try pair.turn { pair.heard.count == 17 })
        #expect(pair.loop.reactor.figures.sends - before == 1)
        #expect(pair.heard.dropFirst() == (0..<16).map { .didWrite(tag: $0) }[...])
        #expect(try pair.peer.receive(1_024).count == 1_024)
        try pair.loop.end()
    }

    @Test("W4, W8: 4 MiB through small buffers arrive whole, and only then is the write done")
    func largeWrite() throws {
        let pair = try Pair(buffer: 65_536)
        let pattern = (0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try pair.socket.write(pattern, tag: 1)
        try pair.socket.write("end", tag: 2)
        try pair.loop.turn(times: 3)
        #expect(pair.heard == [], "the kernel cannot have taken all of it")
        #expect(pair.socket.pendingWriteBytes > 2 << 20)
        let peer = pair.peer
        let receiver = BackgroundWork { try peer.receive((4 << 20) + 3) }
        #expect(try pair.turn(within: .seconds(30)) { pair.heard.contains(.didWrite(tag: 2)) })
        #expect(try receiver.value() == pattern + Array("end".utf8))
        #expect(pair.socket.pendingWriteBytes == 0)
        try pair.loop.end()
    }

    @Test("O2: small and large writes in turn, from inside and outside of callbacks, keep order")
    func mixedSizes() throws {
        let pair = try Pair(buffer: 8_192)
        var expected: [UInt8] = []
        var number = 0
        func next() -> [UInt8] {
            number += 1
            let count = [1, 500, 20_000, 70_000, 3][number % 5]
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count)
            expected += bytes
            return bytes
        }
        pair.recorder.whenWritten = { socket, _ in
            guard number < 400 else { return }
            try socket.write(next())
            try socket.write(next().span.bytes)
        }
        for _ in 0..<10 { try pair.socket.write(next()) }
        let peer = pair.peer
        let receiver = BackgroundWork { try peer.receiveUntilEnd() }
        #expect(
            try pair.turn(within: .seconds(30)) {
                number >= 400 && pair.socket.pendingWriteBytes == 0
            }
        )
        pair.socket.disconnect(.afterWrites)
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(try receiver.value() == expected)
        #expect(pair.recorder.reports[0].sentByteCount == expected.count)
        try pair.loop.end()
    }

    @Test("O3: write progress adds up, comes before the completion, and includes the last piece")
    func progress() throws {
        let pair = try Pair(buffer: 65_536)
        pair.recorder.recordsProgress = true
        try pair.socket.write([UInt8](repeating: 1, count: 1 << 20), tag: 5)
        let peer = pair.peer
        let receiver = BackgroundWork { try peer.receive(1 << 20).count }
        #expect(try pair.turn { pair.heard.contains(.didWrite(tag: 5)) })
        _ = try receiver.value()
        var done = 0
        let withoutWritable = pair.heard.filter { $0 != .writable }
        #expect(withoutWritable.last == .didWrite(tag: 5))
        for heard in withoutWritable.dropLast() {
            guard case .progressWrite(5, let progress) = heard else {
                Issue.record("only progress comes before: \(heard)")
                continue
            }
            done += progress.newBytes
            #expect(progress.bytesDone == done)
            #expect(progress.total == 1 << 20)
        }
        #expect(done == 1 << 20)
        #expect(pair.heard.count > 2, "in more than one piece")
        try pair.loop.end()
    }

    @Test(
        "W6, Wish 8: below the low-water mark, after the high one, it is told once"
    )
    func waterMarks() throws {
        let pair = try Pair(buffer: 4_096)
        pair.socket.writeHighWaterMark = 100_000
        pair.socket.writeLowWaterMark = 50_000
        try pair.socket.write([UInt8](repeating: 1, count: 2 << 20), tag: 1)
        let peer = pair.peer
        let receiver = BackgroundWork { try peer.receive(2 << 20).count }
        #expect(try pair.turn { pair.heard.contains(.writable) })
        #expect(pair.socket.pendingWriteBytes < 50_000)
        #expect(try pair.turn { pair.heard.contains(.didWrite(tag: 1)) })
        _ = try receiver.value()
        #expect(pair.heard.filter { $0 == .writable }.count == 1)
        try pair.loop.end()
    }

    @Test("W6: the first write of a callback counts against the marks, a default didWrite or not")
    func waterMarksInCallback() throws {
        final class Gate: StreamSocketDelegate {
            var writableCount = 0
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                try socket.write(bytes)
                if socket.pendingWriteBytes <= socket.writeHighWaterMark { try socket.read() }
            }
            func socketDidBecomeWritable(_ socket: StreamSocket) throws {
                writableCount += 1
                try socket.read()
            }
        }
        let pair = try Pair()
        let gate = Gate()
        pair.socket.delegate = gate
        pair.socket.writeHighWaterMark = 1_000
        pair.socket.writeLowWaterMark = 500
        try pair.socket.read()
        for _ in 0..<3 {
            try pair.peer.send([UInt8](repeating: 1, count: 5_000))
            #expect(try pair.peer.receiveWhileTurning(5_000, pair.loop).count == 5_000)
        }
        #expect(gate.writableCount >= 3)
        try pair.loop.end()
    }

    @Test("W6: a write that finds the limit waiting is refused, and changes nothing")
    func queueLimit() throws {
        let pair = try Pair(buffer: 4_096)
        pair.socket.writeQueueLimit = 1 << 20
        try pair.socket.write([UInt8](repeating: 1, count: 8 << 20), tag: 1)
        try pair.loop.turn(times: 2)
        let waiting = pair.socket.pendingWriteBytes
        #expect(throws: SocketError.writeQueueFull(waiting: waiting, limit: 1 << 20)) {
            try pair.socket.write([1], tag: 2)
        }
        #expect(pair.socket.pendingWriteBytes == waiting)
        try pair.loop.end()
        let incomplete = pair.recorder.reports[0].incompleteWrites
        #expect(incomplete.map(\.tag) == [1])
        #expect(incomplete.map(\.bytesWritten) == [(8 << 20) - waiting])
        #expect(incomplete.map(\.total) == [8 << 20])
    }

    @Test("F4, W10: after a failed send the peer's last bytes are read, then the reason is told")
    func failedSend() throws {
        let pair = try Pair()
        pair.recorder.recordsReads = false
        try pair.peer.send("last words")
        _ = holds { pair.peer.untakenByteCount == 0 }
        // The peer's close with our bytes unread resets the connection.
        try pair.socket.write("unread")
        try pair.loop.turn(times: 2)
        pair.peer.close()
        pair.recorder.readsOn = true
        try pair.socket.write("into the void")
        try pair.socket.read()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.recorder.readBytes == Array("last words".utf8))
        guard case .system(let error)? = pair.recorder.reports[0].error else {
            Issue.record("the reason is a refused call: \(pair.recorder.reports[0])")
            return
        }
        #expect(["EPIPE", "ECONNRESET"].contains(error.name), "\(pair.recorder.reports[0])")
        try pair.loop.end()
    }

    @Test(
        "W7, Wish 46, Scenario 8: writing to a peer that has gone ends the socket, not the process"
    )
    func goneePeer() throws {
        for _ in 0..<200 {
            let pair = try Pair()
            pair.peer.reset()
            try pair.socket.write("x")
            try pair.socket.write("y")
            #expect(try pair.turn { pair.recorder.isDisconnected })
            #expect(pair.recorder.reports.count == 1)
            try pair.loop.end()
        }
    }

    @Test("M1: a write's time runs out when the peer takes nothing; the answer decides")
    func writeTimeout() throws {
        let pair = try Pair(buffer: 4_096)
        pair.recorder.timeoutAnswers = [.extend(by: .milliseconds(30)), .disconnect]
        try pair.socket.write(
            [UInt8](repeating: 1, count: 1 << 20),
            timeout: .milliseconds(20),
            tag: 3
        )
        #expect(try pair.turn { pair.recorder.isDisconnected })
        guard case .shouldTimeOutWrite(3, .milliseconds(20), let sent) = pair.heard[0] else {
            Issue.record("asked with the timeout: \(pair.heard)")
            return
        }
        #expect(sent > 0 && sent < 1 << 20)
        guard case .shouldTimeOutWrite(3, .milliseconds(50), let sentLater) = pair.heard[1] else {
            Issue.record("asked again with the extension: \(pair.heard)")
            return
        }
        #expect(sentLater >= sent)
        #expect(pair.heard[2] == .didDisconnect(.writeTimedOut(tag: 3)))
        try pair.loop.end()
    }

    @Test("W6: a write that passes a low mark in a callback is told of, though it is sent at once")
    func lowMark() throws {
        let pair = try Pair { socket, _ in
            socket.writeHighWaterMark = 100
            socket.writeLowWaterMark = 50
        }
        var pendingCount = 0
        pair.recorder.whenRead = { socket, bytes, _ in
            try socket.write(bytes)
            pendingCount = socket.pendingWriteBytes
        }
        try pair.socket.read()
        try pair.peer.send([UInt8](repeating: 1, count: 1_000))
        #expect(try pair.turn(within: .seconds(2)) { pair.heard.contains(.writable) })
        #expect(pendingCount > 100)
        try pair.loop.end()
    }

    @Test(
        "M3: a write that has sent some of its bytes cannot be cancelled, and ends the connection"
    )
    func cancelWrite() throws {
        let pair = try Pair(buffer: 4_096)
        pair.recorder.timeoutAnswers = [.cancelOperation]
        try pair.socket.write(
            [UInt8](repeating: 1, count: 1 << 20),
            timeout: .milliseconds(20),
            tag: 1
        )
        try pair.socket.write("behind", tag: 2)
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.heard.last == .didDisconnect(.writeTimedOut(tag: 1)))
        let incomplete = pair.recorder.reports[0].incompleteWrites
        #expect(incomplete.map(\.tag) == [1, 2])
        #expect(incomplete.map(\.bytesWritten) == [pair.recorder.reports[0].sentByteCount, 0])
        try pair.loop.end()
    }

    @Test("O3: a delegate that hears of progress alone hears of each write's")
    func progressAlone() throws {
        final class ProgressCounter: StreamSocketDelegate {
            var byteCount = 0

            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                try socket.write(bytes)
                try socket.read()
            }

            func socket(
                _ socket: StreamSocket,
                didProgressWrite tag: Int,
                _ progress: IOProgress
            ) {
                byteCount += progress.newBytes
            }
        }
        let pair = try Pair()
        let counter = ProgressCounter()
        pair.socket.delegate = counter
        try pair.socket.read()
        for count in 1...5 {
            try pair.peer.send("x")
            let isTold = try pair.turn(within: .seconds(2)) { counter.byteCount == count }
            #expect(isTold, "of write \(count)")
        }
        try pair.loop.end()
    }

    @Test("O3, O5: the last progress comes before a completion that an end has overtaken")
    func progressBeforeOvertakenCompletion() throws {
        let pair = try Pair { _, recorder in recorder.recordsProgress = true }
        pair.socket.halfClosePolicy = .disconnect
        try pair.socket.read()
        pair.peer.finishSending()
        try pair.socket.write("x", tag: 1)
        #expect(try pair.turn(within: .seconds(2)) { pair.recorder.isDisconnected })
        let progress = IOProgress(newBytes: 1, bytesDone: 1, total: 1)
        #expect(
            pair.heard == [
                .progressWrite(tag: 1, progress), .didWrite(tag: 1), .didDisconnect(.closedByPeer),
            ]
        )
        try pair.loop.end()
    }

    @Test("W6: a high water mark that is set below what waits counts at once")
    func loweredMark() throws {
        let pair = try Pair()
        try pair.socket.write([UInt8](repeating: 1, count: 1_000))
        #expect(!pair.socket.isAboveHighWaterMark)
        pair.socket.writeHighWaterMark = 100
        #expect(pair.socket.isAboveHighWaterMark)
        #expect(try pair.turn(within: .seconds(2)) { pair.heard.contains(.writable) })
        #expect(!pair.socket.isAboveHighWaterMark)
        try pair.loop.end()
    }
}

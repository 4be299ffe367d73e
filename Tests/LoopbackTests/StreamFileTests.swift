import Glibc
import TestSupport
import Testing
import Towline

@Suite("Files and chunks over real connections") struct StreamFileTests {
    @Test("W8, O2, O3: a file goes between other writes, with progress, and none of it in memory")
    func file() throws {
        let pair = try Pair()
        pair.recorder.recordsProgress = true
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let scratch = try ScratchFile(bytes)
        let file = try OpenFile(path: scratch.path)
        try pair.socket.write("head", tag: 1)
        try pair.socket.write(file: file, tag: 2)
        try pair.socket.write(file: file, range: 5..<5, tag: 3)
        try pair.socket.write(file: file, range: 10..<20, tag: 4)
        try pair.socket.write("tail", tag: 5)
        #expect(pair.socket.pendingWriteBytes == 3_000_018)
        try pair.socket.shutdownWrite()
        let received = BackgroundWork { [peer = pair.peer] in try peer.receiveUntilEnd() }
        #expect(try pair.turn { pair.heard.contains(.didWrite(tag: 5)) })
        let expected = Array("head".utf8) + bytes + bytes[10..<20] + Array("tail".utf8)
        let isWhole = try received.value() == expected
        #expect(isWhole)
        let writes = pair.heard.compactMap { if case .didWrite(let tag) = $0 { tag } else { nil } }
        #expect(writes == [1, 2, 3, 4, 5])
        let progress = pair.heard.compactMap { heard -> IOProgress? in
            if case .progressWrite(tag: 2, let progress) = heard { progress } else { nil }
        }
        #expect(progress.reduce(0) { $0 + $1.newBytes } == bytes.count)
        #expect(progress.last?.bytesDone == bytes.count)
        try pair.loop.end()
    }

    @Test("W8, Wish 35: a part around 4 GiB arrives, and all of 5 GiB can be asked for")
    func large() throws {
        let pair = try Pair()
        let four = 4 << 30
        let scratch = try ScratchFile(byteCount: 5 << 30)
        try scratch.write(Array("before".utf8), at: four - 6)
        try scratch.write(Array("behind".utf8), at: four)
        let file = try OpenFile(path: scratch.path)
        try pair.socket.write(file: file, range: four - 6..<four + 6, tag: 1)
        #expect(try pair.turn { pair.heard == [.didWrite(tag: 1)] })
        #expect(try pair.peer.receive(12) == Array("beforebehind".utf8))
        let all = try pair.socket.write(file: file, tag: 2)
        #expect(pair.socket.pendingWriteBytes == 5 << 30)
        #expect(throws: SocketError.writeQueueFull(waiting: 5 << 30, limit: 64 << 20)) {
            try pair.socket.write("x")
        }
        try pair.loop.turn(times: 5)
        let done = try #require(pair.socket.currentWrite)
        #expect(done.total == 5 << 30 && done.bytesDone > 0)
        #expect(!pair.socket.cancel(all))
        pair.socket.abort()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        let report = pair.recorder.reports[0]
        #expect(report.incompleteWrites.map(\.total) == [5 << 30])
        try pair.loop.end()
    }

    @Test("W8, C1: a range that is not within the file is refused, and changes nothing")
    func invalidRange() throws {
        let pair = try Pair()
        let scratch = try ScratchFile([1, 2, 3])
        let file = try OpenFile(path: scratch.path)
        for range in [-1..<2, 0..<4, 4..<4] {
            #expect(throws: SocketError.self) { try pair.socket.write(file: file, range: range) }
        }
        #expect(pair.socket.pendingWriteBytes == 0)
        try pair.loop.end()
    }

    @Test("W10: a file that becomes shorter while it is sent ends the connection with a reset")
    func shorter() throws {
        let pair = try Pair(buffer: 4_096)
        let scratch = try ScratchFile(byteCount: 1 << 20)
        try pair.socket.write(file: try OpenFile(path: scratch.path), tag: 1)
        try pair.loop.turn(times: 3)
        try scratch.truncate(to: 1_000)
        let received = BackgroundWork { [peer = pair.peer] in try peer.receiveUntilEnd() }
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(
            pair.recorder.reports[0].description
                .hasSuffix("file that has become shorter failed: no data available (ENODATA)")
        )
        do {
            let count = try received.value().count
            Issue.record("\(count) bytes and an end look like all of it")
        } catch {
            #expect((error as? SystemCallError)?.errno == ECONNRESET)
        }
        try pair.loop.end()
    }

    @Test("W7: a peer that goes while a file is sent ends the socket, not the process")
    func brokenPipe() throws {
        for _ in 0..<20 {
            let pair = try Pair { socket, _ in socket.halfClosePolicy = .keepOpen }
            let scratch = try ScratchFile(byteCount: 8 << 20)
            let file = try OpenFile(path: scratch.path)
            pair.peer.close()
            // Its end is no reason not to send; the answer to that is a reset, and then a signal.
            for tag in 0..<50 where pair.socket.state == .connected {
                try pair.socket.write(file: file, range: 0..<100, tag: tag)
                try pair.loop.turn(times: 2)
            }
            #expect(try pair.turn { pair.recorder.isDisconnected })
            try pair.loop.end()
        }
        var pending = sigset_t()
        sigpending(&pending)
        #expect(sigismember(&pending, SIGPIPE) == 0)
    }

    @Test("W9: large chunks are one write, and arrays written to many sockets are not copied")
    func sharedArrays() throws {
        let pairs = try (0..<20).map { _ in try Pair(buffer: 4_096) }
        let large = [UInt8](repeating: 7, count: 8 << 20)
        let before = residentByteCount()
        for pair in pairs { try pair.socket.write(chunks: [[1, 2], [3], large, [4], large, [5]]) }
        for pair in pairs { try pair.loop.turn(times: 3) }
        let used = residentByteCount() - before
        #expect(used < 160 << 20, "\(used) bytes for 320 MiB that wait")
        let pair = pairs[0]
        try pair.socket.shutdownWrite()
        let received = BackgroundWork { [peer = pair.peer] in try peer.receiveUntilEnd() }
        #expect(try pair.turn { pair.heard.contains(.didWrite(tag: 0)) })
        let isWhole = try received.value() == [1, 2, 3] + large + [4] + large + [5]
        #expect(isWhole)
        for pair in pairs { try pair.loop.end() }
    }

    @Test("W9, Wish 7: what the peer's host has received can be asked for")
    func unacknowledged() throws {
        let pair = try Pair(buffer: 4_096)
        #expect(pair.socket.unacknowledgedByteCount == 0)
        try pair.socket.write([UInt8](repeating: 1, count: 1 << 20), tag: 1)
        #expect(pair.socket.unacknowledgedByteCount == 1 << 20)
        try pair.loop.turn(times: 3)
        let waiting = pair.socket.pendingWriteBytes
        let unknown = try #require(pair.socket.unacknowledgedByteCount)
        #expect(unknown >= waiting && unknown <= 1 << 20)
        try pair.socket.shutdownWrite()
        let received = BackgroundWork { [peer = pair.peer] in try peer.receiveUntilEnd() }
        #expect(try pair.turn { pair.socket.unacknowledgedByteCount == 0 })
        #expect(try received.value().count == 1 << 20)
        pair.socket.disconnect()
        #expect(try pair.turn { pair.recorder.isDisconnected })
        #expect(pair.socket.unacknowledgedByteCount == nil)
        try pair.loop.end()
    }

    /// The memory that the process has.
    private func residentByteCount() -> Int {
        var text = [UInt8](repeating: 0, count: 256)
        let descriptor = open("/proc/self/statm", O_RDONLY)
        defer { close(descriptor) }
        let count = read(descriptor, &text, text.count)
        let fields = String(decoding: text.prefix(max(0, count)), as: UTF8.self)
            .split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4_096
    }
}

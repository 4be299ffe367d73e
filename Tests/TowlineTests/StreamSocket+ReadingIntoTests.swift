import TestSupport
import Testing
import Towline
import TowlineTestKit

/// Hears of reads into buffers, and keeps the buffers.
private final class Owner: StreamSocketDelegate {
    struct Result: Equatable {
        var bytes: [UInt8]
        var range: Range<Int>
        var tag: Int
    }

    var results: [Result] = []
    var cancelled: [Result] = []
    var reports: [DisconnectReport] = []
    var decision = TimeoutDecision.disconnect
    var whenRead: (StreamSocket, consuming ReadBuffer, Int) throws -> Void = { _, _, _ in }

    func socket(
        _ socket: StreamSocket,
        didRead buffer: consuming ReadBuffer,
        range: Range<Int>,
        tag: Int
    ) throws {
        results.append(Result(bytes: buffer.withBytes { [UInt8]($0) }, range: range, tag: tag))
        try whenRead(socket, buffer, tag)
    }

    func socket(
        _ socket: StreamSocket,
        didCancelRead tag: Int,
        buffer: consuming ReadBuffer,
        range: Range<Int>
    ) throws {
        cancelled.append(Result(bytes: buffer.withBytes { [UInt8]($0) }, range: range, tag: tag))
    }

    func socket(
        _ socket: StreamSocket,
        shouldTimeOutRead tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision { decision }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        reports.append(report)
    }
}

@Suite("Reading into buffers") struct ReadingIntoTests {
    @Test("B1 The bytes go into the buffer from the offset on, and it comes back with them")
    func intoBuffer() throws {
        for world in World.allCases {
            let ends = try Ends(world)
            let owner = Owner()
            ends.socket.delegate = owner
            try ends.socket.read(into: ReadBuffer([9, 9, 9, 9, 9]), at: 1, toLength: 2, tag: 1)
            try ends.socket.read(into: ReadBuffer([9]), at: 1, to: .lf, tag: 2)
            try ends.send("abcd\nef")
            try ends.turn { owner.results.count == 2 }
            #expect(
                owner.results == [
                    .init(bytes: [9, 97, 98, 9, 9], range: 1..<3, tag: 1),
                    .init(bytes: [9, 99, 100, 10], range: 1..<4, tag: 2),
                ]
            )
            try ends.socket.read(into: ReadBuffer(count: 1), maxLength: 1, tag: 3)
            try ends.socket.readToEnd(into: ReadBuffer(), maxLength: 9, tag: 4)
            ends.finishSending()
            try ends.turn { !owner.reports.isEmpty }
            #expect(owner.results.dropFirst(2).map(\.bytes) == [[101], [102]])
            #expect(owner.reports[0].error == .closedByPeer)
            #expect(owner.reports[0].takeReadBuffer()?.count == nil)
            try ends.end()
        }
    }

    @Test("B1 However the bytes are cut, reads with and without buffers get the same")
    func everySplit() throws {
        let text = Array("ab\ncdefg".utf8)
        for first in 0...text.count {
            for second in first...text.count {
                for kinds in 0..<8 {
                    let ends = try Ends(.simulated)
                    let both = Both()
                    ends.socket.delegate = both
                    if kinds & 1 == 0 {
                        try ends.socket.read(to: .lf)
                    } else {
                        try ends.socket.read(into: ReadBuffer(), to: .lf)
                    }
                    if kinds & 2 == 0 {
                        try ends.socket.read(toLength: 2)
                    } else {
                        try ends.socket.read(into: ReadBuffer(count: 9), at: 3, toLength: 2)
                    }
                    if kinds & 4 == 0 {
                        try ends.socket.readToEnd(maxLength: 3)
                    } else {
                        try ends.socket.readToEnd(into: ReadBuffer(), maxLength: 3)
                    }
                    for piece in [text[..<first], text[first..<second], text[second...]] {
                        try ends.send(Array(piece))
                        try ends.reactor.turn(waitingAtMost: .zero)
                    }
                    ends.finishSending()
                    try ends.turn { both.report != nil }
                    #expect(both.texts == ["ab\n", "cd", "efg"])
                    #expect(both.report?.error == .closedByPeer)
                    try ends.end()
                }
            }
        }
    }

    /// Leaves reads into buffers to the default.
    private final class Both: StreamSocketDelegate {
        var texts: [String] = []
        var report: DisconnectReport?
        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) {
            texts.append(String(decoding: bytes))
        }
        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            self.report = report
        }
    }

    @Test("B2 One buffer serves read after read, from within its own callback")
    func again() throws {
        let ends = try Ends(.simulated)
        let owner = Owner()
        ends.socket.delegate = owner
        owner.whenRead = { socket, buffer, tag in
            guard tag < 500 else { return }
            try socket.read(into: buffer, toLength: 3, tag: tag + 1)
        }
        try ends.socket.read(into: ReadBuffer(count: 3), toLength: 3, tag: 1)
        try ends.send([UInt8](repeating: 5, count: 1_500))
        try ends.turn { owner.results.count == 500 }
        #expect(owner.results.allSatisfy { $0.bytes == [5, 5, 5] && $0.range == 0..<3 })
        try ends.end()
    }

    @Test("B2 The report gives back the buffers of all incomplete reads, each once; F1 their bytes")
    func inReport() throws {
        for world in World.allCases {
            let ends = try Ends(world)
            let owner = Owner()
            ends.socket.delegate = owner
            try ends.socket.read(into: ReadBuffer(count: 10), at: 1, toLength: 5, tag: 1)
            try ends.socket.read(tag: 2)
            try ends.socket.read(into: ReadBuffer([7]), tag: 3)
            try ends.send("abc")
            try ends.receive(3)
            try ends.reset()
            try ends.turn { !owner.reports.isEmpty }
            let report = owner.reports[0]
            #expect(report.unreadBytes == Array("abc".utf8))
            #expect(report.incompleteReads == [1, 2, 3])
            let copy = report
            let first = try #require(report.takeReadBuffer()?.withBytes { [UInt8]($0) })
            #expect(first == [0, 97, 98, 99, 0, 0, 0, 0, 0, 0])
            #expect(copy.takeReadBuffer()?.withBytes { [UInt8]($0) } == [7])
            #expect(report.takeReadBuffer()?.count == nil)
            try ends.end()
        }
    }

    @Test("F1 A single read's bytes and buffer are in the report (B2)", arguments: World.allCases)
    func singleReadInReport(world: World) throws {
        let ends = try Ends(world)
        let owner = Owner()
        ends.socket.delegate = owner
        try ends.socket.read(into: ReadBuffer(), toLength: 5, tag: 1)
        try ends.send("abc")
        ends.finishSending()
        try ends.turn { !owner.reports.isEmpty }
        #expect(owner.reports[0].unreadBytes == Array("abc".utf8))
        #expect(owner.reports[0].incompleteReads == [1])
        #expect(owner.reports[0].takeReadBuffer()?.count == 3)
        try ends.end()
    }

    @Test("B2 A cancelled read's bytes stay for the next, and the buffer can be taken back (R9)")
    func cancelled() throws {
        for world in World.allCases {
            let ends = try Ends(world)
            let owner = Owner()
            ends.socket.delegate = owner
            let id = try ends.socket.read(into: ReadBuffer(count: 2), toLength: 9, tag: 1)
            let queued = try ends.socket.read(into: ReadBuffer([3]), tag: 2)
            let plain = try ends.socket.read(toLength: 4, tag: 3)
            try ends.send("abc")
            try ends.receive(3)
            #expect(ends.socket.cancelRead(takingBufferOf: plain)?.count == nil, "it has no buffer")
            #expect(ends.socket.cancelRead(takingBufferOf: queued)?.count == 1)
            #expect(ends.socket.cancelRead(takingBufferOf: id)?.count == 3)
            #expect(
                ends.socket.cancelRead(takingBufferOf: id)?.count == nil,
                "it has ended already"
            )
            #expect(ends.socket.cancel(plain))
            #expect(ends.socket.peek { String(decoding: $0) } == "abc")
            let last = try ends.socket.read(into: ReadBuffer(), toLength: 4, tag: 4)
            try ends.idle()
            #expect(ends.socket.peek { $0.isEmpty }, "they are in the buffer now")
            try ends.socket.unread(Array("x".utf8))
            try ends.turn { owner.results.count == 1 }
            #expect(owner.results[0].bytes == Array("xabc".utf8))
            #expect(!ends.socket.cancel(last))
            try ends.end()
        }
    }

    @Test("B2 A read whose time is up gives its buffer back, with what it has (M3)")
    func timedOut() throws {
        let ends = try Ends(.simulated)
        let owner = Owner()
        owner.decision = .cancelOperation
        ends.socket.delegate = owner
        try ends.socket.read(
            into: ReadBuffer(),
            toLength: 5,
            timeout: .milliseconds(5),
            tag: 1
        )
        try ends.socket.read(into: ReadBuffer(), toLength: 1, tag: 2)
        try ends.send("ab")
        try ends.turn { owner.cancelled.count == 1 }
        #expect(owner.cancelled == [.init(bytes: [97, 98], range: 0..<2, tag: 1)])
        try ends.send("c")
        try ends.turn { owner.results.count == 1 }
        #expect(owner.results[0].bytes == [99])
        try ends.end()
    }

    @Test("B2 Cancelled, paused or put back into in its last progress, a read loses no byte")
    func lastProgress() throws {
        final class Fickle: StreamSocketDelegate {
            var act: (StreamSocket) throws -> Void = { _ in }
            var texts: [String] = []
            func socket(
                _ socket: StreamSocket,
                didProgressRead tag: Int,
                _ progress: IOProgress
            ) throws {
                guard progress.bytesDone == 4 else { return }
                try act(socket)
                act = { _ in }
            }
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) {
                texts.append(String(decoding: bytes))
            }
        }
        for pieces in [["abcdef"], ["abc", "def"], ["abcd", "ef"]] {
            for way in 0..<3 {
                let ends = try Ends(.simulated)
                let fickle = Fickle()
                ends.socket.delegate = fickle
                let id = try ends.socket.read(into: ReadBuffer(), toLength: 4)
                fickle.act = { socket in
                    switch way {
                    case 0:
                        #expect(socket.cancel(id))
                        try socket.read(toLength: 6)
                    case 1: socket.pauseReads()
                    default: try socket.unread([120])
                    }
                }
                for piece in pieces {
                    try ends.send(piece)
                    try ends.idle()
                }
                if way == 1 {
                    #expect(fickle.texts == [])
                    ends.socket.resumeReads()
                }
                let expected = [["abcdef"], ["abcd", "ef"], ["xabc", "def"]][way]
                if way > 0 { try ends.socket.read(toLength: expected[1].count) }
                try ends.turn { fickle.texts == expected }
                try ends.end()
            }
        }
    }

    @Test("R1 An offset outside of the buffer, and lengths of nothing, are refused")
    func invalid() throws {
        let ends = try Ends(.simulated)
        for offset in [-1, 3] {
            #expect(throws: SocketError.self) {
                try ends.socket.read(into: ReadBuffer(count: 2), at: offset)
            }
        }
        #expect(throws: SocketError.self) {
            try ends.socket.read(into: ReadBuffer(), toLength: 0)
        }
        #expect(throws: SocketError.self) {
            try ends.socket.read(into: ReadBuffer(), maxLength: 0)
        }
        #expect(throws: SocketError.self) {
            try ends.socket.read(into: ReadBuffer(), to: .crlf, maxLength: 1)
        }
        #expect(throws: SocketError.self) {
            try ends.socket.readToEnd(into: ReadBuffer(), maxLength: 0)
        }
        #expect(ends.socket.metrics.queuedReadCount == 0)
        try ends.end()
    }

    @Test("R9 The current read and write say how far they are, and the socket what waits")
    func progress() throws {
        let ends = try Ends(.simulated)
        #expect(ends.socket.currentRead == nil)
        #expect(ends.socket.currentWrite == nil)
        for isInto in [false, true] {
            let id =
                isInto
                ? try ends.socket.read(into: ReadBuffer(), toLength: 5, tag: 1)
                : try ends.socket.read(toLength: 5, tag: 1)
            if !isInto { try ends.send("abc") }
            try ends.receive(3)
            try ends.idle()
            #expect(ends.socket.currentRead?.tag == 1)
            #expect(ends.socket.currentRead?.bytesDone == 3)
            #expect(ends.socket.currentRead?.total == 5)
            #expect(ends.socket.metrics.keptByteCount == 3)
            #expect(ends.socket.metrics.queuedReadCount == 1)
            ends.socket.cancel(id)
        }
        try ends.socket.write([UInt8](repeating: 1, count: 100_000), tag: 4)
        #expect(ends.socket.currentWrite?.tag == 4)
        #expect(ends.socket.currentWrite?.total == 100_000)
        #expect(ends.socket.currentWrite?.bytesDone == 0)
        #expect(ends.socket.metrics.pendingWriteByteCount == 100_000)
        #expect(ends.socket.metrics.queuedWriteCount == 1)
        try ends.turn { ends.heard.contains(.didWrite(tag: 4)) }
        #expect(ends.socket.currentWrite == nil)
        #expect(ends.socket.metrics.sentByteCount == 100_000)
        #expect(ends.socket.metrics.receivedByteCount == 3)
        try ends.end()
    }
}

import Glibc
import TestSupport
import Testing
import Towline
import TowlineTestKit

@Suite("Peek, unread and pausing") struct StreamSocketKeptBytesTests {
    // MARK: Peek and unread

    @Test("R9 Bytes put back come first for the next read", arguments: World.allCases)
    func unread(world: World) throws {
        let ends = try Ends(world)
        ends.recorder.onEvent = { socket, event in
            guard case .didRead(let bytes, tag: 1) = event else { return }
            try socket.unread(Array(bytes.dropFirst(2)))
            try socket.read(to: .lf, tag: 2)
        }
        try ends.send("abcd")
        try ends.socket.read(toLength: 4, tag: 1)
        try ends.turn { !ends.heard.isEmpty }
        try ends.send("e\n")
        try ends.turn { ends.texts == ["abcd", "cde\n"] }
        try ends.socket.unread("last".utf8.span.bytes)
        try ends.socket.unread(Array("at ".utf8))
        #expect(ends.socket.peek { String(decoding: $0) } == "at last")
        try ends.socket.read(tag: 3)
        try ends.turn { ends.texts.last == "at last" }
        #expect(ends.socket.peek { $0.isEmpty })
        try ends.end()
    }

    @Test("R9 The lent bytes stay what they are while others are put in front of the rest")
    func lentBytesStay() throws {
        final class Copier: StreamSocketDelegate {
            var texts: [String] = []
            func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
                guard texts.isEmpty else { return texts.append(String(decoding: bytes)) }
                // Twice, so that both ways of keeping them are met.
                try socket.unread(bytes.extracting(1..<3))
                try socket.unread(Array("xyz".utf8))
                texts.append(String(decoding: bytes))
                #expect(socket.peek { String(decoding: $0) } == "xyzbcdef")
                try socket.read(toLength: 8)
            }
        }
        for pieces in [["abcdef"], ["a", "bcdef"], ["ab", "cdef"]] {
            let ends = try Ends(.simulated)
            let copier = Copier()
            ends.socket.delegate = copier
            try ends.socket.read(toLength: 3)
            for piece in pieces {
                try ends.send(piece)
                try ends.reactor.turn(waitingAtMost: .zero)
            }
            try ends.turn { copier.texts.count == 2 }
            #expect(copier.texts == ["abc", "xyzbcdef"])
            try ends.end()
        }
    }

    @Test("R9 A read under way begins anew with bytes put in front of it (R4)")
    func unreadInFrontOfPartialRead() throws {
        for (front, expected) in [("\n", "\n"), ("a\r", "a\r\n"), ("a", "a\nb\r\n")] {
            let ends = try Ends(.simulated)
            let delimiter = front == "\n" ? Delimiter.lf : .crlf
            try ends.socket.read(to: delimiter, tag: 1)
            try ends.send(delimiter == .lf ? "xb" : "\nb")
            try ends.receive(2)
            try ends.idle()
            try ends.socket.unread(Array(front.utf8))
            try ends.send("\r\n")
            try ends.turn { !ends.texts.isEmpty }
            #expect(ends.texts == [expected])
            try ends.end()
        }
    }

    @Test("R9 Within a peek bytes can be put in front, and the connection be left")
    func changesWithinPeek() throws {
        let ends = try Ends(.simulated)
        let id = try ends.socket.read(toLength: 9)
        try ends.send("abc")
        try ends.receive(3)
        ends.socket.cancel(id)
        ends.socket.peek { bytes in
            for _ in 0..<100 { try? ends.socket.unread([1, 2, 3, 4, 5, 6, 7, 8]) }
            #expect(String(decoding: bytes) == "abc")
        }
        #expect(ends.socket.peek { $0.byteCount } == 803)
        #expect(ends.socket.peek { [UInt8]($0.extracting(last: 4)) } == Array("\u{8}abc".utf8))
        ends.socket.peek { bytes in
            ends.socket.disconnect(notifyingDelegate: false)
            #expect(bytes.byteCount == 803)
        }
        #expect(ends.socket.peek { $0.isEmpty })
        #expect(throws: SocketError.notConnected) { try ends.socket.unread([1]) }
        try ends.end()
    }

    @Test("R9 Whatever is put back is read again, and a peek shows what is next")
    func randomOperations() throws {
        var numbers = SeededNumbers()
        for _ in 0..<60 {
            var configuration = Reactor.Configuration(backend: .epoll)
            configuration.budget.callbacksPerSocket = numbers.number(in: 1..<5)
            let world = numbers.number(in: 0..<8) == 0 ? World.epoll : .simulated
            let ends = try Ends(world, configuration: configuration)
            let text = (0..<600).map { _ in UInt8(numbers.number(in: 97..<102)) }
            let reader = RandomReader(text, numbers, ends.reactor)
            ends.socket.delegate = reader
            try reader.queue(on: ends.socket)
            var sent = 0
            while sent < text.count {
                let count = min(text.count - sent, numbers.number(in: 1..<90))
                try ends.send(Array(text[sent..<sent + count]))
                sent += count
                try ends.reactor.turn(waitingAtMost: .zero)
            }
            ends.finishSending()
            try ends.turn("\(reader)") { reader.report != nil }
            let left = reader.report?.unreadBytes ?? []
            #expect(Array(text[reader.position...]) == left, "seed \(numbers.seed)")
            #expect(reader.mistakes == [], "seed \(numbers.seed)")
            #expect(reader.report?.error == .closedByPeer)
            try ends.end()
            numbers = reader.numbers
        }
    }

    /// Reads in every way, and puts back some of it.
    private final class RandomReader: StreamSocketDelegate {
        let text: [UInt8]
        var numbers: SeededNumbers
        var position = 0
        var mistakes: [String] = []
        var report: DisconnectReport?
        private var ids: [OperationID] = []
        private let reactor: Reactor

        init(_ text: [UInt8], _ numbers: SeededNumbers, _ reactor: Reactor) {
            self.reactor = reactor
            self.text = text
            self.numbers = numbers
        }

        func queue(on socket: StreamSocket) throws {
            let id: OperationID
            switch numbers.number(in: 0..<4) {
            case 0: id = try socket.read(maxLength: numbers.number(in: 1..<50))
            case 1: id = try socket.read(toLength: numbers.number(in: 1..<50))
            case 2: id = try socket.read(to: Delimiter([UInt8(numbers.number(in: 97..<102))]))
            default: id = try socket.read()
            }
            ids.append(id)
        }

        func socket(_ socket: StreamSocket, didProgressRead tag: Int, _ progress: IOProgress) throws
        {
            guard numbers.number(in: 0..<6) == 0 else { return }
            if let id = ids.last { socket.cancel(id) }
            try queue(on: socket)
        }

        func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
            let read = [UInt8](bytes)
            if read != Array(text[position...].prefix(read.count)) { mistakes.append("\(read)") }
            position += read.count
            lookAhead(socket)
            if numbers.number(in: 0..<3) == 0 {
                let count = numbers.number(in: 0..<read.count)
                try socket.unread(bytes.extracting(last: count))
                position -= count
                lookAhead(socket)
                if [UInt8](bytes) != read { mistakes.append("lent bytes changed") }
            }
            if numbers.number(in: 0..<4) == 0 { socket.pauseReads() }
            if numbers.number(in: 0..<2) == 0 { try queue(on: socket) }
            try queue(on: socket)
            if socket.readsArePaused {
                reactor.schedule(after: .zero) { socket.resumeReads() }
            }
        }

        private func lookAhead(_ socket: StreamSocket) {
            let next = socket.peek { [UInt8]($0) }
            if next != Array(text[position...].prefix(next.count)) {
                mistakes.append("peeked \(next) at \(position)")
            }
        }

        func socketPeerDidHangUp(_ socket: StreamSocket) throws {
            try queue(on: socket)
        }

        func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
            self.report = report
        }
    }

    // MARK: Pausing

    @Test(
        "R9 Paused reads stay queued, and nothing is received for them",
        arguments: World.allCases
    )
    func pausing(world: World) throws {
        let ends = try Ends(world)
        ends.recorder.onEvent = { socket, event in
            if case .didRead(_, tag: 1) = event { socket.pauseReads() }
        }
        for tag in 1...3 { try ends.socket.read(to: .lf, tag: tag) }
        try ends.send("a\nb\n")
        try ends.turn { ends.heard.count == 1 }
        try ends.send("c\n")
        try ends.idle()
        #expect(ends.texts == ["a\n"])
        #expect(ends.reactor.figures.receivedBytes == 4)
        #expect(ends.socket.readsArePaused)
        let report = try ends.reactor.turn(waitingAtMost: .zero)
        #expect(!report.hasWorkLeft, "it does not spin")
        ends.socket.resumeReads()
        try ends.turn { ends.texts == ["a\n", "b\n", "c\n"] }
        ends.socket.pauseReads()
        ends.socket.resumeReads()
        try ends.socket.read(tag: 4)
        try ends.send("d")
        try ends.turn { ends.texts.last == "d" }
        try ends.end()
    }

    @Test("R9 While reads are paused, the clock of the current one stands still (R6)")
    func pausedClock() throws {
        let ends = try Ends(.simulated)
        try ends.socket.read(timeout: .milliseconds(10), tag: 1)
        ends.socket.pauseReads()
        for _ in 0..<10 { try ends.reactor.turn(waitingAtMost: .milliseconds(5)) }
        #expect(ends.heard == [])
        try ends.socket.read(timeout: .zero, tag: 2)
        try ends.idle()
        ends.socket.resumeReads()
        try ends.reactor.turn(waitingAtMost: .milliseconds(5))
        #expect(ends.heard == [], "it has all of its time again")
        try ends.turnUntilFarewell()
        #expect(ends.recorder.reports[0].error == .readTimedOut(tag: 1))
        #expect(ends.recorder.reports[0].elapsed >= .milliseconds(50))
        try ends.end()
    }

    @Test("R7 An end behind bytes that pausing keeps is a hang-up, once", arguments: World.allCases)
    func pausedEnd(world: World) throws {
        for isKept in [false, true] {
            let ends = try Ends(world)
            ends.recorder.onEvent = { socket, event in
                if case .didRead(_, tag: 0) = event { socket.pauseReads() }
            }
            if isKept {
                try ends.socket.read(to: .lf, tag: 0)
                try ends.send("a\n")
            } else {
                ends.socket.pauseReads()
            }
            try ends.socket.read(to: .lf, tag: 1)
            try ends.socket.readToEnd(maxLength: 99, tag: 2)
            try ends.send("b\nc")
            ends.finishSending()
            try ends.turn { ends.heard.last == .peerDidHangUp }
            for _ in 0..<5 { try ends.idle() }
            #expect(ends.heard.filter { $0 == .peerDidHangUp }.count == 1)
            #expect(ends.heard.last == .peerDidHangUp, "it comes behind what is known")
            ends.socket.resumeReads()
            try ends.turnUntilFarewell()
            #expect(ends.texts.suffix(2) == ["b\n", "c"])
            #expect(ends.recorder.reports[0].error == .closedByPeer)
            try ends.end()
        }
    }

    @Test("R7 An end behind no bytes takes effect though reads are paused, but for one up to it")
    func pausedEndWithoutBytes() throws {
        for world in World.allCases {
            for readsToEnd in [false, true] {
                let ends = try Ends(world)
                ends.socket.pauseReads()
                if readsToEnd {
                    try ends.socket.readToEnd(maxLength: 9, tag: 1)
                } else {
                    try ends.socket.read(tag: 1)
                }
                ends.finishSending()
                if readsToEnd {
                    try ends.turn { ends.heard == [.peerDidHangUp] }
                    try ends.idle()
                    ends.socket.resumeReads()
                }
                try ends.turnUntilFarewell()
                #expect(ends.texts == (readsToEnd ? [""] : []))
                #expect(ends.recorder.reports[0].error == .closedByPeer)
                try ends.end()
            }
        }
    }

    @Test("R7 A reset while reads are paused: a hang-up, the bytes, then the error (trap 8)")
    func pausedReset() throws {
        for world in World.allCases {
            let ends = try Ends(world)
            ends.socket.pauseReads()
            try ends.socket.read(toLength: 3, tag: 1)
            try ends.socket.read(tag: 2)
            try ends.send("abc")
            try ends.reset()
            try ends.turn { ends.heard == [.peerDidHangUp] }
            let before = ends.reactor.figures.waits
            for _ in 0..<3 { try ends.reactor.turn(waitingAtMost: .milliseconds(2)) }
            #expect(ends.reactor.figures.waits == before + 3, "nobody is woken for it")
            ends.socket.resumeReads()
            try ends.turnUntilFarewell()
            #expect(ends.texts == ["abc"])
            guard case .system(let error) = ends.recorder.reports[0].error else {
                Issue.record("ended with \(ends.recorder.reports)")
                continue
            }
            #expect(error.errno == ECONNRESET)
            try ends.end()
        }
    }

    @Test("R9 Pausing ends with the connection, and is nothing on an idle socket (L1)")
    func pausingEnds() throws {
        let ends = try Ends(.simulated)
        ends.socket.pauseReads()
        ends.socket.disconnect()
        try ends.turnUntilFarewell()
        #expect(!ends.socket.readsArePaused)
        ends.socket.pauseReads()
        #expect(!ends.socket.readsArePaused)
        ends.socket.resumeReads()
        try ends.end()
    }

    @Test("R8 A limit of queued reads refuses one more, and says so", arguments: World.allCases)
    func limitOfReads(world: World) throws {
        let ends = try Ends(world)
        #expect(ends.socket.maxQueuedReads == nil)
        ends.socket.maxQueuedReads = 2
        let first = try ends.socket.read(tag: 1)
        try ends.socket.read(tag: 2)
        #expect(throws: SocketError.readQueueFull(limit: 2)) { try ends.socket.read(tag: 3) }
        ends.socket.cancel(first)
        try ends.socket.read(tag: 4)
        try ends.send("a")
        try ends.turn { ends.heard == [.didRead([97], tag: 2)] }
        ends.socket.maxQueuedReads = nil
        for tag in 5...100 { try ends.socket.read(tag: tag) }
        try ends.end()
    }
}

import TestSupport
import Testing
import Towline
import TowlineTLS

/// What a callback does to the secured connection whose bytes it is given, in the usual case: the
/// read took whatever came, and nothing else was under way.
@Suite("Callbacks of secured reads", .timeLimit(.minutes(5))) struct SecuredReadTests {
    @Test(
        "W4, TW1: each write of a callback is told of once, in order, however many and long",
        arguments: [[4], [16_384], [16_385], [5, 6, 7], [100_000], [9, 40_000, 9], [16_384, 1]]
    )
    func writesOfCallback(sizes: [Int]) throws {
        let pair = try SecurePair.secured()
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        server.whenRead = { socket, _, _ in
            for (tag, size) in sizes.enumerated() {
                try socket.write([UInt8](repeating: UInt8(tag + 1), count: size), tag: tag)
            }
        }
        server.readsOn = true
        client.recordsReads = false
        client.readsOn = true
        try pair.server.read()
        try pair.client.read()
        let expected = sizes.enumerated().flatMap { tag, size in
            [UInt8](repeating: UInt8(tag + 1), count: size)
        }
        for round in 1...3 {
            try pair.client.write("go")
            #expect(
                try pair.loop.turn {
                    client.readBytes.count == round * expected.count
                        && server.writtenTags.count == round * sizes.count
                }
            )
        }
        #expect(client.readBytes == expected + expected + expected)
        let tags = Array(sizes.indices)
        #expect(server.writtenTags == tags + tags + tags)
        try pair.loop.end()
    }

    @Test("TW3 Records that the kernel does not take at once come later, and whole")
    func fullKernel() throws {
        let pair = try SecurePair.secured(buffer: 4_096)
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        server.whenRead = { socket, bytes, tag in try socket.write(bytes, tag: tag) }
        server.readsOn = true
        server.recordsReads = false
        client.recordsReads = false
        client.readsOn = true
        try pair.server.read()
        try pair.client.read()
        let message = (0..<16_384).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for round in 1...20 {
            try pair.client.write(message)
            #expect(try pair.loop.turn { client.readBytes.count == round * message.count })
        }
        #expect(client.readBytes == Array(repeating: message, count: 20).flatMap { $0 })
        #expect(server.readBytes == client.readBytes)
        try pair.loop.end()
    }

    @Test("TH6 New keys asked for between the writes of a callback change nothing of their order")
    func rekeyInCallback() throws {
        let pair = try SecurePair.secured()
        let (client, server) = (pair.clientRecorder, pair.serverRecorder)
        server.whenRead = { socket, _, _ in
            try socket.write("before ")
            try socket.rekey()
            try socket.write("behind ")
        }
        server.readsOn = true
        client.readsOn = true
        try pair.server.read()
        try pair.client.read()
        for round in 1...5 {
            try pair.client.write("go")
            #expect(try pair.loop.turn { client.readBytes.count == round * 14 })
            try pair.client.rekey()
        }
        #expect(
            client.readBytes == Array(String(repeating: "before behind ", count: 5).utf8)
        )
        try pair.loop.end()
    }

    @Test("TE1 A disconnect behind a write of the callback sends both, and ends in order")
    func disconnectInCallback() throws {
        let pair = try SecurePair.secured()
        pair.serverRecorder.whenRead = { socket, _, _ in
            try socket.write("last", tag: 7)
            socket.disconnect(.afterWrites)
        }
        try pair.server.read()
        try pair.client.readToEnd(maxLength: 100)
        try pair.client.write("go")
        try pair.turnToTheEnd()
        #expect(pair.clientRecorder.readBytes == Array("last".utf8))
        #expect(pair.clientRecorder.reports[0].error == .closedByPeer)
        #expect(pair.serverRecorder.writtenTags == [7])
        #expect(pair.serverRecorder.reports[0].error == nil)
        try pair.loop.end()
    }

    @Test("LP6 A callback that throws ends the connection, and nothing that it wrote is sent")
    func throwingCallback() throws {
        struct Failure: Error {}
        let pair = try SecurePair.secured()
        pair.serverRecorder.whenRead = { socket, _, _ in
            try socket.write("half an answer")
            throw Failure()
        }
        pair.clientRecorder.readsOn = true
        try pair.server.read()
        try pair.client.read()
        try pair.client.write("go")
        try pair.turnToTheEnd()
        guard case .handler(let error) = pair.serverRecorder.reports[0].error else {
            Issue.record("\(pair.serverRecorder.reports[0])")
            return
        }
        #expect(error is Failure)
        #expect(pair.clientRecorder.readBytes.isEmpty)
        try pair.loop.end()
    }

    @Test("A connection that its callback moves takes what was just written along, and goes on")
    func moveInCallback() throws {
        let pair = try SecurePair.secured()
        let moved = Recorder()
        moved.whenRead = { socket, bytes, _ in try socket.write(bytes) }
        moved.readsOn = true
        nonisolated(unsafe) let arrived = moved
        let handle = pair.loop.reactor.handle
        pair.serverRecorder.whenRead = { socket, _, _ in
            try socket.write("moving ")
            try socket.move(to: handle) { socket in
                socket.delegate = arrived
                _ = try? socket.read()
            }
        }
        pair.clientRecorder.readsOn = true
        try pair.server.read()
        try pair.client.read()
        try pair.client.write("go")
        let client = pair.clientRecorder
        #expect(try pair.loop.turn { client.readBytes.count == 7 })
        try pair.client.write("echo")
        #expect(try pair.loop.turn { client.readBytes.count == 11 })
        #expect(client.readBytes == Array("moving echo".utf8))
        try withExtendedLifetime(moved) { try pair.loop.end() }
    }

    @Test("R9 Bytes that a callback leaves to no read are kept, and are the next one's")
    func withoutNextRead() throws {
        let pair = try SecurePair.secured()
        let server = pair.serverRecorder
        try pair.server.read(tag: 1)
        try pair.client.write("first")
        #expect(try pair.loop.turn { server.readBytes.count == 5 })
        try pair.client.write("second")
        try pair.loop.turn(times: 4)
        #expect(server.readBytes.count == 5)
        try pair.server.read(toLength: 3, tag: 2)
        try pair.server.read(tag: 3)
        #expect(try pair.loop.turn { server.readBytes.count == 11 })
        #expect(
            server.heard == [
                .didRead("first", tag: 1), .didRead("sec", tag: 2), .didRead("ond", tag: 3),
            ]
        )
        try pair.loop.end()
    }
}

extension Recorder {
    /// The tags of the writes that were told of.
    fileprivate var writtenTags: [Int] {
        heard.compactMap { if case .didWrite(let tag) = $0 { tag } else { nil } }
    }
}

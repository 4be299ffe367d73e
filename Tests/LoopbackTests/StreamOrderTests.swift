import Glibc
import TestSupport
import Testing
import Towline

@Suite("Order under pressure") struct StreamOrderTests {
    @Test("O2, trap 21: megabytes of counted words through tiny buffers arrive in their order")
    func countedWords() throws {
        let pair = try Pair(buffer: 4_096)
        var numbers = SeededNumbers()
        let words = (0..<(1 << 20)).map { UInt64($0) }
        let bytes = words.withUnsafeBytes { [UInt8]($0) }
        let received = BackgroundWork { [peer = pair.peer] in try peer.receiveUntilEnd() }
        let scratch = try ScratchFile(bytes)
        let file = try OpenFile(path: scratch.path)
        var asked = 0
        while asked < bytes.count {
            let count = min(numbers.number(in: 1..<60_000), bytes.count - asked)
            let range = asked..<asked + count
            asked += count
            switch numbers.number(in: 0..<4) {
            case 0: try pair.socket.write(file: file, range: range)
            case 1: try pair.socket.write(bytes[range].span.bytes)
            case 2:
                let middle = asked - count / 2
                let first = [UInt8](bytes[range.lowerBound..<middle])
                try pair.socket.write(chunks: [first, [UInt8](bytes[middle..<asked])])
            default: try pair.socket.write([UInt8](bytes[range]))
            }
            if numbers.number(in: 0..<4) == 0 { try pair.loop.turn(times: 1) }
        }
        try pair.socket.shutdownWrite()
        #expect(try pair.turn(within: .seconds(20)) { pair.socket.pendingWriteBytes == 0 })
        let isWhole = try received.value() == bytes
        #expect(isWhole, "seed \(numbers.seed)")
        try pair.loop.end()
    }
}

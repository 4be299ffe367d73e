import Testing

@testable import Towline

@Suite("Read buffer") struct ReadBufferTests {
    @Test("B1 Bytes go over what is there; only where they do not fit the buffer grows")
    func storing() {
        for offset in 0...4 {
            for count in 0...9 {
                var buffer = ReadBuffer([1, 2, 3, 4])
                buffer.store([UInt8](repeating: 9, count: count).span.bytes, at: offset)
                let end = offset + count
                let expected =
                    [1, 2, 3, 4].prefix(offset) + Array(repeating: 9, count: count)
                    + [1, 2, 3, 4].dropFirst(end)
                #expect(buffer.withBytes { [UInt8]($0) } == expected.map { UInt8($0) })
                #expect(buffer.count == max(4, end), "as long as it was, or as the bytes need")
            }
        }
    }

    @Test("Its bytes can be read, changed, dropped and added")
    func values() {
        var buffer = ReadBuffer(count: 3, capacity: 8)
        #expect(buffer.withBytes { [UInt8]($0) } == [0, 0, 0])
        #expect(buffer.capacity == 8)
        buffer[1] = 7
        #expect(buffer[1] == 7)
        buffer.resize(to: 2)
        buffer.resize(to: 100)
        #expect(buffer.withBytes { [UInt8]($0) } == [0, 7] + [UInt8](repeating: 0, count: 98))
        buffer.withUnsafeMutableBytes { $0[99] = 5 }
        #expect(buffer[99] == 5)
        #expect(ReadBuffer().count == 0)
    }
}

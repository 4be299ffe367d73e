import Glibc
import Testing

@testable import Towline

@Suite("File descriptor") struct FileDescriptorTests {
    @Test("A descriptor that nobody takes is closed with its owner")
    func closing() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        do {
            let owner = FileDescriptor(owning: ends[1])
            #expect(owner.rawValue == ends[1])
        }
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 0, "no writer is left")
    }

    @Test("A descriptor that is taken stays open")
    func taking() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let number = FileDescriptor(owning: ends[1]).take()
        #expect(number == ends[1])
        var byte: UInt8 = 7
        #expect(write(number, &byte, 1) == 1)
        #expect(close(number) == 0)
    }
}

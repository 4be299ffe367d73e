import Testing

@testable import Towline

@Suite("Delimiter") struct DelimiterTests {
    @Test("The usual ones are the bytes that protocols end their lines with")
    func constants() {
        #expect(Delimiter.crlf.bytes == [13, 10])
        #expect(Delimiter.cr.bytes == [13])
        #expect(Delimiter.lf.bytes == [10])
        #expect(Delimiter.zero.bytes == [0])
    }

    @Test("A text and its UTF-8 are the same delimiter")
    func texts() {
        #expect(Delimiter("\r\n") == .crlf)
        #expect(Delimiter("ä") == Delimiter([0xC3, 0xA4]))
        #expect(Delimiter("\r\n").hashValue == Delimiter.crlf.hashValue)
        #expect(Delimiter("\n") != .crlf)
    }

    @Test("An empty one has no bytes and nothing to search for")
    func empty() {
        #expect(Delimiter([]).bytes == [])
        #expect(Delimiter("").pattern == nil)
        #expect(Delimiter("") == Delimiter([]))
        #expect(Delimiter("") != .zero)
    }

    @Test("The text is its bytes in hexadecimal")
    func description() {
        #expect(Delimiter.crlf.description == "0d 0a")
        #expect(Delimiter([0xFF, 0x10, 0]).description == "ff 10 00")
        #expect(Delimiter([]).description == "")
    }
}

import Testing
import TowlineBytes

@Suite("Base64") struct Base64Tests {
    @Test("Base64 is read as it is written, and nothing else is")
    func base64() {
        for count in 0..<10 {
            let bytes = (0..<count).map { UInt8($0 * 37 & 255) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
        #expect(Base64.encode([0xFB, 0xFF]) == Array("+/8=".utf8))
        #expect(Base64.encode(Array("ab".utf8)) == Array("YWI=".utf8))
        for text in ["YWI", "YW=I", "YWJ=", "Y===", "====", "YW I", "YWI=YWI="] {
            #expect(Base64.decode(Array(text.utf8)) == nil, "\(text)")
        }
    }
}

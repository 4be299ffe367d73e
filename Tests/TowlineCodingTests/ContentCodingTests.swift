import Testing

@testable import TowlineCoding

@Suite("Content coding") struct ContentCodingTests {
    @Test("Names are found in upper and lower case, and x-gzip is gzip")
    func names() {
        #expect(ContentCoding(name: "gzip") == .gzip)
        #expect(ContentCoding(name: "GZip") == .gzip)
        #expect(ContentCoding(name: "X-GZIP") == .gzip)
        #expect(ContentCoding(name: "xdeflatex".dropFirst().dropLast()) == .deflate)
        #expect(ContentCoding(name: "Identity") == .identity)
        for coding in ContentCoding.allCases where coding.isBuiltIn {
            #expect(ContentCoding(name: coding.name) == coding)
        }
    }

    @Test(
        "What is unknown, or not part of the build, is none",
        arguments: [
            "", "*", "compress", "x-compress", "x-deflate", "gzip ", "gz\u{130}p", "brotli", "dcb",
        ]
    )
    func unknown(name: String) {
        #expect(ContentCoding(name: name) == nil)
    }

    @Test("What is asked for is what can be undone")
    func acceptable() throws {
        #expect(ContentCoding.acceptable.prefix(2) == [.gzip, .deflate])
        #expect(!ContentCoding.acceptable.contains(.identity))
        #expect(ContentCoding.acceptEncoding.hasPrefix("gzip, deflate"))
        for coding in ContentCoding.allCases {
            #expect(
                coding.isBuiltIn
                    == (coding == .identity || ContentCoding.acceptable.contains(coding))
            )
            if coding.isBuiltIn {
                #expect(try decode([], [coding]) == [])
            } else {
                #expect(throws: CodingError.notBuiltIn(coding)) { try ContentDecoder([coding]) }
                #expect(ContentCoding(name: coding.name) == nil)
            }
        }
    }
}

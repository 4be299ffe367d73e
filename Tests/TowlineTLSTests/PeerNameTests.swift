import Testing
import TowlineTLS

@Suite("Names of peers") struct PeerNameTests {
    @Test(
        "TN1 Letters, digits, hyphens and underscores in labels make a name, in lower case",
        arguments: [
            ("good.test", "good.test"), ("GOOD.Test", "good.test"), ("localhost", "localhost"),
            ("xn--bcher-kva.test", "xn--bcher-kva.test"), ("_srv.a-b.test", "_srv.a-b.test"),
            ("3com.test", "3com.test"), ("good.test.", "good.test"), ("0xyz", "0xyz"),
        ]
    )
    func hosts(text: String, name: String) throws {
        let peer = try PeerName(text)
        #expect(peer.description == name && !peer.isAddress)
    }

    @Test(
        "TN1 What a check would take for something else, or for anything, is no name",
        arguments: [
            "", ".", "..", ".wild.test", "a..test", "a.test..", "*", "*.test", "a.*.test",
            "a\0.test", "one.test\0.evil.test", " a.test", "a.test ", "a b.test", "a.test:443",
            "[::1]", "[a.test]", "bücher.test", "a/b", "a.test\n", "127.1", "0x7f.0.0.1",
            "127.0.0.01", "2130706433", "0x7f000001", "127.0.0.1 ", "127.0.0.1.", "fe80::1%eth0",
            "::1%lo", "1.2.3.4.5", "256.1.1.1", ":::", "a.0x1",
            String(repeating: "a", count: 64) + ".test",
            String(repeating: "a.", count: 128),
        ]
    )
    func refused(text: String) {
        #expect(throws: TLSError.configuration(.invalidPeerName(text))) { try PeerName(text) }
    }

    @Test("TN1 A label has at most 63 bytes and a name 253, without the dot behind it")
    func lengths() throws {
        let label = String(repeating: "a", count: 63)
        let longest = [label, label, label, String(repeating: "b", count: 61)]
            .joined(separator: ".")
        #expect(longest.utf8.count == 253)
        #expect(try PeerName(longest).description == longest)
        #expect(try PeerName(longest + ".").description == longest)
        #expect(throws: TLSError.self) { try PeerName(longest + "b") }
    }

    @Test(
        "TN2 Addresses are told from names, and print in their shortest form",
        arguments: [
            ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("2001:DB8:0::1", "2001:db8::1"),
            ("::ffff:127.0.0.1", "::ffff:127.0.0.1"),
        ]
    )
    func addresses(text: String, name: String) throws {
        let peer = try PeerName(text)
        #expect(peer.description == name && peer.isAddress)
    }

    @Test("TN5 A host name is sent without the dot behind it, an address not at all")
    func indication() throws {
        #expect(try PeerName("Good.test.").indication == "good.test")
        #expect(try PeerName("127.0.0.1").indication == nil)
        #expect(try PeerName("::1").indication == nil)
    }

    @Test("Two spellings of one name are equal, and a name is no address")
    func equality() throws {
        #expect(try PeerName("GOOD.test.") == PeerName("good.test"))
        #expect(try PeerName("::0001") == PeerName("::1"))
        #expect(try PeerName("::ffff:127.0.0.1") != PeerName("127.0.0.1"))
    }
}

import Glibc
import TestSupport
import Testing

@testable import Towline

@Suite("IP address") struct IPAddressTests {
    @Test("An IPv4 address is read from its text, and written back the same")
    func ipv4RoundTrip() {
        for text in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "10.0.200.3"] {
            #expect(IPv4Address(text)?.description == text)
        }
        #expect(IPv4Address("127.0.0.1") == .loopback)
        #expect(IPv4Address("0.0.0.0") == .any)
        #expect(IPv4Address("1.2.3.4")?.rawValue == 0x0102_0304)
    }

    @Test(
        "What is no IPv4 address is not read",
        arguments: [
            "", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.-4", " 1.2.3.4", "1.2.3.4 ",
            "0x7f.0.0.1", "localhost", "::1", "1.2.3.4\0", "1.2.3.4\0.example", "1..2.3", "١.2.3.4",
        ]
    )
    func malformedIPv4(_ text: String) {
        #expect(IPv4Address(text) == nil)
    }

    @Test("An IPv6 address is written as RFC 5952 has it, whatever text it was read from")
    func ipv6Texts() {
        let texts = [
            "::": "::", "::1": "::1", "0:0:0:0:0:0:0:1": "::1", "2001:DB8::1": "2001:db8::1",
            "2001:db8:0:0:1:0:0:1": "2001:db8::1:0:0:1", "2001:0db8::0001": "2001:db8::1",
            "2001:db8:0:1:1:1:1:1": "2001:db8:0:1:1:1:1:1", "fe80::1": "fe80::1",
            "::ffff:192.0.2.1": "::ffff:192.0.2.1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ]
        for (text, written) in texts {
            #expect(IPv6Address(text)?.description == written)
        }
        #expect(IPv6Address("::1") == .loopback)
        #expect(IPv6Address("::") == .any)
    }

    @Test(
        "What is no IPv6 address is not read, brackets and scopes included",
        arguments: [
            "", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::",
            "[::1]",
            "fe80::1%lo", "127.0.0.1", "::1\0", "::1\0x", " ::1",
        ]
    )
    func malformedIPv6(_ text: String) {
        #expect(IPv6Address(text) == nil)
    }

    @Test("Random addresses survive their text and the kernel's form")
    func randomRoundTrip() {
        var numbers = SeededNumbers()
        for _ in 0..<500 {
            let four = IPv4Address(rawValue: UInt32(truncatingIfNeeded: numbers.next()))
            #expect(IPv4Address(four.description) == four)
            // Masked, so that runs of zeros come about.
            let high = numbers.next() & numbers.next() & 0xFFFF_0000_FFFF_0000
            let six = IPv6Address(high: high, low: numbers.next() & 0xFFFF)
            #expect(IPv6Address(six.description) == six, "seed \(numbers.seed)")
            #expect(IPv6Address(six.cValue) == six)
        }
    }

    @Test("An address of either family is read by its text")
    func eitherFamily() {
        #expect(IPAddress("127.0.0.1") == .ipv4(.loopback))
        #expect(IPAddress("::1") == .ipv6(.loopback))
        #expect(IPAddress("127.0.0.1")?.description == "127.0.0.1")
        #expect(IPAddress("::1")?.description == "::1")
        #expect(IPAddress("localhost") == nil)
        #expect(IPAddress("") == nil)
    }
}

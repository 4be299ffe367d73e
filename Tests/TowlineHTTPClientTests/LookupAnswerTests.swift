import Testing
import Towline

@testable import TowlineHTTPClient

@Suite("What a lookup service answers") struct LookupAnswerTests {
    private static let seven = IPAddress.ipv4(IPv4Address(rawValue: 0xC000_0207))
    private static let eight = IPAddress.ipv4(IPv4Address(rawValue: 0xC000_0208))
    private static let long = IPAddress("2001:db8::7") ?? seven

    @Test(
        "Addresses and their time to live, in text and in both kinds of JSON",
        arguments: [
            ("192.0.2.7", [seven], nil), ("192.0.2.7\n", [seven], nil),
            ("192.0.2.7;192.0.2.8,60", [seven, eight], 60),
            ("192.0.2.7,192.0.2.8", [seven, eight], nil),
            (" 192.0.2.7 \r\n 2001:db8::7\r\n", [seven, long], nil),
            ("192.0.2.7,60;192.0.2.8,30", [seven, eight], 30),
            ("192.0.2.7,99999999999999999999", [seven], 604_800),
            ("192.0.2.7;192.0.2.7", [seven], nil), ("0.0.0.0;192.0.2.7", [seven], nil),
            ("0.0.0.0,5", [], 5), ("", [], nil), (" \n", [], nil), (";,", [], nil),
            (#"{"ips":["192.0.2.7"],"ttl":57}"#, [seven], 57),
            (#"{"host":"a","ips":[],"ipsv6":["2001:db8::7"],"ttl":-1}"#, [long], 0),
            (#" {"ips" : [ ] } "#, [], nil), (#"{"ips":["192.0.2.7"],"ttl":1.5}"#, [seven], nil),
            (
                #"{"Status":0,"Answer":[{"type":5,"data":"b.test."},"#
                    + #"{"type":1,"TTL":9,"data":"192.0.2.7"},"#
                    + #"{"type":28,"TTL":7,"data":"2001:db8::7"}]}"#,
                [seven, long], 7
            ),
            (#"{"Status":0}"#, [], nil),
            (
                #"{"ips":["192.0.2.\u0037"],"\ud83d\ude00":{"a":[true,false,null,-1e5]}}"#, [seven],
                nil
            ),
        ] as [(String, [IPAddress], Int?)]
    )
    func addresses(text: String, addresses: [IPAddress], seconds: Int?) {
        #expect(LookupAnswer(Array(text.utf8)) == .addresses(addresses, seconds: seconds))
    }

    @Test(
        "What is no answer is a failure, and nothing traps",
        arguments: [
            "60", "60,192.0.2.7", "192.0.2.7,-1", "192.0.2.300", "nobody", "<html>", "192.0.2.7:80",
            "[2001:db8::7]", "{", "{}", "{}x", #"{"ips":"192.0.2.7"}"#, #"{"ips":[7]}"#,
            #"{"ips":["x"]}"#, #"{"Status":2}"#, #"{"Answer":[1]}"#, #"{"Answer":[{"type":1}]}"#,
            #"{"ips":["192.0.2.7"],"ttl":01}"#, #"{"ips":["\ud800"]}"#, #"{"ips":["\u00"]}"#,
            #"{"ips":["192.0.2.7",]}"#, #"{"a":tru}"#, #"{"a":1.}"#, #"{"a":1e}"#,
            "{\"a\":\"\u{1}\"}",
            #"{"a""#, #"{"a":"\"#, #"{"a":"\u12"#,
            #"{"a":"# + String(repeating: "[", count: 100_000),
            #"{"ips":["192.0.2.7"],"a":"# + String(repeating: "[", count: 17)
                + String(repeating: "]", count: 17) + "}",
        ]
    )
    func failures(text: String) {
        guard case .failure = LookupAnswer(Array(text.utf8)) else {
            Issue.record("\(LookupAnswer(Array(text.utf8)))")
            return
        }
    }

    @Test("A name that nobody has, and any bytes at all")
    func others() {
        #expect(LookupAnswer(Array(#"{"Status":3,"Answer":[]}"#.utf8)) == .noSuchHost)
        for byte in UInt8.min...UInt8.max {
            for text in [[byte], [0x7B, byte], [0x7B, 0x22, byte, byte], [0x31, byte, 0xFF]] {
                if case .addresses(let found, _) = LookupAnswer(text) { #expect(found.isEmpty) }
            }
        }
        let many = (0..<100).map { "192.0.2.\($0)" }.joined(separator: ";")
        guard case .addresses(let found, _) = LookupAnswer(Array(many.utf8)) else { return }
        #expect(found.count == LookupAnswer.addressLimit)
    }
}

import Testing
import TowlineHTTP

@Suite("Dates") struct HTTPDateTests {
    @Test(
        "Dates are read in all forms that servers write",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("06 nov 1994 08:49:37", 784_111_777),
            ("8:49:37 6-november-94", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("1 Jan 69 0:0:0", 3_124_224_000), ("1 Jan 70 0:0:0", 0),
            ("29 Feb 2000 1:2:3", 951_786_123),
            ("01 Jan 1601 00:00:00", -11_644_473_600), ("31 Dec 9999 23:59:59", 253_402_300_799),
            ("1 Jan 1970 00:00:01junk", 1), ("Jan 1 1970 0:0:0 1 2 3", 0),
        ]
    )
    func read(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.seconds(of: text.utf8) == seconds)
    }

    @Test(
        "What is no date is none",
        arguments: [
            "", "0", "Sun", "30 Feb 2000 0:0:0", "29 Feb 1900 0:0:0", "0 Jan 1970 0:0:0",
            "32 Jan 1970 0:0:0", "1 Jan 1970 24:0:0", "1 Jan 1970 0:60:0", "1 Jan 1970 0:0:60",
            "1 Jan 1600 0:0:0", "1 Jan 1970", "1 Jan 0:0:0", "1 1970 0:0:0", "1 Jan 1970 0:0",
            "1 Jan 19701 0:0:0", "1 Jan 1970 000:0:0", "1 Jan 1970 0:0:000", "1 Jan 1970 a:0:0",
        ]
    )
    func refused(_ text: String) {
        #expect(HTTPDate.seconds(of: text.utf8) == nil)
    }

    @Test("Each day for four hundred years is written so that it is read again")
    func both() {
        for day in stride(from: Int64(-100_000), through: 46_097, by: 13) {
            let seconds = day * 86_400 + (day % 86_400 + 86_400) % 86_400
            #expect(HTTPDate.seconds(of: HTTPDate.text(of: seconds).utf8) == seconds)
        }
        #expect(HTTPDate.text(of: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.text(of: -1) == "Wed, 31 Dec 1969 23:59:59 GMT")
    }
}

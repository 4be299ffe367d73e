import Testing

@testable import TowlineHTTP

@Suite("Headers") struct HTTPHeadersTests {
    @Test("Names are found whatever their case, and kept as they were written")
    func names() {
        var headers: HTTPHeaders = ["X-Trace": "1", "x-trace": "2", "Accept": "*/*"]
        #expect(headers["X-TRACE"] == "1")
        #expect(headers.values(of: "x-Trace") == ["1", "2"])
        headers["accept"] = "text/html"
        #expect(headers.map(\.name) == ["X-Trace", "x-trace", "accept"])
        headers["x-trace"] = "3"
        #expect(headers.map(\.name) == ["x-trace", "accept"])
        #expect(headers["X-Trace"] == "3")
        headers["X-Trace"] = nil
        #expect(headers.map(\.name) == ["accept"])
    }

    @Test("Only ASCII letters have two cases")
    func cases() {
        let headers: HTTPHeaders = ["a[": "1", "k": "2"]
        #expect(headers["A{"] == nil)
        #expect(headers["\u{212A}"] == nil, "the Kelvin sign is no k")
    }

    @Test("Values are kept byte by byte")
    func bytes() {
        var headers = HTTPHeaders()
        headers.add("Name", [0xFF, 0x00, 0x41])
        #expect(headers[0].value == [0xFF, 0x00, 0x41])
        #expect(headers["name"] == "\u{FFFD}\0A")
    }

    @Test("Lists are parted at commas outside of quotes")
    func lists() {
        let headers: HTTPHeaders = ["A": " x , ,\t\"y, \\\" z\",", "a": "w"]
        #expect(headers.elements(of: "A") == ["x", "\"y, \\\" z\"", "w"])
    }
}

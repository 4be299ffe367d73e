import Testing
import TowlineHTTP

@testable import fetch

@Suite("fetch: what is told of a transfer") struct WriteOutTests {
    private static func facts() -> TransferFacts {
        var facts = TransferFacts()
        facts.head = HTTPResponseHead(
            status: 204,
            reason: "No Content",
            headers: ["X-One": "1", "Content-Type": "text/plain", "x-one": "2"]
        )
        facts.exitCode = .timeout
        facts.errorMessage = "too \"late\""
        facts.total = .microseconds(1_234_567)
        facts.receivedByteCount = 100
        facts.remote = TransferFacts.Endpoint(address: "::1", port: 80)
        return facts
    }

    private func shown(_ format: String) -> String {
        WriteOut.pieces(format, Self.facts()).map(\.text).joined()
    }

    @Test(
        "Variables are filled in, and all else stays",
        arguments: [
            ("%{http_code}", "204"), ("%{response_code}|%{method}", "204|GET"),
            ("%{time_total}", "1.234567"), ("%{time_connect}", "0.000000"),
            ("%{exitcode} %{errormsg}", "28 too \"late\""), ("%{http_version}", "1.1"),
            ("%{num_headers}", "3"), ("%{content_type}", "text/plain"), ("%{speed_download}", "81"),
            ("%{remote_ip}:%{remote_port}", "::1:80"), ("%header{X-ONE}", "1"),
            ("%header{none}", ""), ("%%", "%"), ("100%", "100%"), ("%{open", "%{open"),
            ("a\\nb\\tc\\rd\\e", "a\nb\tc\rd\\e"), ("%x", "%x"), ("\\", "\\"),
        ]
    )
    func variables(format: String, text: String) {
        #expect(shown(format) == text)
    }

    @Test("What stands behind %{stderr} goes there, up to %{stdout}") func streams() {
        let pieces = WriteOut.pieces("a%{stderr}b%{stdout}c", Self.facts())
        #expect(pieces.map(\.isError) == [false, true, false])
        #expect(pieces.map(\.text) == ["a", "b", "c"])
    }

    @Test("What stands behind %{onerror} is for failures alone") func failures() {
        var facts = Self.facts()
        #expect(WriteOut.pieces("a%{onerror}b", facts).map(\.text).joined() == "ab")
        facts.exitCode = .success
        #expect(WriteOut.pieces("a%{onerror}b", facts).map(\.text).joined() == "a")
    }

    @Test("Without an answer the code is three zeros, and the version 0") func nothing() {
        let facts = TransferFacts()
        #expect(WriteOut.pieces("%{http_code} %{http_version}", facts)[0].text == "000 0")
    }

    @Test("Fields are listed as JSON, equal names together") func headers() {
        #expect(
            shown("%{header_json}")
                == "{\"x-one\":[\"1\",\"2\"],\n\"content-type\":[\"text/plain\"]\n}"
        )
    }

    @Test("All variables are one object of JSON") func json() {
        let text = shown("%{json}")
        #expect(
            text.hasPrefix("{\"content_type\":\"text/plain\",\"errormsg\":\"too \\\"late\\\"\",")
        )
        #expect(text.contains("\"redirect_url\":null,"))
        #expect(text.hasSuffix("\"urlnum\":0}"))
    }
}

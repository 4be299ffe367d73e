import Testing
import Towline
import TowlineHTTP
import TowlineTLS

@testable import TowlineHTTPClient

@Suite("What errors say") struct HTTPErrorTests {
    @Test("E7 Each error prints as one line that a person can act on")
    func texts() {
        let refused = SystemCallError(call: "connect", errno: 111)
        let attempts = [
            ConnectAttempt(address: .ipv6(.loopback, port: 1), error: refused),
            ConnectAttempt(address: .ipv4(.loopback, port: 1), error: refused),
        ]
        let rows: [(HTTPError, String)] = [
            (
                .connect(host: "a.test", .system(refused), attempts: attempts),
                "no connection to a.test: [::1]:1 connection refused (ECONNREFUSED); "
                    + "127.0.0.1:1 connection refused (ECONNREFUSED). Is the server running?"
            ),
            (
                .connect(host: "a.test", .closedByPeer, attempts: []),
                "no connection to a.test: closed by peer"
            ),
            (.timeout(.firstByte), "timed out waiting for the response's head"),
            (.timeout(.poolWait), "timed out waiting for a connection that others have"),
            (.emptyReply(nil), "the server closed the connection without an answer"),
            (
                .truncated(received: 10, expected: 1_000, nil),
                "the connection ended within the response, after 10 of 1000 bytes of the body"
            ),
            (
                .truncated(received: 0, expected: nil, nil),
                "the connection ended within the response, "
                    + "within the head, or before its body's first byte"
            ),
            (
                .malformedResponse(.missingColon(offset: 9)),
                "malformed response: the line that ends at byte 9 has no colon"
            ),
            (
                .limit(.content(7)), "the response is too large: its content has more than 7 bytes"
            ),
            (
                .limit(.framing(.line, 9)),
                "the response is too large: the bytes of a line are more than 9"
            ),
            (.tooManyRedirects(limit: 3), "more than 3 redirects"),
            (
                .tls(.interrupted),
                "the connection could not be secured: "
                    + "peer ended the connection before it was secure"
            ),
            (
                .bodyLength(promised: 2, supplied: 0),
                "the body has 0 bytes where 2 were promised"
            ),
            (.cancelled, "cancelled"),
        ]
        for (error, text) in rows { #expect("\(error)" == text) }
        #expect("\(WebSocketError.exchange(.cancelled))" == "cancelled")
        #expect("\(WebSocketError.unresponsive)" == "the server does not answer pings")
    }

    @Test("No password is printed, whatever it stands in")
    func secrets() throws {
        let urls = [
            "http://user:sesame@a.test:99999/", "user:sesame@a.test",
            "http://u:se@same@a.test/x:y@z",
            "https://:sesame@a.test", "http://u:sesame@a.test\\@b",
        ]
        for url in urls {
            #expect(!"\(HTTPError.invalidURL(url, reason: "x"))".contains("same"), "\(url)")
            let request = HTTPRequest(.get, url)
            #expect(!"\(request)".contains("same") && !String(reflecting: request).contains("same"))
        }
        #expect(Secrets.hidden(in: "http://a.test/?q=a:b@c") == "http://a.test/?q=a:b@c")
        #expect(Secrets.hidden(in: "http://me@a.test:80/") == "http://me@a.test:80/")
        let url = try HTTPURL("http://me:se%40same@a.test/p?q#f")
        #expect("\(url)" == "http://me:***@a.test/p?q#f" && url.href.contains("same"))
        let proxy = try HTTPProxy("http://me:sesame@a.test:3128")
        #expect("\(proxy)" == "http://a.test:3128")
        for credential in [
            HTTPCredential.basic(user: "me", password: "sesame"), .bearer("sesame"),
            .digest(user: "me", password: "sesame"), .anyOffered(user: "me", password: "sesame"),
        ] {
            #expect(!"\(credential)".contains("sesame"))
            #expect(!String(reflecting: [credential]).contains("sesame"))
        }
        #expect(throws: HTTPError.self) { try HTTPProxy("https://me:sesame@a.test") }
    }
}

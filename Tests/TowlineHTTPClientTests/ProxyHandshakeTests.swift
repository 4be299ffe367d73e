import Testing
import Towline
import TowlineHTTP

@testable import TowlineHTTPClient

@Suite("Asking a proxy of SOCKS for a tunnel") struct SOCKS5HandshakeTests {
    private static let address = IPAddress.ipv4(IPv4Address(rawValue: 0xC000_0207))
    private static let answer: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0, 80]

    /// Feeds answers, cut into pieces of a size, and says what was sent and how it ended.
    private static func run(
        _ answers: [[UInt8]],
        pieces: Int,
        user: String? = nil,
        to destination: SOCKS5Handshake.Destination = .name("a.test")
    ) throws -> (sent: [[UInt8]], outcome: String, leftover: Int) {
        var handshake = try SOCKS5Handshake(
            to: destination,
            port: 443,
            user: user,
            password: "pw"
        )
        var sent = [handshake.greeting]
        for answer in answers {
            var start = 0
            while start < answer.count {
                let piece = Array(answer[start..<min(start + pieces, answer.count)])
                start += piece.count
                var offset = 0
                loop: while true {
                    do throws(SOCKS5Fault) {
                        switch try handshake.receive(piece.span.bytes, from: &offset) {
                        case .wait: break loop
                        case .send(let message): sent.append(message)
                        case .established:
                            return (
                                sent, "established", answer.count - start + piece.count - offset
                            )
                        }
                    } catch {
                        return (sent, error.description, 0)
                    }
                }
            }
        }
        return (sent, "waits", 0)
    }

    @Test("A tunnel to a name and to addresses, whole and byte by byte", arguments: [1, 2, 3, 999])
    func established(pieces: Int) throws {
        let long = try #require(IPAddress("2001:db8::7"))
        let rows: [(SOCKS5Handshake.Destination, [UInt8])] = [
            (.name("a.test"), [5, 1, 0, 3, 6] + Array("a.test".utf8) + [1, 187]),
            (.address(Self.address), [5, 1, 0, 1, 192, 0, 2, 7, 1, 187]),
            (
                .address(long),
                [5, 1, 0, 4, 0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1, 187]
            ),
        ]
        let answers: [[UInt8]] = [
            Self.answer, [5, 0, 0, 4] + [UInt8](repeating: 1, count: 18),
            [5, 0, 0, 3, 3, 0x61, 0x62, 0x63, 0, 80], [5, 0, 9, 3, 0, 0, 80],
        ]
        for (destination, request) in rows {
            for answer in answers {
                let run = try Self.run(
                    [[5, 0], answer + [9, 9]],
                    pieces: pieces,
                    to: destination
                )
                #expect(run.sent == [[5, 1, 0], request])
                #expect(run.outcome == "established")
                #expect(run.leftover == 2, "not a byte is taken that came through the tunnel")
            }
        }
    }

    @Test("User and password are offered, and given when they are asked for", arguments: [1, 999])
    func authentication(pieces: Int) throws {
        let given = try Self.run([[5, 2], [1, 0], Self.answer], pieces: pieces, user: "me")
        #expect(given.sent[..<2] == [[5, 2, 0, 2], [1, 2, 0x6D, 0x65, 2, 0x70, 0x77]])
        #expect(given.outcome == "established")
        let open = try Self.run([[5, 0], Self.answer], pieces: pieces, user: "me")
        #expect(open.sent.count == 2 && open.outcome == "established")
        let wrong = try Self.run([[5, 2], [1, 1]], pieces: pieces, user: "me")
        #expect(wrong.outcome == "it did not accept user and password (status 1)")
    }

    @Test("Every kind of damage is named, as soon as it shows", arguments: [1, 2, 999])
    func damage(pieces: Int) throws {
        let rows: [([[UInt8]], String?, String)] = [
            ([Array("HTTP/1.1 400".utf8)], nil, "version 72"), ([[4, 0]], nil, "version 4"),
            ([[5, 0xFF]], nil, "none is given"), ([[5, 0xFF]], "me", "neither nobody"),
            ([[5, 2]], nil, "method 2"), ([[5, 1]], "me", "method 1"),
            ([[5, 2], [5, 0]], "me", "version 5"), ([[5, 0], [4]], nil, "version 4"),
            ([[5, 0], [5, 5]], nil, "the host refused the connection (reply 5)"),
            ([[5, 0], [5, 2, 0, 1]], nil, "rules do not allow"),
            ([[5, 0], [5, 200]], nil, "(reply 200)"), ([[5, 0], [5, 0, 0, 2]], nil, "of type 2"),
        ]
        for (answers, user, words) in rows {
            let run = try Self.run(answers, pieces: pieces, user: user)
            #expect(run.outcome.contains(words), "\(answers): \(run.outcome)")
        }
        for reply in UInt8(1)...9 {
            let run = try Self.run([[5, 0], [5, reply, 0, 1]], pieces: pieces)
            #expect(run.outcome.hasSuffix("(reply \(reply))"))
        }
    }

    @Test("Any bytes at all end somewhere, and what is too long is not sent")
    func bounds() throws {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                _ = try Self.run([[first, second]], pieces: 1, user: "me")
                _ = try Self.run([[5, 0], [5, 0, first, second, 1]], pieces: 2)
            }
        }
        let long = String(repeating: "x", count: 256)
        #expect(throws: SOCKS5Fault.self) { try SOCKS5Handshake(to: .name(long), port: 1) }
        #expect(throws: SOCKS5Fault.self) {
            try SOCKS5Handshake(to: .name("a"), port: 1, user: "me", password: long)
        }
    }
}

@Suite("Asking a proxy of HTTP for a tunnel") struct ConnectHandshakeTests {
    /// Feeds an answer in pieces of a size, and says how it ended.
    private static func run(_ answer: String, pieces: Int, mayAskAgain: Bool = false) -> String {
        var handshake = ConnectHandshake(profile: .standard, mayAskAgain: mayAskAgain)
        let bytes = Array(answer.utf8)
        var start = 0
        while start < bytes.count {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            start += piece.count
            var offset = 0
            do throws(HTTP1Fault) {
                switch try handshake.receive(piece.span.bytes, from: &offset) {
                case .wait: break
                case .established(let head):
                    return "\(head.status), \(bytes.count - start + piece.count - offset) left"
                case .refused(let head, let isReusable):
                    return "refused \(head.status)\(isReusable ? ", reusable" : "")"
                }
            } catch {
                return "\(error)"
            }
        }
        return "waits"
    }

    @Test("What a proxy answers, whole and byte by byte", arguments: [1, 7, 100_000])
    func answers(pieces: Int) {
        let rows = [
            ("HTTP/1.1 200 OK\r\n\r\n", "200, 0 left"), ("HTTP/1.0 200\r\n\r\nabc", "200, 3 left"),
            ("HTTP/1.1 204 So\r\n\r\nx", "204, 1 left"),
            (
                "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 On\r\n\r\nHTTP/1.1 201 So\r\n\r\n",
                "201, 0 left"
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200, 0 left"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nab", "200, 2 left"),
            ("HTTP/1.1 502 Bad\r\n\r\n", "refused 502"),
            ("HTTP/1.1 407 Who\r\nContent-Length: 2\r\n\r\n", "refused 407"),
            ("HTTP/1.1 302 Go\r\nLocation: /\r\n\r\n", "refused 302"),
            ("HTTP/1.1 200 OK\r\n", "waits"),
        ]
        for (answer, outcome) in rows {
            let result = Self.run(answer, pieces: pieces)
            // A head cut off from what follows leaves the same behind.
            #expect(result == outcome, "\(answer)")
        }
        for answer in ["SSH-2.0-x\r\n", "HTTP/1.1 101 So\r\n\r\n", "HTTP/2 200\r\n\r\n"] {
            let result = Self.run(answer, pieces: pieces)
            #expect(!result.contains("left") && result != "waits", "\(result)")
        }
    }

    @Test(
        "A short answer that asks who asks leaves the connection usable",
        arguments: [1, 100_000]
    )
    func asking(pieces: Int) {
        let rows = [
            ("Content-Length: 2\r\n\r\nno", "refused 407, reusable"),
            ("Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", "refused 407, reusable"),
            ("Content-Length: 65537\r\n\r\n", "refused 407"), ("\r\nno", "refused 407"),
            ("Connection: close\r\nContent-Length: 2\r\n\r\n", "refused 407"),
        ]
        for (rest, outcome) in rows {
            let answer = "HTTP/1.1 407 Who\r\n\(rest)"
            #expect(Self.run(answer, pieces: pieces, mayAskAgain: true) == outcome, "\(answer)")
        }
        let chunk = "10000\r\n" + String(repeating: "x", count: 0x10000) + "\r\n1\r\nx\r\n"
        let endless = "HTTP/1.1 407 Who\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk
        #expect(Self.run(endless, pieces: 50_000, mayAskAgain: true) == "refused 407")
    }

    @Test("Heads of proxies have limits of their own")
    func limits() {
        let field = "X: " + String(repeating: "y", count: 15_000) + "\r\n"
        let heads = String(repeating: field, count: 5)
        let result = Self.run("HTTP/1.1 200 OK\r\n\(heads)\r\n", pieces: 1_000)
        #expect(result.contains("65536"), "\(result)")
    }
}

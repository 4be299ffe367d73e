import Testing
import Towline

@testable import TowlineHTTPClient

@Suite("Frames of WebSockets") struct WebSocketFrameTests {
    /// Takes bytes in pieces of a size, up to the first fault.
    private static func decode(
        _ bytes: [UInt8],
        pieces: Int,
        limit: Int = 100_000
    ) -> (events: [WebSocketDecoder.Event], fault: WebSocketFault?) {
        var decoder = WebSocketDecoder(limit: limit)
        var events: [WebSocketDecoder.Event] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            var offset = 0
            do throws(WebSocketFault) {
                while let event = try decoder.next(in: piece.span.bytes, from: &offset) {
                    events.append(event)
                }
            } catch {
                return (events, error)
            }
        }
        return (events, nil)
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(
        "Messages, their parts, and what stands between the parts",
        arguments: [1, 2, 5, 200_000]
    )
    func messages(pieces: Int) {
        let long = [UInt8](repeating: 7, count: 300)
        let longer = [UInt8](repeating: 8, count: 70_000)
        let rows: [([UInt8], [WebSocketDecoder.Event])] = [
            ([0x81, 5] + Self.text("Hello"), [.text("Hello")]), ([0x81, 0], [.text("")]),
            (
                [0x01, 3] + Self.text("Hel") + [0x89, 1, 0x21, 0x00, 0, 0x80, 2] + Self.text("lo"),
                [.ping([0x21]), .text("Hello")]
            ),
            ([0x82, 126, 1, 44] + long, [.binary(long)]),
            ([0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70] + longer, [.binary(longer)]),
            ([0x8A, 0, 0x88, 0], [.pong([]), .close(nil, "")]),
            ([0x88, 5, 0x03, 0xE9] + Self.text("bye"), [.close(1_001, "bye")]),
            ([0x01, 1, 0xC3, 0x80, 1, 0xA9], [.text("é")]),
        ]
        for (bytes, events) in rows {
            let result = Self.decode(bytes, pieces: pieces)
            #expect(result.events == events && result.fault == nil)
        }
    }

    @Test("What no server may send is told apart", arguments: [1, 3, 1_000])
    func faults(pieces: Int) {
        let rows: [([UInt8], WebSocketFault)] = [
            ([0xC1, 0], .reservedBits), ([0x83, 0], .opcode(3)), ([0x8B, 0], .opcode(11)),
            ([0x81, 0x80], .masked), ([0x09, 0], .control), ([0x89, 126, 0, 126], .control),
            ([0x82, 126, 0, 125], .length), ([0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255], .length),
            ([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], .length), ([0x80, 0], .order),
            ([0x01, 0, 0x81, 0], .order), ([0x82, 126, 1, 1], .tooLarge(256)),
            ([0x82, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255], .tooLarge(256)),
            ([0x81, 1, 0xFF], .text), ([0x88, 1, 3], .closePayload),
            ([0x88, 2, 3, 0xED], .closePayload), ([0x88, 3, 3, 0xE8, 0xFF], .closePayload),
            (
                [0x02, 126, 0, 200] + [UInt8](repeating: 1, count: 200) + [0x80, 57], .tooLarge(256)
            ),
        ]
        for (bytes, fault) in rows {
            let result = Self.decode(bytes, pieces: pieces, limit: 256)
            #expect(result.fault == fault && result.events.isEmpty, "\(bytes.prefix(12))")
        }
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                _ = Self.decode([first, second, 0, 1, 2, 3], pieces: pieces, limit: 256)
            }
        }
    }

    @Test("What is sent is masked, and its length is as short as it can be")
    func sent() {
        #expect(
            WebSocketEncoder.frame(.text, Self.text("Hello"), mask: 0x37FA_213D)
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        )
        let heads: [(Int, [UInt8])] = [
            (125, [0x82, 0xFD]), (126, [0x82, 0xFE, 0, 126]), (65_535, [0x82, 0xFE, 255, 255]),
            (65_536, [0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0]),
        ]
        for (count, head) in heads {
            let payload = [UInt8](repeating: 9, count: count)
            let frame = WebSocketEncoder.frame(.binary, payload, mask: 0)
            #expect(frame == head + [0, 0, 0, 0] + payload)
        }
        let long = WebSocketEncoder.closePayload(3_000, String(repeating: "é", count: 100))
        #expect(long.count == 124 && long.prefix(2) == [0x0B, 0xB8])
    }

    @Test("The key's answer")
    func key() throws {
        #expect(
            try WebSocketKey.acceptance(of: "dGhlIHNhbXBsZSBub25jZQ==")
                == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        )
        #expect(WebSocketKey.random() != WebSocketKey.random())
    }
}

internal import Foundation

/// A file of responses, each with what has to come of it.
public struct ResponseCases: Decodable, Sendable {
    /// The cases, in the file's order.
    public let cases: [Case]

    /// Reads the text of a file.
    public static func decode(_ bytes: [UInt8]) throws -> [Case] {
        try JSONDecoder().decode(ResponseCases.self, from: Data(bytes)).cases
    }

    /// One response.
    public struct Case: Decodable, Sendable {
        /// Names the case.
        public let id: String
        /// What is asked.
        public let request: Request
        /// What the server does behind its last byte: `hold`, `close` or `reset`.
        public let then: String
        /// What is switched on for it; `nil`, nothing.
        public let options: Options?
        /// What has to come of it.
        public let wish: Wish
        /// The same in the strict profile, where it differs.
        public let strictWish: Wish?
        /// Outcomes that are all right under the default profile.
        public let outcomes: [String]?
        /// Where the consumer holds back for a while.
        public let pause: String?
        let raw: Data?
        let parts: [Part]?

        private enum CodingKeys: String, CodingKey {
            case id, request, then, options
            case raw = "raw_b64"
            case parts = "raw_parts"
            case wish = "expect"
            case strictWish = "expect_strict"
            case outcomes = "any_of"
            case pause = "backpressure"
        }

        /// All that the server sends.
        public var bytes: [UInt8] {
            if let raw { return Array(raw) }
            return (parts ?? []).flatMap { part in
                Array(repeating: Array(part.bytes), count: part.times ?? 1).joined()
            }
        }
    }

    /// What the response answers.
    public struct Request: Decodable, Sendable {
        /// Such as `GET`.
        public let method: String
        /// The protocol that is asked for; `nil`, none.
        public let upgrade: String?
    }

    struct Part: Decodable {
        let bytes: Data
        let times: Int?

        private enum CodingKeys: String, CodingKey {
            case times
            case bytes = "b64"
        }
    }

    /// What is switched on for a case.
    public struct Options: Decodable, Sendable {
        /// Whether content is decoded.
        public let decompress: Bool?
        /// How many bytes of decoded content there may be.
        public let maxDecoded: UInt64?
        /// Whether a response without a head is taken.
        public let allowsHTTP09: Bool?

        private enum CodingKeys: String, CodingKey {
            case decompress
            case maxDecoded = "max_decoded"
            case allowsHTTP09 = "http0.9"
        }
    }

    /// What has to come of a case; what is absent is not looked at.
    public struct Wish: Decodable, Sendable {
        /// `ok`, `fail` or `upgrade`.
        public let outcome: String
        /// Why it fails, in a word; for information.
        public let error: String?
        /// Whether a head comes before the end.
        public let head: Bool?
        /// The codes of the interim responses, or of the first of them.
        public let interim: [Int]?
        /// How many there are, where not all are listed.
        public let interimCount: Int?
        /// The status code.
        public let status: Int?
        /// Such as `1.1`.
        public let version: String?
        /// The words behind the code, bytes as characters of the same number.
        public let reason: String?
        /// Names and values, likewise.
        public let headers: [[String]]?
        /// Those behind the body.
        public let trailers: [[String]]?
        /// Whether the connection may serve another exchange.
        public let isReusable: Bool
        let bodyData: Data?
        let decodedData: Data?
        let leftoverData: Data?

        private enum CodingKeys: String, CodingKey {
            case outcome, error, head, interim, status, version, reason, headers, trailers
            case interimCount = "interim_count"
            case bodyData = "body_b64"
            case decodedData = "decoded_b64"
            case leftoverData = "leftover_b64"
            case isReusable = "reusable"
        }

        /// The body as it is sent.
        public var body: [UInt8]? { bodyData.map { Array($0) } }
        /// The same, decoded.
        public var decodedBody: [UInt8]? { decodedData.map { Array($0) } }
        /// What goes along with a connection that is handed over.
        public var leftover: [UInt8]? { leftoverData.map { Array($0) } }
    }
}

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
        public let id: String
        public let request: Request
        /// What the server does behind its last byte: `hold`, `close` or `reset`.
        public let then: String
        public let options: Options?
        public let wish: Wish
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
        public let method: String
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
        public let decompress: Bool?
        public let maxDecoded: UInt64?
        public let allowsHTTP09: Bool?

        private enum CodingKeys: String, CodingKey {
            case decompress
            case maxDecoded = "max_decoded"
            case allowsHTTP09 = "http0.9"
        }
    }

    /// What has to come of a case; what is absent is not looked at.
    public struct Wish: Decodable, Sendable {
        public let outcome: String
        public let error: String?
        public let head: Bool?
        public let interim: [Int]?
        public let interimCount: Int?
        public let status: Int?
        public let version: String?
        public let reason: String?
        public let headers: [[String]]?
        public let trailers: [[String]]?
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

        public var body: [UInt8]? { bodyData.map { Array($0) } }
        public var decodedBody: [UInt8]? { decodedData.map { Array($0) } }
        public var leftover: [UInt8]? { leftoverData.map { Array($0) } }
    }
}

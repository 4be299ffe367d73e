internal import TowlineBytes

/// The SHA-256 of a public key as certificates carry it.
///
/// It outlives a certificate that is renewed with the same key.
///
/// Source: RFC 7469, section 2.4.
public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes.
    public let sha256: [UInt8]

    /// The pin of these 32 bytes; `nil` for another number of bytes.
    public init?(sha256: [UInt8]) {
        guard sha256.count == 32 else { return nil }
        self.sha256 = sha256
    }

    /// Reads 44 characters of Base64, with or without `sha256//` in front; else `nil`.
    public init?(_ text: String) {
        let digits = text.utf8.dropFirst(text.hasPrefix("sha256//") ? "sha256//".utf8.count : 0)
        guard let bytes = Base64.decode(digits) else { return nil }
        self.init(sha256: bytes)
    }

    /// The pin in Base64, as ``init(_:)`` reads it.
    public var description: String {
        String(decoding: Base64.encode(sha256), as: UTF8.self)
    }
}

internal import TowlineTLS

/// The key of a client, and what a server has to make of it.
///
/// SHA-1 protects nothing here: it only shows that the server has understood.
///
/// Source: RFC 6455 section 4.2.2.
enum WebSocketKey {
    /// Sixteen random bytes, as text.
    static func random() -> String {
        Base64.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }

    /// What the server answers to a key.
    static func acceptance(of key: String) throws(AlgorithmError) -> String {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        return Base64.encode(try MessageDigest.sha1.digest(of: text))
    }
}

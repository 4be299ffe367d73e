/// A user and a password as `Authorization` has them.
///
/// Source: RFC 7617; RFC 4648 section 4.
enum BasicCredential {
    static func value(user: String, password: String) -> String {
        "Basic \(base64(Array("\(user):\(password)".utf8)))"
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    static func base64(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits = 0
            for index in 0..<3 {
                bits = bits << 8 | (index < group.count ? Int(group[start + index]) : 0)
            }
            for index in 0..<4 {
                let isPadding = index > group.count
                let value = alphabet[bits >> (18 - 6 * index) & 0x3F]
                output.append(isPadding ? UInt8(ascii: "=") : value)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension HTTPCredential {
    /// What is sent before anybody asks.
    var sentAtOnce: String? {
        switch self {
        case .basic(let user, let password): BasicCredential.value(user: user, password: password)
        case .bearer(let token): "Bearer \(token)"
        case .digest, .anyOffered: nil
        }
    }
}

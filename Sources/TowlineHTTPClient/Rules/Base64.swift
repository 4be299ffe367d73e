/// Bytes as letters.
///
/// Source: RFC 4648 section 4.
enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    static func encode(_ bytes: [UInt8]) -> String {
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

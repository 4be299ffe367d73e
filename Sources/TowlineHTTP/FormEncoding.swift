/// Names and values as `application/x-www-form-urlencoded`.
///
/// Source: URL Standard section 5.2; RFC 3986 section 2.3 for components.
public enum FormEncoding {
    /// The value of the field `Content-Type`.
    public static let contentType = "application/x-www-form-urlencoded"

    /// Names and values with `=` between and `&` behind, a space as `+`.
    ///
    /// - Parameter fields: Names and values in their order.
    /// - Returns: ASCII that can be a body as well as a query.
    public static func encode(_ fields: some Sequence<(name: String, value: String)>) -> [UInt8] {
        var output: [UInt8] = []
        for (name, value) in fields {
            if !output.isEmpty { output.append(UInt8(ascii: "&")) }
            append(name, to: &output)
            output.append(UInt8(ascii: "="))
            append(value, to: &output)
        }
        return output
    }

    /// Bytes as they can be put into any part of a URL: all are encoded but letters, digits, `-`,
    /// `.`, `_` and `~`.
    public static func encodeComponent(_ bytes: some Collection<UInt8>) -> String {
        PercentEncoding.encode(bytes, .allButUnreserved)
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
        for byte in text.utf8 {
            if byte == 0x20 {
                output.append(UInt8(ascii: "+"))
            } else {
                PercentEncoding.append(byte, encoding: .form, to: &output)
            }
        }
    }
}

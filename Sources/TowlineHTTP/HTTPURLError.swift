/// Why a text is no URL that can be asked for, and where in the text that shows.
///
/// Offsets count bytes of the text's UTF-8 from 0.
@nonexhaustive
public enum HTTPURLError: Error, Sendable, Hashable {
    /// A control byte that the rule refuses stands at this offset: CR, LF, NUL, a tab, or, in what
    /// a peer sent, any other.
    case controlByte(UInt8, offset: Int)

    /// The text has no scheme, and there is no URL that it could be relative to.
    case missingScheme

    /// The scheme is neither `http` nor `https`.
    case unsupportedScheme(String)

    /// No host stands where one has to, at this offset.
    case missingHost(offset: Int)

    /// What stands at this offset is no host.
    case invalidHost(String, HostFault, offset: Int)

    /// What stands at this offset is no port: not all digits, or above 65,535.
    case invalidPort(String, offset: Int)

    /// What is wrong with a host.
    @nonexhaustive
    public enum HostFault: Error, Sendable, Hashable {
        /// A character that no host may have, such as a space, or a `%` that was encoded.
        case forbiddenCharacter(Unicode.Scalar)
        /// Bytes that are no UTF-8.
        case notUTF8
        /// It ends with a number, as addresses of IPv4 do, and is none.
        case invalidIPv4
        /// It stands in brackets and is no address of IPv6, or has a bracket on one side alone.
        case invalidIPv6
        /// Its name has characters beyond ASCII, and the package was built without the trait `IDN`.
        case internationalNamesNotBuilt
        /// It cannot be written in ASCII by the rules for international names.
        case invalidInternationalName(reason: String)
    }
}

extension HTTPURLError: CustomStringConvertible {
    /// One line that says what is wrong, and where.
    public var description: String {
        switch self {
        case .controlByte(let byte, let offset):
            "the URL has a control byte (0x\(hexadecimal(byte))) at offset \(offset)"
        case .missingScheme:
            "the URL has no scheme; http:// or https:// has to come first"
        case .unsupportedScheme(let scheme):
            "the scheme of the URL is \(scheme); only http and https are supported"
        case .missingHost(let offset):
            "the URL has no host at offset \(offset)"
        case .invalidHost(let host, let fault, let offset):
            "the host \"\(host)\" at offset \(offset) of the URL \(fault)"
        case .invalidPort(let port, let offset):
            "the port \"\(port)\" at offset \(offset) of the URL is no number up to 65535"
        }
    }
}

extension HTTPURLError.HostFault: CustomStringConvertible {
    /// What is wrong, as the end of a sentence about the host.
    public var description: String {
        switch self {
        case .forbiddenCharacter(let scalar):
            "has the character \(name(of: scalar)), which no host may have"
        case .notUTF8: "is not UTF-8"
        case .invalidIPv4: "ends with a number and is no IPv4 address"
        case .invalidIPv6: "is no IPv6 address"
        case .internationalNamesNotBuilt:
            "is not ASCII; international names need the trait IDN"
        case .invalidInternationalName(let reason):
            "is no valid international name: \(reason)"
        }
    }
}

/// Two digits.
private func hexadecimal(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16, uppercase: true)
    return text.count == 1 ? "0\(text)" : text
}

/// Such as `U+0020`.
private func name(of scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "U+\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)"
}

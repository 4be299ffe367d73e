internal import Towline

/// Whom a certificate has to be made out to: a host name, or an address.
///
/// Host names are of ASCII letters, digits, `-` and `_`, in labels of 1 through 63 bytes with dots
/// between them and 253 bytes in all; one dot behind the last is dropped. Names in other scripts
/// are given in their ASCII form (`xn--…`). What ends in a number is an address, and has to be one
/// that inet_pton(3) takes, without brackets and without a scope. Whatever else there is cannot be
/// made a name of, so that no check is ever weakened by a name that means something else to it.
///
/// Source: RFC 9525, section 6; RFC 1034, section 3.5; inet_pton(3).
public struct PeerName: Sendable, Hashable, CustomStringConvertible {
    /// What a name is compared with.
    enum Kind: Hashable {
        /// A host name in lower case, without a dot behind it.
        case host(String)

        /// The four or sixteen bytes of an address, in network order.
        case address([UInt8])
    }

    let kind: Kind

    /// The name as it prints: in lower case, without a dot behind it.
    public let description: String

    /// Reads a name or an address.
    ///
    /// - Parameter text: Such as `mail.example.org`, `127.0.0.1` or `2001:db8::1`.
    /// - Throws: ``TLSError/configuration(_:)`` with ``ConfigurationFault/invalidPeerName(_:)``.
    public init(_ text: String) throws(TLSError) {
        // No address is a name: it ends in a number, or has colons.
        if let host = Self.host(text) {
            kind = .host(host)
            description = host
        } else if let address = Self.address(text) {
            kind = .address(address.bytes)
            description = address.text
        } else {
            throw .configuration(.invalidPeerName(text))
        }
    }

    /// Whether this is an address.
    public var isAddress: Bool {
        switch kind {
        case .host: false
        case .address: true
        }
    }

    /// What a client sends to say whom it wants: the host name; `nil` for an address, which must
    /// not be sent.
    ///
    /// Source: RFC 6066, section 3.
    public var indication: String? {
        switch kind {
        case .host(let name): name
        case .address: nil
        }
    }

    private static func address(_ text: String) -> (bytes: [UInt8], text: String)? {
        if let address = IPv4Address(text) {
            return (bytes(of: address.rawValue), address.description)
        }
        guard let address = IPv6Address(text) else { return nil }
        return (address.networkBytes, address.description)
    }

    private static func bytes(of value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    /// The host name in lower case; `nil` for what is none.
    private static func host(_ text: String) -> String? {
        var name = Array(text.utf8)
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        guard (1...253).contains(name.count) else { return nil }
        var start = 0
        for place in name.indices {
            switch name[place] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                break
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                name[place] |= 0x20
            case UInt8(ascii: "."):
                guard (1...63).contains(place - start) else { return nil }
                start = place + 1
            default:
                return nil
            }
        }
        guard (1...63).contains(name.count - start), !isNumber(name[start...]) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether a label is one that inet_aton(3) would take for a part of an address; no top level
    /// domain is.
    private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        if label.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) { return true }
        guard label.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]) else { return false }
        return label.dropFirst(2).allSatisfy {
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
        }
    }
}

/// Whose certificate a client wants to see.
public enum ServerName: Sendable, Hashable {
    /// The host that the socket was told to connect to; its address, where it was told no host.
    case fromConnect

    /// This name or address (see ``PeerName/init(_:)``), whatever the socket is connected to.
    case name(String)
}

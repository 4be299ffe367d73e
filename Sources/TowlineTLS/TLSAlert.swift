/// An alert: what one side says to the other when it gives a connection up.
///
/// Two are equal if their codes are.
///
/// Source: RFC 8446, section 6; RFC 5246, section 7.2.
public struct TLSAlert: Sendable, Hashable, CustomStringConvertible {
    /// The number on the wire.
    public let code: UInt8

    /// The versions that we had offered, the newest first; empty where that says nothing.
    public let offered: [TLSVersion]

    /// Whether it answers something of the handshake.
    ///
    /// A server of TLS 1.3 judges a client's certificate when the client is done already, which
    /// then reads of it later.
    public let isOfHandshake: Bool

    /// Whether the server had asked for a certificate, and was shown none.
    public internal(set) var lacksIdentity = false

    /// The alert with this number.
    public init(code: UInt8, offered: [TLSVersion] = [], isOfHandshake: Bool = false) {
        self.code = code
        self.offered = offered
        self.isOfHandshake = isOfHandshake
    }

    /// Whether both have the same code.
    public static func == (one: TLSAlert, other: TLSAlert) -> Bool { one.code == other.code }

    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    /// 0: an orderly end.
    public static let closeNotify = TLSAlert(code: 0)

    /// 10: a message where it must not be.
    public static let unexpectedMessage = TLSAlert(code: 10)

    /// 20: a record that was damaged on its way.
    public static let badRecordMAC = TLSAlert(code: 20)

    /// 22: a record that is too long.
    public static let recordOverflow = TLSAlert(code: 22)

    /// 40: nothing that both sides can do.
    public static let handshakeFailure = TLSAlert(code: 40)

    /// 42: a certificate that does not do.
    public static let badCertificate = TLSAlert(code: 42)

    /// 43: a certificate of the wrong kind.
    public static let unsupportedCertificate = TLSAlert(code: 43)

    /// 44: a certificate that its issuer has revoked.
    public static let certificateRevoked = TLSAlert(code: 44)

    /// 45: a certificate whose time is over.
    public static let certificateExpired = TLSAlert(code: 45)

    /// 46: something else is wrong with a certificate.
    public static let certificateUnknown = TLSAlert(code: 46)

    /// 47: a field that is out of its range.
    public static let illegalParameter = TLSAlert(code: 47)

    /// 48: an issuer that the other side does not trust.
    public static let unknownCA = TLSAlert(code: 48)

    /// 49: a certificate that is valid, and may not come in.
    public static let accessDenied = TLSAlert(code: 49)

    /// 50: a message that cannot be read.
    public static let decodeError = TLSAlert(code: 50)

    /// 51: a signature that does not hold.
    public static let decryptError = TLSAlert(code: 51)

    /// 70: no version that both sides speak.
    public static let protocolVersion = TLSAlert(code: 70)

    /// 71: ciphers that the other side finds too weak.
    public static let insufficientSecurity = TLSAlert(code: 71)

    /// 80: a failure that has nothing to do with the peer.
    public static let internalError = TLSAlert(code: 80)

    /// 86: a client that tries again with a lower version than it has to.
    public static let inappropriateFallback = TLSAlert(code: 86)

    /// 90: a handshake that a user has given up.
    public static let userCanceled = TLSAlert(code: 90)

    /// 109: an extension that has to be there is not.
    public static let missingExtension = TLSAlert(code: 109)

    /// 110: an extension that nobody had asked for.
    public static let unsupportedExtension = TLSAlert(code: 110)

    /// 112: a server that has nothing by the name that was sent.
    public static let unrecognizedName = TLSAlert(code: 112)

    /// 113: a stapled response that does not do.
    public static let badCertificateStatusResponse = TLSAlert(code: 113)

    /// 116: a server that demands a certificate, and got none.
    public static let certificateRequired = TLSAlert(code: 116)

    /// 120: no application protocol that both sides speak.
    public static let noApplicationProtocol = TLSAlert(code: 120)

    /// The number and the words, such as `40 handshake failure`.
    public var description: String {
        Self.words[code].map { "\(code) \($0)" } ?? "\(code)"
    }

    private static let words: [UInt8: String] = [
        0: "close notify", 10: "unexpected message", 20: "bad record mac", 22: "record overflow",
        40: "handshake failure", 42: "bad certificate", 43: "unsupported certificate",
        44: "certificate revoked", 45: "certificate expired", 46: "certificate unknown",
        47: "illegal parameter", 48: "unknown CA", 49: "access denied", 50: "decode error",
        51: "decrypt error", 70: "protocol version", 71: "insufficient security",
        80: "internal error", 86: "inappropriate fallback", 90: "user canceled",
        100: "no renegotiation", 109: "missing extension", 110: "unsupported extension",
        112: "unrecognized name", 113: "bad certificate status response",
        115: "unknown PSK identity", 116: "certificate required", 120: "no application protocol",
    ]
}

/// One of the two ends of a connection, as an error speaks of it.
public enum TLSSide: Sendable, Hashable {
    /// This end.
    case us

    /// The other end.
    case peer
}

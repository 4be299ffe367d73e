internal import Glibc

/// Why no identity, certificate or list could be read.
///
/// Prints as one line, without any secret.
@nonexhaustive
public enum IdentityError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file cannot be read; the number says why.
    case unreadable(path: String, errno: CInt)

    /// There is no certificate in it.
    case noCertificate

    /// There is no private key in it.
    case noKey

    /// It is protected by a password, and none was given.
    case passwordRequired

    /// The password is not the one that it is protected by.
    case wrongPassword

    /// A PKCS#12 file without a check value: whether it is what its maker made, nobody can tell.
    case noIntegrity

    /// It needs an algorithm that the library does not have or that is switched off.
    case unsupportedAlgorithm(String)

    /// The key is not that of any of the certificates, or is damaged.
    case keyMismatch

    /// It is damaged at this byte.
    case malformed(Format, offset: Int)

    /// The key, or the signature of its certificate, is weaker than what is allowed.
    case tooWeak(String)

    /// The forms in which certificates and keys come.
    public enum Format: String, Sendable, Hashable {
        /// Text, in blocks of Base64. Source: RFC 7468.
        case pem = "PEM"

        /// Bytes. Source: X.690.
        case der = "DER"

        /// Certificates and a key in one, protected by a password. Source: RFC 7292.
        case pkcs12 = "PKCS#12"
    }

    /// The error as one line.
    public var description: String {
        switch self {
        case .unreadable(let path, let number):
            "\(path) cannot be read: \(String(cString: strerror(number)))"
        case .noCertificate: "there is no certificate"
        case .noKey: "there is no private key"
        case .passwordRequired: "a password is needed"
        case .wrongPassword: "the password is wrong"
        case .noIntegrity: "the PKCS#12 file has no check value (MAC), so it could be anybody's"
        case .unsupportedAlgorithm(let name):
            "algorithm \(name) is not supported; old ones need allowsLegacyAlgorithms"
        case .keyMismatch: "the private key belongs to none of the certificates, or is damaged"
        case .malformed(let format, let offset): "malformed \(format.rawValue) at byte \(offset)"
        case .tooWeak(let what): "too weak: \(what)"
        }
    }
}

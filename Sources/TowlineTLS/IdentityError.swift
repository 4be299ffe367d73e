internal import Glibc

/// Why no identity, certificate or list could be read.
///
/// Prints as one line, without any secret. Two are equal if what is wrong is the same, whichever
/// the file.
@nonexhaustive
public indirect enum IdentityError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong with this file; ``reason`` is the same without its name.
    case inFile(path: String, IdentityError)

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

    /// It is whole, and of another form than the one that it was read as.
    case wrongFormat(Format, expected: [Format])

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
        case .inFile(let path, let error): "\(OneLine.text(path)): \(error)"
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
        case .wrongFormat(let format, let expected): Self.text(format, expected)
        case .malformed(let format, let offset): "malformed \(format.rawValue) at byte \(offset)"
        case .tooWeak(let what): "too weak: \(what)"
        }
    }

    /// What is wrong, without the name of the file.
    public var reason: IdentityError {
        if case .inFile(_, let error) = self { error.reason } else { self }
    }

    /// Says which parameter takes what has come.
    private static func text(_ format: Format, _ expected: [Format]) -> String {
        let wanted = expected.map(\.rawValue).joined(separator: " or ")
        let parameters =
            format == .pkcs12 ? "pkcs12 or pkcs12File" : "certificateChain or certificateFile"
        return "this is \(format.rawValue), not \(wanted); it is read by \(parameters)"
    }

    /// What `read` makes, with the name of the file in its error.
    static func naming<Value>(
        _ path: String?,
        _ read: () throws(IdentityError) -> Value
    ) throws(IdentityError) -> Value {
        do throws(IdentityError) {
            return try read()
        } catch {
            // One that cannot be read names it already.
            if case .unreadable = error { throw error }
            guard let path else { throw error }
            throw .inFile(path: path, error)
        }
    }
}

extension IdentityError {
    /// Whether the same is wrong; what is printed of it says all.
    public static func == (one: IdentityError, other: IdentityError) -> Bool {
        one.reason.description == other.reason.description
    }

    /// Hashes what is wrong.
    public func hash(into hasher: inout Hasher) { hasher.combine(reason.description) }
}

internal import COpenSSL
internal import Towline

/// A certificate, those of its issuers, and its private key: what one shows to say who one is.
///
/// Reading one never asks anybody for a password: without it, what is protected is refused.
public final class Identity: Sendable {
    /// The certificate that the key belongs to.
    public let certificate: Certificate

    /// The other certificates, each after the one that it has issued, as far as they say so.
    public let intermediates: [Certificate]

    /// What a PKCS#12 file calls it.
    public let friendlyName: String?

    private let key: LibraryObject
    private let staple = Locked<[UInt8]?>(nil)

    init(_ parts: IdentityParts) throws(IdentityError) {
        certificate = parts.certificate
        intermediates = parts.intermediates
        friendlyName = parts.friendlyName
        key = parts.key
        // A key that cannot be read is weak by the library's word.
        for certificate in [certificate] + intermediates where !certificate.hasReadableKey {
            throw .malformed(.der, offset: 0)
        }
        try checkStrength(securityLevel: 1)
    }

    private convenience init(_ parts: IdentityParts, in path: String) throws(IdentityError) {
        do throws(IdentityError) {
            try self.init(parts)
        } catch {
            throw .inFile(path: path, error)
        }
    }

    /// Sees whether the key and the signatures are worth what a level of the library's asks for.
    ///
    /// - Parameter securityLevel: 1 or 2.
    /// - Throws: ``IdentityError/tooWeak(_:)``.
    func checkStrength(securityLevel: Int) throws(IdentityError) {
        let wanted: CInt = securityLevel < 2 ? 80 : 112
        let bits = withKey { EVP_PKEY_get_security_bits($0) }
        if bits < wanted {
            throw .tooWeak("\(certificate.keyType) key of \(certificate.keyBits) bits")
        }
        for certificate in [certificate] + intermediates where !certificate.isSelfIssued {
            if certificate.signatureSecurityBits < wanted {
                throw .tooWeak("signature on \(certificate)")
            }
        }
    }

    /// Reads certificates and their key from bytes.
    ///
    /// - Parameters:
    ///   - certificateChain: PEM with certificates in any order, or the bytes of one.
    ///   - privateKey: PEM, or bytes as by PKCS#8, PKCS#1 or SEC 1; `nil` if the key is in the
    ///     first.
    ///   - password: What the key is protected by.
    ///   - allowsLegacyAlgorithms: Whether the key may be protected by an algorithm that is not
    ///     safe any more.
    /// - Throws: ``IdentityError``.
    public convenience init(
        certificateChain: [UInt8],
        privateKey: [UInt8]? = nil,
        password: String? = nil,
        allowsLegacyAlgorithms: Bool = false
    ) throws(IdentityError) {
        let reader = IdentityReader(
            password: password,
            allowsLegacyAlgorithms: allowsLegacyAlgorithms
        )
        try self.init(reader.read(certificates: certificateChain, key: privateKey))
    }

    /// Reads certificates and their key from one or two files.
    ///
    /// - Parameters:
    ///   - certificateFile: PEM with certificates in any order, or the bytes of one.
    ///   - privateKeyFile: PEM, or bytes as by PKCS#8, PKCS#1 or SEC 1; `nil` if the key is in the
    ///     first.
    ///   - password: What the key is protected by.
    ///   - allowsLegacyAlgorithms: Whether the key may be protected by an algorithm that is not
    ///     safe any more.
    /// - Throws: ``IdentityError``.
    public convenience init(
        certificateFile: String,
        privateKeyFile: String? = nil,
        password: String? = nil,
        allowsLegacyAlgorithms: Bool = false
    ) throws(IdentityError) {
        var key: [UInt8]?
        if let privateKeyFile { key = try FileBytes.read(privateKeyFile) }
        var reader = IdentityReader(
            password: password,
            allowsLegacyAlgorithms: allowsLegacyAlgorithms
        )
        reader.certificatePath = certificateFile
        reader.keyPath = privateKeyFile
        let bytes = try FileBytes.read(certificateFile)
        try self.init(reader.read(certificates: bytes, key: key), in: certificateFile)
    }

    /// Reads a PKCS#12 file's bytes.
    ///
    /// - Parameters:
    ///   - pkcs12: The bytes.
    ///   - password: What they are protected by; without one, no password and an empty one are
    ///     tried.
    ///   - allowsLegacyAlgorithms: Whether they may be protected by an algorithm that is not safe
    ///     any more, such as RC2 with 40 bits.
    /// - Throws: ``IdentityError``.
    public convenience init(
        pkcs12: [UInt8],
        password: String? = nil,
        allowsLegacyAlgorithms: Bool = false
    ) throws(IdentityError) {
        let reader = IdentityReader(
            password: password,
            allowsLegacyAlgorithms: allowsLegacyAlgorithms
        )
        try self.init(reader.read(pkcs12: pkcs12))
    }

    /// Reads a PKCS#12 file.
    ///
    /// - Parameters:
    ///   - pkcs12File: Where the file is.
    ///   - password: What it is protected by; without one, no password and an empty one are tried.
    ///   - allowsLegacyAlgorithms: Whether it may be protected by an algorithm that is not safe any
    ///     more, such as RC2 with 40 bits.
    /// - Throws: ``IdentityError``.
    public convenience init(
        pkcs12File: String,
        password: String? = nil,
        allowsLegacyAlgorithms: Bool = false
    ) throws(IdentityError) {
        var reader = IdentityReader(
            password: password,
            allowsLegacyAlgorithms: allowsLegacyAlgorithms
        )
        reader.certificatePath = pkcs12File
        try self.init(reader.read(pkcs12: FileBytes.read(pkcs12File)), in: pkcs12File)
    }

    /// The OCSP response that a server staples to its certificate; `nil` for none.
    ///
    /// It can be replaced at any time, on any thread; handshakes that begin later send the new one.
    public var stapledResponse: [UInt8]? {
        get { staple.withLock { $0 } }
        set { staple.withLock { $0 = newValue } }
    }

    /// Calls `body` with the library's key, which lives for as long as the call.
    func withKey<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(key) { body(key.pointer) }
    }
}

extension Identity: CustomStringConvertible {
    /// What a PKCS#12 file calls it, and whose certificate it is, as one line.
    public var description: String {
        (friendlyName.map { "\"\($0)\", " } ?? "") + certificate.description
    }
}

/// What an identity is made of.
struct IdentityParts {
    var certificate: Certificate
    var intermediates: [Certificate]
    var friendlyName: String?
    var key: LibraryObject
}

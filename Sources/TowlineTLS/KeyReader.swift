internal import COpenSSL

/// Reads private keys: PEM or bytes, as by PKCS#8, PKCS#1 or SEC 1, protected or not.
///
/// Source: RFC 5958; RFC 8017, appendix A; RFC 5915; RFC 7468.
struct KeyReader {
    let password: Password?
    let allowsLegacyAlgorithms: Bool

    /// The first key in PEM; `nil` if there is none.
    func key(in blocks: [PEMBlock]) throws(IdentityError) -> LibraryObject? {
        guard let block = blocks.first(where: { $0.name.hasSuffix("PRIVATE KEY") }) else {
            return nil
        }
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        if block.name == "ENCRYPTED PRIVATE KEY" {
            guard let key = try protectedKey(block.bytes) else {
                throw .malformed(.pem, offset: block.offset)
            }
            return key
        }
        let isProtected = block.header.contains("ENCRYPTED")
        let key = isProtected ? try openedKey(block) : Self.plainKey(block.bytes)
        guard let key else { throw Self.fault(orElse: .malformed(.pem, offset: block.offset)) }
        return key
    }

    /// The key that these bytes are.
    func key(der: [UInt8]) throws(IdentityError) -> LibraryObject {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        if let key = Self.plainKey(der) { return key }
        let fault = Self.fault(orElse: .malformed(.der, offset: DERWalk.firstFault(in: der)))
        if let key = try protectedKey(der) { return key }
        throw fault
    }

    private static func plainKey(_ bytes: [UInt8]) -> LibraryObject? {
        bytes.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            return d2i_AutoPrivateKey(nil, &next, buffer.count).map { .key($0) }
        }
    }

    /// A key in PKCS#8 under a password; `nil` if the bytes are none.
    private func protectedKey(_ bytes: [UInt8]) throws(IdentityError) -> LibraryObject? {
        let envelope = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var next = buffer.baseAddress
            return d2i_X509_SIG(nil, &next, buffer.count)
        }
        guard let envelope else { return nil }
        defer { X509_SIG_free(envelope) }
        guard let password else { throw .passwordRequired }
        LibraryErrors.clear()
        if let key = Self.open(envelope, password: password, in: nil) { return key }
        let fault = Self.fault(orElse: .wrongPassword)
        guard allowsLegacyAlgorithms, case .unsupportedAlgorithm = fault else { throw fault }
        let library = try LegacyLibrary()
        guard let key = Self.open(envelope, password: password, in: library.context) else {
            throw Self.fault(orElse: .wrongPassword)
        }
        guard let exported = library.export(key) else { throw fault }
        return exported
    }

    private static func open(
        _ envelope: OpaquePointer,
        password: Password,
        in context: OpaquePointer?
    ) -> LibraryObject? {
        let count = CInt(clamping: password.count)
        guard let info = PKCS8_decrypt_ex(envelope, password.bytes, count, context, nil) else {
            return nil
        }
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        return EVP_PKCS82PKEY_ex(info, context, nil).map { .key($0) }
    }

    /// A key under a password in the way that PEM alone knows.
    private func openedKey(_ block: PEMBlock) throws(IdentityError) -> LibraryObject? {
        guard let password else { throw .passwordRequired }
        var cipher = EVP_CIPHER_INFO()
        var header = Array(block.header.utf8CString)
        guard PEM_get_EVP_CIPHER_INFO(&header, &cipher) == 1 else {
            throw Self.fault(orElse: .malformed(.pem, offset: block.offset))
        }
        var bytes = block.bytes
        defer { bytes.withUnsafeMutableBytes { Wiping.wipe($0) } }
        var count = bytes.count
        let isOpen = withExtendedLifetime(password) {
            let argument = Unmanaged.passUnretained(password).toOpaque()
            return PEM_do_header(&cipher, &bytes, &count, Password.callback, argument) == 1
        }
        guard isOpen else { throw Self.fault(orElse: .wrongPassword) }
        // A wrong password may look right, and give nonsense.
        guard let key = Self.plainKey(Array(bytes.prefix(count))) else { throw .wrongPassword }
        return key
    }

    /// What the error queue says of an algorithm, or else what it must have been.
    static func fault(orElse usual: IdentityError) -> IdentityError {
        let entries = LibraryErrors.take()
        // The decoders say so of whatever is none of theirs.
        let isUnsupported = entries.contains { entry in
            entry.library != ERR_LIB_OSSL_DECODER
                && Self.wordsOfTheUnsupported.contains(entry.words)
        }
        guard isUnsupported else { return usual }
        let names = entries.compactMap { $0.detail.firstMatch(of: /Algorithm \(([^ )]+)/)?.1 }
        return .unsupportedAlgorithm(names.first.map(String.init) ?? "of its protection")
    }

    private static let wordsOfTheUnsupported: Set<String> = [
        "unsupported", "unsupported algorithm", "unsupported private key algorithm",
        "unsupported encryption", "unsupported cipher", "unknown pbe algorithm",
        "unknown digest algorithm", "unknown cipher",
    ]
}

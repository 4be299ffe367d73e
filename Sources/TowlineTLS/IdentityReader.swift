internal import COpenSSL

/// Puts certificates and a key together.
struct IdentityReader {
    let password: Password?
    let allowsLegacyAlgorithms: Bool

    /// Where the certificates come from, for the error; `nil` for bytes of the program's.
    var certificatePath: String?

    /// Where the key comes from, for the error.
    var keyPath: String?

    init(password: String?, allowsLegacyAlgorithms: Bool) {
        self.password = password.map { Password($0) }
        self.allowsLegacyAlgorithms = allowsLegacyAlgorithms
    }

    /// Reads certificates, and the key from the second or, without, from the first.
    func read(certificates: [UInt8], key: [UInt8]?) throws(IdentityError) -> IdentityParts {
        let found = try IdentityError.naming(certificatePath) { () throws(IdentityError) in
            try Self.certificates(in: certificates)
        }
        return try IdentityError.naming(keyPath ?? certificatePath) { () throws(IdentityError) in
            try Self.parts(of: found, key: readKey(in: key ?? certificates, isAlone: key != nil))
        }
    }

    /// Reads a key from bytes that hold nothing else, or from what may be certificates only.
    private func readKey(
        in source: [UInt8],
        isAlone: Bool
    ) throws(IdentityError) -> LibraryObject {
        let reader = KeyReader(password: password, allowsLegacyAlgorithms: allowsLegacyAlgorithms)
        if PEMBlock.isPEM(source) {
            guard let key = try reader.key(in: PEMBlock.blocks(in: source)) else { throw .noKey }
            return key
        }
        guard isAlone, !source.isEmpty else { throw .noKey }
        try PKCS12Reader.refuse(source, expecting: [.pem, .der])
        return try reader.key(der: source)
    }

    /// Reads a PKCS#12 file's bytes.
    func read(pkcs12 bytes: [UInt8]) throws(IdentityError) -> IdentityParts {
        try IdentityError.naming(certificatePath) { () throws(IdentityError) in
            try parts(ofPKCS12: bytes)
        }
    }

    private func parts(ofPKCS12 bytes: [UInt8]) throws(IdentityError) -> IdentityParts {
        let contents = try contents(ofPKCS12: bytes)
        guard let key = contents.key else { throw .noKey }
        guard !contents.certificates.isEmpty else { throw .noCertificate }
        var parts = try Self.parts(of: contents.certificates, key: key)
        parts.friendlyName = contents.friendlyName
        return parts
    }

    func contents(ofPKCS12 bytes: [UInt8]) throws(IdentityError) -> PKCS12Reader.Contents {
        try PKCS12Reader(password: password, allowsLegacyAlgorithms: allowsLegacyAlgorithms)
            .read(bytes)
    }

    private static func certificates(in bytes: [UInt8]) throws(IdentityError) -> [Certificate] {
        if PEMBlock.isPEM(bytes) { return try Certificate.certificates(pem: bytes) }
        // Text without a block has no certificate; bytes that begin a sequence are a damaged one.
        guard bytes.first == 0x30 else { throw .noCertificate }
        try PKCS12Reader.refuse(bytes, expecting: [.pem, .der])
        return [try Certificate(der: bytes)]
    }

    /// Finds the certificate of the key, and puts the others in the order in which they are sent.
    private static func parts(
        of certificates: [Certificate],
        key: LibraryObject
    ) throws(IdentityError) -> IdentityParts {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let place = certificates.firstIndex { certificate in
            certificate.withPointer { X509_check_private_key($0, key.pointer) == 1 }
        }
        guard let place, isWhole(key.pointer) else { throw .keyMismatch }
        var rest = certificates
        let leaf = rest.remove(at: place)
        return IdentityParts(
            certificate: leaf,
            intermediates: inOrder(rest, above: leaf),
            friendlyName: nil,
            key: key
        )
    }

    /// Whether what a key signs holds by its own public half.
    ///
    /// That half alone is compared with the certificate. Where the other one is damaged, each
    /// handshake would fail.
    ///
    /// Source: EVP_DigestSignInit(3), EVP_DigestVerifyInit(3).
    private static func isWhole(_ key: OpaquePointer) -> Bool {
        guard let signer = EVP_MD_CTX_new(), let verifier = EVP_MD_CTX_new() else {
            preconditionFailure("there is memory for an empty digest")
        }
        defer {
            EVP_MD_CTX_free(signer)
            EVP_MD_CTX_free(verifier)
        }
        let text = Array("towline".utf8)
        var count = 0
        // What signs nothing at all is refused elsewhere.
        guard EVP_DigestSignInit(signer, nil, nil, nil, key) == 1,
            EVP_DigestSign(signer, nil, &count, text, text.count) == 1
        else { return true }
        var signature = [UInt8](repeating: 0, count: count)
        return EVP_DigestSign(signer, &signature, &count, text, text.count) == 1
            && EVP_DigestVerifyInit(verifier, nil, nil, nil, key) == 1
            && EVP_DigestVerify(verifier, signature, count, text, text.count) == 1
    }

    /// Each after the one that it has issued; those that have issued none stand at the end.
    private static func inOrder(
        _ certificates: [Certificate],
        above leaf: Certificate
    ) -> [Certificate] {
        var rest = certificates.filter { $0 != leaf }
        var chain: [Certificate] = []
        var current = leaf
        while let place = rest.firstIndex(where: { $0.hasIssued(current) }) {
            current = rest.remove(at: place)
            chain.append(current)
        }
        return chain + rest
    }
}

extension Certificate {
    /// Whether this one's names and key identifiers say that it has issued another.
    func hasIssued(_ other: Certificate) -> Bool {
        withPointer { issuer in
            other.withPointer { X509_check_issued(issuer, $0) == X509_V_OK }
        }
    }

    /// Reads the certificates of a PKCS#12 file's bytes, such as to trust them; a key that is with
    /// them is passed over.
    ///
    /// - Parameters:
    ///   - pkcs12: The bytes.
    ///   - password: What they are protected by; without one, no password and an empty one are
    ///     tried.
    ///   - allowsLegacyAlgorithms: Whether they may be protected by an algorithm that is not safe
    ///     any more.
    /// - Returns: The certificates in their order, at least one.
    /// - Throws: ``IdentityError``.
    public static func certificates(
        pkcs12: [UInt8],
        password: String? = nil,
        allowsLegacyAlgorithms: Bool = false
    ) throws(IdentityError) -> [Certificate] {
        let reader = IdentityReader(
            password: password,
            allowsLegacyAlgorithms: allowsLegacyAlgorithms
        )
        let certificates = try reader.contents(ofPKCS12: pkcs12).certificates
        if certificates.isEmpty { throw .noCertificate }
        return certificates
    }
}

internal import TowlineBytes

extension Certificate {
    /// Reads all certificates in PEM, and passes over whatever else there is.
    ///
    /// - Parameter pem: Text with any number of blocks.
    /// - Returns: The certificates in their order, at least one.
    /// - Throws: ``IdentityError/noCertificate``, ``IdentityError/malformed(_:offset:)``.
    public static func certificates(pem: [UInt8]) throws(IdentityError) -> [Certificate] {
        var certificates: [Certificate] = []
        for block in try PEMBlock.blocks(in: pem) where block.isCertificate {
            do throws(IdentityError) {
                certificates.append(try Certificate(der: block.bytes))
            } catch {
                throw .malformed(.pem, offset: block.offset)
            }
        }
        if certificates.isEmpty { throw .noCertificate }
        return certificates
    }

    /// Reads all certificates of a file, which is PEM or the bytes of one.
    ///
    /// - Parameter path: Where the file is.
    /// - Returns: The certificates in their order, at least one.
    /// - Throws: ``IdentityError/unreadable(path:errno:)``, ``IdentityError/inFile(path:_:)``.
    public static func certificates(file path: String) throws(IdentityError) -> [Certificate] {
        let bytes = try FileBytes.read(path)
        return try IdentityError.naming(path) { () throws(IdentityError) in
            if PEMBlock.isPEM(bytes) { return try certificates(pem: bytes) }
            try PKCS12Reader.refuse(bytes, expecting: [.pem, .der])
            return [try Certificate(der: bytes)]
        }
    }

    /// The certificate as PEM, with a newline behind it.
    public var pem: String {
        let digits = Base64.encode(der)
        var text = "-----BEGIN CERTIFICATE-----\n"
        for start in stride(from: 0, to: digits.count, by: 64) {
            let line = digits[start..<min(start + 64, digits.count)]
            text += String(decoding: line, as: UTF8.self) + "\n"
        }
        return text + "-----END CERTIFICATE-----\n"
    }
}

internal import COpenSSL

/// A digest of bytes, for protocols that ask for a certain one.
///
/// MD5 and SHA-1 protect nothing any more. They are here since Digest authentication and WebSocket
/// are defined by them.
///
/// Source: RFC 1321, RFC 3174, RFC 6234; EVP_MD_fetch(3).
public enum MessageDigest: String, Sendable, Hashable, CaseIterable {
    /// 16 bytes.
    case md5 = "MD5"

    /// 20 bytes.
    case sha1 = "SHA1"

    /// 32 bytes.
    case sha256 = "SHA256"

    /// The digest of some bytes.
    ///
    /// - Throws: ``AlgorithmError/notAvailable(_:)`` where the library's configuration leaves the
    ///   algorithm out, as one for FIPS does MD5.
    public func digest(of bytes: [UInt8]) throws(AlgorithmError) -> [UInt8] {
        try digest(of: bytes.span.bytes)
    }

    /// The digest of bytes that are lent.
    ///
    /// - Throws: ``AlgorithmError/notAvailable(_:)``, as for an array.
    public func digest(of bytes: RawSpan) throws(AlgorithmError) -> [UInt8] {
        try digest(of: bytes, in: nil)
    }

    /// The same in a context of the library's; `nil` is the one that all share.
    func digest(of bytes: RawSpan, in library: OpaquePointer?) throws(AlgorithmError) -> [UInt8] {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        guard let kind = EVP_MD_fetch(library, rawValue, nil) else {
            throw .notAvailable(rawValue)
        }
        defer { EVP_MD_free(kind) }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MD_get_size(kind)))
        // The library writes as many bytes as it said.
        let result = bytes.withUnsafeBytes {
            EVP_Digest($0.baseAddress, $0.count, &digest, nil, kind, nil)
        }
        guard result == 1 else { throw .notAvailable(rawValue) }
        return digest
    }
}

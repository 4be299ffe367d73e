internal import COpenSSL

/// A list of certificates that their issuer has revoked.
///
/// Source: RFC 5280, section 5.
public struct RevocationList: Sendable, Hashable {
    private let object: LibraryObject

    /// The bytes of the list.
    public let der: [UInt8]

    /// Reads one list.
    ///
    /// - Parameter der: The bytes of one list and nothing behind them.
    /// - Throws: ``IdentityError/malformed(_:offset:)``.
    public init(der: [UInt8]) throws(IdentityError) {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let pointer = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            guard let list = d2i_X509_CRL(nil, &next, bytes.count) else { return nil }
            if next == bytes.baseAddress.map({ $0 + bytes.count }) { return list }
            X509_CRL_free(list)
            return nil
        }
        guard let pointer else { throw .malformed(.der, offset: DERWalk.firstFault(in: der)) }
        object = .revocationList(pointer)
        self.der = der
    }

    /// Reads all lists in PEM, and passes over whatever else there is.
    ///
    /// - Parameter pem: Text with any number of blocks.
    /// - Returns: The lists in their order; none where there is none.
    /// - Throws: ``IdentityError/malformed(_:offset:)``.
    public static func lists(pem: [UInt8]) throws(IdentityError) -> [RevocationList] {
        var lists: [RevocationList] = []
        for block in try PEMBlock.blocks(in: pem) where block.name == "X509 CRL" {
            do throws(IdentityError) {
                lists.append(try RevocationList(der: block.bytes))
            } catch {
                throw .malformed(.pem, offset: block.offset)
            }
        }
        return lists
    }

    /// Calls `body` with the library's list, which lives for as long as the call, and which nobody
    /// may change.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(object) { body(object.pointer) }
    }

    /// Whether both have the same bytes.
    public static func == (one: RevocationList, other: RevocationList) -> Bool {
        one.der == other.der
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

internal import COpenSSL

/// A list of certificates that their issuer has revoked.
///
/// Source: RFC 5280, section 5.
public struct RevocationList: Sendable, Hashable {
    private let value: DERValue

    /// The bytes of the list.
    public var der: [UInt8] { value.der }

    /// Reads one list.
    ///
    /// - Parameter der: The bytes of one list and nothing behind them.
    /// - Throws: ``IdentityError/malformed(_:offset:)``.
    public init(der: [UInt8]) throws(IdentityError) {
        value = try DERValue(der, { d2i_X509_CRL(nil, $0, $1) }, { .revocationList($0) })
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
        value.withPointer(body)
    }
}

internal import COpenSSL

/// An X.509 certificate.
///
/// Reading one checks its form and nothing else; whether to trust it is up to a ``TrustPolicy``.
/// Two are equal if their bytes are.
///
/// Source: RFC 5280, section 4.
public struct Certificate: Sendable, Hashable, CustomStringConvertible {
    private let value: DERValue

    /// The bytes of the certificate.
    public var der: [UInt8] { value.der }

    /// Reads one certificate.
    ///
    /// - Parameter der: The bytes of one certificate and nothing behind them.
    /// - Throws: ``IdentityError/malformed(_:offset:)``.
    public init(der: [UInt8]) throws(IdentityError) {
        value = try DERValue(der, { d2i_X509(nil, $0, $1) }, { .certificate($0) })
    }

    /// Takes over one reference to a certificate of the library's; `nil` if it has no bytes.
    init?(owning pointer: OpaquePointer) {
        let object = LibraryObject.certificate(pointer)
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(pointer, &bytes)
        defer { towline_OPENSSL_free(bytes) }
        guard count > 0, let bytes else { return nil }
        let der = Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
        value = DERValue(object: object, der: der)
    }

    /// Adds a reference to a certificate of the library's; `nil` if it has no bytes.
    init?(sharing pointer: OpaquePointer) {
        X509_up_ref(pointer)
        self.init(owning: pointer)
    }

    /// Calls `body` with the library's certificate, which lives for as long as the call, and which
    /// nobody may change.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        value.withPointer(body)
    }
}

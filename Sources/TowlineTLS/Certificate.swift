internal import COpenSSL

/// An X.509 certificate.
///
/// Reading one checks its form and nothing else; whether to trust it is up to a ``TrustPolicy``.
/// Two are equal if their bytes are.
///
/// Source: RFC 5280, section 4.
public struct Certificate: Sendable, Hashable, CustomStringConvertible {
    private let object: LibraryObject

    /// The bytes of the certificate.
    public let der: [UInt8]

    /// Reads one certificate.
    ///
    /// - Parameter der: The bytes of one certificate and nothing behind them.
    /// - Throws: ``IdentityError/malformed(_:offset:)``.
    public init(der: [UInt8]) throws(IdentityError) {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let pointer = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            guard let certificate = d2i_X509(nil, &next, bytes.count) else { return nil }
            if next == bytes.baseAddress.map({ $0 + bytes.count }) { return certificate }
            X509_free(certificate)
            return nil
        }
        guard let pointer else { throw .malformed(.der, offset: DERWalk.firstFault(in: der)) }
        object = .certificate(pointer)
        self.der = der
    }

    /// Takes over one reference to a certificate of the library's; `nil` if it has no bytes.
    init?(owning pointer: OpaquePointer) {
        object = .certificate(pointer)
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(pointer, &bytes)
        defer { towline_OPENSSL_free(bytes) }
        guard count > 0, let bytes else { return nil }
        der = Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Adds a reference to a certificate of the library's; `nil` if it has no bytes.
    init?(sharing pointer: OpaquePointer) {
        X509_up_ref(pointer)
        self.init(owning: pointer)
    }

    /// Calls `body` with the library's certificate, which lives for as long as the call, and which
    /// nobody may change.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(object) { body(object.pointer) }
    }

    /// Whether both have the same bytes.
    public static func == (one: Certificate, other: Certificate) -> Bool { one.der == other.der }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

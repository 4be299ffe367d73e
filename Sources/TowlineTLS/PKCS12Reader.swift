internal import COpenSSL

/// Opens PKCS#12 files.
///
/// Source: RFC 7292; PKCS12_parse(3).
struct PKCS12Reader {
    let password: Password?
    let allowsLegacyAlgorithms: Bool

    /// What was in the file.
    struct Contents {
        var certificates: [Certificate] = []
        var key: LibraryObject?
        var friendlyName: String?
    }

    /// Opens a file's bytes, at first without old algorithms.
    func read(_ bytes: [UInt8]) throws(IdentityError) -> Contents {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        do throws(IdentityError) {
            return try read(bytes, in: nil)
        } catch {
            guard allowsLegacyAlgorithms, case .unsupportedAlgorithm = error else { throw error }
            let library = try LegacyLibrary()
            var contents = try read(bytes, in: library.context)
            guard let key = contents.key else { return contents }
            guard let exported = library.export(key) else { throw error }
            contents.key = exported
            return contents
        }
    }

    /// Refuses what is a whole PKCS#12 file where something else was to be read.
    static func refuse(
        _ bytes: [UInt8],
        expecting formats: [IdentityError.Format]
    ) throws(IdentityError) {
        LibraryErrors.clear()
        defer { LibraryErrors.clear() }
        let file = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var next = buffer.baseAddress
            return d2i_PKCS12(nil, &next, buffer.count)
        }
        guard let file else { return }
        PKCS12_free(file)
        throw .wrongFormat(.pkcs12, expected: formats)
    }

    private func read(
        _ bytes: [UInt8],
        in context: OpaquePointer?
    ) throws(IdentityError) -> Contents {
        let file = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            // The library reads into one that knows its context, and frees it if it fails.
            var file = PKCS12_init_ex(NID_pkcs7_data, context, nil)
            var next = buffer.baseAddress
            return d2i_PKCS12(&file, &next, buffer.count)
        }
        guard let file else {
            if PEMBlock.isPEM(bytes) { throw .wrongFormat(.pem, expected: [.pkcs12]) }
            throw .malformed(.pkcs12, offset: DERWalk.firstFault(in: bytes))
        }
        defer { PKCS12_free(file) }
        guard PKCS12_mac_present(file) == 1 else { throw .noIntegrity }
        LibraryErrors.clear()
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        // Without a password, the library tries none and an empty one, once each.
        let isOpen = PKCS12_parse(file, password?.bytes, &key, &certificate, &others) == 1
        defer { towline_sk_X509_pop_free(others) }
        guard isOpen else { throw fault() }
        var contents = Contents()
        contents.key = key.map { .key($0) }
        if let certificate {
            contents.friendlyName = Self.friendlyName(of: certificate)
            defer { X509_free(certificate) }
            try Self.append(certificate, to: &contents)
        }
        for index in 0..<max(0, towline_sk_X509_num(others)) {
            if let other = towline_sk_X509_value(others, index) {
                try Self.append(other, to: &contents)
            }
        }
        return contents
    }

    /// Each is read anew, so that it does not depend on the context of the file.
    private static func append(
        _ certificate: OpaquePointer,
        to contents: inout Contents
    ) throws(IdentityError) {
        let bytes = Certificate.encoding { i2d_X509(certificate, $0) }
        contents.certificates.append(try Certificate(der: bytes))
    }

    private static func friendlyName(of certificate: OpaquePointer) -> String? {
        var count: CInt = 0
        guard let bytes = X509_alias_get0(certificate, &count), count > 0 else { return nil }
        let name = UnsafeBufferPointer(start: bytes, count: Int(count))
        return OneLine.text(String(decoding: name, as: UTF8.self))
    }

    private func fault() -> IdentityError {
        let usual = password == nil ? IdentityError.passwordRequired : .wrongPassword
        return KeyReader.fault(orElse: usual)
    }
}

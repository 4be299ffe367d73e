internal import COpenSSL

/// A context of the library's in which old algorithms are switched on, and the one of everybody
/// else is left alone.
final class LegacyLibrary {
    let context: OpaquePointer
    private let providers: [OpaquePointer]

    /// Loads the providers.
    ///
    /// - Throws: ``IdentityError/unsupportedAlgorithm(_:)`` where the system has none of the old.
    init() throws(IdentityError) {
        guard let context = OSSL_LIB_CTX_new() else {
            preconditionFailure("there is memory for an empty context")
        }
        providers = ["default", "legacy"].compactMap { (name: String) in
            OSSL_PROVIDER_load(context, name)
        }
        self.context = context
        LibraryErrors.clear()
        if providers.count < 2 {
            throw .unsupportedAlgorithm("of the provider \"legacy\", which is not installed")
        }
    }

    deinit {
        providers.forEach { _ = OSSL_PROVIDER_unload($0) }
        OSSL_LIB_CTX_free(context)
    }

    /// The same key in the context of everybody else, so that it outlives this one.
    func export(_ key: LibraryObject) -> LibraryObject? {
        guard let info = EVP_PKEY2PKCS8(key.pointer) else { return nil }
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PKCS8_PRIV_KEY_INFO(info, &bytes)
        guard count > 0, let bytes else { return nil }
        // The key lies open in these bytes.
        defer { towline_OPENSSL_clear_free(bytes, Int(count)) }
        var next: UnsafePointer<UInt8>? = UnsafePointer(bytes)
        return d2i_AutoPrivateKey(nil, &next, Int(count)).map { .key($0) }
    }
}

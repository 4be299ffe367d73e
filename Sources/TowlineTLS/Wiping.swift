internal import COpenSSL

/// Secrets leave no copies behind.
enum Wiping {
    /// Overwrites bytes, in a way that no compiler leaves out.
    ///
    /// Source: OPENSSL_cleanse(3).
    static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    }
}

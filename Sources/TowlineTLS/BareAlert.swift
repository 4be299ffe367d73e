internal import COpenSSL

/// Alerts that the library has no way of sending.
///
/// It lets a program refuse a client's certificate only while it reads it; who wants to think about
/// it has to send the alert alone.
enum BareAlert {
    /// A fatal alert in the clear, as it is sent before anything is encrypted.
    ///
    /// Source: RFC 8446, section 6.
    static func plain(_ alert: TLSAlert) -> [UInt8] {
        [21, 3, 3, 0, 2, 2, alert.code]
    }

    /// A fatal alert of a server that has sent nothing behind its part of the handshake.
    ///
    /// - Parameters:
    ///   - alert: What to say.
    ///   - handle: The library's handle.
    ///   - secret: What TLS 1.3 encrypts the server's data with.
    /// - Returns: A record; empty if none can be made.
    static func make(_ alert: TLSAlert, _ handle: OpaquePointer, secret: [UInt8]) -> [UInt8] {
        // Up to 1.2 the client has not been told yet that the server is done, and is not encrypted.
        guard SSL_version(handle) >= CInt(TLSVersion.tls13.rawValue) else { return plain(alert) }
        guard let suite = SSL_get_current_cipher(handle) else { return [] }
        let name = OBJ_nid2sn(SSL_CIPHER_get_cipher_nid(suite))
        let cipher = EVP_get_cipherbyname(name)
        let hash = SSL_CIPHER_get_handshake_digest(suite)
        // The encryption of CCM is set up otherwise, and hardly used.
        guard EVP_CIPHER_get_mode(cipher) != EVP_CIPH_CCM_MODE else { return [] }
        var record = [UInt8](repeating: 0, count: 24)
        let isMade = towline_seal_first_alert(
            cipher,
            hash,
            secret,
            secret.count,
            alert.code,
            &record
        )
        LibraryErrors.clear()
        return isMade == 1 ? record : []
    }
}

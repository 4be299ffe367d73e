internal import COpenSSL
internal import Glibc

/// How a connection is secured.
///
/// Its values may be read anywhere; the library's part of it belongs to the thread of its socket,
/// which ``keyingMaterial(label:context:count:)`` alone needs.
public struct TLSInfo: @unchecked Sendable {
    /// The version.
    public let version: TLSVersion

    /// The cipher suite by its standard name, such as `TLS_AES_128_GCM_SHA256`.
    public let cipherSuite: String

    /// The group of the key exchange, such as `x25519`; `nil` where there was none.
    public let group: String?

    /// What is spoken inside; `nil` if nothing was agreed on.
    public let applicationProtocol: String?

    /// The name that the client has sent; `nil` if none.
    public let sentServerName: String?

    /// Whether it goes on from an earlier connection.
    public let isResumed: Bool

    /// What the peer has sent: its own certificate first.
    ///
    /// None from clients that have none, and of a resumed one a server knows but the first.
    public let peerChain: [Certificate]

    /// The chain that the trust in the peer rests on; `nil` where nothing was verified, where the
    /// program has trusted it against the library's word, and on resumed connections.
    public let verifiedChain: VerifiedChain?

    /// Whether data was sent before the peer was known; never.
    public let earlyData = false

    /// Asked for on its own thread only; the rest is values.
    private weak var session: TLSSession?

    private let thread = pthread_self()

    /// Makes bytes that both ends can make and nobody else.
    ///
    /// - Parameters:
    ///   - label: What they are for.
    ///   - context: What they are bound to; `nil` for nothing, which with TLS 1.2 is not the same
    ///     as no bytes.
    ///   - count: How many.
    /// - Returns: The bytes; `nil` when the connection is gone, and on other threads than that of
    ///   the socket's reactor.
    ///
    /// Source: RFC 5705; RFC 8446, section 7.5; SSL_export_keying_material(3).
    public func keyingMaterial(label: String, context: [UInt8]?, count: Int) -> [UInt8]? {
        guard count > 0, pthread_equal(thread, pthread_self()) != 0, let handle = session?.handle
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        LibraryErrors.clear()
        let result = SSL_export_keying_material(
            handle,
            &bytes,
            count,
            label,
            label.utf8.count,
            context,
            context?.count ?? 0,
            context == nil ? 0 : 1
        )
        LibraryErrors.clear()
        return result == 1 ? bytes : nil
    }

    init?(_ session: TLSSession) {
        guard let handle = session.handle,
            let version = TLSVersion(rawValue: UInt16(truncatingIfNeeded: SSL_version(handle))),
            let cipher = SSL_get_current_cipher(handle)
        else { return nil }
        self.session = session
        self.version = version
        cipherSuite = String(cString: SSL_CIPHER_standard_name(cipher))
        group = Self.group(of: handle)
        applicationProtocol = Self.applicationProtocol(of: handle)
        sentServerName = session.sentName
        isResumed = SSL_session_reused(handle) == 1
        peerChain = Self.peerChain(of: handle)
        let verified = Certificate.chain(in: SSL_get0_verified_chain(handle))
        verifiedChain =
            verified.isEmpty ? nil : VerifiedChain(certificates: verified, isVerified: true)
    }

    private static func group(of handle: OpaquePointer) -> String? {
        let number = towline_SSL_get_negotiated_group(handle)
        guard number != 0, let name = OBJ_nid2sn(number & 0xFFFF) else { return nil }
        return String(cString: name)
    }

    /// What is spoken inside.
    static func applicationProtocol(of handle: OpaquePointer) -> String? {
        var bytes: UnsafePointer<UInt8>?
        var count: CUnsignedInt = 0
        SSL_get0_alpn_selected(handle, &bytes, &count)
        guard let bytes, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    private static func peerChain(of handle: OpaquePointer) -> [Certificate] {
        let rest = Certificate.chain(in: SSL_get_peer_cert_chain(handle))
        guard
            let leaf = towline_SSL_get0_peer_certificate(handle).flatMap(
                Certificate.init(sharing:)
            )
        else { return rest }
        // A server's list of the library's leaves the client's own certificate out.
        return rest.first == leaf ? rest : [leaf] + rest
    }
}

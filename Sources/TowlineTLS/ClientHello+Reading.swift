internal import COpenSSL

extension ClientHello {
    /// Reads what a client has said, while the library shows it.
    ///
    /// Source: SSL_client_hello_get0_ext(3); RFC 6066, section 3; RFC 7301, section 3.1; RFC 8446,
    /// section 4.2.1.
    init(of handle: OpaquePointer) {
        serverName = Self.serverName(of: handle)
        applicationProtocols = Self.protocols(in: Self.extension(16, of: handle))
        versions = Self.versions(of: handle)
    }

    /// Whom the client wants; the library forgets it where a session of TLS 1.2 goes on.
    static func serverName(of handle: OpaquePointer) -> String? {
        name(in: `extension`(0, of: handle))
    }

    private static func `extension`(_ number: CUnsignedInt, of handle: OpaquePointer) -> [UInt8] {
        var bytes: UnsafePointer<UInt8>?
        var count = 0
        guard SSL_client_hello_get0_ext(handle, number, &bytes, &count) == 1 else { return [] }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// A list of one: its length, the kind 0, the name's length, the name.
    private static func name(in bytes: [UInt8]) -> String? {
        guard bytes.count > 5, bytes[2] == 0 else { return nil }
        let count = Int(bytes[3]) << 8 | Int(bytes[4])
        guard bytes.count == 5 + count,
            let text = String(validating: bytes[5...], as: UTF8.self)
        else { return nil }
        do throws(TLSError) {
            return try PeerName(text).indication
        } catch {
            // Whoever wants what cannot be a name wants nobody.
            return nil
        }
    }

    private static func protocols(in bytes: [UInt8]) -> [String] {
        guard bytes.count > 2 else { return [] }
        return bytes[2...].withUnsafeBufferPointer { list in
            ProtocolList.names(in: list).map { String(decoding: list[$0], as: UTF8.self) }
        }
    }

    /// A client of TLS 1.3 lists its versions; another names the newest.
    private static func versions(of handle: OpaquePointer) -> [TLSVersion] {
        let list = `extension`(43, of: handle)
        let legacy = SSL_client_hello_get0_legacy_version(handle)
        let numbers =
            list.isEmpty
            ? [UInt16(truncatingIfNeeded: legacy)]
            : stride(from: 1, to: list.count - 1, by: 2).map {
                UInt16(list[$0]) << 8 | UInt16(list[$0 + 1])
            }
        let known = TLSVersion.allCases.filter { version in
            numbers.contains { $0 == version.rawValue }
        }
        return known.sorted(by: >)
    }
}

internal import COpenSSL

// What the library calls, each on the thread of the session that it is about. A closure would carry
// a context along, which C cannot hold.

/// The session that a handle of the library's belongs to.
private func session(of handle: OpaquePointer?) -> TLSSession? {
    guard let handle, let data = towline_SSL_get_app_data(handle) else { return nil }
    // Set when the handle was made; the session frees the handle before it goes.
    return Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
}

/// Judges the peer's certificates instead of the library.
///
/// Source: SSL_CTX_set_cert_verify_callback(3).
func verifyPeer(_ store: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> CInt {
    guard let store,
        let handle = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
        let session = session(of: OpaquePointer(handle))
    else { return 0 }
    return session.judgePeer(store)
}

/// Stands where a client has said whom it wants, and nothing is settled yet.
///
/// Source: SSL_CTX_set_client_hello_cb(3).
func readHello(
    _ handle: OpaquePointer?,
    _ alert: UnsafeMutablePointer<CInt>?,
    _ argument: UnsafeMutableRawPointer?
) -> CInt {
    guard let handle, let session = session(of: handle) else { return SSL_CLIENT_HELLO_ERROR }
    switch session.judgeHello(of: handle) {
    case .goOn: return SSL_CLIENT_HELLO_SUCCESS
    case .ask: return SSL_CLIENT_HELLO_RETRY
    case .refuse(let reason):
        alert?.pointee = CInt(reason.code)
        return SSL_CLIENT_HELLO_ERROR
    }
}

/// Picks what is spoken inside, on servers.
///
/// Source: SSL_CTX_set_alpn_select_cb(3).
func chooseProtocol(
    _ handle: OpaquePointer?,
    _ choice: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ choiceCount: UnsafeMutablePointer<UInt8>?,
    _ offer: UnsafePointer<UInt8>?,
    _ offerCount: CUnsignedInt,
    _ argument: UnsafeMutableRawPointer?
) -> CInt {
    guard let session = session(of: handle), let choice, let choiceCount else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    let wanted = session.applicationProtocols
    guard !wanted.isEmpty else { return SSL_TLSEXT_ERR_NOACK }
    let offer = UnsafeBufferPointer(start: offer, count: Int(offerCount))
    let ranges = ProtocolList.names(in: offer)
    for name in wanted {
        for range in ranges where name.utf8.elementsEqual(offer[range]) {
            // The name where it stands in the offer, which outlives the call.
            choice.pointee = offer.baseAddress.map { $0 + range.lowerBound }
            choiceCount.pointee = UInt8(range.count)
            return SSL_TLSEXT_ERR_OK
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// Stands where a client has to say who it is.
///
/// Source: SSL_CTX_set_cert_cb(3).
func chooseIdentity(_ handle: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> CInt {
    guard let handle, let session = session(of: handle) else { return 0 }
    return session.installChosenIdentity(in: handle)
}

/// Checks what a server has stapled, and staples what we have.
///
/// Source: SSL_CTX_set_tlsext_status_cb(3).
func checkStaple(_ handle: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> CInt {
    guard let handle, let session = session(of: handle) else { return 0 }
    if SSL_is_server(handle) == 1 { return session.staple(to: handle) }
    return session.judgeStaple(of: handle) ? 1 : 0
}

/// Keeps a session for the connections that follow.
///
/// Source: SSL_CTX_sess_set_new_cb(3).
func keepSession(_ handle: OpaquePointer?, _ kept: OpaquePointer?) -> CInt {
    if let handle, let kept, let session = session(of: handle) {
        session.keep(kept, of: handle)
    }
    // The reference stays the library's: what is kept is a copy.
    return 0
}

/// Sets up the encryption of a ticket that is made, or that has come.
///
/// Source: SSL_CTX_set_tlsext_ticket_key_evp_cb(3).
func sealTicket(
    _ handle: OpaquePointer?,
    _ name: UnsafeMutablePointer<UInt8>?,
    _ vector: UnsafeMutablePointer<UInt8>?,
    _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?,
    _ isNew: CInt
) -> CInt {
    guard let session = session(of: handle), let name, let vector else { return -1 }
    let keys = session.ticketKeys
    if isNew == 1 {
        guard let key = keys.first, RAND_bytes(vector, 16) == 1 else { return -1 }
        for (offset, byte) in key.bytes.prefix(TicketKey.nameByteCount).enumerated() {
            name[offset] = byte
        }
        return use(key, vector, cipher, mac, 1) ? 1 : -1
    }
    let wanted = UnsafeBufferPointer(start: name, count: TicketKey.nameByteCount)
    let place = keys.firstIndex { $0.bytes.prefix(TicketKey.nameByteCount).elementsEqual(wanted) }
    guard let place else { return 0 }
    guard use(keys[place], vector, cipher, mac, 0) else { return -1 }
    // 2: good, and to be replaced: by one of the newest key, or as it is used only once.
    let isUsedOnce = SSL_version(handle) >= CInt(TLSVersion.tls13.rawValue)
    return place == 0 && !isUsedOnce ? 1 : 2
}

private func use(
    _ key: TicketKey,
    _ vector: UnsafeMutablePointer<UInt8>,
    _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?,
    _ encrypts: CInt
) -> Bool {
    key.bytes.withUnsafeBufferPointer { bytes in
        // 80 bytes, by the key's own check.
        guard let first = bytes.baseAddress else { return false }
        let secrets = first + TicketKey.nameByteCount
        return towline_ticket_init(cipher, mac, secrets, secrets + 32, vector, encrypts) == 1
    }
}

/// Passes a secret on to whoever writes them down.
///
/// Source: SSL_CTX_set_keylog_callback(3).
func logKey(_ handle: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
    guard let line, let session = session(of: handle) else { return }
    session.note(secret: String(cString: line))
}

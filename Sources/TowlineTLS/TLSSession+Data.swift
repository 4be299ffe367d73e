internal import COpenSSL
internal import Towline

extension TLSSession {
    // MARK: Receiving

    /// Takes records until there are none, or no room is left for what is in them.
    func decrypt(
        into plaintext: UnsafeMutableRawBufferPointer
    ) -> (byteCount: Int, step: SecurityStep) {
        guard let handle else { return (0, fail(.configuration(.noIdentity))) }
        if wantsRekey { sendKeyUpdate() }
        var count = 0
        while count < plaintext.count {
            LibraryErrors.clear()
            var received = 0
            let room = plaintext.count - count
            // Within the buffer by the line above.
            let target = plaintext.baseAddress.map { $0 + count }
            let result = SSL_read_ex(handle, target, room, &received)
            guard result == 1 else {
                return (count, classify(SSL_get_error(handle, result), handle))
            }
            count += received
            plaintextByteCount += received
            wire.pointee.takenByteCount = 0
            // Where less came than there is room for, the record was used up.
            if received < room, wire.pointee.isEmpty {
                return (count, delayedPlaintext.isEmpty ? .needsInput : sendDelayed())
            }
        }
        return (count, .hasMore)
    }

    private func classify(_ kind: CInt, _ handle: OpaquePointer) -> SecurityStep {
        if wire.pointee.isOverLimit {
            LibraryErrors.clear()
            let limit = wire.pointee.takenByteLimit
            return fail(.limit(.uselessRecords(byteCount: limit)))
        }
        switch kind {
        case SSL_ERROR_WANT_READ:
            LibraryErrors.clear()
            return delayedPlaintext.isEmpty ? .needsInput : sendDelayed()
        case SSL_ERROR_ZERO_RETURN:
            LibraryErrors.clear()
            stage = .ended
            wire.pointee.skipLent()
            return .ended
        default:
            let entries = LibraryErrors.take()
            let error = TLSError(
                kind,
                entries,
                failure: nil,
                offered: plaintextByteCount == 0 ? offeredVersions : [],
                isOfHandshake: plaintextByteCount == 0
            )
            return fail(error.asked(lacksIdentity && plaintextByteCount == 0))
        }
    }

    /// The peer's end, which it has not announced.
    func endWithoutNotice() -> SecurityStep {
        // A record that is cut in two is nobody's idea of an end.
        let isInRecord = handle.map { SSL_has_pending($0) == 1 } ?? false
        if context?.configuration.truncation == .asEnd, !isInRecord {
            stage = .ended
            return .ended
        }
        return fail(.truncated(bytes: plaintextByteCount))
    }

    // MARK: Sending

    /// Makes a record of data.
    func encrypt(_ plaintext: UnsafeRawBufferPointer) -> TLSError? {
        if case .failed(let error) = stage { return error }
        guard let handle else { return .configuration(.noIdentity) }
        guard !plaintext.isEmpty else { return nil }
        guard delayedPlaintext.isEmpty else { return delay(plaintext) }
        LibraryErrors.clear()
        var written = 0
        let result = SSL_write_ex(handle, plaintext.baseAddress, plaintext.count, &written)
        if result == 1 { return nil }
        let kind = SSL_get_error(handle, result)
        let entries = LibraryErrors.take()
        // The peer has sent one half of a message, behind which the library does not write.
        if kind == SSL_ERROR_WANT_READ { return delay(plaintext) }
        let error = TLSError(kind, entries, failure: nil, offered: [])
        stage = .failed(error)
        return error
    }

    private func delay(_ plaintext: UnsafeRawBufferPointer) -> TLSError? {
        guard delayedPlaintext.count < Self.delayLimit else {
            let error = TLSError.limit(.messageSize)
            stage = .failed(error)
            return error
        }
        delayedPlaintext.append(contentsOf: plaintext)
        return nil
    }

    /// So much data waits at most for the peer's other half of a message.
    private static var delayLimit: Int { 256 * 1024 }

    /// Sends what had to wait, if it need not any more.
    private func sendDelayed() -> SecurityStep {
        guard let handle, SSL_in_init(handle) == 0 else { return .needsInput }
        let bytes = delayedPlaintext
        delayedPlaintext = []
        let error = bytes.withUnsafeBytes { all -> TLSError? in
            for start in stride(from: 0, to: all.count, by: 16_384) {
                let end = min(start + 16_384, all.count)
                if let error = encrypt(UnsafeRawBufferPointer(rebasing: all[start..<end])) {
                    return error
                }
            }
            return nil
        }
        return error.map { .failed($0) } ?? .needsInput
    }

    // MARK: Keys

    /// Whether the version has a way to ask for new keys.
    var canUpdateKeys: Bool {
        guard let handle else { return false }
        return SSL_version(handle) >= CInt(TLSVersion.tls13.rawValue)
    }

    /// Asks for new keys in both directions.
    func updateKeys(into output: SecurityOutput) {
        guard case .open = stage else { return }
        wire.pointee.lend(UnsafeRawBufferPointer(start: nil, count: 0), output)
        defer { wire.pointee.endLoan() }
        wantsRekey = true
        sendKeyUpdate()
    }

    private func sendKeyUpdate() {
        // Behind half a message of the peer's it has to wait.
        guard let handle, SSL_in_init(handle) == 0 else { return }
        wantsRekey = false
        LibraryErrors.clear()
        if SSL_key_update(handle, SSL_KEY_UPDATE_REQUESTED) == 1 { _ = SSL_do_handshake(handle) }
        LibraryErrors.clear()
    }

    // MARK: Facts

    /// How the connection is secured, once it is.
    var currentInfo: TLSInfo? {
        if info == nil, handle.map({ SSL_is_init_finished($0) == 1 }) == true {
            switch stage {
            case .open, .ended: info = TLSInfo(self)
            default: break
            }
        }
        return info
    }
}

internal import COpenSSL
public import Towline

extension StreamSocket {
    /// Secures the connection behind all reads and writes that were asked for so far; those asked
    /// for from now on are protected.
    ///
    /// May be called as soon as the socket connects. The handshake has 30 seconds, on accepted
    /// sockets 10, from when what was asked for before is done; `socketDidSecure(_:)` tells that it
    /// is complete. A read that takes whatever comes keeps it waiting, and may take its bytes for
    /// data; that is logged as a warning.
    ///
    /// - Parameters:
    ///   - configuration: How. One that is not built yet is built on another thread first.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/security(_:)`` with ``TLSError/configuration(_:)`` if this cannot
    ///   work; ``SocketError/alreadySecured``, ``SocketError/notConnected``,
    ///   ``SocketError/disconnectPending``, ``SocketError/readClosed``,
    ///   ``SocketError/writeClosed``, ``SocketError/wrongThread``,
    ///   ``SocketError/reactorStopped``. Nothing is changed then.
    ///
    /// Source: RFC 8446; RFC 5246.
    public func startTLS(
        _ configuration: TLSConfiguration = .client,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        try begin(configuration, within: .seconds(wasAccepted ? 10 : 30), file, line)
    }

    /// Secures the connection as ``startTLS(_:file:line:)`` does, within a time of the caller's.
    ///
    /// - Parameters:
    ///   - configuration: How.
    ///   - timeout: How long the handshake may take, questions of trust included; `nil` for as long
    ///     as it likes.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``startTLS(_:file:line:)``; ``SocketError/invalidArgument(_:)`` for a timeout
    ///   below zero.
    public func startTLS(
        _ configuration: TLSConfiguration = .client,
        timeout: Duration?,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        try begin(configuration, within: timeout, file, line)
    }

    private func begin(
        _ configuration: TLSConfiguration,
        within timeout: Duration?,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) {
        do throws(TLSError) {
            try configuration.check(for: self)
        } catch {
            throw .security(error)
        }
        try secure(with: TLSSession(configuration), within: timeout, file: file, line: line)
    }

    /// How the connection is secured; `nil` before it is, and when its farewell is over.
    public var tlsInfo: TLSInfo? { (securityLayer as? TLSSession)?.currentInfo }

    /// Asks the peer for new keys in both directions, as connections should that carry very much.
    ///
    /// - Throws: ``SocketError/notConnected`` if the connection is not secured;
    ///   ``SocketError/security(_:)`` with ``TLSError/noAgreement(_:)`` for TLS 1.2, which has no
    ///   way to do so.
    ///
    /// Source: RFC 8446, section 4.6.3.
    public func rekey() throws(SocketError) {
        guard let session = securityLayer as? TLSSession, isSecured else { throw .notConnected }
        guard session.canUpdateKeys else {
            throw .security(TLSError.noAgreement(.version([.tls13])))
        }
        answer { session.updateKeys(into: $0) }
    }

    /// Lends the library's handle (`SSL *`), for what is not offered here.
    ///
    /// Reading, writing and freeing it, or changing what it reads from and writes to, breaks the
    /// connection.
    ///
    /// - Parameter body: Is given the handle, which must not be kept.
    /// - Returns: What `body` returns; `nil` without a handle.
    /// - Throws: What `body` throws.
    public func withUnsafeTLSHandle<R>(_ body: (OpaquePointer) throws -> R) rethrows -> R? {
        guard let session = securityLayer as? TLSSession, let handle = session.handle else {
            return nil
        }
        defer { LibraryErrors.clear() }
        return try withExtendedLifetime(session) { try body(handle) }
    }
}

extension TLSConfiguration {
    /// Finds out what cannot work, as far as that is known before anything is sent.
    func check(for socket: StreamSocket) throws(TLSError) {
        try checkAlone()
        if role == .client {
            let facts = socket.securityFacts
            // Of several addresses the one that wins is not known yet.
            let isKnown = facts.host != nil || facts.remoteAddress != nil || facts.isAccepted
            if isKnown || serverName != .fromConnect { _ = try PeerNames(self, facts: facts) }
        }
        let asks = trust.decision != .library && (role == .client || clientAuthentication != .none)
        if asks, !trust.acceptsAny, let delegate = socket.delegate,
            !(delegate is any StreamSocketTLSDelegate)
        {
            throw .configuration(.noTrustDelegate)
        }
    }

    /// Finds out what cannot work, whatever it is used for.
    func checkAlone() throws(TLSError) {
        if trust.pins?.isEmpty == true { throw .configuration(.noPins) }
        guard role == .server else { return }
        if identity == nil, chooser == nil { throw .configuration(.noIdentity) }
        if clientAuthentication != .none, !isTrustChosen { throw .configuration(.noClientTrust) }
    }
}

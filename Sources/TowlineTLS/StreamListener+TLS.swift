public import Towline

extension StreamListener {
    /// Asks each connection that is accepted from now on to be secured, before the delegate hears
    /// of it; `socketDidSecure(_:)` says when it is.
    ///
    /// Called again, it replaces the configuration; connections and handshakes that there are go on
    /// with theirs. What is not built yet is built in the call, which may take some 20 ms: call
    /// ``TLSConfiguration/prepare()`` before, on another thread.
    ///
    /// - Parameter configuration: How.
    /// - Throws: ``SocketError/security(_:)`` if it cannot be built; then the one in force stays.
    public func replaceTLS(_ configuration: TLSConfiguration) throws(SocketError) {
        do throws(TLSError) {
            guard configuration.role == .server else { throw .configuration(.notForServer) }
            try configuration.checkAlone()
            try configuration.prepare()
        } catch {
            throw .security(error)
        }
        secureAccepted = { socket throws(SocketError) in try socket.startTLS(configuration) }
    }
}

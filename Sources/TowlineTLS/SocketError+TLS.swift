public import Towline

extension SocketError {
    /// The typed reason, where TLS is the reason.
    public var tls: TLSError? {
        guard case .security(let error) = self else { return nil }
        return error as? TLSError
    }
}

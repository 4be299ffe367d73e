extension StreamSocket {
    /// Lends the socket's descriptor for the length of the call, in an array of one; in an empty
    /// one while the socket is idle, and on a simulated network.
    ///
    /// For options that ``SocketOptions`` does not have. The descriptor stays the socket's: to
    /// close it, to read from or write to it, or to change its flags, is not allowed.
    ///
    /// - Parameter body: Called once, with the descriptors.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func withUnsafeDescriptors<Result, Failure: Error>(
        _ body: ([CInt]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let reactor = reactorIfOnThread("withUnsafeDescriptors(_:)"),
            let descriptor = reactor.backend.descriptor(of: socketID)
        else { return try body([]) }
        return try body([descriptor])
    }

    /// Which process is at the other end of a Unix socket, as it was when the connection was made;
    /// `nil` for TCP, and while the socket is not connected.
    ///
    /// Source: unix(7), `SO_PEERCRED`.
    public var peerCredentials: PeerCredentials? {
        guard let reactor = reactorIfOnThread("peerCredentials"), case .unix? = peer,
            lifecycle.phase != .idle, lifecycle.phase != .connecting
        else { return nil }
        return reactor.backend.peerCredentials(of: socketID)
    }
}

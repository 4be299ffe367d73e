internal import Glibc

/// What a socket asks of the kernel, set before it connects or listens.
///
/// Sockets that a listener accepts begin with the listener's options.
public struct SocketOptions: Sendable, Hashable {
    /// Probes of a silent peer, so that one that has vanished is noticed.
    ///
    /// Source: tcp(7), `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT`.
    public struct KeepAlive: Sendable, Hashable {
        /// Silence before the first probe, 1 through 32,767 seconds.
        public var idleSeconds: Int32

        /// Silence between probes, 1 through 32,767 seconds.
        public var intervalSeconds: Int32

        /// Unanswered probes before the connection fails with `ETIMEDOUT`, 1 through 127.
        public var probeCount: Int32

        /// Probes after `idleSeconds` of silence, each `intervalSeconds` after the one before.
        public init(idleSeconds: Int32 = 60, intervalSeconds: Int32 = 10, probeCount: Int32 = 6) {
            self.idleSeconds = idleSeconds
            self.intervalSeconds = intervalSeconds
            self.probeCount = probeCount
        }
    }

    /// Whether small segments leave at once instead of waiting for an acknowledgement; `true`.
    ///
    /// Source: tcp(7), `TCP_NODELAY`.
    public var noDelay = true

    /// Probes of a silent peer; `nil`, none.
    public var keepAlive: KeepAlive?

    /// How long sent bytes may stay unacknowledged before the connection fails, in milliseconds;
    /// `nil`, the kernel's own bound.
    ///
    /// Source: tcp(7), `TCP_USER_TIMEOUT`.
    public var userTimeoutMilliseconds: UInt32?

    /// Bytes of the kernel's send buffer, which the kernel doubles; `nil`, tuned by the kernel.
    ///
    /// Source: socket(7), `SO_SNDBUF`.
    public var sendBufferSize: Int32?

    /// Bytes of the kernel's receive buffer, which the kernel doubles; `nil`, tuned by the kernel.
    ///
    /// Source: socket(7), `SO_RCVBUF`.
    public var receiveBufferSize: Int32?

    /// Whether several listeners may share one port and the kernel spreads connections; `false`.
    ///
    /// Source: socket(7), `SO_REUSEPORT`.
    public var reusePort = false

    /// The usual options.
    public init() {}

    /// Sets what `kind` of descriptor takes.
    ///
    /// - Throws: ``SystemCallError`` from `setsockopt`. Options before the refused one stay set.
    func apply(to descriptor: CInt, family: CInt) throws(SystemCallError) {
        if let size = sendBufferSize {
            try Self.set(descriptor, SOL_SOCKET, SO_SNDBUF, size)
        }
        if let size = receiveBufferSize {
            try Self.set(descriptor, SOL_SOCKET, SO_RCVBUF, size)
        }
        guard family != AF_UNIX else { return }
        let tcp = CInt(IPPROTO_TCP)
        if noDelay {
            try Self.set(descriptor, tcp, TCP_NODELAY, 1)
        }
        if let keepAlive {
            try Self.set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
            try Self.set(descriptor, tcp, TCP_KEEPIDLE, keepAlive.idleSeconds)
            try Self.set(descriptor, tcp, TCP_KEEPINTVL, keepAlive.intervalSeconds)
            try Self.set(descriptor, tcp, TCP_KEEPCNT, keepAlive.probeCount)
        }
        if let limit = userTimeoutMilliseconds {
            try Self.set(descriptor, tcp, TCP_USER_TIMEOUT, Int32(clamping: limit))
        }
    }

    static func set(
        _ descriptor: CInt,
        _ level: CInt,
        _ name: CInt,
        _ number: Int32
    ) throws(SystemCallError) {
        var value = number
        try checkedSystemCall("setsockopt") {
            setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}

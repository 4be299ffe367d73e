internal import CLinux
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

    /// What closing does with what the peer has not acknowledged: with 0 a connection is reset;
    /// `nil`, the kernel goes on sending.
    ///
    /// Other numbers are refused: a close that waits would hold up every socket of the reactor.
    /// `disconnect(.afterWrites)` loses nothing, and waits for nobody else.
    ///
    /// Source: socket(7), `SO_LINGER`.
    public var lingerSeconds: Int32?

    /// The byte that tells routers how to treat the packets: DSCP and ECN; `nil`, 0.
    ///
    /// Source: ip(7), `IP_TOS`; ipv6(7) and RFC 3542, `IPV6_TCLASS`.
    public var trafficClass: UInt8?

    // MARK: Only at the start

    /// Whether several listeners may share one port and the kernel spreads connections; `false`.
    ///
    /// Each of them must ask for it. Takes effect when a socket starts.
    ///
    /// Source: socket(7), `SO_REUSEPORT`.
    public var reusePort = false

    /// How long a listener leaves a connection with the kernel that has sent no byte yet, 1 through
    /// 32,767 seconds, rounded to a number of repeated answers; `nil`, not at all.
    ///
    /// For protocols whose client speaks first. Takes effect when a listener starts.
    ///
    /// Source: tcp(7), `TCP_DEFER_ACCEPT`.
    public var deferAcceptSeconds: Int32?

    /// Whether the first bytes travel with the handshake, to peers that were met before; `false`.
    ///
    /// The bytes may arrive twice, so they must do no harm then. A socket that connects is told to
    /// be connected before the peer has answered, and the handshake begins with the first write: it
    /// must speak first. Takes effect when a socket or listener starts, and needs `tcp_fastopen` of
    /// the host.
    ///
    /// Source: tcp(7), `TCP_FASTOPEN`, `TCP_FASTOPEN_CONNECT`; RFC 7413.
    public var fastOpen = false

    /// The device that all packets take, whatever the routes say, such as `eth0`; `nil`, any.
    ///
    /// Takes effect when a socket starts.
    ///
    /// Source: socket(7), `SO_BINDTODEVICE`.
    public var bindToDevice: String?

    /// The port of this host that a connect begins at; `nil`, one that the kernel chooses.
    ///
    /// May be used again at once after a connection from it has ended.
    ///
    /// Source: bind(2), socket(7), `SO_REUSEADDR`.
    public var localPort: UInt16?

    /// The usual options.
    public init() {}
}

extension SocketOptions {
    /// What a descriptor is about to be, or is.
    enum Use {
        case connecting
        case listening
        /// Connected: what is only for the start is left alone.
        case connected
    }

    /// A value out of its range: which, what it is, and what it must be.
    struct Problem: Equatable {
        let option: String
        let value: String
        let reason: String
    }

    /// So many handshakes with bytes may be under way.
    private static let fastOpenQueue: Int32 = 256

    /// The first value that is out of its range, if there is one.
    var problem: Problem? {
        let times: ClosedRange<Int32> = 1...32_767
        let sizes: ClosedRange<Int32> = 1...Int32.max
        return Self.check("keepAlive.idleSeconds", keepAlive?.idleSeconds, times)
            ?? Self.check("keepAlive.intervalSeconds", keepAlive?.intervalSeconds, times)
            ?? Self.check("keepAlive.probeCount", keepAlive?.probeCount, 1...127)
            ?? Self.check("sendBufferSize", sendBufferSize, sizes)
            ?? Self.check("receiveBufferSize", receiveBufferSize, sizes)
            ?? Self.check("deferAcceptSeconds", deferAcceptSeconds, times)
            ?? lingerProblem ?? deviceProblem
    }

    private static func check(
        _ option: String,
        _ value: Int32?,
        _ range: ClosedRange<Int32>
    ) -> Problem? {
        guard let value, !range.contains(value) else { return nil }
        let reason =
            range.upperBound == .max
            ? "must be \(range.lowerBound) or more"
            : "must be \(range.lowerBound) through \(range.upperBound)"
        return Problem(option: option, value: "\(value)", reason: reason)
    }

    private var lingerProblem: Problem? {
        guard let seconds = lingerSeconds, seconds != 0 else { return nil }
        let reason = "must be 0, since a close that waits would hold up the reactor"
        return Problem(option: "lingerSeconds", value: "\(seconds)", reason: reason)
    }

    private var deviceProblem: Problem? {
        guard let name = bindToDevice else { return nil }
        // The kernel's field has 16 bytes, the last of them for the terminator.
        let bytes = name.utf8
        guard !(1..<Int(IFNAMSIZ)).contains(bytes.count) || bytes.contains(0) else { return nil }
        let reason = "must be a name of 1 through \(IFNAMSIZ - 1) bytes"
        return Problem(option: "bindToDevice", value: name, reason: reason)
    }

    /// Sets what a descriptor of this family and use takes.
    ///
    /// - Throws: ``SystemCallError`` from `setsockopt`. Options before the refused one stay set.
    func apply(
        to descriptor: CInt,
        family: CInt,
        for use: Use = .connecting
    ) throws(SystemCallError) {
        if let size = sendBufferSize {
            try Self.set(descriptor, SOL_SOCKET, SO_SNDBUF, size)
        }
        if let size = receiveBufferSize {
            try Self.set(descriptor, SOL_SOCKET, SO_RCVBUF, size)
        }
        guard family != AF_UNIX else { return }
        let tcp = CInt(IPPROTO_TCP)
        // A new socket has it off.
        if noDelay || use == .connected {
            try Self.set(descriptor, tcp, TCP_NODELAY, noDelay ? 1 : 0)
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
        try applyRareOptions(to: descriptor, family: family)
        if use != .connected { try applyStartOptions(to: descriptor, for: use) }
    }

    private func applyRareOptions(
        to descriptor: CInt,
        family: CInt
    ) throws(SystemCallError) {
        if let trafficClass {
            let isNew = family == AF_INET6
            let level = CInt(isNew ? IPPROTO_IPV6 : IPPROTO_IP)
            let name = isNew ? IPV6_TCLASS : IP_TOS
            try Self.set(descriptor, level, name, Int32(trafficClass))
        }
        if let lingerSeconds {
            var value = linger(l_onoff: 1, l_linger: lingerSeconds)
            try checkedSystemCall("setsockopt") {
                let size = socklen_t(MemoryLayout<linger>.size)
                return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, size)
            }
        }
    }

    private func applyStartOptions(
        to descriptor: CInt,
        for use: Use
    ) throws(SystemCallError) {
        let tcp = CInt(IPPROTO_TCP)
        if use == .listening, let seconds = deferAcceptSeconds {
            try Self.set(descriptor, tcp, TCP_DEFER_ACCEPT, seconds)
        }
        if fastOpen {
            let isListening = use == .listening
            let name = isListening ? TCP_FASTOPEN : TCP_FASTOPEN_CONNECT
            try Self.set(descriptor, tcp, name, isListening ? Self.fastOpenQueue : 1)
        }
        if let bindToDevice {
            let length = socklen_t(bindToDevice.utf8.count)
            try checkedSystemCall("setsockopt") {
                setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, bindToDevice, length)
            }
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

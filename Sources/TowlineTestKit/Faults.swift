internal import Glibc

/// A call to the kernel that a simulated network can refuse.
public enum SimulatedCall: String, Sendable, Hashable, CaseIterable {
    /// socket(2), by listeners and connects.
    case socket
    /// setsockopt(2), by listeners, connects and changes of options.
    case setOption = "setsockopt"
    /// bind(2), by listeners, and by connects from an interface or a port.
    case bind
    /// listen(2), by listeners.
    case listen
    /// accept(2).
    case accept = "accept4"
    /// connect(2).
    case connect
    /// recv(2).
    case receive = "recv"
    /// send(2).
    case send
    /// epoll_ctl(2), which begins to watch a descriptor: by adoptions, listeners and connects.
    case watch = "epoll_ctl"
    /// epoll_wait(2), the wait of the loop itself.
    case wait = "epoll_pwait2"

    /// What the call's manual page says it may fail with, apart from `EINTR`, and without what only
    /// a bug of the caller brings about.
    public var errnos: [CInt] {
        switch self {
        case .socket:
            [
                EACCES, EAFNOSUPPORT, EINVAL, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPROTONOSUPPORT,
            ]
        case .setOption: [EDOM, EINVAL, ENOPROTOOPT]
        case .bind:
            [
                EACCES, EADDRINUSE, EADDRNOTAVAIL, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM,
                EROFS,
            ]
        case .listen: [EADDRINUSE, EOPNOTSUPP]
        case .accept: AcceptErrnos.ofOneConnection + AcceptErrnos.ofResources
        case .connect:
            [
                EACCES, EPERM, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EAGAIN, ECONNREFUSED,
                EHOSTUNREACH, ENETUNREACH, ENOENT, EPROTOTYPE, ETIMEDOUT,
            ]
        case .receive: [ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENOMEM, ETIMEDOUT]
        case .send: [ECONNRESET, EHOSTUNREACH, ENOBUFS, ENOMEM, EPIPE, ETIMEDOUT]
        case .watch: [ENOMEM, ENOSPC]
        case .wait: []
        }
    }

    /// Whether a call that a signal interrupted is made again.
    var isRepeatedOnInterruption: Bool { self != .connect && self != .wait }

    /// Whether the call may find nothing, or no room, at the moment.
    var mayBlock: Bool { self == .accept || self == .receive || self == .send }
}

/// What accept(2) may fail with, sorted by whose failure it is.
enum AcceptErrnos {
    static let ofOneConnection = [
        ECONNABORTED, EPROTO, EPERM, ENETDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ENONET,
        ENOPROTOOPT, EOPNOTSUPP, ETIMEDOUT,
    ]
    static let ofResources = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
}

/// The failures that were asked for and have not happened yet.
struct Faults {
    private struct Fault {
        var skippedCalls: Int
        let errno: CInt
    }

    private var waiting: [SimulatedCall: [Fault]] = [:]

    /// Has the call after the next `skippedCalls` ones, counted from the fault before, fail.
    mutating func add(_ number: CInt, to call: SimulatedCall, skipping skippedCalls: Int) {
        waiting[call, default: []].append(Fault(skippedCalls: skippedCalls, errno: number))
    }

    /// Counts one call; the errno that it is to fail with, if it is.
    mutating func take(for call: SimulatedCall) -> CInt? {
        guard var faults = waiting[call], !faults.isEmpty else { return nil }
        if faults[0].skippedCalls > 0 {
            faults[0].skippedCalls -= 1
            waiting[call] = faults
            return nil
        }
        let fault = faults.removeFirst()
        waiting[call] = faults
        return fault.errno
    }
}

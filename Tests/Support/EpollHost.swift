internal import CLinux
internal import Glibc
internal import Towline

/// An epoll loop of a test's own that watches one descriptor, level-triggered.
public final class EpollHost {
    private let set: CInt

    /// Watches `descriptor` for reading.
    ///
    /// - Throws: `SystemCallError` from `epoll_create1` and `epoll_ctl`.
    public init(watching descriptor: CInt) throws {
        set = try check("epoll_create1", epoll_create1(CInt(EPOLL_CLOEXEC)))
        var event = epoll_event()
        event.events = towline_epoll_in
        try check("epoll_ctl", epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event))
    }

    /// Waits until the descriptor is readable.
    ///
    /// - Returns: Whether it became so in time.
    /// - Throws: `SystemCallError` from `epoll_wait`.
    public func wait(within timeout: Duration) throws -> Bool {
        var event = epoll_event()
        let milliseconds = CInt(timeout / .milliseconds(1))
        return try check("epoll_wait", epoll_wait(set, &event, 1, milliseconds)) == 1
    }

    /// Ends it.
    public func close() {
        _ = Glibc.close(set)
    }
}

internal import Glibc

/// Which process is at the other end of a Unix socket, as the kernel saw it when the connection was
/// made.
///
/// Source: unix(7), `SO_PEERCRED`.
public struct PeerCredentials: Sendable, Hashable {
    /// The process; it may have ended since, and its number been given to another.
    public let processID: Int32

    /// The user that it ran as.
    public let userID: UInt32

    /// The group that it ran as.
    public let groupID: UInt32

    package init(processID: Int32, userID: UInt32, groupID: UInt32) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
    }

    /// Asks the kernel; `nil` unless the descriptor is of the Unix domain.
    init?(of descriptor: CInt) {
        // `struct ucred`: three numbers of four bytes each, in this order.
        var numbers: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: numbers))
        let result = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &numbers, &length)
        // Other families answer, too: nobody.
        guard result == 0, numbers.pid != 0 else { return nil }
        self.init(processID: numbers.pid, userID: numbers.uid, groupID: numbers.gid)
    }
}

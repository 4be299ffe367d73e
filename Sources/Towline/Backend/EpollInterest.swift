internal import CLinux

/// What the epoll backend knows of one descriptor besides its number.
struct EpollFlags: OptionSet {
    let rawValue: UInt16

    /// The slot is in use.
    static let isOpen = EpollFlags(rawValue: 1 << 0)
    /// Bytes, or connections, are wanted.
    static let wantsInput = EpollFlags(rawValue: 1 << 1)
    /// A connect is under way.
    static let isConnecting = EpollFlags(rawValue: 1 << 2)
    /// The descriptor is in the set.
    static let isInSet = EpollFlags(rawValue: 1 << 3)
    /// The set reports input.
    static let watchesInput = EpollFlags(rawValue: 1 << 4)
    /// The set reports the peer's end.
    static let watchesHangUp = EpollFlags(rawValue: 1 << 5)
    /// The set reports room to send.
    static let watchesRoom = EpollFlags(rawValue: 1 << 6)
    /// A hang-up was told.
    static let toldHangUp = EpollFlags(rawValue: 1 << 7)
    /// The end, or a failure to receive, was told: nothing more comes.
    static let toldEnd = EpollFlags(rawValue: 1 << 8)
    /// A failure to send was told: nothing more goes.
    static let cannotSend = EpollFlags(rawValue: 1 << 9)
    /// The end is to be sent behind the pending output.
    static let finishesAfterOutput = EpollFlags(rawValue: 1 << 10)
    /// What was told is the peer's end, behind which it may still receive.
    static let peerHasEnded = EpollFlags(rawValue: 1 << 11)
    /// Our end was asked for.
    static let hasFinished = EpollFlags(rawValue: 1 << 12)

    /// The events that the set is asked for.
    var interest: UInt32 {
        var events: UInt32 = 0
        if contains(.watchesInput) { events |= towline_epoll_in }
        if contains(.watchesHangUp) { events |= towline_epoll_rdhup }
        if contains(.watchesRoom) { events |= towline_epoll_out }
        return events
    }
}

/// The epoll backend's side of one slot of the table.
struct EpollEntry {
    var descriptor: CInt = -1
    var generation: UInt32 = 0
    var output: Unmanaged<PendingOutput>?
    /// The wait in which a listener last accepted somebody.
    var acceptedInWait: UInt32 = 0
    var flags: EpollFlags = []
    var kind = SocketKind.stream
}

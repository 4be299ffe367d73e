internal import CLinux
internal import Glibc

/// The backend on epoll: waits for readiness, then receives and sends by itself.
///
/// Level-triggered throughout. In steady state an echo is one receive and one send; the set is
/// changed only when an event comes that nobody wants, when the kernel has no room for output, and
/// at a socket's beginning and end.
///
/// Source: epoll(7), epoll_ctl(2).
final class EpollBackend: Backend {
    /// A wait begins with room for so many events and doubles up to the second number.
    private static let eventRoom = 256...4_096

    /// The ID under which the wake descriptor is in the set; generation 0 is nobody else's.
    private static let wakeID: UInt64 = 1
    /// The same for the alarm of a hosted reactor.
    static let alarmID: UInt64 = 2

    let name = "epoll"
    let wake: @Sendable () -> Void
    let budget: TurnBudget
    let set: CInt
    private let waker: WakeDescriptor

    /// One entry for each slot, raw so that the hot path meets no exclusivity check and no retain.
    ///
    /// `capacity` entries are initialised; it grows in `entry(for:)` only, so no pointer into it is
    /// kept across a call of the sink.
    @exclusivity(unchecked) private(set) var entries: UnsafeMutablePointer<EpollEntry>
    @exclusivity(unchecked) private(set) var capacity: Int

    /// What each socket's bytes are received into, lent to the sink, and received into again.
    let receiveBuffer: UnsafeMutableRawPointer
    let receiveBufferSize: Int

    @exclusivity(unchecked) private var events: UnsafeMutablePointer<epoll_event>
    @exclusivity(unchecked) private var eventCapacity = EpollBackend.eventRoom.lowerBound

    /// Whether epoll_pwait2(2), which waits for nanoseconds, is known not to be had.
    @exclusivity(unchecked) private var waitsInMilliseconds = false

    @exclusivity(unchecked) var figures = BackendFigures()
    @exclusivity(unchecked) var results: [EpollResult] = []
    @exclusivity(unchecked) private var handedOutResults: [EpollResult] = []
    @exclusivity(unchecked) private(set) var waitNumber: UInt32 = 1
    /// The descriptor that is kept aside, for shedding; -1 if none is.
    var reserve: CInt = -1
    private var isShutDown = false
    /// The timerfd that makes the set readable for a host; -1 without one.
    var alarm: CInt = -1
    /// When it is due, in nanoseconds; 0 while it is not armed.
    var alarmTime: Int64 = 0

    /// Makes a set with a wake descriptor in it.
    ///
    /// - Throws: The refused call; nothing stays open.
    init(
        receiveBufferSize: Int,
        budget: TurnBudget,
        expectedSockets: Int
    ) throws(SystemCallError) {
        let set = FileDescriptor(
            owning: try checkedSystemCall("epoll_create1") { epoll_create1(CInt(EPOLL_CLOEXEC)) }
        )
        let waker = try WakeDescriptor()
        // Edge-triggered and never read: each write is one event, and a wake costs no read.
        var event = epoll_event()
        event.events = towline_epoll_in | towline_epoll_edge
        event.data.u64 = Self.wakeID
        try checkedSystemCall("epoll_ctl") {
            epoll_ctl(set.rawValue, EPOLL_CTL_ADD, waker.number, &event)
        }
        self.budget = budget
        self.waker = waker
        self.receiveBufferSize = receiveBufferSize
        wake = { waker.write() }
        receiveBuffer = .allocate(byteCount: receiveBufferSize, alignment: 4_096)
        capacity = max(expectedSockets, 16)
        entries = .allocate(capacity: capacity)
        entries.initialize(repeating: EpollEntry(), count: capacity)
        events = .allocate(capacity: eventCapacity)
        self.set = set.take()
    }

    deinit {
        shutDown()
        receiveBuffer.deallocate()
        entries.deallocate()
        events.deallocate()
    }

    func now() -> MonotonicInstant { .readClock() }

    // MARK: Waiting

    func wait<Sink: EventSink>(atMost limit: Int64?, into sink: Sink) throws(SystemCallError) {
        waitNumber &+= 1
        figures.waits &+= 1
        let count = waitForEvents(atMost: limit)
        // Before anything else: whatever the sink does may overwrite it.
        let failure = count < 0 ? errno : 0
        sink.waitEnded(at: now())
        guard count > 0 else {
            try noteEmptyWait(failure)
            return
        }
        figures.events &+= count
        for index in 0..<count {
            // `count` is at most `eventCapacity`, and the kernel filled in that many.
            let event = events[index]
            serve(SocketID(rawValue: event.data.u64), event.events, sink)
        }
        if count == eventCapacity { makeRoomForEvents() }
    }

    @inline(__always)
    private func serve<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard let entry = entry(of: id) else {
            // An earlier callback of this batch closed it; or somebody woke us.
            if id.generation != 0 {
                figures.staleEvents &+= 1
            } else if id.rawValue == Self.alarmID {
                // Spent, so that a deadline at the same moment arms it anew.
                alarmTime = 0
            }
            return
        }
        // The usual event first: bytes for a stream that wants them.
        let flags = entry.pointee.flags
        if mask == towline_epoll_in, flags.contains(.wantsInput), entry.pointee.kind == .stream,
            flags.isDisjoint(with: [.isConnecting, .toldEnd])
        {
            let result = receive(entry.pointee.descriptor)
            if _fastPath(result.value > 0) {
                deliver(result.value, of: id, sink)
                if _slowPath(result.value == receiveBufferSize) {
                    receiveMore(id, after: result.value, sink)
                }
                return
            }
            finishReceiving(id, mask, result, sink)
            return
        }
        serveRare(id, mask, sink)
    }

    @inline(never)
    private func serveRare<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard let entry = entry(of: id) else { return }
        switch entry.pointee.kind {
        case .stream: serveStream(id, mask, sink)
        case .listener: acceptConnections(id, mask, sink)
        case .plain: readPlain(id, mask, sink)
        case .watched: tellReadiness(id, sink)
        }
    }

    @inline(__always)
    private func waitForEvents(atMost limit: Int64?) -> Int {
        if _slowPath(waitsInMilliseconds) { return waitInMilliseconds(atMost: limit) }
        let count: CInt
        if let limit {
            let (seconds, nanoseconds) = limit.quotientAndRemainder(dividingBy: 1_000_000_000)
            var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
            count = towline_epoll_wait(set, events, CInt(eventCapacity), &time)
        } else {
            count = towline_epoll_wait(set, events, CInt(eventCapacity), nil)
        }
        if _slowPath(count < 0), errno == ENOSYS || errno == EPERM {
            waitsInMilliseconds = true
            return waitInMilliseconds(atMost: limit)
        }
        return Int(count)
    }

    /// The wait of kernels before 5.11 and of filters that do not know the newer call: in
    /// milliseconds, rounded up, or a timer would spin through its last one.
    private func waitInMilliseconds(atMost limit: Int64?) -> Int {
        var milliseconds: CInt = -1
        if let limit {
            let (whole, rest) = limit.quotientAndRemainder(dividingBy: 1_000_000)
            milliseconds = CInt(clamping: whole + (rest > 0 ? 1 : 0))
        }
        return Int(epoll_wait(set, events, CInt(eventCapacity), milliseconds))
    }

    private func noteEmptyWait(_ number: CInt) throws(SystemCallError) {
        figures.emptyWaits &+= 1
        guard number != 0 else { return }
        // An interruption is an empty result: the turn looks at its jobs and timers, then waits
        // for what is left. It comes without any signal, too.
        guard number == EINTR else {
            throw SystemCallError(call: "epoll_pwait2", errno: number)
        }
        figures.interruptedWaits &+= 1
    }

    private func makeRoomForEvents() {
        guard eventCapacity < Self.eventRoom.upperBound else { return }
        events.deallocate()
        eventCapacity *= 2
        events = .allocate(capacity: eventCapacity)
    }

    // MARK: Entries

    /// The entry of an ID that is open; `nil` for a stale one.
    @inline(__always)
    func entry(of id: SocketID) -> UnsafeMutablePointer<EpollEntry>? {
        let slot = id.slot
        guard slot < capacity else { return nil }
        // In bounds by the line above.
        let entry = entries + slot
        guard entry.pointee.generation == id.generation, entry.pointee.flags.contains(.isOpen)
        else { return nil }
        return entry
    }

    /// The entry for an ID that begins, in a table that is large enough for it.
    func beginEntry(for id: SocketID, kind: SocketKind) -> UnsafeMutablePointer<EpollEntry> {
        let slot = id.slot
        if slot >= capacity { grow(toHold: slot + 1) }
        let entry = entries + slot
        let isFree = !entry.pointee.flags.contains(.isOpen)
        precondition(isFree, "a slot is used by one socket at a time")
        entry.pointee = EpollEntry(generation: id.generation, flags: .isOpen, kind: kind)
        return entry
    }

    private func grow(toHold needed: Int) {
        let newCapacity = max(needed, capacity * 2)
        let larger = UnsafeMutablePointer<EpollEntry>.allocate(capacity: newCapacity)
        larger.moveInitialize(from: entries, count: capacity)
        (larger + capacity).initialize(repeating: EpollEntry(), count: newCapacity - capacity)
        entries.deallocate()
        entries = larger
        capacity = newCapacity
    }

    // MARK: Interest

    /// Makes the set report what the entry's flags say, if `change` changes them.
    func watch(_ id: SocketID, _ change: (inout EpollFlags) -> Void) {
        guard let entry = entry(of: id) else { return }
        let before = entry.pointee.flags
        change(&entry.pointee.flags)
        let after = entry.pointee.flags
        guard before.contains(.isInSet) else { return }
        guard after.contains(.isInSet) else {
            control(EPOLL_CTL_DEL, id, entry)
            return
        }
        if before.interest != after.interest { control(EPOLL_CTL_MOD, id, entry) }
    }

    /// Puts the descriptor into the set.
    ///
    /// - Throws: The refused call: ENOMEM, or ENOSPC for the user's limit of watches.
    func enterSet(_ id: SocketID) throws(SystemCallError) {
        guard let entry = entry(of: id) else { return }
        var event = epoll_event()
        event.events = entry.pointee.flags.interest
        event.data.u64 = id.rawValue
        let descriptor = entry.pointee.descriptor
        try checkedSystemCall("epoll_ctl") { epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) }
        entry.pointee.flags.insert(.isInSet)
    }

    func control(
        _ operation: CInt,
        _ id: SocketID,
        _ entry: UnsafeMutablePointer<EpollEntry>
    ) {
        var event = epoll_event()
        event.events = entry.pointee.flags.interest
        event.data.u64 = id.rawValue
        let result = systemCall { Int(epoll_ctl(set, operation, entry.pointee.descriptor, &event)) }
        guard !result.isSuccess else { return }
        // A descriptor that has gone behind our back is our bug or the program's, and no reason to
        // end the process: its socket fails, the others go on.
        results.append(
            .failed(id, .receiving, SystemCallError(call: "epoll_ctl", errno: result.errno))
        )
    }

    // MARK: Ending

    func close(_ id: SocketID, _ manner: ClosingManner) {
        guard let entry = entry(of: id) else {
            closeUnopened(id)
            return
        }
        let descriptor = entry.pointee.descriptor
        if descriptor >= 0 {
            if manner == .reset { Self.askForReset(descriptor) }
            // Before the close, always: while a duplicate lives, in a child or elsewhere, the set
            // keeps the entry, and it could not be removed any more.
            if entry.pointee.flags.contains(.isInSet) {
                var event = epoll_event()
                _ = epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &event)
            }
            // Never again on EINTR: the number is free already.
            if entry.pointee.kind != .watched { _ = Glibc.close(descriptor) }
        }
        entry.pointee.output?.release()
        entry.pointee = EpollEntry(generation: id.generation)
        results.append(.closed(id))
    }

    /// Tells of an ID that ends before it was opened, and not of one that has ended already.
    private func closeUnopened(_ id: SocketID) {
        if id.slot >= capacity { grow(toHold: id.slot + 1) }
        guard entries[id.slot].generation < id.generation else { return }
        entries[id.slot] = EpollEntry(generation: id.generation)
        results.append(.closed(id))
    }

    static func askForReset(_ descriptor: CInt) {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_LINGER,
            &value,
            socklen_t(MemoryLayout<linger>.size)
        )
    }

    var hasResults: Bool { !results.isEmpty }

    func deliverResults<Sink: EventSink>(into sink: Sink) {
        guard !results.isEmpty else { return }
        // Only what was there when the step began: a callback that connects is told next time.
        swap(&results, &handedOutResults)
        for index in handedOutResults.indices {
            switch handedOutResults[index] {
            case .closed(let id):
                sink.handle(.closed, of: id, from: self)
            case .connected(let id, let local):
                tellConnected(id, local, sink)
            case .failed(let id, let direction, let error):
                guard entry(of: id) != nil else { continue }
                sink.handle(.failed(direction, error), of: id, from: self)
            }
        }
        handedOutResults.removeAll(keepingCapacity: true)
    }

    func shutDown() {
        guard !isShutDown else { return }
        isShutDown = true
        for slot in 0..<capacity where entries[slot].flags.contains(.isOpen) {
            close(SocketID(slot: slot, generation: entries[slot].generation), .end)
        }
        results.removeAll()
        releaseReserve()
        _ = Glibc.close(set)
        if alarm >= 0 { _ = Glibc.close(alarm) }
        waker.close()
    }
}

/// What came of a verb, until it is handed out.
enum EpollResult {
    case closed(SocketID)
    case connected(SocketID, local: SocketAddress)
    case failed(SocketID, SocketDirection, SystemCallError)
}

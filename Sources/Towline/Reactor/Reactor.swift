internal import CLinux
internal import Glibc

/// An event loop of one thread: it owns sockets, waits for what happens to them, and calls their
/// delegates.
///
/// Everything that belongs to a reactor is used on its thread only, which is the one that makes its
/// first turn. What other threads hold is its ``handle``. A reactor keeps each started socket and
/// listener alive until its terminal callback; it installs no signal handler and changes nothing of
/// the process. One that has started sockets is ended by ``stop()`` and ``run()``: to let go of it
/// before closes them without a callback, and a `critical` line says which, in the log, or on
/// standard error where no log is set.
///
///     let reactor = try Reactor()
///     …                                  // listen, connect, schedule
///     try reactor.run()                  // until stop()
public final class Reactor {
    /// Which backend is in use, and why no other.
    public let backendReport: BackendReport

    /// What other threads may hold.
    public let handle: ReactorHandle

    /// Called with each message of the framework; `nil`, and silent.
    public var log: ((LogEvent) -> Void)?

    /// Called at the end of each turn with what it did; `nil`.
    ///
    /// It may do whatever a callback may, so it may not turn.
    public var onTurn: ((TurnReport) -> Void)? {
        didSet { watchTurns(.reports, onTurn != nil) }
    }

    /// From how long a turn counts as slow, its wait left out; `nil`, and nothing is measured.
    ///
    /// A slow one is a `warning` in the log; its ``TurnReport/timing`` says where the time went.
    public var slowTurnThreshold: Duration? {
        didSet { watchTurns(.timing, slowTurnThreshold != nil) }
    }

    let configuration: Configuration
    let selected: SelectedBackend
    /// The same behind its protocol; the hot path has it as a parameter instead.
    let backend: any Backend
    let jobs: JobQueue

    // What one file of this folder changes and every socket looks at. None of these is touched in a
    // way that spans a callback, so that no access needs a check at run time.

    /// The thread that owns the reactor.
    @exclusivity(unchecked) var thread: UInt
    @exclusivity(unchecked) var life = Life.fresh
    /// Another loop watches the readiness descriptor.
    @exclusivity(unchecked) var isHosted = false
    /// It does so just now, and nothing is due.
    @exclusivity(unchecked) var isDormant = false
    /// The socket whose callbacks run just now; nobody's ID outside of them.
    @exclusivity(unchecked) var current = SocketID.none
    @exclusivity(unchecked) var gather: GatherBuffer
    @exclusivity(unchecked) var table: SocketTable
    @exclusivity(unchecked) var timers = TimerQueue<TimerWork>()
    var runningTimer: TimerQueue<TimerWork>.Key?
    /// The bytes behind those that a read was just completed with, where they were received.
    @exclusivity(unchecked) var untaken = UnsafeRawBufferPointer(start: nil, count: 0)
    @exclusivity(unchecked) var madeSecurityWorkspace: SecurityWorkspace?
    @exclusivity(unchecked) var securityReference: Unmanaged<SecurityWorkspace>?
    /// Whose bytes the security output holds between two calls of a layer; nobody's mostly.
    ///
    /// So what callbacks write while data is delivered is sent with what the layer has answered.
    @exclusivity(unchecked) var outputOwner = SocketID.none
    @exclusivity(unchecked) var lastOperation = OperationID.beginRange()

    /// An array that was given away; its memory is used again if nobody has kept it.
    @exclusivity(unchecked) var spareBytes: [UInt8] = []

    /// The delegate, and the relay to it, that are kept alive for this turn's callbacks.
    @exclusivity(unchecked) var pinnedRelay: UnsafeRawPointer?
    @exclusivity(unchecked) var pinnedObject: AnyObject?
    /// The relay made last; a listener's sockets mostly share their delegate.
    var lastRelay: AnyObject?
    /// The idle limits made last; they mostly share these, too.
    var lastIdleLimits: AnyObject?

    let work = TurnWork()
    /// Jobs that were taken and have not run, from `nextJob` on: a turn runs only so many.
    @exclusivity(unchecked) var takenJobs: [Job?] = []
    @exclusivity(unchecked) var nextJob = 0
    /// What is looked at beside the turn; nothing, mostly.
    @exclusivity(unchecked) var watched: WatchedTurns = []
    @exclusivity(unchecked) var watch: TurnWatch?
    /// Of the last turn, if it was slow and timed.
    var lastTiming: TurnTiming?
    let link = ReactorLink()
    /// What was let go of during the turn, until its end.
    @exclusivity(unchecked) var graveyard: [AnyObject] = []
    @exclusivity(unchecked) var emptiedGraveyard: [AnyObject] = []
    /// Listeners that wait for a descriptor, and so hear when one of this reactor's is closed.
    var listenersInNeed: [SocketID] = []
    /// The drain that is under way.
    var drain: (any DrainInProgress)?
    /// What looks names up; made when it is first needed.
    var madeResolver: (any Resolver)?
    @exclusivity(unchecked) var sweepSlot = 1

    @exclusivity(unchecked) var counters = Counters()
    /// When the last wait returned; 0 before the first.
    @exclusivity(unchecked) var waitReturned = MonotonicInstant(nanoseconds: 0)

    enum Life {
        /// No thread owns the reactor: before its first turn, and between the turns of a serial
        /// queue. The next one claims it for its own.
        case fresh
        case idle
        case turning
        case stopping
        case ended
    }

    /// Makes a reactor; the calling thread owns it until another one makes the first turn.
    ///
    /// - Parameter configuration: What it is made with.
    /// - Throws: ``ReactorError/invalidConfiguration(_:)``; ``ReactorError/backendRefused(_:)`` for
    ///   a backend that cannot be had; ``ReactorError/system(_:)`` with the call that the kernel
    ///   refused. Nothing stays open.
    public convenience init(_ configuration: Configuration = .init()) throws(ReactorError) {
        try configuration.validate()
        let ringReason = "this build has no io_uring backend"
        guard configuration.backend != .ring else {
            throw .backendRefused(BackendReport(chosen: nil, refused: ["ring": ringReason]))
        }
        let backend: EpollBackend
        do {
            backend = try EpollBackend(
                receiveBufferSize: configuration.receiveBufferSize,
                budget: configuration.budget,
                expectedSockets: configuration.expectedSockets
            )
        } catch {
            throw .system(error)
        }
        let refused = configuration.backend == .automatic ? ["ring": ringReason] : [:]
        self.init(configuration, .epoll(backend), refused: refused)
    }

    /// Makes a reactor on any backend.
    ///
    /// - Parameters:
    ///   - configuration: What it is made with.
    ///   - backend: The backend.
    ///   - resolver: What looks names up, unless the configuration makes a resolver.
    /// - Throws: ``ReactorError/invalidConfiguration(_:)``.
    package convenience init(
        _ configuration: Configuration,
        backend: any Backend,
        resolver: (any Resolver)? = nil
    ) throws(ReactorError) {
        try configuration.validate()
        self.init(configuration, .other(backend), refused: [:])
        if configuration.makeResolver == nil { madeResolver = resolver }
    }

    private init(
        _ configuration: Configuration,
        _ selected: SelectedBackend,
        refused: [String: String]
    ) {
        self.configuration = configuration
        self.selected = selected
        backend = selected.backend
        backendReport = BackendReport(chosen: selected.backend.name, refused: refused)
        jobs = JobQueue(wake: selected.backend.wake)
        handle = ReactorHandle(jobs: jobs)
        thread = towline_thread()
        gather = GatherBuffer(capacity: 256 * 1024)
        table = SocketTable(expectedSockets: configuration.expectedSockets)
        link.connect(self)
    }

    deinit {
        // The backend closes what their sockets have left.
        for kind in [OwnerKind.remnant, .attempt] {
            for id in table.ids(of: kind) { _ = table.remove(id) }
        }
        // Not a trap: an error that unwinds past a reactor must not be hidden by its going away.
        if table.serviceCount > 0 { noteOpenSockets() }
        detachOwners()
        closeResolver()
        link.disconnect()
        if life != .ended { jobs.abandon() }
        selected.backend.shutDown()
        gather.deallocate()
        table.deallocate()
    }

    // MARK: Turning

    /// Turns until ``stop()``, then ends every socket, each with its terminal callback.
    ///
    /// - Throws: ``ReactorError/nestedTurn`` from within a callback; ``ReactorError/wrongThread``;
    ///   ``ReactorError/reactorStopped`` if it has ended before; ``ReactorError/system(_:)`` if the
    ///   kernel refuses the wait itself.
    public func run() throws(ReactorError) {
        switch selected {
        case .epoll(let backend): try run(on: backend)
        case .other(let backend): try run(on: backend)
        }
    }

    /// Makes one turn: jobs, timers, one wait, what happened, and what came of it.
    ///
    /// A turn in which a job or a timer has run does not wait, so that a loop around it can look at
    /// what they did.
    ///
    /// - Parameter limit: The longest wait; zero for a look, `nil` until something happens.
    /// - Returns: What the turn did, and when the next one is due.
    /// - Throws: As ``run()``.
    @discardableResult
    public func turn(waitingAtMost limit: Duration? = nil) throws(ReactorError) -> TurnReport {
        let eventsBefore = counters.events
        switch selected {
        case .epoll(let backend):
            try makeTurn(on: backend, waitingAtMost: limit)
        case .other(let backend):
            try makeTurn(on: backend, waitingAtMost: limit)
        }
        return report(eventCount: counters.events &- eventsBefore, timing: lastTiming)
    }

    /// Ends ``run()`` behind the current turn, and the reactor with it.
    ///
    /// Every started socket and listener gets its terminal callback with
    /// ``SocketError/reactorStopped``; then jobs that were accepted are run, and timers are
    /// dropped. A second call does nothing. From other threads: ``ReactorHandle/stop()``.
    public func stop() {
        guard isOnThread || life == .fresh else {
            refuse("stop()")
            return
        }
        switch life {
        case .fresh, .idle:
            // Callbacks run from a turn only, so the next one does it.
            handle.stop()
        case .turning:
            life = .stopping
        case .stopping, .ended:
            break
        }
    }

    /// What the reactor's clock says: the one that timers go by, which stands where a simulated
    /// network has put it.
    ///
    /// Source: clock_gettime(2), `CLOCK_MONOTONIC`.
    public var now: MonotonicInstant { backend.now() }

    /// The deadline of the earliest timer; `nil` when none is set.
    public var nextDeadline: MonotonicInstant? {
        guard let deadline = timers.nextDeadline, deadline != .distantFuture else { return nil }
        return deadline
    }

    /// What the reactor has counted; a copy, which costs no system call and a glance at each
    /// socket.
    ///
    /// From another thread: `try await handle.submit { $0.figures }`.
    public var figures: ReactorFigures {
        ReactorFigures(
            counters: counters,
            backend: backend.figures,
            census: takeCensus(),
            timers: timers.count,
            jobs: jobs
        )
    }

    /// What the clock said when the last wait returned; no call where that is good enough.
    var recentTime: MonotonicInstant {
        waitReturned.nanoseconds == 0 ? backend.now() : waitReturned
    }

    // MARK: Threads

    /// Whether the calling thread is the reactor's.
    @inline(__always)
    var isOnThread: Bool { thread == towline_thread() }

    /// Whether sockets may start and queue: until the reactor stops.
    @inline(__always)
    var isAcceptingCalls: Bool { life != .stopping && life != .ended }

    // MARK: Callbacks

    /// A run of callbacks of one socket begins: what it writes within is gathered.
    @inline(__always)
    func beginCallbacks(of id: SocketID, lending bytes: RawSpan) {
        current = id
        gather.beginLending(bytes)
    }

    func beginCallbacks(of id: SocketID) {
        current = id
    }

    @inline(__always)
    func endCallbacks() {
        current = .none
        gather.endLending()
    }

    @inline(__always)
    func takeOperationID() -> OperationID {
        lastOperation &+= 1
        return OperationID(rawValue: lastOperation)
    }

    /// Keeps something alive until the end of the turn, though its owner lets go of it.
    func bury(_ object: AnyObject) {
        // Outside of a turn no callback runs that it could be pulled away from under.
        if life == .turning || life == .stopping { graveyard.append(object) }
    }

    // MARK: Refusals

    /// A call that cannot throw came from another thread: a trap in a debug build, else a line.
    func refuse(_ call: String) {
        // Behind the end no thread is the reactor's any more, and no call does anything.
        guard life != .ended else { return }
        assertionFailure(
            "\(call) was called from another thread than the reactor's; use handle.execute"
        )
        // The log is the reactor's, so the line is written on its thread.
        handle.execute {
            $0.note(.critical, "call from another thread refused", ["call": call])
        }
    }

    /// Speaks up about an error that no peer and no network can bring about.
    ///
    /// A descriptor was closed or exchanged behind the reactor's back. Its socket fails; in a debug
    /// build, so does the process.
    func noteIfBug(_ error: SystemCallError, _ id: SocketID) {
        guard error.isBug else { return }
        note(.critical, "descriptor misused", ["socket": "\(id)", "error": "\(error)"])
        assertionFailure("the descriptor of socket \(id) was misused: \(error)")
    }

    /// The reactor goes away before it has ended: says what its program has left open.
    private func noteOpenSockets() {
        let open = openPlaces()
        let named = open.prefix(4).joined(separator: ", ")
        let rest = open.count > 4 ? " and \(open.count - 4) more" : ""
        if log == nil { log = { $0.writeToStandardError() } }
        note(
            .critical,
            "reactor let go of before stop() and run(), its sockets are closed",
            ["count": "\(open.count)", "open": named + rest]
        )
    }

    /// Writes to the log, if there is one.
    func note(
        _ level: LogEvent.Level,
        _ message: String,
        _ fields: @autoclosure () -> [String: String] = [:]
    ) {
        guard let log else { return }
        var fields = fields()
        if let name = configuration.name { fields["reactor"] = name }
        log(LogEvent(level, message, fields))
    }
}

/// The backend in use.
///
/// The one that matters for speed is named, so that the compiler can see through it; any other is
/// reached through its protocol.
enum SelectedBackend {
    case epoll(EpollBackend)
    case other(any Backend)

    var backend: any Backend {
        switch self {
        case .epoll(let backend): backend
        case .other(let backend): backend
        }
    }
}

/// What the reactor and its sockets tell a drain that is under way.
protocol DrainInProgress: AnyObject {
    /// A connection begins, which nobody has asked to finish yet.
    func noteStart(of id: SocketID)

    /// A connection or a listener has ended, or has gone elsewhere.
    func noteSocketEnd()

    /// The reactor ends, and whatever is open with it.
    func noteReactorStop()

    /// Nothing is open any more.
    func noteReactorEnd()
}

/// What a timer does when it is due.
enum TimerWork {
    case socket(SocketID)
    case call(ScheduledCall)
}

/// What a program has scheduled; apart, so that a socket's timer takes no room for it.
final class ScheduledCall {
    /// Nanoseconds between deadlines; 0 for a single one.
    let period: Int64
    let work: () -> Void

    init(every period: Int64 = 0, _ work: @escaping () -> Void) {
        self.period = period
        self.work = work
    }
}

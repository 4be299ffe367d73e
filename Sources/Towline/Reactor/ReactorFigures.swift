/// What a reactor has counted since it was made; a value.
public struct ReactorFigures: Sendable {
    /// Turns made.
    public let turns: Int
    /// Events handed out.
    public let events: Int
    /// Waits, and those that brought nothing.
    public let waits: Int
    /// Waits that brought nothing.
    public let emptyWaits: Int
    /// Events for somebody who had ended already.
    public let staleEvents: Int
    /// Events that nobody wanted, each disarmed.
    public let disarmedEvents: Int
    /// Waits ended by an interruption.
    public let interruptedWaits: Int

    /// Receive calls.
    public let receives: Int
    /// Bytes received.
    public let receivedBytes: Int
    /// Send calls.
    public let sends: Int
    /// Bytes that the kernel took.
    public let sentBytes: Int
    /// Send calls that the kernel took less of than was offered.
    public let shortSends: Int

    /// Sockets, listeners and other things open now.
    public let openSockets: Int
    /// Connections accepted.
    public let accepted: Int
    /// Connections made.
    public let connected: Int
    /// Connections closed, accepted and made.
    public let closed: Int
    /// Times that accepting paused because descriptors or memory had run out.
    public let acceptPauses: Int
    /// Connections reset unaccepted because descriptors had run out.
    public let shed: Int

    /// Timers set now.
    public let timers: Int
    /// Timers fired.
    public let timersFired: Int
    /// Periods of periodic timers that were skipped because they had passed.
    public let periodsSkipped: Int
    /// How late timers fired.
    public let timerLateness: TimeHistogram
    /// How long turns were busy, without their waits.
    public let turnTime: TimeHistogram

    /// Jobs run.
    public let jobsRun: Int
    /// Wake-ups that were written for other threads.
    public let wakesWritten: Int
    /// Wake-ups that were not, because the loop was awake or already woken.
    public let wakesSaved: Int

    init(
        counters: Counters,
        backend: BackendFigures,
        openSockets: Int,
        timers: Int,
        wakesWritten: Int,
        wakesSaved: Int
    ) {
        turns = counters.turns
        events = counters.events
        waits = backend.waits
        emptyWaits = backend.emptyWaits
        staleEvents = backend.staleEvents &+ counters.staleEvents
        disarmedEvents = backend.disarmedEvents
        interruptedWaits = backend.interruptedWaits
        receives = backend.receives
        receivedBytes = backend.receivedBytes
        sends = backend.sends
        sentBytes = backend.sentBytes
        shortSends = backend.shortSends
        self.openSockets = openSockets
        accepted = counters.accepted
        connected = counters.connected
        closed = counters.closed
        acceptPauses = counters.acceptPauses
        shed = counters.shed
        self.timers = timers
        timersFired = counters.timersFired
        periodsSkipped = counters.periodsSkipped
        timerLateness = counters.timerLateness
        turnTime = counters.turnTime
        jobsRun = counters.jobsRun
        self.wakesWritten = wakesWritten
        self.wakesSaved = wakesSaved
    }
}

/// What the reactor itself counts; plain numbers of its thread.
struct Counters {
    var turns = 0
    var events = 0
    var staleEvents = 0
    var accepted = 0
    var connected = 0
    var closed = 0
    var acceptPauses = 0
    var shed = 0
    var timersFired = 0
    var periodsSkipped = 0
    var jobsRun = 0
    /// Nanoseconds from the turn's beginning to its wait.
    var busyBeforeWait: Int64 = 0
    var timerLateness = TimeHistogram()
    var turnTime = TimeHistogram()
}

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
    /// Writes that left in one send with an earlier one.
    public let joinedWrites: Int

    /// Sockets, listeners and other things open now.
    public let openSockets: Int
    /// Listeners open now.
    public let listeners: Int
    /// Connections that are being made now.
    public let connectingSockets: Int
    /// Connections that are established now.
    public let connectedSockets: Int
    /// Connections that are ending now.
    public let endingSockets: Int
    /// Bytes of writes that wait now, of all connections.
    public let queuedBytes: Int
    /// The connection with the most bytes waiting; `nil` if none has any.
    public let slowestSocket: SocketID?
    /// Its bytes.
    public let mostQueuedBytes: Int
    /// Connections accepted.
    public let accepted: Int
    /// Connections made.
    public let connected: Int
    /// Connections closed, accepted and made, and attempts that failed.
    public let closed: Int
    /// The same by reason.
    public let endings: Endings
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
    /// Jobs refused, since the reactor had ended.
    public let jobsRefused: Int
    /// Wake-ups that were written for other threads.
    public let wakesWritten: Int
    /// Wake-ups that were not, because the loop was awake or already woken.
    public let wakesSaved: Int

    init(
        counters: Counters,
        backend: BackendFigures,
        census: Census,
        timers: Int,
        jobs: JobQueue
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
        joinedWrites = counters.joinedWrites
        openSockets = census.all
        listeners = census.listeners
        connectingSockets = census.connecting
        connectedSockets = census.connected
        endingSockets = census.ending
        queuedBytes = census.queuedBytes
        slowestSocket = census.slowestSocket
        mostQueuedBytes = census.mostQueuedBytes
        endings = counters.endings
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
        jobsRefused = jobs.refused
        wakesWritten = jobs.wakesWritten
        wakesSaved = jobs.wakesSaved
    }
}

extension ReactorFigures {
    /// How often connections have ended for which reason.
    public struct Endings: Sendable, Hashable {
        /// The program ended them.
        public internal(set) var deliberate = 0
        /// The peer sent its end.
        public internal(set) var byPeer = 0
        /// A connect, a read or a write took too long.
        public internal(set) var timedOut = 0
        /// The kernel refused a call on an established connection, as with a reset.
        public internal(set) var failed = 0
        /// They could not be made.
        public internal(set) var notConnected = 0
        /// A callback threw.
        public internal(set) var byHandler = 0
        /// The reactor stopped, or drained.
        public internal(set) var byReactor = 0
        /// Anything else, such as a line that was too long.
        public internal(set) var other = 0

        /// Counts one end; `nil` is a deliberate one.
        mutating func count(_ reason: SocketError?, wasConnected: Bool) {
            switch reason {
            case nil: deliberate &+= 1
            case .closedByPeer: byPeer &+= 1
            case .connectTimedOut, .readTimedOut, .writeTimedOut: timedOut &+= 1
            case .reactorStopped: byReactor &+= 1
            case .handler: byHandler &+= 1
            case .system where wasConnected: failed &+= 1
            default:
                if wasConnected { other &+= 1 } else { notConnected &+= 1 }
            }
        }
    }
}

/// What is open at one moment.
struct Census {
    var listeners = 0
    var connecting = 0
    var connected = 0
    var ending = 0
    var others = 0
    var queuedBytes = 0
    var mostQueuedBytes = 0
    var slowestSocket: SocketID?

    var all: Int { listeners + connecting + connected + ending + others }
}

/// What the reactor itself counts; plain numbers of its thread.
struct Counters {
    var turns = 0
    var events = 0
    var staleEvents = 0
    var accepted = 0
    var connected = 0
    var closed = 0
    var endings = ReactorFigures.Endings()
    var joinedWrites = 0
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

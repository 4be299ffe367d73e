/// What one turn did.
public struct TurnReport: Sendable, Hashable {
    /// How many events were handed out.
    public let eventCount: Int

    /// Whether work is left that the next turn should not wait for.
    public let hasWorkLeft: Bool

    /// Whether the reactor has ended with it, so that there is no further turn to make.
    ///
    /// Never in what ``Reactor/onTurn`` hears, which is called before.
    public let hasEnded: Bool

    /// The time until the next deadline; `nil` when no timer is set.
    public let untilNextDeadline: Duration?

    /// Where the time went; `nil` unless the turn was busy for as long as
    /// ``Reactor/slowTurnThreshold``.
    public let timing: TurnTiming?

    init(
        eventCount: Int,
        hasWorkLeft: Bool,
        untilNextDeadline: Duration?,
        hasEnded: Bool = false,
        timing: TurnTiming? = nil
    ) {
        self.eventCount = eventCount
        self.hasWorkLeft = hasWorkLeft
        self.hasEnded = hasEnded
        self.untilNextDeadline = untilNextDeadline
        self.timing = timing
    }
}

/// Where the time of a turn went; its wait is not in it.
public struct TurnTiming: Sendable, Hashable, CustomStringConvertible {
    /// What called back.
    public enum Caller: String, Sendable, Hashable {
        /// A job, or a piece of a task.
        case job
        /// A timer.
        case timer
        /// A stream socket.
        case stream
        /// A listener.
        case listener
        /// A descriptor that is only watched or read, such as one of signals.
        case descriptor
    }

    /// Running jobs.
    public internal(set) var jobs = Duration.zero

    /// Firing timers.
    public internal(set) var timers = Duration.zero

    /// Handing out events, with their callbacks.
    public internal(set) var events = Duration.zero

    /// Sending what was written, telling of it, and closing.
    public internal(set) var flush = Duration.zero

    /// All of it.
    public var total: Duration { jobs + timers + events + flush }

    /// The longest time that one caller had: what one event, one job or one timer set off.
    public internal(set) var longestCallback = Duration.zero

    /// Whose it was; `nil` if nobody was called.
    public internal(set) var longestCaller: Caller?

    /// Its socket; `nil` for a job or a timer.
    public internal(set) var longestSocket: SocketID?

    init() {}

    /// All parts as one line.
    public var description: String {
        let caller = longestCaller.map { caller in
            let name = longestSocket.map { "\(caller.rawValue) \($0)" } ?? caller.rawValue
            return "; longest \(longestCallback) of \(name)"
        }
        return "\(total): jobs \(jobs), timers \(timers), events \(events), flush \(flush)"
            + (caller ?? "")
    }
}

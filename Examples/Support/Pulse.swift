internal import Glibc
internal import Towline

/// A timer that notes how late it is, which is how late the loop would be for anybody else's.
final class Pulse {
    private var due: ContinuousClock.Instant
    private var longest = Duration.zero
    private var processorTime = Pulse.processorTime()
    private var mostProcessorTime = Duration.zero

    /// Beats on this reactor from now on, at this period.
    init(_ reactor: Reactor, _ period: Duration) {
        due = .now + period
        reactor.schedule(every: period) { self.beat(period) }
    }

    /// The latest that it has been since this was last asked, and the most processor time between
    /// two beats: on a core of one's own no beat could have been later.
    func takeFigures() -> [StatsFigure] {
        // The beat that is due now may be late already.
        let late = max(longest, ContinuousClock.now - due)
        defer {
            longest = .zero
            mostProcessorTime = .zero
        }
        return [
            StatsFigure("pulse_lateness_seconds", late),
            StatsFigure("pulse_processor_seconds", mostProcessorTime),
        ]
    }

    private func beat(_ period: Duration) {
        let now = ContinuousClock.now
        longest = max(longest, now - due)
        // What has been missed is skipped, as the reactor does.
        repeat { due += period } while due <= now
        let used = Self.processorTime()
        mostProcessorTime = max(mostProcessorTime, used - processorTime)
        processorTime = used
    }

    /// What this thread has used; clock_gettime(2).
    private static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

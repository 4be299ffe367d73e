internal import Towline

/// A timer that notes how late it is, which is how late the loop would be for anybody else's.
final class Pulse {
    private let period: Duration
    private var due: ContinuousClock.Instant
    private var longest = Duration.zero

    /// Beats on this reactor from now on, at this period.
    init(_ reactor: Reactor, _ period: Duration) {
        self.period = period
        due = .now + period
        reactor.schedule(every: period) { self.beat() }
    }

    /// The latest that it has been since this was last asked.
    func takeLateness() -> Duration {
        defer { longest = .zero }
        // The beat that is due now may be late already.
        return max(longest, ContinuousClock.now - due)
    }

    private func beat() {
        let now = ContinuousClock.now
        longest = max(longest, now - due)
        // What has been missed is skipped, as the reactor does.
        repeat { due += period } while due <= now
    }
}

package import Towline

/// Time that passes only when somebody waits, and what is to happen when.
///
/// Things of the same instant happen in the order in which they were scheduled.
package final class VirtualClock {
    private struct Appointment {
        let time: MonotonicInstant
        let action: () -> Void
    }

    /// So many things at one instant mean that a script answers itself for ever.
    private static let actionLimit = 10_000_000

    /// What the clock says; not zero in the beginning, so that no time looks like none.
    package private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// The latest first, so that taking the next one moves nothing.
    private var appointments: [Appointment] = []

    /// A clock with nothing scheduled.
    package init() {}

    /// When the next thing happens; `nil` if nothing is scheduled.
    package var next: MonotonicInstant? { appointments.last?.time }

    /// Has `action` called when the clock reaches `time`, or at the next look if it has passed.
    package func schedule(at time: MonotonicInstant, _ action: @escaping () -> Void) {
        var low = 0
        var high = appointments.count
        while low < high {
            let middle = (low + high) / 2
            if appointments[middle].time <= time { high = middle } else { low = middle + 1 }
        }
        appointments.insert(Appointment(time: time, action: action), at: low)
    }

    /// Lets the time pass until `time`; never back.
    package func advance(to time: MonotonicInstant) {
        now = max(now, time)
    }

    /// Does everything that is due, and what is thereby scheduled for now.
    ///
    /// - Returns: Whether there was anything.
    package func runDue() -> Bool {
        var count = 0
        while let last = appointments.last, last.time <= now {
            appointments.removeLast()
            last.action()
            count += 1
            precondition(count < Self.actionLimit, "scripts that answer each other never end")
        }
        return count > 0
    }

    /// Forgets everything that is scheduled.
    package func removeAll() {
        appointments.removeAll()
    }
}

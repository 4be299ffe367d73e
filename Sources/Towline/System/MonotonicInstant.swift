internal import CLinux
internal import Glibc

/// A point of `CLOCK_MONOTONIC`, in nanoseconds.
///
/// The clock does not jump when the time of day is set, and stands still while the machine is
/// suspended. Arithmetic saturates: a huge duration leads to ``distantFuture``, which never comes.
///
/// Source: clock_gettime(2).
public struct MonotonicInstant: Sendable, Hashable, Comparable {
    /// Nanoseconds since the clock's arbitrary beginning, 0 or more.
    public let nanoseconds: Int64

    /// The point `nanoseconds` after the clock's beginning.
    ///
    /// - Parameter nanoseconds: 0 through `Int64.max`, which means never.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The end of time: no clock reaches it.
    public static let distantFuture = MonotonicInstant(nanoseconds: .max)

    /// Whether `left` comes before `right`.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The point `duration` later; a negative duration counts as none.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        advanced(byNanoseconds: duration.saturatedNanoseconds)
    }

    /// The time from `earlier` until here, zero if `earlier` is later.
    public func since(_ earlier: MonotonicInstant) -> Duration {
        .nanoseconds(max(0, nanoseconds - earlier.nanoseconds))
    }

    package func advanced(byNanoseconds count: Int64) -> MonotonicInstant {
        let (sum, isTooLarge) = nanoseconds.addingReportingOverflow(count)
        return MonotonicInstant(nanoseconds: isTooLarge ? .max : sum)
    }

    /// The point from here up to `tolerance` later at which others with about the same tolerance
    /// meet: the next multiple of the largest power of two nanoseconds within it.
    package func shared(within tolerance: Duration) -> MonotonicInstant {
        let slack = tolerance.saturatedNanoseconds
        guard slack > 1, self != .distantFuture else { return self }
        let step = Int64(1) << Int64(63 - slack.leadingZeroBitCount)
        let rest = nanoseconds & (step - 1)
        return rest == 0 ? self : advanced(byNanoseconds: step - rest)
    }

    /// Reads the kernel's clock; no system call where the vDSO serves it.
    static func readClock() -> MonotonicInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(
            nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
        )
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded up: 0 for a negative one, `Int64.max` for one of
    /// more than 292 years.
    ///
    /// The one conversion behind every call that takes a time.
    package var saturatedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        let rounded = (attoseconds + 999_999_999) / 1_000_000_000
        let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if isTooLarge { return .max }
        let (sum, overflows) = product.addingReportingOverflow(rounded)
        return overflows ? .max : sum
    }
}

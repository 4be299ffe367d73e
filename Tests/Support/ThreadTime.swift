internal import Glibc

/// The time that a thread has worked, whatever else the machine does meanwhile.
public enum ThreadTime {
    /// What the calling thread has worked so far.
    ///
    /// Source: clock_gettime(2), `CLOCK_THREAD_CPUTIME_ID`.
    public static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

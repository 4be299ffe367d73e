internal import CLinux
internal import Glibc

/// What another loop needs that hosts this one: the set itself is readable while an event waits in
/// it, and a timerfd in the set makes it so when a deadline has passed.
///
/// Source: epoll(7), "An epoll file descriptor can itself be monitored"; timerfd_create(2).
extension EpollBackend {
    func makeReadinessDescriptor() throws(SystemCallError) -> CInt {
        guard alarm < 0 else { return set }
        let timer = FileDescriptor(
            owning: try checkedSystemCall("timerfd_create") {
                timerfd_create(CLOCK_MONOTONIC, CInt(TFD_NONBLOCK | TFD_CLOEXEC))
            }
        )
        // Edge-triggered and never read, as the wake descriptor: each time it is due is one event,
        // and until a wait has taken that the set stays readable.
        var event = epoll_event()
        event.events = towline_epoll_in | towline_epoll_edge
        event.data.u64 = Self.alarmID
        let number = timer.rawValue
        try checkedSystemCall("epoll_ctl") { epoll_ctl(set, EPOLL_CTL_ADD, number, &event) }
        alarm = timer.take()
        return set
    }

    func armReadiness(at deadline: MonotonicInstant?) {
        // A time of zero would disarm it.
        let time = max(1, deadline?.nanoseconds ?? 0)
        let wanted = deadline == nil ? 0 : time
        guard alarm >= 0, wanted != alarmTime else { return }
        alarmTime = wanted
        let (seconds, nanoseconds) = wanted.quotientAndRemainder(dividingBy: 1_000_000_000)
        var setting = itimerspec()
        setting.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        let result = systemCall {
            Int(timerfd_settime(alarm, CInt(TFD_TIMER_ABSTIME), &setting, nil))
        }
        // Every time that a clock can say is valid, and the descriptor is the backend's own.
        assert(result.isSuccess, "timerfd_settime refused with \(result.errno)")
    }
}

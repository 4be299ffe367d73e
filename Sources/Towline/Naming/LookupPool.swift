internal import CLinux
internal import Glibc

/// A few threads that do nothing but look names up.
///
/// Started when there is something to look up, ended when there has been nothing for a while. A
/// lookup that hangs keeps its thread, and the others wait in their order for the rest. The threads
/// know names and where answers go, and nothing of reactors and sockets; all signals are blocked on
/// them.
///
/// Source: pthread_create(3), pthread_cond_timedwait(3), pthread_sigmask(3).
final class LookupPool: @unchecked Sendable {
    // Sendable since everything that changes is touched with `mutex` held only.

    typealias Answer = Result<[SocketAddress], ResolverError>

    static let threadLimit = 4
    static let threadName = "towline-names"
    private static let stackByteCount = 256 * 1024
    /// So many names may wait for a thread; more are refused.
    static let queueLimit = 16_384

    private struct Request {
        let number: UInt64
        let host: String
    }

    private let lookUp: AddressLookup
    private let idleTime: Duration
    /// Takes each answer, from one of the threads.
    private let deliver: @Sendable (UInt64, Answer) -> Void

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var waiting: [Request] = []
    private var threads: [pthread_t: Bool] = [:]  // Whether it looks something up just now.
    private var isClosed = false

    /// A pool without a thread.
    init(
        idleTime: Duration,
        lookUp: @escaping AddressLookup,
        deliver: @escaping @Sendable (UInt64, Answer) -> Void
    ) {
        self.idleTime = idleTime
        self.lookUp = lookUp
        self.deliver = deliver
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The wall clock may jump.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let isMade =
            pthread_mutex_init(mutex, nil) == 0 && pthread_cond_init(condition, &attributes) == 0
        precondition(isMade, "a mutex and a condition of the usual kind can be made")
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    // MARK: The reactor's thread

    /// How many threads there are.
    var threadCount: Int { locked { threads.count } }

    /// Has a name looked up; its answer is delivered under `number`.
    ///
    /// - Returns: Why not, if it is not.
    func submit(_ host: String, as number: UInt64) -> ResolverError? {
        locked {
            guard !isClosed else { return .other("the reactor has ended") }
            guard waiting.count < Self.queueLimit else { return .tooManyLookups }
            waiting.append(Request(number: number, host: host))
            let idleCount = threads.values.count { !$0 }
            if idleCount < waiting.count, threads.count < Self.threadLimit {
                let failure = startThread()
                // Any that there is will come to it.
                if failure != 0, threads.isEmpty {
                    waiting.removeLast()
                    return .system(SystemCallError(call: "pthread_create", errno: failure))
                }
            }
            pthread_cond_signal(condition)
            return nil
        }
    }

    /// Nobody wants this answer any more; a thread that is at it already goes on.
    func abandon(_ number: UInt64) {
        locked { waiting.removeAll { $0.number == number } }
    }

    /// Ends the threads: those without work have gone when this returns, the others go when their
    /// call returns.
    func close() {
        let idle = locked { () -> [pthread_t] in
            guard !isClosed else { return [] }
            isClosed = true
            waiting = []
            pthread_cond_broadcast(condition)
            // Nobody joins those; they may hang for as long as they like.
            for (thread, isBusy) in threads where isBusy { pthread_detach(thread) }
            let idle = threads.filter { !$0.value }.map(\.key)
            for thread in idle { threads[thread] = nil }
            return idle
        }
        for thread in idle { pthread_join(thread, nil) }
    }

    /// Starts a thread on which all signals are blocked from its first instruction.
    ///
    /// - Returns: 0, or the errno.
    private func startThread() -> CInt {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackByteCount)
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        // A new thread inherits the mask of its maker, which gets its own back at once.
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let pool = Unmanaged.passRetained(self)
        let failure = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<LookupPool>.fromOpaque(argument).takeRetainedValue().runThread()
                return nil
            },
            pool.toOpaque()
        )
        guard failure == 0 else {
            pool.release()
            return failure
        }
        // Its maker holds the lock: it is known before it looks for work.
        threads[thread] = false
        return 0
    }

    // MARK: A thread of the pool

    private func runThread() {
        _ = towline_set_thread_name(pthread_self(), Self.threadName)
        while let request = nextRequest() {
            deliver(request.number, lookUp(request.host))
        }
    }

    /// The next name, as soon as there is one; `nil` to end the thread.
    private func nextRequest() -> Request? {
        locked {
            let me = pthread_self()
            guard !isClosed else {
                threads[me] = nil
                return nil
            }
            threads[me] = false
            let end = MonotonicInstant.readClock().advanced(by: idleTime)
            while waiting.isEmpty, !isClosed {
                guard wait(until: end) else { break }
            }
            if isClosed { return nil }
            guard !waiting.isEmpty else {
                threads[me] = nil
                pthread_detach(me)
                return nil
            }
            threads[me] = true
            return waiting.removeFirst()
        }
    }

    /// Waits to be told, with the lock held; `false` when the time has come.
    private func wait(until end: MonotonicInstant) -> Bool {
        let (seconds, nanoseconds) = end.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}

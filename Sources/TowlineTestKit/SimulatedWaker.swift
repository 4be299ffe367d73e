internal import Glibc

/// Ends a wait from another thread, without a descriptor.
///
/// `@unchecked`: `isWoken` is read and written under `mutex` only.
final class SimulatedWaker: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var isWoken = false

    init() {
        // On the heap, since both must stay where they are while threads wait on them.
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func wake() {
        pthread_mutex_lock(mutex)
        isWoken = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Whether somebody has woken since the last time this was asked.
    func takeWake() -> Bool {
        pthread_mutex_lock(mutex)
        defer {
            isWoken = false
            pthread_mutex_unlock(mutex)
        }
        return isWoken
    }

    /// Blocks until somebody wakes, or has woken already.
    func block() {
        pthread_mutex_lock(mutex)
        while !isWoken { pthread_cond_wait(condition, mutex) }
        pthread_mutex_unlock(mutex)
    }
}

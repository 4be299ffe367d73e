internal import CLinux
internal import Glibc

/// A value that several threads use, one at a time.
///
/// On a mutex of the system's: the standard library's own has the kernel hand it over where threads
/// contend, which is slower, and which the thread sanitizer does not see.
///
/// Source: pthread_mutex_lock(3).
package final class Locked<Value>: @unchecked Sendable {
    // Sendable since `value` is touched with `mutex` held only.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "a mutex of the usual kind can be made")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls `body` with the value and nobody else in it; no code of a user's may run within.
    package func withLock<Result>(_ body: (inout Value) -> sending Result) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

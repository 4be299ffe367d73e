internal import CLinux
internal import Glibc

/// The eventfd that ends a wait from another thread.
///
/// Handles outlive their reactor, so the number may be closed while another thread is about to
/// write: the mutex lets the close wait for the write, and later writes find nothing.
///
/// Source: eventfd(2).
final class WakeDescriptor: Sendable {
    let number: CInt
    private let isOpen = Locked(true)

    init() throws(SystemCallError) {
        number = try checkedSystemCall("eventfd") {
            eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        }
    }

    deinit {
        close()
    }

    /// Makes the descriptor report an event; a full counter, which EAGAIN tells of, does as well.
    func write() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            var one: UInt64 = 1
            _ = systemCall { Glibc.write(number, &one, MemoryLayout<UInt64>.size) }
        }
    }

    func close() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            _ = Glibc.close(number)
        }
    }
}

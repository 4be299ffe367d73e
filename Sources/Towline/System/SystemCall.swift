internal import Glibc

/// What a system call answered: a value of 0 or more, or the errno saved right behind it.
///
/// A plain value, since "nothing to receive just now" is no reason to throw.
package struct SystemCallResult {
    package let value: Int
    package let errno: CInt

    @inline(__always)
    package var isSuccess: Bool { value >= 0 }

    /// The kernel has nothing to give, or no room, at the moment.
    package var wouldBlock: Bool { value < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) }
}

/// Makes a system call, again for as long as a signal interrupts it.
///
/// The one place that retries `EINTR`. `connect` and `close` must not come through here: an
/// interrupted connect goes on by itself, an interrupted close has closed. Nor does the wait of a
/// loop, for which an interruption is an empty result.
///
/// Source: signal(7), "Interruption of system calls and library functions by signal handlers".
@inline(__always)
func systemCall(_ call: () -> Int) -> SystemCallResult {
    let value = call()
    if _fastPath(value >= 0) { return SystemCallResult(value: value, errno: 0) }
    return retryingInterruptions(firstErrno: errno, call)
}

@inline(never)
private func retryingInterruptions(firstErrno: CInt, _ call: () -> Int) -> SystemCallResult {
    var number = firstErrno
    while number == EINTR {
        let value = call()
        if value >= 0 { return SystemCallResult(value: value, errno: 0) }
        number = errno
    }
    return SystemCallResult(value: -1, errno: number)
}

/// Makes a system call whose failure is an error of its own.
///
/// - Throws: ``SystemCallError`` with `name` and the errno.
@discardableResult
func checkedSystemCall(
    _ name: String,
    _ call: () -> CInt
) throws(SystemCallError) -> CInt {
    let result = systemCall { Int(call()) }
    guard result.isSuccess else { throw SystemCallError(call: name, errno: result.errno) }
    return CInt(result.value)
}

internal import Glibc

/// Looks again and again until something holds that another process or thread brings about.
///
/// - Parameters:
///   - timeout: The longest that it may take.
///   - condition: What is waited for.
/// - Returns: Whether it came to hold in time.
public func holds(
    within timeout: Duration = .seconds(10),
    _ condition: () throws -> Bool
) rethrows -> Bool {
    let deadline = ContinuousClock.now + timeout
    while ContinuousClock.now < deadline {
        if try condition() { return true }
        sched_yield()
    }
    return false
}

internal import CLinux
internal import Glibc

/// Starts a thread that nobody waits for.
///
/// - Parameters:
///   - name: What the system's tools call it; the kernel keeps 15 bytes.
///   - body: What it does.
/// - Returns: Whether it could be started.
///
/// Source: pthread_create(3), pthread_setname_np(3).
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    let result = pthread_create(&thread, &attributes, runThread, start.toOpaque())
    if result != 0 { start.release() }
    return result == 0
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

/// A function of its own, not a closure: one that is written in isolated code carries a check of
/// the isolation, and ends the process when C calls it on another thread.
private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    // What was retained for it above.
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    var name: [CChar] = []
    for byte in start.name.utf8.prefix(15) where byte != 0 { name.append(CChar(bitPattern: byte)) }
    name.append(0)
    _ = towline_set_thread_name(pthread_self(), name)
    start.body()
    return nil
}

extension Reactor {
    /// Runs a reactor on a thread of its own, which ends with it.
    ///
    /// The caller gives the reactor away, with everything on it: set up its listeners and sockets
    /// before, or by jobs. Delegates need somebody to hold them, on the reactor's thread; see
    /// ``StreamSocket/keep(_:)``.
    ///
    ///     let handle = try Reactor.start(Reactor())
    ///     let port = try await handle.submit { reactor in … }
    ///     …
    ///     handle.stop()
    ///     await handle.ended()
    ///
    /// If the kernel refuses the loop's wait, the reactor ends with a `critical` line in its log.
    ///
    /// - Parameter reactor: A reactor that has made no turn yet.
    /// - Returns: Its handle.
    /// - Throws: ``ReactorError/system(_:)`` if no thread can be had; ``ReactorError/wrongThread``
    ///   for a reactor that has made a turn, ``ReactorError/reactorStopped`` for one that has
    ///   ended.
    ///
    /// Source: pthread_create(3).
    public static func start(
        _ reactor: sending Reactor
    ) throws(ReactorError) -> ReactorHandle {
        guard reactor.life != .ended else { throw .reactorStopped }
        guard reactor.life == .fresh else { throw .wrongThread }
        let handle = reactor.handle
        let name = reactor.configuration.name ?? "towline"
        // Nobody else has it: it was sent here, and is sent on.
        nonisolated(unsafe) let given = reactor
        guard startThread(named: name, { given.runToTheEnd() }) else {
            throw .system(SystemCallError(call: "pthread_create", errno: EAGAIN))
        }
        return handle
    }

    /// Runs, and ends in order even if the wait fails.
    private func runToTheEnd() {
        do {
            try run()
        } catch {
            note(.critical, "reactor failed", ["error": "\(error)"])
            endAfterFailure()
        }
    }
}

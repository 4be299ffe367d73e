internal import CLinux
internal import Glibc

/// Signals as events of a reactor, for executables that end, or reload, when they are told to.
///
/// The library touches no signal by itself; this does, in one thread: it blocks the signals in the
/// thread that makes it, so that they wait for the reactor instead of ending the process. Threads
/// inherit what is blocked from the one that starts them, so make it before any other thread is
/// started: a signal goes to any thread that does not block it.
///
/// Source: signalfd(2), pthread_sigmask(3).
public final class SignalSource {
    private let link: Reactor.ReactorLink
    private let source: PlainSource

    /// Blocks `signals` in the calling thread, and has `handler` called for each that comes.
    ///
    /// - Parameters:
    ///   - reactor: The reactor that calls, on its thread; the source ends with it.
    ///   - signals: Numbers such as `SIGTERM`, 1 or more.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    ///   - handler: Called with the number.
    /// - Throws: ``SocketError/invalidArgument(_:)`` for a number that is no signal, or none that
    ///   can be waited for; ``SocketError/system(_:)``, ``SocketError/reactorStopped``,
    ///   ``SocketError/wrongThread``. Nothing stays blocked that was not.
    public init(
        reactor: Reactor,
        signals: [CInt],
        file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping (CInt) -> Void
    ) throws(SocketError) {
        guard reactor.isOnThread || reactor.life == .fresh else {
            reactor.refuse("SignalSource.init")
            throw .wrongThread
        }
        guard reactor.isAcceptingCalls else { throw .reactorStopped }
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in signals {
            // These two can be neither blocked nor caught.
            guard signal != SIGKILL, signal != SIGSTOP, sigaddset(&mask, signal) == 0 else {
                throw .invalidArgument(
                    InvalidArgument(
                        "SignalSource(signals: \(signals))",
                        "\(signal) is no signal that can be waited for",
                        file,
                        line
                    )
                )
            }
        }
        var before = sigset_t()
        let result = pthread_sigmask(SIG_BLOCK, &mask, &before)
        guard result == 0 else {
            throw .system(SystemCallError(call: "pthread_sigmask", errno: result))
        }
        do {
            let descriptor = FileDescriptor(
                owning: try checkedSystemCall("signalfd") {
                    signalfd(-1, &mask, CInt(SFD_NONBLOCK | SFD_CLOEXEC))
                }
            )
            source = try PlainSource(reactor: reactor, adopting: descriptor.rawValue) { bytes in
                Self.hand(bytes, to: handler)
            }
            _ = descriptor.take()
        } catch {
            pthread_sigmask(SIG_SETMASK, &before, nil)
            throw .system(error)
        }
        link = reactor.link
    }

    /// Hears no more signals; they stay blocked.
    public func stop() {
        guard let reactor = link.reactor else { return }
        guard reactor.isOnThread || reactor.life == .fresh else {
            reactor.refuse("SignalSource.stop()")
            return
        }
        source.close(reactor)
    }

    private static func hand(_ bytes: RawSpan, to handler: (CInt) -> Void) {
        let size = MemoryLayout<signalfd_siginfo>.size
        for offset in stride(from: 0, through: bytes.byteCount - size, by: size) {
            // `ssi_signo` is the first field of the structure.
            guard let number = bytes.littleEndian(at: offset, as: UInt32.self) else { return }
            handler(CInt(bitPattern: number))
        }
    }
}

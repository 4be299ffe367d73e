/// Watches a descriptor of somebody else's: another library's, or that of a reactor which this one
/// hosts.
///
///     let source = try ReadinessSource(reactor: outer, descriptor: inner.readinessDescriptor) {
///         try inner.turn(waitingAtMost: .zero)
///     }
///
/// The reactor keeps it, and its handler, until it is stopped or the reactor ends.
///
/// Source: epoll_ctl(2).
public final class ReadinessSource {
    private let link: Reactor.ReactorLink
    private let source: PlainSource

    /// Watches a descriptor for reading.
    ///
    /// - Parameters:
    ///   - reactor: The reactor that watches, and calls on its thread.
    ///   - descriptor: What is watched; it is neither read nor closed. Stop the source before it is
    ///     closed.
    ///   - handler: Called in each turn in which the descriptor is readable, or has failed, once:
    ///     for as long as it does not change that, turn after turn. An error that it throws stops
    ///     the source, with an `error` line in the log.
    /// - Throws: ``SocketError/system(_:)`` with `EPERM` for a file that is always ready, or
    ///   another refusal; ``SocketError/wrongThread``, ``SocketError/reactorStopped``.
    public init(
        reactor: Reactor,
        descriptor: CInt,
        handler: @escaping () throws -> Void
    ) throws(SocketError) {
        guard reactor.isOnThread || reactor.life == .fresh else {
            reactor.refuse("ReadinessSource.init")
            throw .wrongThread
        }
        guard reactor.isAcceptingCalls else { throw .reactorStopped }
        let link = reactor.link
        let place = Place()
        do {
            source = try PlainSource(reactor: reactor, adopting: descriptor, as: .watched) { _ in
                do {
                    try handler()
                } catch {
                    guard let reactor = link.reactor else { return }
                    let fields = ["descriptor": "\(descriptor)", "error": "\(error)"]
                    reactor.note(.error, "readiness handler failed", fields)
                    place.source?.close(reactor)
                }
            }
        } catch {
            throw .system(error)
        }
        place.source = source
        self.link = link
    }

    /// Watches no longer; the handler is let go of behind the turn.
    public func stop() {
        guard let reactor = link.reactor else { return }
        guard reactor.isOnThread || reactor.life == .fresh else {
            reactor.refuse("ReadinessSource.stop()")
            return
        }
        source.close(reactor)
    }

    /// Where the handler finds its source.
    private final class Place {
        weak var source: PlainSource?
    }
}

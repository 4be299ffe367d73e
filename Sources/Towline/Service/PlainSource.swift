/// A descriptor that is only read, such as a signalfd, which the reactor owns; or one of somebody
/// else's that is only watched.
final class PlainSource {
    private var id = SocketID.none
    private let didReceive: (RawSpan) -> Void

    /// Takes ownership of a descriptor, which must be non-blocking and close-on-exec; one that is
    /// watched stays its owner's, and `didReceive` is called without a byte.
    ///
    /// - Throws: The refused call; the descriptor is then still the caller's.
    init(
        reactor: Reactor,
        adopting descriptor: CInt,
        as kind: SocketKind = .plain,
        didReceive: @escaping (RawSpan) -> Void
    ) throws(SystemCallError) {
        self.didReceive = didReceive
        guard let id = reactor.table.insert(self, kind: .plain) else {
            throw SystemCallError(call: "adopt", errno: SystemCallError.tableIsFull)
        }
        do {
            try reactor.backend.adopt(descriptor, as: id, kind: kind)
        } catch {
            _ = reactor.table.remove(id)
            throw error
        }
        self.id = id
        reactor.noteCall()
        reactor.backend.resumeReceiving(id)
    }

    func handle(_ event: SocketEvent, _ reactor: Reactor) {
        switch event {
        case .received(let bytes):
            didReceive(bytes)
        case .closed:
            if let owner = reactor.table.remove(id) { reactor.bury(owner) }
            id = .none
        case .reachedEnd, .hungUp, .failed:
            close(reactor)
        case .connected, .accepted, .sent:
            preconditionFailure("a plain descriptor is only read")
        }
    }

    func perform(_ work: OwnerWork, _ reactor: Reactor) {
        switch work {
        case .close:
            reactor.backend.close(id, .end)
        case .end:
            close(reactor)
        case .connect, .flush, .serveAgain, .reportWrites, .noteTime, .expire, .noteFreeDescriptor,
            .noteManyHandshakes, .noteFreeHandshake, .noteConnectionEnd, .finish:
            break
        }
    }

    /// Closes the descriptor; nothing is received any more.
    func close(_ reactor: Reactor) {
        guard id != .none else { return }
        reactor.noteCall()
        reactor.backend.pauseReceiving(id)
        reactor.work.add(id, to: .close)
    }

    func detach() {
        id = .none
    }
}

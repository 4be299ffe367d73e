internal import Towline

/// Carries an answer, from whichever thread it comes, to whoever waits for it on the reactor.
///
/// Only the reactor's thread reads or changes who that is; other threads hold the ticket, and no
/// more.
final class AnswerTicket<Answer: Sendable>: @unchecked Sendable {
    private let handle: ReactorHandle
    private var receive: ((Answer) -> Void)?

    /// A ticket for one answer, which `receive` hears from a turn of its own.
    init(_ handle: ReactorHandle, _ receive: @escaping (Answer) -> Void) {
        self.handle = handle
        self.receive = receive
    }

    /// Brings an answer, from any thread; only the first one counts.
    func bring(_ answer: Answer) {
        handle.execute { _ in
            let receive = self.receive
            self.receive = nil
            receive?(answer)
        }
    }

    /// Nobody waits any more.
    func drop() {
        receive = nil
    }
}

internal import Glibc
internal import Towline

/// Standard input, piece by piece, without waiting for whoever writes it.
final class StandardInput {
    /// What a read brings.
    enum Result {
        case bytes([UInt8])
        case end
        case failure(FetchFailure)
    }

    private let reactor: Reactor
    private var source: ReadinessSource?

    init(_ reactor: Reactor) {
        self.reactor = reactor
    }

    /// Reads once there is something, and answers then, on a later turn at the earliest.
    func read(_ answer: @escaping (Result) -> Void) {
        var status = stat()
        let isPlain =
            fstat(STDIN_FILENO, &status) != 0
            || ![S_IFIFO, S_IFSOCK].contains(
                status.st_mode & S_IFMT
            )
        guard !isPlain else {
            // Files are always ready; so is what has no kind of its own.
            reactor.schedule(after: .zero) { answer(Self.readNow()) }
            return
        }
        do throws(SocketError) {
            source = try ReadinessSource(reactor: reactor, descriptor: STDIN_FILENO) {
                [weak self] in
                self?.stop()
                answer(Self.readNow())
            }
        } catch {
            let failure = FetchFailure(.read, "standard input: \(error)")
            reactor.schedule(after: .zero) { answer(.failure(failure)) }
        }
    }

    func stop() {
        source?.stop()
        source = nil
    }

    private static func readNow() -> Result {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(STDIN_FILENO, &chunk, chunk.count)
            if count > 0 { return .bytes(Array(chunk.prefix(count))) }
            if count == 0 { return .end }
            guard errno == EINTR else {
                let reason = String(cString: strerror(errno))
                return .failure(FetchFailure(.read, "standard input: \(reason)"))
            }
        }
    }
}

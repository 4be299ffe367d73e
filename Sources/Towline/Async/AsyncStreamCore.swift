/// What an `async` read asks for.
enum AsyncReadKind: Sendable {
    case some(Int?)
    case length(Int)
    case delimiter(Delimiter, Int?)
    case end(Int)
}

/// The delegate behind an ``AsyncStreamSocket``: one continuation an operation, each resumed once,
/// from a turn.
// Sendable since everything in it is touched on the reactor's thread only, or, behind the reactor's
// end, on the one that stands in for it.
final class AsyncStreamCore: StreamSocketDelegate, @unchecked Sendable {
    typealias ReadContinuation = UnsafeContinuation<[UInt8], any Error>
    typealias WriteContinuation = UnsafeContinuation<Void, any Error>

    /// An operation that the socket has in its queue.
    private struct Pending<Continuation> {
        let id: OperationID
        let number: Int
        /// `nil` once nobody waits for it any more.
        var continuation: Continuation?
    }

    let socket: StreamSocket
    private let jobs: JobQueue
    private var lastNumber = 0
    /// The first read of the queue, apart, so that one at a time costs no memory of its own.
    private var firstRead: Pending<ReadContinuation>?
    private var furtherReads: [Pending<ReadContinuation>] = []
    private var writes: [Pending<WriteContinuation>] = []
    private var waitsForConnection: UnsafeContinuation<Void, any Error>?
    private var waitsForEnd: [(number: Int, UnsafeContinuation<DisconnectReport, any Error>)] = []
    private var isConnected: Bool
    private var report: DisconnectReport?

    /// The core of a socket, which is connected already if it was accepted.
    init(_ socket: StreamSocket, _ jobs: JobQueue) {
        self.socket = socket
        self.jobs = jobs
        isConnected = socket.state == .connected
    }

    /// Whether the caller runs on the reactor's thread, in a turn of it.
    @inline(__always)
    var isHere: Bool { jobs.isTurningHere }

    /// Does `body` on the reactor's thread; where the reactor has ended, it throws in its calls.
    nonisolated(nonsending) func onReactor<Value: Sendable>(
        _ handle: ReactorHandle,
        _ body: @Sendable (AsyncStreamCore) async throws -> Value
    ) async throws -> Value {
        try await withTaskExecutorPreference(handle.taskExecutor) { try await body(self) }
    }

    /// Refuses calls behind the end, with its reason.
    func check() throws {
        guard isHere else { throw SocketError.reactorStopped }
        if let report { throw report.error ?? .notConnected }
    }

    private func takeNumber() -> Int {
        lastNumber &+= 1
        return lastNumber
    }

    // MARK: Operations

    // Where a closure is awaited, the isolation is a parameter that the closure captures: a task of
    // an actor on the reactor would leave it for the pool of threads otherwise.

    func waitUntilConnected(isolation: isolated (any Actor)? = #isolation) async throws {
        if isConnected { return }
        if let report { throw Self.connectError(report) }
        try check()
        try Task.checkCancellation()
        try await withTaskCancellationHandler {
            _ = isolation
            try await withUnsafeThrowingContinuation { waitsForConnection = $0 }
        } onCancel: {
            _ = jobs.append { _ in self.cancelConnecting() }
        }
    }

    func read(
        _ kind: AsyncReadKind,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> [UInt8] {
        try check()
        try Task.checkCancellation()
        let number = takeNumber()
        return try await withTaskCancellationHandler {
            _ = isolation
            return try await withUnsafeThrowingContinuation { begin(kind, number, $0) }
        } onCancel: {
            _ = jobs.append { _ in self.cancelRead(number) }
        }
    }

    private func begin(_ kind: AsyncReadKind, _ number: Int, _ continuation: ReadContinuation) {
        do throws(SocketError) {
            let id =
                switch kind {
                case .some(let limit): try socket.read(maxLength: limit)
                case .length(let length): try socket.read(toLength: length)
                case .delimiter(let delimiter, let limit):
                    try socket.read(to: delimiter, maxLength: limit)
                case .end(let limit): try socket.readToEnd(maxLength: limit)
                }
            let read = Pending(id: id, number: number, continuation: continuation)
            if firstRead == nil { firstRead = read } else { furtherReads.append(read) }
        } catch {
            continuation.resume(throwing: error)
        }
    }

    nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws {
        try check()
        try Task.checkCancellation()
        switch socket.sendAtOnce(bytes) {
        case .done: return
        case .begun(let id): try await finishWrite(bytes, id)
        case .refused: try await finishWrite(bytes, nil)
        }
    }

    /// Waits for a write that has begun, or for one that is to be queued.
    private func finishWrite(
        _ bytes: [UInt8],
        _ begun: OperationID?,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let number = takeNumber()
        try await withTaskCancellationHandler {
            _ = isolation
            try await withUnsafeThrowingContinuation { continuation in
                do throws(SocketError) {
                    let id: OperationID
                    if let begun { id = begun } else { id = try socket.write(bytes) }
                    writes.append(Pending(id: id, number: number, continuation: continuation))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            _ = jobs.append { _ in self.cancelWrite(number) }
        }
    }

    nonisolated(nonsending) func close() async {
        guard isHere, report == nil else { return }
        // Reads of others must not keep it open.
        failReads(.notConnected)
        socket.cancelAllReads()
        socket.disconnect(.afterWrites)
        do {
            _ = try await waitUntilEnded()
        } catch {
            // Cancelled: it ends all the same, and nobody waits for it.
        }
    }

    func waitUntilEnded(
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> DisconnectReport {
        if let report { return report }
        try check()
        try Task.checkCancellation()
        let number = takeNumber()
        return try await withTaskCancellationHandler {
            _ = isolation
            return try await withUnsafeThrowingContinuation { waitsForEnd.append((number, $0)) }
        } onCancel: {
            _ = jobs.append { _ in self.cancelWait(number) }
        }
    }

    /// Nobody holds the connection any more.
    func abandon() {
        guard report == nil else { return }
        socket.cancelAllReads()
        socket.disconnect(.afterWrites)
    }

    // MARK: Cancelling, by a job

    private func cancelConnecting() {
        guard let waiting = waitsForConnection else { return }
        waitsForConnection = nil
        waiting.resume(throwing: CancellationError())
        socket.disconnect()
    }

    private func cancelRead(_ number: Int) {
        if let read = firstRead, read.number == number {
            guard socket.cancel(read.id) else { return }
            firstRead = furtherReads.isEmpty ? nil : furtherReads.removeFirst()
            read.continuation?.resume(throwing: CancellationError())
        } else if let index = furtherReads.firstIndex(where: { $0.number == number }),
            socket.cancel(furtherReads[index].id)
        {
            furtherReads.remove(at: index).continuation?.resume(throwing: CancellationError())
        }
    }

    private func cancelWrite(_ number: Int) {
        guard let index = writes.firstIndex(where: { $0.number == number }) else { return }
        let waiting = writes[index].continuation
        // What has begun goes on, and is told of when it is done; only nobody waits for it.
        writes[index].continuation = nil
        if socket.cancel(writes[index].id) { writes.remove(at: index) }
        waiting?.resume(throwing: CancellationError())
    }

    private func cancelWait(_ number: Int) {
        guard let index = waitsForEnd.firstIndex(where: { $0.number == number }) else { return }
        waitsForEnd.remove(at: index).1.resume(throwing: CancellationError())
    }

    // MARK: Callbacks

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        isConnected = true
        waitsForConnection?.resume()
        waitsForConnection = nil
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        takeRead()?.resume(returning: [UInt8](bytes))
    }

    func socket(_ socket: StreamSocket, didCancelRead tag: Int, partialBytes: RawSpan) throws {
        takeRead()?.resume(throwing: SocketError.readClosed)
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        guard !writes.isEmpty else { return }
        writes.removeFirst().continuation?.resume()
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        self.report = report
        let error = report.error ?? .notConnected
        waitsForConnection?.resume(throwing: Self.connectError(report))
        waitsForConnection = nil
        failReads(error)
        let unfinished = writes
        writes = []
        for write in unfinished { write.continuation?.resume(throwing: error) }
        let waiting = waitsForEnd
        waitsForEnd = []
        for (_, continuation) in waiting { continuation.resume(returning: report) }
    }

    /// Why there is no connection; the kernel's refusal says with whom, as no report comes along.
    private static func connectError(_ report: DisconnectReport) -> SocketError {
        guard case .system(let cause)? = report.error, cause.purpose == nil else {
            return report.error ?? .notConnected
        }
        return .system(cause.during("connect to \(report.place)"))
    }

    @inline(__always)
    private func takeRead() -> ReadContinuation? {
        let continuation = firstRead?.continuation
        firstRead = furtherReads.isEmpty ? nil : furtherReads.removeFirst()
        return continuation
    }

    private func failReads(_ error: SocketError) {
        while firstRead != nil { takeRead()?.resume(throwing: error) }
    }
}

/// What became of bytes that were offered to the kernel without being queued.
private enum ImmediateSend {
    /// The kernel has them all.
    case done
    /// Some of them wait; the write is in the queue.
    case begun(OperationID)
    /// Something is in front of them, or they cannot be sent: nothing has happened.
    case refused
}

extension Obstacles {
    /// What stands in front of a write.
    fileprivate static let toSending: Obstacles = [
        .isNotOpen, .hasPendingWrites, .awaitsDisconnect, .hasEndedWriting,
    ]
}

extension StreamSocket {
    /// Sends bytes straight from where they lie, if nothing waits in front of them.
    fileprivate func sendAtOnce(_ bytes: [UInt8]) -> ImmediateSend {
        let count = bytes.count
        // A large array is likely not to be taken in one piece, and is better held.
        guard count > 0, count < Self.heldSize, writes.isEmpty,
            obstacles.isDisjoint(with: .toSending), lifecycle.phase == .connected,
            extras?.sendFailure == nil, let reactor = reactorUnchecked?.takeUnretainedValue(),
            reactor.current == .none
        else { return .refused }
        let sent = bytes.withUnsafeBytes {
            // Not empty, so there is a base.
            reactor.backend.send(socketID, $0.baseAddress.unsafelyUnwrapped, count: count)
        }
        let id = reactor.takeOperationID()
        writes.appendFirstGathered(tag: 0, id: id, count: count)
        if sent == count {
            writes.acknowledge(sent)
            writes.removeOnlyRequest()
            return .done
        }
        acknowledge(sent, reactor)
        return .begun(id)
    }
}

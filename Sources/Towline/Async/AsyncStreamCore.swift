/// What an `async` read asks for.
@usableFromInline
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
final class AsyncStreamCore: QueueOwner, @unchecked Sendable {
    typealias ReadContinuation = UnsafeContinuation<[UInt8], any Error>
    typealias WriteContinuation = UnsafeContinuation<Void, any Error>

    /// An operation that the socket has in its queue.
    private struct Pending<Continuation> {
        let id: OperationID
        let number: Int
        /// `nil` once nobody waits for it any more.
        var continuation: Continuation?
    }

    /// What the operations of the socket itself are tagged with, and those that wait at the gate:
    /// whatever else comes is somebody else's.
    static let tag = 0x546F_776C
    static let gateTag = tag + 1

    let socket: StreamSocket
    let handle: ReactorHandle
    private let jobs: JobQueue
    /// Who has the connection to itself.
    ///
    /// Held by the task that waits there, which says when it has ended.
    @exclusivity(unchecked) private var gateReference: Unmanaged<ExclusiveGate>?
    private var gate: ExclusiveGate? { gateReference?.takeUnretainedValue() }
    private var lastNumber = 0
    /// The first read of the queue, apart, so that one at a time costs no memory of its own.
    @exclusivity(unchecked) private var firstRead: Pending<ReadContinuation>?
    private var furtherReads: [Pending<ReadContinuation>] = []
    private var writes: [Pending<WriteContinuation>] = []
    private var waitsForConnection: UnsafeContinuation<Void, any Error>?
    private var waitsForSecurity: UnsafeContinuation<Void, any Error>?
    private var waitsForEnd: [(number: Int, UnsafeContinuation<DisconnectReport, any Error>)] = []
    private var isConnected: Bool
    @exclusivity(unchecked) private var report: DisconnectReport?
    /// Another delegate has the socket.
    @exclusivity(unchecked) private var isTakenOver = false
    /// What leaves the queue does so by this one's doing.
    private var isCancelling = false

    /// The core of a socket, which is connected already if it was accepted.
    init(_ socket: StreamSocket, _ handle: ReactorHandle) {
        self.socket = socket
        self.handle = handle
        jobs = handle.jobs
        isConnected = socket.state == .connected
    }

    /// Whether the caller runs on the reactor's thread, in a turn of it.
    @inline(__always)
    var isHere: Bool { jobs.isTurningHere }

    /// Does `body` on the reactor's thread; where the reactor has ended, it throws in its calls.
    nonisolated(nonsending) func onReactor<Value: Sendable>(
        _ body: @Sendable (AsyncStreamCore) async throws -> Value
    ) async throws -> Value {
        try await withTaskExecutorPreference(handle.taskExecutor) { try await body(self) }
    }

    /// Refuses calls behind the end, with its reason.
    func check() throws {
        guard isHere else { throw SocketError.reactorStopped }
        if let report { throw report.error ?? .notConnected }
        if isTakenOver { throw SocketError.takenOver }
    }

    /// Refuses calls of all but who has the connection to itself; `nil` for those of the socket.
    private func check(_ user: ExclusiveGate?) throws {
        try check()
        if let gate, gate !== user { throw SocketError.inUse }
        if let user, user.isCancelled { throw CancellationError() }
        try Task.checkCancellation()
    }

    // MARK: Exclusive use

    /// Whether nothing comes any more.
    private var hasEnded: Bool { report != nil || isTakenOver }

    func beginUse(_ user: ExclusiveGate) throws {
        try check(user)
        gateReference = .passUnretained(user)
        // Reads that were asked for before come first: those of the use queue up behind them.
        if firstRead == nil { user.open() }
    }

    func endUse(_ user: ExclusiveGate) {
        if gate === user { gateReference = nil }
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

    /// Has the socket secured, and waits until it is; a task that is cancelled meanwhile ends the
    /// connection, which must not go on in the clear.
    func secure(
        isolation: isolated (any Actor)? = #isolation,
        _ begin: (StreamSocket) throws(SocketError) -> Void
    ) async throws {
        try check(nil)
        try begin(socket)
        try await withTaskCancellationHandler {
            _ = isolation
            try await withUnsafeThrowingContinuation { waitsForSecurity = $0 }
        } onCancel: {
            _ = jobs.append { _ in self.cancelSecuring() }
        }
    }

    func read(
        _ kind: AsyncReadKind,
        as user: ExclusiveGate? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> [UInt8] {
        try check(user)
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
            let id = try ask(for: kind, tag: Self.tag)
            let read = Pending(id: id, number: number, continuation: continuation)
            if firstRead == nil { firstRead = read } else { furtherReads.append(read) }
        } catch {
            continuation.resume(throwing: error)
        }
    }

    func ask(for kind: AsyncReadKind, tag: Int) throws(SocketError) -> OperationID {
        switch kind {
        case .some(let limit): try socket.read(maxLength: limit, tag: tag)
        case .length(let length): try socket.read(toLength: length, tag: tag)
        case .delimiter(let delimiter, let limit):
            try socket.read(to: delimiter, maxLength: limit, tag: tag)
        case .end(let limit): try socket.readToEnd(maxLength: limit, tag: tag)
        }
    }

    nonisolated(nonsending) func write(
        _ bytes: [UInt8],
        as user: ExclusiveGate? = nil
    ) async throws {
        try check(user)
        switch socket.sendAtOnce(bytes, tag: Self.tag) {
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
                    if let begun { id = begun } else { id = try socket.write(bytes, tag: Self.tag) }
                    writes.append(Pending(id: id, number: number, continuation: continuation))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            _ = jobs.append { _ in self.cancelWrite(number) }
        }
    }

    func shutdownWrite(as user: ExclusiveGate? = nil) throws {
        try check(user)
        try socket.shutdownWrite()
    }

    nonisolated(nonsending) func close() async {
        guard isHere, !hasEnded else { return }
        gate?.close(throwing: SocketError.notConnected)
        // Reads of others must not keep it open.
        failReads(SocketError.notConnected)
        cancelAllReads()
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
        guard !hasEnded else { return }
        cancelAllReads()
        socket.disconnect(.afterWrites)
    }

    private func cancelAllReads() {
        isCancelling = true
        socket.cancelAllReads()
        isCancelling = false
    }

    /// Takes an operation back, which stays in the lists here.
    private func takeBack(_ id: OperationID) -> Bool {
        isCancelling = true
        defer { isCancelling = false }
        return socket.cancel(id)
    }

    // MARK: Cancelling, by a job

    private func cancelConnecting() {
        guard let waiting = waitsForConnection else { return }
        waitsForConnection = nil
        waiting.resume(throwing: CancellationError())
        socket.disconnect()
    }

    private func cancelSecuring() {
        guard let waiting = waitsForSecurity else { return }
        waitsForSecurity = nil
        waiting.resume(throwing: CancellationError())
        socket.disconnect()
    }

    private func cancelRead(_ number: Int) {
        if let read = firstRead, read.number == number {
            guard takeBack(read.id) else { return }
            firstRead = furtherReads.isEmpty ? nil : furtherReads.removeFirst()
            read.continuation?.resume(throwing: CancellationError())
        } else if let index = furtherReads.firstIndex(where: { $0.number == number }),
            takeBack(furtherReads[index].id)
        {
            furtherReads.remove(at: index).continuation?.resume(throwing: CancellationError())
        }
    }

    private func cancelWrite(_ number: Int) {
        guard let index = writes.firstIndex(where: { $0.number == number }) else { return }
        let waiting = writes[index].continuation
        // What has begun goes on, and is told of when it is done; only nobody waits for it.
        writes[index].continuation = nil
        if takeBack(writes[index].id) { writes.remove(at: index) }
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

    func socketDidSecure(_ socket: StreamSocket) throws {
        waitsForSecurity?.resume()
        waitsForSecurity = nil
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        if tag == Self.gateTag {
            letUserOn(with: bytes)
        } else if tag == Self.tag {
            takeRead()?.resume(returning: [UInt8](bytes))
        }
    }

    func socket(_ socket: StreamSocket, didCancelRead tag: Int, partialBytes: RawSpan) throws {
        if tag == Self.gateTag {
            gate?.letOn(throwing: SocketError.readClosed)
        } else if tag == Self.tag {
            takeRead()?.resume(throwing: SocketError.readClosed)
        }
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        if tag == Self.gateTag {
            letUserOn()
        } else if tag == Self.tag, !writes.isEmpty {
            writes.removeFirst().continuation?.resume()
        }
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        guard !isTakenOver else { return }
        self.report = report
        waitsForConnection?.resume(throwing: Self.connectError(report))
        waitsForConnection = nil
        waitsForSecurity?.resume(throwing: report.error ?? .notConnected)
        waitsForSecurity = nil
        fail(report.error ?? .notConnected)
        let waiting = waitsForEnd
        waitsForEnd = []
        for (_, continuation) in waiting { continuation.resume(returning: report) }
    }

    /// Ends whatever is awaited but the end.
    private func fail(_ error: SocketError) {
        gate?.close(throwing: error)
        failReads(error)
        let unfinished = writes
        writes = []
        for write in unfinished { write.continuation?.resume(throwing: error) }
    }

    @inline(__always)
    private func letUserOn(with bytes: RawSpan) {
        guard let gateReference, let reactor = socket.reactorUnchecked else { return }
        gateReference._withUnsafeGuaranteedRef { gate in
            guard case .bytes = gate.awaited else { return }
            reactor._withUnsafeGuaranteedRef { gate.letOn(with: bytes, $0) }
        }
    }

    private func letUserOn() {
        guard let gate, case .sent = gate.awaited, let reactor = socket.reactorUnchecked else {
            return
        }
        reactor._withUnsafeGuaranteedRef { gate.letOn($0) }
    }

    // MARK: Where both styles are mixed

    func wasReplaced() {
        // Behind the end nobody waits any more, and at the reactor's there is none.
        guard report == nil, !isTakenOver else { return }
        isTakenOver = true
        let error: SocketError = socket.reactorUnchecked == nil ? .reactorStopped : .takenOver
        waitsForConnection?.resume(throwing: error)
        waitsForConnection = nil
        waitsForSecurity?.resume(throwing: error)
        waitsForSecurity = nil
        fail(error)
        let waiting = waitsForEnd
        waitsForEnd = []
        for (_, continuation) in waiting { continuation.resume(throwing: error) }
    }

    func lookForCancelled(in socket: StreamSocket) {
        guard !isCancelling else { return }
        switch gate?.awaited {
        case .bytes(let id)? where !socket.reads.contains(id):
            gate?.letOn(throwing: CancellationError())
        case .sent(let id)? where socket.writes.index(of: id) == nil:
            gate?.letOn(throwing: CancellationError())
        default:
            break
        }
        let reads = [firstRead].compactMap(\.self) + furtherReads
        let left = reads.filter { socket.reads.contains($0.id) }
        firstRead = left.first
        furtherReads = Array(left.dropFirst())
        for read in reads where !left.contains(where: { $0.id == read.id }) {
            read.continuation?.resume(throwing: CancellationError())
        }
        for write in writes where socket.writes.index(of: write.id) == nil {
            write.continuation?.resume(throwing: CancellationError())
        }
        writes.removeAll { socket.writes.index(of: $0.id) == nil }
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

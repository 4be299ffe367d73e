internal import Synchronization

/// One task's use of a connection, and where it waits: an actor whose executor runs nothing until
/// what the task waits for has come.
///
/// The task hops to it, which costs neither a frame nor a continuation, and is parked. When it may
/// go on it is run as if it were back on its executor already, so that its way back is no hop. A
/// continuation goes on by way of the pool of threads, or of the executor that the task prefers,
/// at three times the cost.
// What is not atomic is touched by the reactor's thread only, or, behind the reactor's end, by the
// one that stands in for it.
@usableFromInline
actor ExclusiveGate: SerialExecutor {
    /// What the task waits for.
    enum Awaited {
        case nothing
        case bytes(OperationID)
        case sent(OperationID)
    }

    /// Where the task goes on.
    private enum Place {
        case isolated(UnownedSerialExecutor)
        case preferring(UnownedTaskExecutor)
    }

    private nonisolated let core: AsyncStreamCore
    /// The core holds it.
    private nonisolated(unsafe) let socket: Unmanaged<StreamSocket>
    private nonisolated let jobs: JobQueue
    private nonisolated let place: Place
    private nonisolated let cancelled = Atomic(false)

    /// Whether the task may wait here; nothing comes any more if not, or something is in front.
    @exclusivity(unchecked) private nonisolated(unsafe) var isOpen = false
    @exclusivity(unchecked) private(set) nonisolated(unsafe) var awaited = Awaited.nothing
    /// The task, parked here.
    @exclusivity(unchecked) private nonisolated(unsafe) var parked: UnownedJob?
    /// What the task finds when it goes on.
    @exclusivity(unchecked) private nonisolated(unsafe) var bytes: [UInt8]?
    @exclusivity(unchecked) private nonisolated(unsafe) var error: (any Error)?

    init(_ core: AsyncStreamCore, _ isolation: (any Actor)?) {
        self.core = core
        socket = .passUnretained(core.socket)
        jobs = core.handle.jobs
        let executor = core.handle.serialExecutor
        let isAtHome = isolation?.unownedExecutor.asSerialExecutor() === executor
        place =
            isAtHome
            ? .isolated(executor.asUnownedSerialExecutor())
            : .preferring(core.handle.taskExecutor.asUnownedTaskExecutor())
    }

    // MARK: The executor

    @usableFromInline
    nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    @usableFromInline
    nonisolated func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Whoever is let through runs on the reactor's thread.
    @usableFromInline
    nonisolated func isIsolatingCurrentContext() -> Bool? { jobs.isActiveHere }

    @usableFromInline
    nonisolated func checkIsolated() {
        precondition(jobs.isActiveHere, "the gate belongs to the reactor's thread")
    }

    /// The task has come to the gate.
    @usableFromInline
    nonisolated func enqueue(_ job: consuming ExecutorJob) {
        let piece = UnownedJob(job)
        if case .nothing = awaited {
            goOn(with: piece)
        } else {
            parked = piece
        }
    }

    /// What has come, or why nothing does.
    @usableFromInline
    func pass() throws -> [UInt8] {
        if let error = error.take() { throw error }
        return bytes.take() ?? []
    }

    /// The same where there is nothing to be given.
    @usableFromInline
    func passEmpty() throws {
        if let error = error.take() { throw error }
    }

    // MARK: Letting on

    /// Lets the task go on with its bytes.
    @inline(__always)
    nonisolated func letOn(with bytes: RawSpan, _ reactor: Reactor) {
        awaited = .nothing
        self.bytes = reactor.copy(bytes)
        goOn(reactor)
    }

    /// Lets the task go on whose bytes are sent.
    nonisolated func letOn(_ reactor: Reactor) {
        awaited = .nothing
        goOn(reactor)
    }

    /// The use has begun, and nothing is in front.
    nonisolated func open() {
        isOpen = true
    }

    /// Nothing comes any more.
    nonisolated func close(throwing error: any Error) {
        isOpen = false
        letOn(throwing: error)
    }

    /// Lets the task go on, which was waiting in vain.
    nonisolated func letOn(throwing error: any Error) {
        if case .nothing = awaited { return }
        awaited = .nothing
        self.error = error
        if let piece = parked.take() { goOn(with: piece) }
    }

    /// Runs the task right here, within the callback, if it overtakes nobody.
    ///
    /// Nothing of this, of the core, or of the socket may be taken as known behind it.
    @inline(__always)
    private nonisolated func goOn(_ reactor: Reactor) {
        guard let piece = parked.take() else { return }
        guard reactor.takenJobs.isEmpty, jobs.isEmpty else {
            goOn(with: piece)
            return
        }
        reactor.counters.jobsRun &+= 1
        switch place {
        case .isolated(let executor): piece.runSynchronously(on: executor)
        case .preferring(let executor): piece.runSynchronously(on: executor)
        }
    }

    /// Lets the task go on behind all that waits already.
    private nonisolated func goOn(with piece: UnownedJob) {
        let handle = core.handle
        let job: Job =
            switch place {
            case .isolated: .isolated(piece, handle.serialExecutor)
            case .preferring: .preferring(piece, handle.taskExecutor)
            }
        // Never refused: it is a task's.
        _ = jobs.append(job)
    }

    // MARK: Cancelling

    /// Whether the task was cancelled.
    @inline(__always)
    nonisolated var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// The task was cancelled; called on any thread.
    nonisolated func cancel() {
        cancelled.store(true, ordering: .relaxed)
        _ = jobs.append { _ in self.cancelAwaited() }
    }

    private nonisolated func cancelAwaited() {
        switch awaited {
        case .nothing:
            return
        case .bytes(let id), .sent(let id):
            letOn(throwing: CancellationError())
            // A write that has begun is sent to its end; only nobody waits for it.
            core.socket.cancel(id)
        }
    }

    // MARK: Asking

    /// Asks for whatever comes next, if the task may wait here for it; else nothing has happened.
    @usableFromInline
    nonisolated func beginRead() -> Bool {
        guard mayWait else { return false }
        return begin {
            .bytes(
                try socket._withUnsafeGuaranteedRef { try $0.read(tag: AsyncStreamCore.gateTag) }
            )
        }
    }

    /// Asks for bytes, if the task may wait here for them; else nothing has happened.
    @usableFromInline
    nonisolated func beginRead(_ kind: AsyncReadKind) -> Bool {
        guard mayWait else { return false }
        return begin { .bytes(try core.ask(for: kind, tag: AsyncStreamCore.gateTag)) }
    }

    /// Offers bytes to the kernel; `refused` also where the task cannot wait here.
    @usableFromInline
    nonisolated func send(_ bytes: [UInt8]) -> ImmediateSend {
        guard mayWait else { return .refused }
        let result = socket._withUnsafeGuaranteedRef {
            $0.sendAtOnce(bytes, tag: AsyncStreamCore.gateTag)
        }
        if case .begun(let id) = result { awaited = .sent(id) }
        return result
    }

    /// Queues bytes, if the task may wait here until they are sent; else nothing has happened.
    @usableFromInline
    nonisolated func beginWrite(_ bytes: [UInt8]) -> Bool {
        guard mayWait else { return false }
        return begin {
            .sent(try core.socket.write(bytes, tag: AsyncStreamCore.gateTag))
        }
    }

    @inline(__always)
    private nonisolated func begin(_ ask: () throws -> Awaited) -> Bool {
        do {
            awaited = try ask()
            return true
        } catch {
            // The usual way says so.
            return false
        }
    }

    /// Whether the caller is in a turn and not cancelled, and the connection there.
    @inline(__always)
    private nonisolated var mayWait: Bool { isOpen && !isCancelled && jobs.isTurningHere }

    @usableFromInline
    nonisolated(nonsending) func readInGeneral(_ kind: AsyncReadKind) async throws -> [UInt8] {
        if core.isHere { return try await core.read(kind, as: self) }
        return try await core.onReactor { try await $0.read(kind, as: self) }
    }

    @usableFromInline
    nonisolated(nonsending) func writeInGeneral(_ bytes: [UInt8]) async throws {
        if core.isHere {
            try await core.write(bytes, as: self)
        } else {
            try await core.onReactor { try await $0.write(bytes, as: self) }
        }
    }

    nonisolated(nonsending) func shutdownWrite() async throws {
        try await core.onReactor { try $0.shutdownWrite(as: self) }
    }
}

internal import Glibc
package import Towline

/// The backend's contract on a simulated network: no descriptor, no sleep, the same order of
/// events.
///
/// It does at each step what the backend on epoll does, with the network in the kernel's place, so
/// a call can fail with whatever its manual page names. Descriptors are numbers of its own, far
/// from those of the process.
package final class SimulatedBackend: Backend {
    /// The first number of a descriptor; none of the process is so large.
    static let firstDescriptor: CInt = 1 << 28

    /// What the backend is called in reports.
    package let name = "simulated"

    /// What was counted since the backend was made.
    package internal(set) var figures = BackendFigures()

    /// Ends a running or the next wait; from any thread.
    package let wake: @Sendable () -> Void

    let network: SimulatedNetwork
    let wire: Wire
    let budget: TurnBudget
    private let waker: SimulatedWaker

    /// What is received into, lent, and spoilt afterwards.
    let receiveBuffer: UnsafeMutableRawPointer
    let receiveBufferSize: Int

    /// By slot, so that the order in which sockets are served is that of their slots.
    private(set) var entries: [SimulatedEntry?] = []
    /// The last generation of each slot that has ended.
    private var endedGenerations: [Int: UInt32] = [:]
    /// Connections behind descriptors that nobody has adopted.
    var unadopted: [CInt: SimulatedEnd] = [:]
    /// Those of them that a listener has accepted, which the sink must adopt or discard at once.
    var handedOut: Set<CInt> = []
    private var descriptors: Set<CInt> = []
    /// The one that is kept aside, for shedding.
    var reserve: CInt?

    var results: [SimulatedResult] = []
    private(set) var waitNumber = 1
    private var isShutDown = false

    /// The books: what was closed, and what was said to be.
    var closeCount = 0
    private(set) var toldClosedCount = 0
    var complaints: [String] = []

    /// Makes a backend on a network.
    ///
    /// - Parameters:
    ///   - network: The network; the backend keeps it alive.
    ///   - receiveBufferSize: The most bytes of one receive, 1 or more.
    ///   - budget: How much one wait does for one socket.
    package init(
        _ network: SimulatedNetwork,
        receiveBufferSize: Int = 64 * 1024,
        budget: TurnBudget = TurnBudget()
    ) {
        self.network = network
        wire = network.wire
        self.budget = budget
        self.receiveBufferSize = receiveBufferSize
        receiveBuffer = .allocate(byteCount: receiveBufferSize, alignment: 16)
        let waker = SimulatedWaker()
        self.waker = waker
        wake = { waker.wake() }
    }

    deinit {
        shutDown()
        receiveBuffer.deallocate()
    }

    /// What the virtual clock says.
    package func now() -> MonotonicInstant { wire.clock.now }

    // MARK: Waiting

    /// Lets the time pass until something happens, then hands it out.
    ///
    /// - Parameters:
    ///   - limit: The longest wait in virtual nanoseconds; 0 for a look, `nil` without a bound.
    ///   - sink: Who hears of it.
    /// - Throws: An injected failure; `EDEADLK` if nothing can happen any more.
    package func wait<Sink: EventSink>(
        atMost limit: Int64?,
        into sink: Sink
    ) throws(SystemCallError) {
        waitNumber += 1
        figures.waits &+= 1
        let ready: [SocketID]
        do {
            ready = try awaitNews(atMost: limit)
        } catch {
            sink.waitEnded(at: now())
            throw error
        }
        sink.waitEnded(at: now())
        if ready.isEmpty { figures.emptyWaits &+= 1 }
        figures.events &+= ready.count
        for id in ready { serve(id, sink) }
    }

    /// Who has news, as soon as somebody has, somebody wakes, or the limit is reached.
    private func awaitNews(atMost limit: Int64?) throws(SystemCallError) -> [SocketID] {
        if let number = injectedWaitFailure() {
            guard number == EINTR else {
                throw SystemCallError(call: SimulatedCall.wait.rawValue, errno: number)
            }
            figures.interruptedWaits &+= 1
            return []
        }
        let start = now()
        wire.clock.advance(to: start.advanced(by: wire.conditions.timePerWait))
        let deadline = limit.map { start.advanced(byNanoseconds: $0) } ?? .distantFuture
        var hasHappened = false
        while true {
            if wire.clock.runDue() { hasHappened = true }
            let ready = readyEntries()
            if waker.takeWake() || !ready.isEmpty || deadline <= now() { return ready }
            let next = min(deadline, wire.clock.next ?? .distantFuture)
            if next < .distantFuture {
                wire.clock.advance(to: next)
            } else if hasHappened {
                // To a peer only; whoever turns the loop may be waiting for just that.
                return []
            } else {
                try blockUntilWoken()
            }
        }
    }

    private func injectedWaitFailure() -> CInt? {
        if let number = wire.faults.take(for: .wait) { return number }
        return wire.happens(wire.conditions.interruptedShare) ? EINTR : nil
    }

    private func blockUntilWoken() throws(SystemCallError) {
        guard wire.conditions.deadlockIsAnError else {
            waker.block()
            return
        }
        throw SystemCallError(
            call: SimulatedCall.wait.rawValue,
            errno: EDEADLK,
            purpose: "wait without a limit, where nothing is left to happen,"
        )
    }

    private func readyEntries() -> [SocketID] {
        var ready = entries.compactMap { $0.flatMap { $0.isReady ? $0.id : nil } }
        if wire.conditions.shufflesEvents { ready.shuffle(using: &wire.random) }
        return ready
    }

    private func serve<Sink: EventSink>(_ id: SocketID, _ sink: Sink) {
        guard let entry = entry(of: id) else {
            // An earlier callback of this batch closed it.
            figures.staleEvents &+= 1
            return
        }
        switch entry.kind {
        case .stream, .plain, .watched: serveStream(entry, sink)
        case .listener: acceptConnections(entry, sink)
        }
    }

    // MARK: Entries

    /// The entry of an ID that is open; `nil` for a stale one.
    func entry(of id: SocketID) -> SimulatedEntry? {
        guard id.slot < entries.count, let entry = entries[id.slot], entry.id == id else {
            return nil
        }
        return entry
    }

    func beginEntry(for id: SocketID, kind: SocketKind) -> SimulatedEntry {
        while id.slot >= entries.count { entries.append(nil) }
        precondition(entries[id.slot] == nil, "a slot is used by one socket at a time")
        let entry = SimulatedEntry(id: id, kind: kind)
        entries[id.slot] = entry
        return entry
    }

    /// Forgets an entry whose descriptor is somebody else's, or gone.
    func removeEntry(of id: SocketID) {
        entries[id.slot] = nil
        endedGenerations[id.slot] = id.generation
    }

    // MARK: Descriptors

    /// How many simulated descriptors are open.
    package var openDescriptorCount: Int { descriptors.count }

    /// The lowest number that is free, as the kernel gives it; `nil` at the limit.
    func openDescriptor() -> CInt? {
        guard descriptors.count < wire.conditions.descriptorLimit else { return nil }
        var number = Self.firstDescriptor
        while descriptors.contains(number) { number += 1 }
        descriptors.insert(number)
        return number
    }

    func closeDescriptor(_ number: CInt) {
        if descriptors.remove(number) == nil {
            complaints.append("descriptor \(number) was closed and is not open")
        }
    }

    // MARK: Ending

    /// Ends everything about `id`; `closed` follows.
    package func close(_ id: SocketID, _ manner: ClosingManner) {
        if let entry = entry(of: id) {
            closeParts(of: entry, manner)
            removeEntry(of: id)
        } else {
            // It ends before it was opened, or has ended already.
            guard endedGenerations[id.slot] ?? 0 < id.generation else { return }
            endedGenerations[id.slot] = id.generation
        }
        closeCount += 1
        results.append(.closed(id))
    }

    /// Closes whatever is behind the entry's descriptor, and the descriptor.
    func closeParts(of entry: SimulatedEntry, _ manner: ClosingManner) {
        if let end = entry.end { end.close(manner) } else { entry.attempt?.abandon() }
        if let listener = entry.listener {
            wire.remove(listener)
            listener.close()
        }
        if let descriptor = entry.descriptor { closeDescriptor(descriptor) }
        entry.attempt = nil
        entry.end = nil
        entry.listener = nil
        entry.descriptor = nil
    }

    /// Nothing that a real loop could watch.
    package func makeReadinessDescriptor() throws(SystemCallError) -> CInt {
        throw SystemCallError(call: SimulatedCall.wait.rawValue, errno: ENOTSUP)
    }

    /// Does nothing: there is no host.
    package func armReadiness(at deadline: MonotonicInstant?) {}

    /// Whether ``deliverResults(into:)`` has something to hand out.
    package var hasResults: Bool { !results.isEmpty }

    /// Hands out what came of earlier verbs, without waiting.
    package func deliverResults<Sink: EventSink>(into sink: Sink) {
        // Only what was there when the step began: a callback that connects is told next time.
        let batch = results
        results.removeAll(keepingCapacity: true)
        for result in batch {
            switch result {
            case .closed(let id):
                toldClosedCount += 1
                sink.handle(.closed, of: id, from: self)
            case .connected(let id, let local):
                guard let entry = entry(of: id) else { continue }
                entry.isConnected = true
                sink.handle(.connected(local: local), of: id, from: self)
            case .failed(let id, let direction, let error):
                guard entry(of: id) != nil else { continue }
                sink.handle(.failed(direction, error), of: id, from: self)
            }
        }
    }

    /// Closes everything; a second call does nothing.
    package func shutDown() {
        guard !isShutDown else { return }
        isShutDown = true
        for entry in entries { if let entry { close(entry.id, .end) } }
        for descriptor in unadopted.keys.sorted() { discard(descriptor) }
        if let reserve { closeDescriptor(reserve) }
        reserve = nil
        results.removeAll()
    }

    /// What is wrong with the books, in sentences; empty if nothing is.
    ///
    /// Right at any moment at which the backend is not running: each descriptor has an owner, each
    /// byte is where it should be, and each close was or will be told once.
    package func inspect() -> [String] {
        var found = complaints + wire.inspect() + inspectOutput()
        let kept = reserve.map { [$0] } ?? []
        let owned = entries.compactMap { $0?.descriptor } + unadopted.keys + kept
        let orphans = descriptors.subtracting(owned).count
        if orphans > 0 { found.append("\(orphans) descriptors are open without an entry") }
        if !handedOut.isEmpty {
            found.append("\(handedOut.count) were accepted, and neither adopted nor discarded")
        }
        if Set(owned).count != owned.count { found.append("a descriptor has two entries") }
        let awaited = results.count { if case .closed = $0 { true } else { false } }
        if !isShutDown, closeCount != toldClosedCount + awaited {
            found.append("\(closeCount) closed, \(toldClosedCount) told, \(awaited) to be told")
        }
        return found
    }

    private func inspectOutput() -> [String] {
        entries.compactMap { entry in
            guard let entry, !entry.cannotSend,
                entry.askedBytes != entry.finishedBytes + entry.pendingBytes
            else { return nil }
            return "\(entry.id): \(entry.askedBytes) to be sent, \(entry.finishedBytes) finished, "
                + "\(entry.pendingBytes) pending"
        }
    }
}

/// What came of a verb, until it is handed out.
enum SimulatedResult {
    case closed(SocketID)
    case connected(SocketID, local: SocketAddress)
    case failed(SocketID, SocketDirection, SystemCallError)
}

import Glibc
import Synchronization

@testable import Towline

/// A backend without sockets whose clock stands where a test puts it, so that timers and jobs are
/// tested without waiting; a wait is only noted.
///
/// It tells what a test has it tell: see ``tell(_:_:)``.
final class ManualBackend: Backend {
    let name = "manual"
    var figures = BackendFigures()
    let wake: @Sendable () -> Void

    /// How often it was woken.
    var wakeCount: Int { wakes.value.load(ordering: .relaxed) }
    private let wakes = WakeCount()

    init() {
        wake = { [wakes] in wakes.value.add(1, ordering: .relaxed) }
    }

    private final class WakeCount: Sendable {
        let value = Atomic(0)
    }

    /// What the clock says.
    var time = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// The limits of the waits so far, `nil` for one without a bound.
    private(set) var waits: [Int64?] = []

    /// Called within each wait, before anything is told.
    var whileWaiting: (() -> Void)?

    /// What the next wait throws.
    var failure: SystemCallError?

    /// The verbs that were called, in their order.
    private(set) var verbs: [String] = []

    private var news: [(SocketID, News)] = []
    private var closed: [SocketID] = []

    /// What a test has told, in the next wait.
    enum News {
        case connected
        case received([UInt8])
        case reachedEnd
        case sent(Int)
    }

    /// Has the next wait tell `news` of the socket.
    func tell(_ id: SocketID, _ news: News) {
        self.news.append((id, news))
    }

    /// Lets time pass.
    func pass(_ duration: Duration) {
        time = time.advanced(by: duration)
    }

    /// How often the clock was read.
    private(set) var clockReadings = 0

    func now() -> MonotonicInstant {
        clockReadings += 1
        return time
    }

    func adopt(_ descriptor: CInt, as id: SocketID, kind: SocketKind) throws(SystemCallError) {}
    func release(_ id: SocketID) -> CInt? { nil }
    func discard(_ descriptor: CInt) {}

    func listen(
        on address: SocketAddress,
        options: SocketOptions,
        backlog: Int32,
        permissions: UInt16?,
        as id: SocketID
    ) throws(SystemCallError) -> SocketAddress { address }

    func hasWaitingConnections(_ id: SocketID) -> Bool { false }
    func takeReserve() throws(SystemCallError) {}
    func shedConnections(of id: SocketID, atMost limit: Int) -> Int { 0 }
    var descriptorLimit: Int? { nil }

    func open(
        _ id: SocketID,
        for address: SocketAddress,
        from local: SocketAddress?,
        options: SocketOptions
    ) throws(SystemCallError) {}

    func connect(_ id: SocketID, to address: SocketAddress) {
        verbs.append("connect")
    }

    func handOver(_ attempt: SocketID, to id: SocketID) {
        verbs.append("hand over")
        closed.append(attempt)
    }

    func apply(_ options: SocketOptions, to id: SocketID) throws(SystemCallError) {}

    func resumeReceiving(_ id: SocketID) {
        verbs.append("resume")
    }

    func pauseReceiving(_ id: SocketID) {
        verbs.append("pause")
    }

    func send(_ id: SocketID, _ bytes: UnsafeRawPointer, count: Int) -> Int {
        verbs.append("send \(count)")
        return count
    }

    func send(_ id: SocketID, holding bytes: [UInt8], from offset: Int) -> Int {
        verbs.append("send \(bytes.count - offset)")
        return bytes.count - offset
    }

    func send(_ id: SocketID, file: OpenFile, range: Range<Int>) -> Int { range.count }

    func unacknowledgedByteCount(of id: SocketID) -> Int? { nil }

    func takeBack(_ id: SocketID, behind offset: Int, count: Int) -> Bool { false }

    func finishSending(_ id: SocketID) {
        verbs.append("finish")
    }

    func close(_ id: SocketID, _ manner: ClosingManner) {
        verbs.append("close")
        closed.append(id)
    }

    func localAddress(of id: SocketID) -> SocketAddress? { nil }
    func peerCredentials(of id: SocketID) -> PeerCredentials? { nil }
    func descriptor(of id: SocketID) -> CInt? { nil }

    func wait<Sink: EventSink>(
        atMost limit: Int64?,
        into sink: Sink
    ) throws(SystemCallError) {
        waits.append(limit)
        figures.waits += 1
        whileWaiting?()
        sink.waitEnded(at: time)
        if let failure {
            self.failure = nil
            throw failure
        }
        let told = news
        news = []
        for (id, news) in told {
            switch news {
            case .connected:
                sink.handle(.connected(local: .unix(.unnamed)), of: id, from: self)
            case .received(let bytes):
                sink.handle(.received(bytes.span.bytes), of: id, from: self)
            case .reachedEnd:
                sink.handle(.reachedEnd, of: id, from: self)
            case .sent(let count):
                sink.handle(.sent(count), of: id, from: self)
            }
        }
    }

    func deliverResults<Sink: EventSink>(into sink: Sink) {
        let gone = closed
        closed = []
        for id in gone { sink.handle(.closed, of: id, from: self) }
    }

    var hasResults: Bool { !closed.isEmpty }

    /// Where the readiness was armed, call by call.
    private(set) var alarms: [MonotonicInstant?] = []
    /// What is handed out as readiness descriptor; `nil`, it is refused.
    var readinessDescriptor: CInt?

    func makeReadinessDescriptor() throws(SystemCallError) -> CInt {
        guard let readinessDescriptor else {
            throw SystemCallError(call: "wait", errno: ENOTSUP)
        }
        return readinessDescriptor
    }

    func armReadiness(at deadline: MonotonicInstant?) {
        alarms.append(deadline)
    }

    func shutDown() {}
}

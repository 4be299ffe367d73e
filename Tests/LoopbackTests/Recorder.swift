import TestSupport
import Testing
import Towline

/// A delegate that writes down what it hears, and does what a test has it do.
class Recorder: StreamSocketDelegate {
    enum Heard: Equatable {
        case didConnect(SocketAddress)
        case didSecure
        case didRead(String, tag: Int)
        case didWrite(tag: Int)
        case progressRead(tag: Int, IOProgress)
        case progressWrite(tag: Int, IOProgress)
        case didCancelRead(String, tag: Int)
        case hangUp
        case closedReadStream
        case writable
        case shouldTimeOutRead(tag: Int, elapsed: Duration, byteCount: Int)
        case shouldTimeOutWrite(tag: Int, elapsed: Duration, byteCount: Int)
        case shouldFinish
        case didDisconnect(SocketError?)
    }

    var heard: [Heard] = []
    var reports: [DisconnectReport] = []
    var readBytes: [UInt8] = []
    /// Whether bytes read are kept as bytes only, for large amounts.
    var recordsReads = true
    var recordsProgress = false
    /// Whether another read is asked for after each.
    var readsOn = false

    var whenConnected: (StreamSocket) throws -> Void = { _ in }
    var whenSecured: (StreamSocket) throws -> Void = { _ in }
    var whenRead: (StreamSocket, [UInt8], Int) throws -> Void = { _, _, _ in }
    var whenWritten: (StreamSocket, Int) throws -> Void = { _, _ in }
    var whenReadStreamCloses: (StreamSocket) throws -> Void = { _ in }
    var whenDisconnected: (StreamSocket) -> Void = { _ in }
    var timeoutAnswers: [TimeoutDecision] = []

    var isDisconnected: Bool { !reports.isEmpty }

    func socket(_ socket: StreamSocket, didConnectTo address: SocketAddress) throws {
        heard.append(.didConnect(address))
        try whenConnected(socket)
    }

    func socketDidSecure(_ socket: StreamSocket) throws {
        heard.append(.didSecure)
        try whenSecured(socket)
    }

    func socket(_ socket: StreamSocket, didRead bytes: RawSpan, tag: Int) throws {
        let copy = [UInt8](bytes)
        readBytes += copy
        if recordsReads { heard.append(.didRead(String(decoding: bytes), tag: tag)) }
        try whenRead(socket, copy, tag)
        if readsOn, socket.state == .connected { try socket.read() }
    }

    func socket(_ socket: StreamSocket, didWrite tag: Int) throws {
        heard.append(.didWrite(tag: tag))
        try whenWritten(socket, tag)
    }

    func socket(_ socket: StreamSocket, didDisconnect report: DisconnectReport) {
        heard.append(.didDisconnect(report.error))
        reports.append(report)
        whenDisconnected(socket)
    }

    func socketPeerDidHangUp(_ socket: StreamSocket) { heard.append(.hangUp) }

    func socketDidCloseReadStream(_ socket: StreamSocket) throws {
        heard.append(.closedReadStream)
        try whenReadStreamCloses(socket)
    }

    func socketDidBecomeWritable(_ socket: StreamSocket) { heard.append(.writable) }

    func socket(_ socket: StreamSocket, didProgressRead tag: Int, _ progress: IOProgress) {
        if recordsProgress { heard.append(.progressRead(tag: tag, progress)) }
    }

    func socket(_ socket: StreamSocket, didProgressWrite tag: Int, _ progress: IOProgress) {
        if recordsProgress { heard.append(.progressWrite(tag: tag, progress)) }
    }

    func socket(_ socket: StreamSocket, didCancelRead tag: Int, partialBytes: RawSpan) {
        heard.append(.didCancelRead(String(decoding: partialBytes), tag: tag))
    }

    func socket(
        _ socket: StreamSocket,
        shouldTimeOutRead tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision {
        heard.append(.shouldTimeOutRead(tag: tag, elapsed: elapsed, byteCount: byteCount))
        return timeoutAnswers.isEmpty ? .disconnect : timeoutAnswers.removeFirst()
    }

    func socket(
        _ socket: StreamSocket,
        shouldTimeOutWrite tag: Int,
        elapsed: Duration,
        byteCount: Int
    ) -> TimeoutDecision {
        heard.append(.shouldTimeOutWrite(tag: tag, elapsed: elapsed, byteCount: byteCount))
        return timeoutAnswers.isEmpty ? .disconnect : timeoutAnswers.removeFirst()
    }

    func socketShouldFinish(_ socket: StreamSocket) {
        heard.append(.shouldFinish)
        socket.disconnect(.afterWrites)
    }
}

/// A listener's delegate that has each accepted socket recorded.
final class Acceptor: StreamListenerDelegate {
    var sockets: [StreamSocket] = []
    var recorders: [Recorder] = []
    var stops: [SocketError?] = []
    var failures: [SocketError] = []
    var whenAccepted: (StreamSocket, Recorder) throws -> Void = { _, _ in }
    var setsDelegate = true
    var makeRecorder: () -> Recorder = { Recorder() }

    func listener(_ listener: StreamListener, didAccept socket: StreamSocket) throws {
        sockets.append(socket)
        let recorder = makeRecorder()
        recorders.append(recorder)
        if setsDelegate { socket.delegate = recorder }
        try whenAccepted(socket, recorder)
    }

    func listener(_ listener: StreamListener, didFailToAccept error: SocketError) {
        failures.append(error)
    }

    func listener(_ listener: StreamListener, didStopWith error: SocketError?) {
        stops.append(error)
    }
}

/// A reactor that a test turns by hand.
struct Loop {
    let reactor: Reactor

    init(_ configuration: Reactor.Configuration = .init(backend: .epoll)) throws {
        reactor = try Reactor(configuration)
    }

    /// Turns until something holds.
    ///
    /// - Returns: Whether it came to hold within 10 s.
    func turn(within limit: Duration = .seconds(30), until condition: () -> Bool) throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while !condition() {
            guard ContinuousClock.now < deadline else { return false }
            try reactor.turn(waitingAtMost: .milliseconds(20))
        }
        return true
    }

    /// Makes so many turns that do not wait.
    func turn(times count: Int) throws {
        for _ in 0..<count { try reactor.turn(waitingAtMost: .zero) }
    }

    /// Stops the reactor, so that every socket has had its terminal callback.
    func end() throws {
        reactor.stop()
        try reactor.turn()
    }
}

/// A connected socket, what it heard, and a blocking peer at its other end.
struct Pair {
    let loop: Loop
    let socket: StreamSocket
    let recorder: Recorder
    let peer: BlockingPeer
    /// Kept, since the kernel resets what waits in a listener that is closed.
    private let listener: BlockingListener

    /// Connects; `buffer` is the size of the kernel's buffers on both sides, `prepare` runs before
    /// the connection is there.
    init(
        buffer: CInt? = nil,
        configuration: Reactor.Configuration = .init(backend: .epoll),
        prepare: (StreamSocket, Recorder) throws -> Void = { _, _ in }
    ) throws {
        loop = try Loop(configuration)
        listener = try BlockingListener(bufferByteCount: buffer)
        let recorder = Recorder()
        self.recorder = recorder
        socket = StreamSocket(reactor: loop.reactor, delegate: recorder)
        socket.options.sendBufferSize = buffer
        socket.options.receiveBufferSize = buffer
        try socket.connect(to: listener.address)
        try prepare(socket, recorder)
        try loop.turn(times: 1)
        peer = try listener.accept()
        let isConnected = try loop.turn { recorder.heard.count > 0 }
        #expect(isConnected)
    }

    func turn(within limit: Duration = .seconds(10), until condition: () -> Bool) throws -> Bool {
        try loop.turn(within: limit, until: condition)
    }

    /// What was heard behind `didConnect`.
    var heard: [Recorder.Heard] { Array(recorder.heard.dropFirst()) }
}

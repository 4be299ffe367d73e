public import Towline

/// The other end of a connection with a socket under test; does what a script tells it.
///
/// It acts at once when it is told to, but what it does arrives with the network's delay, and never
/// before the reactor's next wait. It reads by itself whatever comes, until ``stopReading()``. The
/// network keeps it for as long as its connection is open.
///
///     let peer = network.connect(to: address)
///     peer.send("hello")
///     try reactor.turn()
public final class SimulatedPeer {
    /// How far a peer has come.
    public enum State: Sendable, Hashable {
        /// Its connect is under way.
        case connecting
        /// The connection is established.
        case connected
        /// Its connect was refused, with this errno.
        case refused(CInt)
        /// It has closed or reset the connection.
        case closed
    }

    /// How far the peer has come.
    public private(set) var state = State.connecting

    /// What was read and not taken by ``takeReceived()``, oldest first.
    public private(set) var received: [UInt8] = []

    /// How many bytes were read in all.
    public private(set) var receivedByteCount = 0

    /// Whether the socket's end was read: nothing more will come.
    public private(set) var sawEnd = false

    /// Whether the connection failed at this end: the socket, or its host, has reset it.
    public private(set) var sawReset = false

    /// Called each time bytes, an end or a reset were read, from within the reactor's wait.
    public var whenNewsComes: ((SimulatedPeer) -> Void)?

    /// Where the peer is; for a client not before it is connected.
    public var localAddress: SocketAddress? { end?.state.address }

    /// Whether whatever comes is read at once.
    public private(set) var isReading = true

    private let wire: Wire
    private var end: SimulatedEnd?
    private var unsent = ByteQueue()
    private var finishesWhenSent = false
    private var closesWhenSent = false
    private var awaitsPump = false

    init(_ wire: Wire, _ end: SimulatedEnd? = nil) {
        self.wire = wire
        if let end { attach(end) }
    }

    /// The connection is established.
    func attach(_ end: SimulatedEnd) {
        guard state == .connecting else {
            // It has given up meanwhile.
            end.close(.reset)
            return
        }
        self.end = end
        state = .connected
        end.connection.sides[end.side].peer = self
        noteArrival()
        pump()
    }

    /// The connect was refused.
    func refuse(_ number: CInt) {
        state = .refused(number)
        wire.remove(self)
        whenNewsComes?(self)
    }

    // MARK: Sending

    /// Bytes that wait for room in the socket's window, or for the connection.
    public var unsentByteCount: Int { unsent.count }

    /// Sends bytes behind all earlier ones; what does not fit into the window waits.
    public func send(_ bytes: some Collection<UInt8>) {
        guard state != .closed, !finishesWhenSent, !closesWhenSent else { return }
        unsent.append(bytes)
        pump()
    }

    /// Sends the UTF-8 of a text behind all earlier bytes.
    public func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Sends an end behind all earlier bytes, and goes on reading.
    public func finishSending() {
        finishesWhenSent = true
        pump()
    }

    /// Closes the connection behind all earlier bytes; if bytes are unread then, that is a reset.
    public func close() {
        closesWhenSent = true
        pump()
    }

    /// Resets the connection; bytes that wait are not sent any more.
    public func reset() {
        guard state != .closed else { return }
        end?.close(.reset)
        leave()
    }

    /// Has the connection fail at the socket with an errno such as `ETIMEDOUT`, behind the bytes
    /// that are on their way.
    ///
    /// - Parameter number: The errno, 1 or more.
    public func fail(with number: CInt) {
        guard state != .closed else { return }
        end?.fail(with: number)
        leave()
    }

    private func leave() {
        state = .closed
        unsent.removeAll()
        wire.remove(self)
    }

    private func pump() {
        guard let end, state == .connected else { return }
        while !unsent.isEmpty {
            let outcome = unsent.withFirst(atMost: unsent.count) { end.send($0, atMost: $0.count) }
            switch outcome {
            case .done(let count):
                unsent.consume(count)
            case .failed:
                guard !outcome.wouldBlock else { return }
                unsent.removeAll()
            }
        }
        if closesWhenSent {
            end.close(.end)
            leave()
        } else if finishesWhenSent {
            end.finishSending()
        }
    }

    /// The socket has received something, so that more may fit.
    func noteRoom() {
        guard !unsent.isEmpty, !awaitsPump else { return }
        awaitsPump = true
        wire.clock.schedule(at: wire.clock.now) {
            self.awaitsPump = false
            self.pump()
        }
    }

    // MARK: Receiving

    /// Reads nothing from now on: when the window is full, the socket's sends find no room.
    public func stopReading() {
        isReading = false
    }

    /// Reads whatever is there, and whatever comes.
    public func resumeReading() {
        isReading = true
        noteArrival()
    }

    /// Reads what is there, once.
    ///
    /// - Parameter limit: The most bytes to read, 1 or more.
    /// - Returns: How many were read; they are behind ``received``.
    @discardableResult
    public func read(atMost limit: Int = .max) -> Int {
        guard let end, state == .connected else { return 0 }
        let count = min(limit, end.state.arrived.count)
        if count > 0 {
            received.reserveCapacity(received.count + count)
            withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
                // `count` is 1 or more, so there is a base.
                let base = buffer.baseAddress.unsafelyUnwrapped
                _ = end.receive(into: base, atMost: count)
                received.append(contentsOf: UnsafeRawBufferPointer(buffer))
            }
            receivedByteCount += count
        }
        guard !end.hasBytes else { return count }
        sawEnd = sawEnd || end.state.hasEnded
        sawReset = sawReset || end.hasFailed
        return count
    }

    /// Takes everything that was read.
    public func takeReceived() -> [UInt8] {
        defer { received = [] }
        return received
    }

    /// Something has arrived.
    func noteArrival() {
        guard isReading, end != nil else { return }
        let known = (receivedByteCount, sawEnd, sawReset)
        read()
        if known != (receivedByteCount, sawEnd, sawReset) { whenNewsComes?(self) }
    }
}

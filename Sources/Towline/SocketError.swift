/// Why a socket refused a call, never connected, or disconnected.
///
/// Prints as one line. Two are equal if their cases and values are; a thrown error inside compares
/// by type and text.
///
/// Values lie behind a reference, so that an error is one word wherever it is passed or kept.
@nonexhaustive
public indirect enum SocketError: Error, Sendable, CustomStringConvertible {
    /// The call cannot be made in this state: a second connect, a listen while listening, either of
    /// them before the last callback of the one before.
    case invalidState(StreamSocket.State)

    /// An argument is out of its range; the value says which, and where the call stands.
    case invalidArgument(InvalidArgument)

    /// Neither IPv4 nor IPv6 is among the address families to be used.
    case noAddressFamilyEnabled

    /// A socket or listener cannot start, and a socket cannot be accepted, without a delegate.
    case noDelegate

    /// The socket is neither connected nor connecting.
    case notConnected

    /// A `disconnect(.after…)` was asked for; what follows it is refused.
    case disconnectPending

    /// The peer's end was received; nothing more can be read.
    case readClosed

    /// Our own end was asked for by `shutdownWrite()`; nothing more can be written.
    case writeClosed

    /// A connection is secured once; on this one it was asked for already.
    case alreadySecured

    /// A connection cannot move while its handshake is still to come, or not over.
    case securing

    /// A connection cannot move while the kernel has not taken all that was handed to it.
    case writesUnderWay

    /// Another task has the connection to itself: ``AsyncStreamSocket/use(isolation:_:)``.
    case inUse

    /// Another delegate was set, or the connection was moved: it is no longer this
    /// ``AsyncStreamSocket``'s.
    case takenOver

    /// As many reads are queued as ``StreamSocket/maxQueuedReads`` allows.
    case readQueueFull(limit: Int)

    /// More bytes wait to be sent than the limit allows.
    case writeQueueFull(waiting: Int, limit: Int)

    /// The call came from another thread than the reactor's; a debug build stops the process there.
    case wrongThread

    /// The reactor has ended.
    case reactorStopped

    /// The host has no address that could be tried.
    case resolutionFailed(host: String, ResolverError)

    /// The delegate wanted none of the addresses to be connected to.
    case cancelled

    /// The connection was not established in time.
    case connectTimedOut

    /// The read with `tag` was not completed in time.
    case readTimedOut(tag: Int)

    /// The write with `tag` was not completed in time.
    case writeTimedOut(tag: Int)

    /// The read with `tag` met no delimiter within `limit` bytes.
    case delimiterNotFound(tag: Int, limit: Int)

    /// The read with `tag` goes up to the peer's end, which did not come within `limit` bytes.
    case endNotFound(tag: Int, limit: Int)

    /// The peer sent its end, and the half-close policy says to disconnect.
    case closedByPeer

    /// The delegate went away, so nobody attended to the socket any more.
    case delegateGone

    /// A listener accepts nobody for a while: descriptors or memory have run out.
    case acceptPaused(AcceptPause)

    /// The kernel refused a call; ``SystemCallError/errno`` says why.
    case system(SystemCallError)

    /// The handshake failed, or the secured connection did; with `TowlineTLS`, `error.tls` is the
    /// typed reason.
    case security(any SecurityError)

    /// A callback threw, and so gave up its own socket.
    case handler(any Error)

    /// The error as one line.
    public var description: String {
        switch self {
        case .invalidState(let state): Self.refusal(in: state)
        case .invalidArgument(let argument): argument.description
        case .noAddressFamilyEnabled: "call refused: no address family is enabled"
        case .noDelegate:
            "there is no delegate: set one first, and hold it somewhere, or give it to keep(_:)"
        case .notConnected: "call refused: the socket is neither connected nor connecting"
        case .disconnectPending: "call refused: a disconnect is pending"
        case .readClosed: "read refused: the peer has sent its end"
        case .writeClosed: "write refused: the writing side is shut down"
        case .alreadySecured: "startTLS refused: it was asked for on this connection already"
        case .securing: "move refused: the handshake is not over"
        case .writesUnderWay: "move refused: bytes are still being handed to the kernel"
        case .inUse: "call refused: another task has the connection to itself"
        case .takenOver: "the connection was taken over by another delegate"
        case .readQueueFull(let limit):
            "read refused: \(limit) reads are queued, which is the limit"
        case .writeQueueFull(let waiting, let limit):
            "write refused: \(waiting) bytes wait to be sent, the limit is \(limit)"
        case .wrongThread:
            "call refused: the socket belongs to another thread; post a job with handle.execute"
        case .reactorStopped: "reactor stopped"
        case .resolutionFailed(let host, let error): "lookup of \(host) failed: \(error)"
        case .cancelled: "the delegate wanted no address to be connected to"
        case .connectTimedOut: "connect timed out"
        case .readTimedOut(let tag): "read tag \(tag) timed out"
        case .writeTimedOut(let tag): "write tag \(tag) timed out"
        case .delimiterNotFound(let tag, let limit):
            "read tag \(tag) found no delimiter within \(limit) bytes"
        case .endNotFound(let tag, let limit):
            "read tag \(tag) met no end within \(limit) bytes"
        case .closedByPeer: "closed by peer"
        case .delegateGone: "the delegate has gone"
        case .acceptPaused(let pause): pause.description
        case .system(let error): error.description
        case .security(let error): error.description
        case .handler(let error): "a callback threw: \(error)"
        }
    }

    /// Why nothing can start in a state, and what to do about it.
    private static func refusal(in state: StreamSocket.State) -> String {
        switch state {
        case .idle: "call refused: nothing is started"
        case .connecting, .connected:
            "call refused: the socket is \(state); disconnect() it first, or make another"
        case .listening:
            "call refused: the listener listens already; stop() it first, or make another"
        case .disconnecting:
            "call refused: the end is under way; start again from its last callback on "
                + "(didDisconnect, didStopWith), or make another"
        }
    }
}

/// What is wrong with an argument, and where the call stands.
public struct InvalidArgument: Sendable, Hashable, CustomStringConvertible {
    /// The call with its argument, such as `read(toLength: 0)`.
    public let call: String

    /// What the argument must be, such as `length must be 1 or more`.
    public let reason: String

    /// The file of the call, as `#fileID` gives it.
    public let file: String

    /// The line of the call.
    public let line: UInt

    init(_ call: String, _ reason: String, _ file: StaticString, _ line: UInt) {
        self.call = call
        self.reason = reason
        self.file = file.description
        self.line = line
    }

    /// Call, reason and place as one line.
    public var description: String { "\(call): \(reason) (\(file):\(line))" }
}

extension SocketError: Equatable {
    /// Whether the two are the same case with the same values.
    public static func == (left: SocketError, right: SocketError) -> Bool {
        switch (left, right) {
        case (.invalidState(let left), .invalidState(let right)):
            left == right
        case (.invalidArgument(let left), .invalidArgument(let right)):
            left == right
        case (
            .writeQueueFull(let waiting, let limit),
            .writeQueueFull(let otherWaiting, let otherLimit)
        ):
            waiting == otherWaiting && limit == otherLimit
        case (.readQueueFull(let left), .readQueueFull(let right)):
            left == right
        case (
            .resolutionFailed(let host, let error),
            .resolutionFailed(let otherHost, let otherError)
        ):
            host == otherHost && error == otherError
        case (.readTimedOut(let left), .readTimedOut(let right)):
            left == right
        case (.writeTimedOut(let left), .writeTimedOut(let right)):
            left == right
        case (
            .delimiterNotFound(let tag, let limit),
            .delimiterNotFound(let otherTag, let otherLimit)
        ),
            (.endNotFound(let tag, let limit), .endNotFound(let otherTag, let otherLimit)):
            tag == otherTag && limit == otherLimit
        case (.acceptPaused(let left), .acceptPaused(let right)):
            left == right
        case (.system(let left), .system(let right)):
            left == right
        case (.security(let left), .security(let right)):
            type(of: left) == type(of: right) && "\(left)" == "\(right)"
        case (.handler(let left), .handler(let right)):
            type(of: left) == type(of: right) && "\(left)" == "\(right)"
        case (.noAddressFamilyEnabled, .noAddressFamilyEnabled), (.cancelled, .cancelled),
            (.noDelegate, .noDelegate), (.notConnected, .notConnected),
            (.disconnectPending, .disconnectPending), (.readClosed, .readClosed),
            (.wrongThread, .wrongThread), (.reactorStopped, .reactorStopped),
            (.connectTimedOut, .connectTimedOut), (.closedByPeer, .closedByPeer),
            (.delegateGone, .delegateGone), (.writeClosed, .writeClosed),
            (.writesUnderWay, .writesUnderWay), (.alreadySecured, .alreadySecured),
            (.securing, .securing), (.inUse, .inUse), (.takenOver, .takenOver):
            true
        default:
            // Two different cases. A new case without values must be added to the list above; the
            // test of equality compares each case with itself.
            false
        }
    }
}

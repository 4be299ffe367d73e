import Glibc
import Testing

@testable import Towline

@Suite("Socket error") struct SocketErrorTests {
    private struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    private struct Distrust: SecurityError {
        var description: String
        var isOfHandshake: Bool { true }
    }

    private struct OtherFault: Error, CustomStringConvertible {
        var description: String
    }

    /// Every case, some of them with several values, and the line of each.
    private static let texts: [(SocketError, String)] = [
        (.invalidState(.idle), "call refused: nothing is started"),
        (
            .invalidState(.connecting),
            "call refused: the socket is connecting; disconnect() it first, or make another"
        ),
        (
            .invalidState(.connected),
            "call refused: the socket is connected; disconnect() it first, or make another"
        ),
        (
            .invalidState(.listening),
            "call refused: the listener listens already; stop() it first, or make another"
        ),
        (
            .invalidState(.disconnecting),
            "call refused: the end is under way; start again from its last callback on "
                + "(didDisconnect, didStopWith), or make another"
        ),
        (
            .invalidArgument(
                InvalidArgument("read(toLength: 0)", "length must be 1 or more", "Main/A.swift", 7)
            ),
            "read(toLength: 0): length must be 1 or more (Main/A.swift:7)"
        ),
        (
            .invalidArgument(
                InvalidArgument("read(toLength: 0)", "length must be 1 or more", "Main/A.swift", 8)
            ),
            "read(toLength: 0): length must be 1 or more (Main/A.swift:8)"
        ),
        (
            .noDelegate,
            "there is no delegate: set one first, and hold it somewhere, or give it to keep(_:)"
        ),
        (
            .resolutionFailed(host: "bx.test", .noSuchHost),
            "lookup of bx.test failed: no such host (EAI_NONAME)"
        ),
        (
            .resolutionFailed(host: "by.test", .noSuchHost),
            "lookup of by.test failed: no such host (EAI_NONAME)"
        ),
        (
            .resolutionFailed(host: "bx.test", .timedOut),
            "lookup of bx.test failed: name lookup timed out"
        ),
        (.cancelled, "the delegate wanted no address to be connected to"),
        (.notConnected, "call refused: the socket is neither connected nor connecting"),
        (.disconnectPending, "call refused: a disconnect is pending"),
        (.readClosed, "read refused: the peer has sent its end"),
        (.writeClosed, "write refused: the writing side is shut down"),
        (.inUse, "call refused: another task has the connection to itself"),
        (.takenOver, "the connection was taken over by another delegate"),
        (.writesUnderWay, "move refused: bytes are still being handed to the kernel"),
        (
            .readQueueFull(limit: 8), "read refused: 8 reads are queued, which is the limit"
        ),
        (
            .readQueueFull(limit: 9), "read refused: 9 reads are queued, which is the limit"
        ),
        (
            .writeQueueFull(waiting: 70, limit: 64),
            "write refused: 70 bytes wait to be sent, the limit is 64"
        ),
        (
            .writeQueueFull(waiting: 70, limit: 65),
            "write refused: 70 bytes wait to be sent, the limit is 65"
        ),
        (
            .writeQueueFull(waiting: 71, limit: 64),
            "write refused: 71 bytes wait to be sent, the limit is 64"
        ),
        (
            .wrongThread,
            "call refused: the socket belongs to another thread; post a job with handle.execute"
        ),
        (.reactorStopped, "reactor stopped"),
        (.connectTimedOut, "connect timed out"),
        (.readTimedOut(tag: 4), "read tag 4 timed out"),
        (.readTimedOut(tag: 5), "read tag 5 timed out"),
        (.writeTimedOut(tag: 4), "write tag 4 timed out"),
        (.writeTimedOut(tag: 5), "write tag 5 timed out"),
        (
            .delimiterNotFound(tag: 4, limit: 8_192),
            "read tag 4 found no delimiter within 8192 bytes"
        ),
        (
            .delimiterNotFound(tag: 5, limit: 8_192),
            "read tag 5 found no delimiter within 8192 bytes"
        ),
        (.delimiterNotFound(tag: 4, limit: 1), "read tag 4 found no delimiter within 1 bytes"),
        (.endNotFound(tag: 4, limit: 80), "read tag 4 met no end within 80 bytes"),
        (.endNotFound(tag: 5, limit: 80), "read tag 5 met no end within 80 bytes"),
        (.endNotFound(tag: 4, limit: 1), "read tag 4 met no end within 1 bytes"),
        (.closedByPeer, "closed by peer"),
        (.delegateGone, "the delegate has gone"),
        (.noAddressFamilyEnabled, "call refused: no address family is enabled"),
        (
            .acceptPaused(
                AcceptPause(
                    address: .ipv4(.any, port: 8080),
                    cause: SystemCallError(call: "accept4", errno: EMFILE),
                    descriptorLimit: 1024,
                    retryAfter: .milliseconds(100)
                )
            ),
            "accept on :8080 paused: too many open files (EMFILE), 1024 of 1024 in use; "
                + "retry in 100 ms"
        ),
        (
            .system(SystemCallError(call: "bind", errno: EADDRINUSE)),
            "bind failed: address already in use (EADDRINUSE)"
        ),
        (
            .system(
                SystemCallError(call: "bind", errno: EADDRINUSE, purpose: "listen on 0.0.0.0:8080")
            ),
            "listen on 0.0.0.0:8080 failed: address already in use (EADDRINUSE)"
        ),
        (.alreadySecured, "startTLS refused: it was asked for on this connection already"),
        (.securing, "move refused: the handshake is not over"),
        (.security(Distrust(description: "wrong name")), "wrong name"),
        (.security(Distrust(description: "too old")), "too old"),
        (.handler(Fault(description: "no such user")), "a callback threw: no such user"),
        (.handler(Fault(description: "no such room")), "a callback threw: no such room"),
    ]

    @Test("Each case is one line that says what happened")
    func descriptions() {
        for (error, text) in Self.texts {
            #expect(error.description == text)
            #expect(!text.contains("\n"))
            #expect(!text.lowercased().contains("unknown"))
        }
    }

    @Test("Each error equals itself, and differs from every other case and value (E7)")
    func equality() {
        for (index, (left, _)) in Self.texts.enumerated() {
            for (otherIndex, (right, _)) in Self.texts.enumerated() {
                #expect((left == right) == (index == otherIndex), "\(left) and \(right)")
            }
        }
    }

    @Test("Thrown errors are equal if their types and texts are, and not by the text alone (E7)")
    func thrownErrors() {
        let error = SocketError.handler(Fault(description: "a"))
        #expect(error == .handler(Fault(description: "a")))
        #expect(error != .handler(OtherFault(description: "a")))
        #expect(error != .handler(Fault(description: "b")))
        #expect(error != .security(Distrust(description: "a")))
        #expect(error != .closedByPeer)
    }

    @Test("No case is left out of these tests")
    func completeness() {
        // A switch without a default: a new case does not compile before it is added here.
        func name(_ error: SocketError) -> String {
            switch error {
            case .invalidState: "invalidState"
            case .invalidArgument: "invalidArgument"
            case .noAddressFamilyEnabled: "noAddressFamilyEnabled"
            case .acceptPaused: "acceptPaused"
            case .noDelegate: "noDelegate"
            case .resolutionFailed: "resolutionFailed"
            case .cancelled: "cancelled"
            case .notConnected: "notConnected"
            case .disconnectPending: "disconnectPending"
            case .readClosed: "readClosed"
            case .writeClosed: "writeClosed"
            case .writesUnderWay: "writesUnderWay"
            case .inUse: "inUse"
            case .takenOver: "takenOver"
            case .readQueueFull: "readQueueFull"
            case .writeQueueFull: "writeQueueFull"
            case .wrongThread: "wrongThread"
            case .reactorStopped: "reactorStopped"
            case .connectTimedOut: "connectTimedOut"
            case .readTimedOut: "readTimedOut"
            case .writeTimedOut: "writeTimedOut"
            case .delimiterNotFound: "delimiterNotFound"
            case .endNotFound: "endNotFound"
            case .closedByPeer: "closedByPeer"
            case .delegateGone: "delegateGone"
            case .system: "system"
            case .alreadySecured: "alreadySecured"
            case .securing: "securing"
            case .security: "security"
            case .handler: "handler"
            }
        }
        #expect(Set(Self.texts.map { name($0.0) }).count == 30)
    }
}

/// How much one turn of a reactor does for one of the many before it serves the next.
///
/// Whoever is cut short goes on in the next turn; nothing is lost.
public struct TurnBudget: Sendable, Hashable {
    /// Bytes received for one socket, 1 or more; 256 KiB.
    public var receivedBytesPerSocket = 256 * 1024

    /// Receive calls for one socket, 1 or more; 16.
    public var receivesPerSocket = 16

    /// Bytes of a file sent on one socket, 1 or more; 256 KiB.
    public var fileBytesPerSocket = 256 * 1024

    /// Callbacks of one socket from bytes that it keeps, 1 or more; 1,024.
    public var callbacksPerSocket = 1_024

    /// Connections accepted by one listener, 1 or more; 64.
    public var acceptsPerListener = 64

    /// Jobs posted by other threads, 1 or more; 1,024.
    public var jobs = 1_024

    /// Timers fired, 1 or more; 1,024.
    public var timers = 1_024

    /// Descriptors closed, 1 or more; 512.
    ///
    /// A close of a connection takes ten times a receive, so a mass farewell must not be one turn.
    public var closings = 512

    /// Handshakes begun, 1 or more; 8.
    ///
    /// One takes a hundred times what a receive does; the others wait in line.
    public var handshakes = 8

    /// Time for the handshakes of all sockets; 4 ms.
    public var handshakeTime = Duration.milliseconds(4)

    /// The usual budget.
    public init() {}

    var isValid: Bool {
        receivedBytesPerSocket > 0 && receivesPerSocket > 0 && callbacksPerSocket > 0
            && fileBytesPerSocket > 0 && acceptsPerListener > 0 && jobs > 0 && timers > 0
            && closings > 0 && handshakes > 0 && handshakeTime > .zero
    }
}

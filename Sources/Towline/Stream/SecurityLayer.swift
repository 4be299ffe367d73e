/// What stands between a socket and its peer from `startTLS` on: the peer's bytes in, plaintext
/// out, and the reverse.
///
/// It knows no descriptor and no clock. The socket calls it from its reactor's thread, never from
/// within itself, and sends whatever it finds in the output after each call, failed ones included.
/// A layer serves one connection.
package protocol SecurityLayer: AnyObject {
    /// Begins the handshake; the first output may be its first flight.
    ///
    /// - Parameters:
    ///   - facts: What it has to know of the connection.
    ///   - output: Where bytes for the peer go.
    /// - Returns: What is next.
    func begin(_ facts: SecurityFacts, into output: SecurityOutput) -> SecurityStep

    /// Takes bytes of the peer, and goes on for as long as it can with them: through the handshake
    /// up to a step that is worth telling, then with data.
    ///
    /// Called without a byte to go on after a step that was told, or with plaintext that did not
    /// fit before.
    ///
    /// - Parameters:
    ///   - input: What has come, borrowed for the call; moved forward behind what is taken.
    ///   - plaintext: Where data goes to; 16 KiB or more.
    ///   - output: Where bytes for the peer go.
    /// - Returns: How much data there is now, and what is next, behind the data.
    func receive(
        _ input: inout UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer,
        answeringInto output: SecurityOutput
    ) -> (byteCount: Int, step: SecurityStep)

    /// The peer's end came without a byte being left in front of it.
    ///
    /// - Returns: ``SecurityStep/ended`` if it may come here, else ``SecurityStep/failed(_:)``.
    func receiveEnd() -> SecurityStep

    /// Encrypts data; called behind ``SecurityStep/secured`` only.
    ///
    /// - Parameters:
    ///   - plaintext: 1 through 16,384 bytes, borrowed for the call, all of which are taken.
    ///   - output: Where bytes for the peer go.
    /// - Returns: Why nothing can be sent any more; `nil` mostly.
    func encrypt(
        _ plaintext: UnsafeRawBufferPointer,
        into output: SecurityOutput
    ) -> SocketError?

    /// How much plaintext a record takes at first, and behind a silence, 1 through 16,384 bytes;
    /// asked for behind ``SecurityStep/secured``.
    var initialRecordSize: Int { get }

    /// Says farewell to the peer; called once at most, and behind ``SecurityStep/secured`` only.
    func finish(into output: SecurityOutput)

    /// Asks the program what the step ``SecurityStep/asks`` is about; the answer comes by
    /// ``SecurityFacts/wake``, at once or later.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - delegate: Its delegate.
    /// - Throws: What the delegate throws; ``SocketError/security(_:)`` if it cannot be asked.
    func ask(_ socket: StreamSocket, _ delegate: any StreamSocketDelegate) throws

    /// Why the handshake ends when its time is up: says what was waited for.
    var timeoutError: any SecurityError { get }

    /// Why the handshake cannot begin behind so many bytes that came in the clear; `nil` if it can,
    /// and takes them as the peer's first.
    func refusal(ofEarlyBytes byteCount: Int) -> (any SecurityError)?
}

/// What a security layer has come to.
package enum SecurityStep {
    /// It has taken everything, and needs more.
    case needsInput
    /// There is more data than fitted; call again, also without new bytes.
    case hasMore
    /// The handshake is complete; call again, data may have come with it.
    case secured
    /// The program has to be asked; nothing may be called until it has answered.
    case asks
    /// Something else is not ready, which wakes when it is; nothing may be called until then.
    case waits
    /// The peer has ended its side in order. What comes behind that is not data.
    case ended
    /// The connection cannot go on. The output may have an alert.
    ///
    /// Apart, so that the others are a word that nobody counts references to.
    indirect case failed(any SecurityError)
}

/// What a security layer has to know of its connection.
package struct SecurityFacts {
    /// The name that the connect was asked for; `nil` where it was asked for an address.
    package let host: String?
    /// The peer, as far as it is known yet.
    package let remoteAddress: SocketAddress?
    /// Whether a listener has accepted it.
    package let isAccepted: Bool
    /// Says, from any thread, that what was waited for is there.
    package let wake: @Sendable () -> Void
    /// Writes a line to the reactor's log.
    package let note: (LogEvent.Level, String, [String: String]) -> Void
}

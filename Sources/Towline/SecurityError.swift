/// An error of a security layer, which knows more of it than the sockets do.
///
/// Prints as one line that a person can act on.
public protocol SecurityError: Error, Sendable, CustomStringConvertible {
    /// Whether it belongs to the handshake, though that may have been over on our side already.
    var isOfHandshake: Bool { get }
}
